/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entries from instrumented code and from callers of wrapped functions: they leave the program's stack alone.
 *
 * Cold entries (weft/abi.h) are jumped to with the way back in rax. They may use rax; all else is preserved,
 * vector registers too, since the C code behind them is compiled without. Wrapped functions are ordinary functions whose
 * body runs on the runtime's stack.
 *
 * The CFI tells unwinders (gdb, C++ exceptions do not pass here) where the program's stack pointer was saved: on the
 * runtime's stack, at its very top, so that nested signal frames do not hide it. */
#include "entry.h"

#define SCRATCH 0x50 /* a word of the thread control block that libc keeps for transactional memory: needs no base register */
#define ORDERED 27  /* bit of WEFT_ACC_ORDERED */
#define SEVENTH 104 /* saved[8]: the last argument of syscall() */

        .text

/* A miss that is a read, in one line, which the thread shares (owner.c): go back. The access word has its size in the low
 * bits, so anything but a small read makes the sum large; that it is atomic does not matter. */
.macro SHARED_READ
        movq %rcx, %fs:SPARE(%r11)
        movq %rdx, %fs:SPARE+8(%r11)
        movl %fs:OPERAND(%r11), %ecx
        movl %ecx, %edx
        andl $63, %edx
        addl %fs:OPERAND+8(%r11), %edx
        btrl $ORDERED, %edx
        cmpl $64, %edx
        ja 6f
        movq %fs:READS(%r11), %rdx
        shrl $12, %ecx
        movq READS_ADDR(%rdx,%rcx,8), %rdx
        movl %fs:OPERAND(%r11), %ecx
        shrl $6, %ecx
        btq %rcx, %rdx
        jnc 6f
        movq %fs:SPARE(%r11), %rcx
        movq %fs:SPARE+8(%r11), %rdx
        movq %fs:SCRATCH, %r11
        jmp *%rax
6:      movq %fs:SPARE(%r11), %rcx
        movq %fs:SPARE+8(%r11), %rdx
.endm

/* Switch to the runtime's stack, save what C may change, call \fn(rdi, rsi, site), and go back. */
.macro COLD name, fn, operands=0
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .cfi_startproc
        .cfi_def_cfa %rsp, 0
        .cfi_register %rip, %rax
        .cfi_remember_state
        movq %r11, %fs:SCRATCH
        movq __weft_tls@GOTTPOFF(%rip), %r11
        .if \operands == 1
        SHARED_READ
        .endif
        cmpq $0, %fs:RT_SP(%r11)
        je 3f
        movq %rsp, %fs:SAVED(%r11)
        movq %fs:RT_SP(%r11), %rsp
        incl %fs:DEPTH(%r11)
2:      KEEP
        pushq %fs:SAVED(%r11)
        pushq %fs:SCRATCH
        SAVE /* signal.c knows the order */
        .cfi_escape 0x0f, 4, 0x77, 0xc8, 0x00, 0x06 /* CFA: what is at rsp + 72 */
        .cfi_escape 0x10, 0x10, 2, 0x77, 0x38       /* rip is at rsp + 56: rax, as saved */
        .cfi_escape 0x10, 0x00, 2, 0x77, 0x38       /* and the others, for debuggers: rax, rcx, rdx, rsi, rdi, r8 to r11 */
        .cfi_escape 0x10, 0x02, 2, 0x77, 0x30
        .cfi_escape 0x10, 0x01, 2, 0x77, 0x28
        .cfi_escape 0x10, 0x04, 2, 0x77, 0x20
        .cfi_escape 0x10, 0x05, 2, 0x77, 0x18
        .cfi_escape 0x10, 0x08, 2, 0x77, 0x10
        .cfi_escape 0x10, 0x09, 2, 0x77, 0x08
        .cfi_escape 0x10, 0x0a, 2, 0x77, 0x00
        .cfi_escape 0x10, 0x0b, 3, 0x77, 0xc0, 0x00
        .if \operands
        movq %fs:OPERAND(%r11), %rdi
        movl %fs:OPERAND+8(%r11), %esi
        .endif
        movq %rax, %rdx
        cld
        call \fn
        .cfi_restore_state
        RESTORE
        popq %fs:SCRATCH
        movq __weft_tls@GOTTPOFF(%rip), %r11
        decl %fs:DEPTH(%r11)
        movq %fs:SAVED(%r11), %rsp
        cmpq $0, %fs:CANCEL(%r11)
        jne 5f
        movq %fs:SCRATCH, %r11
        jmp *%rax
        /* Cancelled at a tick: leaves from here. */
5:      movq $0, %fs:CANCEL(%r11)
        pushq %rax
        jmp weft__cancel_exit
        /* A thread that the runtime does not know: natively, never come back here; else C decides (on this stack). */
3:      cmpl $0, weft__mode(%rip)
        jne 4f
        movq $-1, %fs:LIMIT(%r11)
        movq %fs:SCRATCH, %r11
        jmp *%rax
4:      movq %rsp, %fs:SAVED(%r11)
        subq $256, %rsp
        andq $-16, %rsp
        incl %fs:DEPTH(%r11)
        jmp 2b
        .cfi_endproc
        .size \name, .-\name
.endm

        COLD __weft_tick_cold, weft__enter_tick
        COLD __weft_tick_spin, weft__enter_spin
        COLD __weft_spins, weft__enter_spins
        COLD __weft_miss, weft__enter_miss, 1
        COLD __weft_range, weft__enter_range, 2
        COLD __weft_weak, weft__enter_weak
        COLD __weft_verify, weft__enter_verify
        COLD __weft_repeat_cold, weft__enter_repeat
        COLD __weft_come_in, weft__enter_come_in
        COLD __weft_go_out, weft__enter_go_out

/* weft__cold_call: as a cold entry, from C on the program's stack (weft__cold in sys.h): calls rdx(rdi, rsi). */
weft__call_rdx:
        movq 48(%rsp), %rdx
        jmp *%rdx
        COLD weft__cold_call, weft__call_rdx
        .hidden weft__cold_call

/* While the runtime calls libc (real pthread functions), system calls pass: the selector is 0 on the runtime's stack. */
/* Wrapped functions: r11 holds the body. Up to six integer arguments; rax and rdx carry the result. */
        .globl weft__switch
        .hidden weft__switch
        .type weft__switch, @function
        .p2align 4
weft__switch:
        .cfi_startproc
        movq __weft_tls@GOTTPOFF(%rip), %rax
        cmpl $0, %fs:DEPTH(%rax)
        jne 1f
        cmpq $0, %fs:RT_SP(%rax)
        je 1f
        movq %rsp, %fs:SAVED(%rax)
        movq %rsp, %r10
        movq %fs:RT_SP(%rax), %rsp
        incl %fs:DEPTH(%rax)
        movb $0, %fs:SELECTOR(%rax)
        KEEP
        pushq %r10
        pushq %rbx
        .cfi_escape 0x0f, 5, 0x77, 0x08, 0x06, 0x23, 0x08 /* CFA: what is at rsp + 8, and 8 */
        .cfi_escape 0x10, 0x03, 2, 0x77, 0x00             /* rbx is at rsp */
        call *%r11
        popq %rbx
        .cfi_restore %rbx
        .cfi_def_cfa %rsp, 8
        movq __weft_tls@GOTTPOFF(%rip), %rcx
        decl %fs:DEPTH(%rcx)
        movb weft__selector(%rip), %r8b
        movb %r8b, %fs:SELECTOR(%rcx)
        popq %rsp
        .cfi_def_cfa %rsp, 8
        cmpq $0, %fs:CANCEL(%rcx)
        jne 2f
        /* Nothing of what happened here is left in registers; the body has cleared rdx, if it is not a result. */
        xorl %ecx, %ecx
        xorl %esi, %esi
        xorl %edi, %edi
        xorl %r8d, %r8d
        xorl %r9d, %r9d
        xorl %r10d, %r10d
        xorl %r11d, %r11d
        .irp x, 0,1,2,3,4,5,6,7 /* which variadic functions store; libc's functions, called in record only, have used them */
        pxor %xmm\x, %xmm\x
        .endr
        ret
2:      movq $0, %fs:CANCEL(%rcx)
        jmp weft__cancel_exit
1:      jmp *%r11
        .cfi_endproc
        .size weft__switch, .-weft__switch

/* syscall(number, six arguments): the seventh is on the stack. */
        .globl syscall
        .type syscall, @function
        .p2align 4
syscall:
        movq __weft_tls@GOTTPOFF(%rip), %rax
        movq 8(%rsp), %r11
        movq %r11, %fs:SEVENTH(%rax)
        leaq weft__w_syscall(%rip), %r11
        jmp weft__switch
        .size syscall, .-syscall

/* weft__on_rt(fn, a, b, c, d, e): the same, for C code that runs on the program's stack. */
        .globl weft__on_rt
        .hidden weft__on_rt
        .type weft__on_rt, @function
        .p2align 4
weft__on_rt:
        movq %rdi, %r11
        movq %rsi, %rdi
        movq %rdx, %rsi
        movq %rcx, %rdx
        movq %r8, %rcx
        movq %r9, %r8
        jmp weft__switch
        .size weft__on_rt, .-weft__on_rt

/* Start routine of every thread: rdi is its struct weft_thread (offsets from start.c). */
        .globl weft__thread_tramp
        .hidden weft__thread_tramp
        .type weft__thread_tramp, @function
        .p2align 4
weft__thread_tramp:
        .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq %rdi, %rbx
        movq __weft_tls@GOTTPOFF(%rip), %rax
        movq %rbx, %fs:SELF(%rax)
        movq weft__off_rt_stack(%rip), %rcx
        movq (%rbx,%rcx), %rcx
        movq %rcx, %fs:RT_SP(%rax)
        leaq weft__thread_begin(%rip), %r11
        call weft__switch
        movq weft__off_arg(%rip), %rcx
        movq (%rbx,%rcx), %rdi
        movq weft__off_fn(%rip), %rcx
        call *(%rbx,%rcx)
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size weft__thread_tramp, .-weft__thread_tramp

/* Signal return for handlers that the runtime installs: its system call must come from the runtime's text. Unwinders go from
 * here to where the signal came: registers are in the ucontext (they look one byte before the address, hence the nop). */
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06 /* CFA: rsp of the ucontext, which is at rsp */
        .cfi_escape 0x10, 0x08, 2, 0x77, 0x28
        .cfi_escape 0x10, 0x09, 2, 0x77, 0x30
        .cfi_escape 0x10, 0x0a, 2, 0x77, 0x38
        .cfi_escape 0x10, 0x0b, 3, 0x77, 0xc0, 0x00
        .cfi_escape 0x10, 0x0c, 3, 0x77, 0xc8, 0x00
        .cfi_escape 0x10, 0x0d, 3, 0x77, 0xd0, 0x00
        .cfi_escape 0x10, 0x0e, 3, 0x77, 0xd8, 0x00
        .cfi_escape 0x10, 0x0f, 3, 0x77, 0xe0, 0x00
        .cfi_escape 0x10, 0x05, 3, 0x77, 0xe8, 0x00
        .cfi_escape 0x10, 0x04, 3, 0x77, 0xf0, 0x00
        .cfi_escape 0x10, 0x06, 3, 0x77, 0xf8, 0x00
        .cfi_escape 0x10, 0x03, 3, 0x77, 0x80, 0x01
        .cfi_escape 0x10, 0x01, 3, 0x77, 0x88, 0x01
        .cfi_escape 0x10, 0x00, 3, 0x77, 0x90, 0x01
        .cfi_escape 0x10, 0x02, 3, 0x77, 0x98, 0x01
        .cfi_escape 0x10, 0x10, 3, 0x77, 0xa8, 0x01
        nop
        .globl weft__restorer
        .hidden weft__restorer
        .type weft__restorer, @function
weft__restorer:
        movl $15, %eax
        syscall
        hlt
        .cfi_endproc
        .size weft__restorer, .-weft__restorer

/* System calls that are let pass (filter.c): each goes back to its own place. */
        .globl weft__pass_call
        .hidden weft__pass_call
        .type weft__pass_call, @function
        .p2align 4
weft__pass_call:
        .set n, 0
        .rept 256
        syscall
        jmp *weft__pass_back+8*n(%rip)
        .set n, n + 1
        .endr
        .size weft__pass_call, .-weft__pass_call

        .section .note.GNU-stack,"",@progbits
