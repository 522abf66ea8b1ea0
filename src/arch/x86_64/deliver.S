/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signals and cancellation: the ways between the runtime's stack and the program's (signal.c, cancel.c).
 *
 * A handler of the program's runs on the program's stack, called from C code of the runtime that stays where it is on the
 * runtime's stack; until it returns, the runtime's stack begins below that code. What the handler finds in registers and
 * below its frame is the same in record and replay: all registers but its arguments are zero, the vector state is the initial
 * one, and the only thing that tells which level of nesting this is, is its number on the program's stack. (The runtime's
 * addresses differ between record and replay, so none may show.)
 *
 * tls.saved[1] points to the thread's array of levels, tls.saved[2] is not zero while the thread is to be cancelled. */
#include "entry.h"

/* struct level */
#define LEVEL_SIZE 128
#define L_RSP 0
#define L_XSAVE 8

        .text

/* weft__handler_call(level, sp, fn, sig, info, context): fn(sig, info, context) on the program's stack at sp (aligned to 16),
 * where the level's number has been put. No unwind information on purpose: this is where unwinding of a handler ends. */
        .globl weft__handler_call
        .hidden weft__handler_call
        .type weft__handler_call, @function
        .p2align 4
weft__handler_call:
        pushq %rbx
        pushq %rbp
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        movq __weft_tls@GOTTPOFF(%rip), %r11
        pushq %fs:RT_SP(%r11)
        pushq %fs:SAVED(%r11)
        movl %fs:DEPTH(%r11), %eax
        pushq %rax
        movzbl %fs:SELECTOR(%r11), %eax
        pushq %rax
        movq %rsp, L_RSP(%rdi)
        leaq -256(%rsp), %rax
        andq $-64, %rax
        movq %rax, %fs:RT_SP(%r11)
        movq L_XSAVE(%rdi), %r10
        movq %rdx, %rbx
        movl $-1, %eax
        movl $-1, %edx
        xsave64 (%r10)
        leaq weft__xinit(%rip), %r10
        xrstor64 (%r10)
        movq %rbx, %r10
        movq %rsi, %rsp
        movl %ecx, %edi
        movq %r8, %rsi
        movq %r9, %rdx
        movb weft__selector(%rip), %al
        movb %al, %fs:SELECTOR(%r11)
        movl $0, %fs:DEPTH(%r11)
        movq %r10, %rcx
        xorl %eax, %eax
        xorl %ebx, %ebx
        xorl %ebp, %ebp
        xorl %r8d, %r8d
        xorl %r9d, %r9d
        xorl %r10d, %r10d
        xorl %r11d, %r11d
        xorl %r12d, %r12d
        xorl %r13d, %r13d
        xorl %r14d, %r14d
        xorl %r15d, %r15d
        cld
        call *%rcx
        movq __weft_tls@GOTTPOFF(%rip), %r11
        movq (%rsp), %rdi
        imulq $LEVEL_SIZE, %rdi, %rdi
        addq %fs:LEVELS(%r11), %rdi
        incl %fs:DEPTH(%r11)
        movb $0, %fs:SELECTOR(%r11)
        movq L_RSP(%rdi), %rsp
        movq L_XSAVE(%rdi), %r10
        movl $-1, %eax
        movl $-1, %edx
        xrstor64 (%r10)
        popq %rax
        movb %al, %fs:SELECTOR(%r11)
        popq %rax
        movl %eax, %fs:DEPTH(%r11)
        popq %fs:SAVED(%r11)
        popq %fs:RT_SP(%r11)
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbp
        popq %rbx
        ret
        .size weft__handler_call, .-weft__handler_call

/* After a trapped system call, when something is to be delivered: the SIGSYS handler returns here instead, with the
 * program's own next instruction in rcx (which, as r11, a system call destroys anyway). */
        .globl weft__trap_deliver
        .hidden weft__trap_deliver
        .type weft__trap_deliver, @function
        .p2align 4
weft__trap_deliver:
        movq __weft_tls@GOTTPOFF(%rip), %r11
        movq %rsp, %fs:SAVED(%r11)
        movq %fs:RT_SP(%r11), %rsp
        incl %fs:DEPTH(%r11)
        KEEP
        SAVE
        movq %rcx, %rdi
        cld
        call weft__enter_trap
        RESTORE
        movq __weft_tls@GOTTPOFF(%rip), %r11
        decl %fs:DEPTH(%r11)
        movq %fs:SAVED(%r11), %rsp
        jmp *%rcx
        .size weft__trap_deliver, .-weft__trap_deliver

/* A synchronous signal: the kernel's handler has put the whole context aside and returns here. weft__enter_fault gives the
 * context to go on from. */
        .globl weft__fault_deliver
        .hidden weft__fault_deliver
        .type weft__fault_deliver, @function
        .p2align 4
weft__fault_deliver:
        movq __weft_tls@GOTTPOFF(%rip), %r11
        movq %rsp, %fs:SAVED(%r11)
        movq %fs:RT_SP(%r11), %rsp
        incl %fs:DEPTH(%r11)
        cld
        call weft__enter_fault
        movq __weft_tls@GOTTPOFF(%rip), %r11
        decl %fs:DEPTH(%r11)
        movq %rax, %rsp
        movl $15, %eax
        syscall
        hlt
        .size weft__fault_deliver, .-weft__fault_deliver

/* The thread is cancelled: entered with the address to unwind from at (%rsp), every register that a function preserves as its
 * caller had it. */
        .globl weft__cancel_exit
        .hidden weft__cancel_exit
        .type weft__cancel_exit, @function
        .p2align 4
weft__cancel_exit:
        .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andq $-16, %rsp
        movq $-1, %rdi
        call *weft__exit_function(%rip)
        hlt
        .cfi_endproc
        .size weft__cancel_exit, .-weft__cancel_exit

/* pthread_exit(value), thrd_exit(value): libc's own, which runs on the program's stack; from now on the thread cannot be
 * cancelled. */
        .globl pthread_exit
        .type pthread_exit, @function
        .globl thrd_exit
        .type thrd_exit, @function
        .p2align 4
pthread_exit:
thrd_exit:
        .cfi_startproc
        pushq %rdi
        .cfi_def_cfa_offset 16
        leaq weft__exiting(%rip), %r11
        call weft__switch
        movq (%rsp), %rdi
        call *weft__exit_function(%rip)
        hlt
        .cfi_endproc
        .size pthread_exit, .-pthread_exit
        .size thrd_exit, .-thrd_exit

/* weft__raw_intr(nr, args, attention): a system call that is not begun when *attention is not zero, in which case the result
 * is -513. A signal handler of the runtime that finds the thread between weft__intr_begin and weft__intr_at goes on at
 * weft__intr_abort: so no signal falls between the test and the system call. */
        .globl weft__raw_intr
        .hidden weft__raw_intr
        .type weft__raw_intr, @function
        .globl weft__intr_begin, weft__intr_at, weft__intr_abort
        .hidden weft__intr_begin, weft__intr_at, weft__intr_abort
        .p2align 4
weft__raw_intr:
        .cfi_startproc
        movq %rdi, %rax
        movq %rsi, %rcx
weft__intr_begin:
        cmpl $0, (%rdx)
        jne weft__intr_abort
        movq 0(%rcx), %rdi
        movq 8(%rcx), %rsi
        movq 16(%rcx), %rdx
        movq 24(%rcx), %r10
        movq 32(%rcx), %r8
        movq 40(%rcx), %r9
weft__intr_at:
        syscall
        ret
weft__intr_abort:
        movq $-513, %rax
        ret
        .cfi_endproc
        .size weft__raw_intr, .-weft__raw_intr

/* weft__peek(p): 1 if there is something to read at p. If not, on_fault goes on at weft__peek_no. */
        .globl weft__peek, weft__peek_at, weft__peek_no
        .hidden weft__peek, weft__peek_at, weft__peek_no
        .type weft__peek, @function
        .p2align 4
weft__peek:
        .cfi_startproc
weft__peek_at:
        movb (%rdi), %al
        movl $1, %eax
        ret
weft__peek_no:
        xorl %eax, %eax
        ret
        .cfi_endproc
        .size weft__peek, .-weft__peek

/* weft__same(p, q, n): 1 if n bytes at p are there, and as those at q; n is a multiple of 8. If there are none, on_fault goes on at weft__peek_no.
 * (Called from wrapped functions only: vector registers are free there.) */
        .globl weft__same, weft__same_from, weft__same_to
        .hidden weft__same, weft__same_from, weft__same_to
        .type weft__same, @function
        .p2align 4
weft__same:
        .cfi_startproc
weft__same_from:
        jmp 2f
        .p2align 4
1:      movdqu (%rdi), %xmm0
        movdqu 16(%rdi), %xmm1
        movdqu 32(%rdi), %xmm2
        movdqu 48(%rdi), %xmm3
        movdqu (%rsi), %xmm4
        movdqu 16(%rsi), %xmm5
        movdqu 32(%rsi), %xmm6
        movdqu 48(%rsi), %xmm7
        pcmpeqb %xmm4, %xmm0
        pcmpeqb %xmm5, %xmm1
        pcmpeqb %xmm6, %xmm2
        pcmpeqb %xmm7, %xmm3
        pand %xmm1, %xmm0
        pand %xmm3, %xmm2
        pand %xmm2, %xmm0
        pmovmskb %xmm0, %eax
        cmpl $0xffff, %eax
        jne weft__peek_no
        addq $64, %rdi
        addq $64, %rsi
        subq $64, %rdx
2:      cmpq $64, %rdx
        jae 1b
        testq %rdx, %rdx
        jz 4f
3:      movq (%rdi), %rax
        cmpq (%rsi), %rax
        jne weft__peek_no
        addq $8, %rdi
        addq $8, %rsi
        subq $8, %rdx
        jnz 3b
4:      movl $1, %eax
        ret
weft__same_to:
        .cfi_endproc
        .size weft__same, .-weft__same

/* weft__poke(p): 1 if p can be written. If not, on_fault goes on at weft__peek_no. */
        .globl weft__poke, weft__poke_at
        .hidden weft__poke, weft__poke_at
        .type weft__poke, @function
        .p2align 4
weft__poke:
        .cfi_startproc
weft__poke_at:
        lock orb $0, (%rdi)
        movl $1, %eax
        ret
        .cfi_endproc
        .size weft__poke, .-weft__poke

/* A block operation goes on (leave_at in take.c), on the program's stack, with this at rsp: the address that cannot be accessed; whether
 * it is to be written; the operation, its three arguments; its result; the way back. The access fails here, where a handler of the
 * program's is called as in the program. */
        .globl weft__block_again
        .hidden weft__block_again
        .type weft__block_again, @function
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa %rsp, 64
        nop /* where a return address is taken to be a call's, minus one */
weft__block_again:
        movq (%rsp), %rax
        cmpq $0, 8(%rsp)
        je 1f
        lock orb $0, (%rax)
        jmp 2f
1:      cmpb $0, (%rax)
2:      movq 16(%rsp), %r11
        movq 24(%rsp), %rdi
        movq 32(%rsp), %rsi
        movq 40(%rsp), %rdx
        addq $48, %rsp
        .cfi_def_cfa %rsp, 16
        call *%r11
        popq %rax
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size weft__block_again, .-weft__block_again

        .section .rodata
        .p2align 6
/* The initial vector state: nothing in use, MXCSR as at the start of a program. */
weft__xinit:
        .zero 24
        .long 0x1f80
        .zero 4068
        .section .note.GNU-stack,"",@progbits
