/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For the assembly files: offsets in __weft_tls (struct weft_tls in weft/abi.h), and what a way into C must save. */
#define CLOCK 0
#define LIMIT 8
#define ME 16
#define OUTSIDE 18
#define SELECTOR 19
#define DEPTH 20
#define RT_SP 24
#define SELF 32
#define SAVED 40
#define LEVELS 48   /* saved[1]: the thread's array of levels (signal.c) */
#define CANCEL 56   /* saved[2]: the thread is cancelled (cancel.c) */
#define READS 64    /* saved[3]: where the shared lines are that the thread may read (owner.c), from */
#define READS_ADDR 0x48001000 /* WEFT_READS_ADDR */
#define SPARE 72    /* saved[4], saved[5]: two registers, for a moment */
#define OPERAND 112 /* saved[9], saved[10]: address and access of a miss */

/* The registers that a C function preserves: first of all on the runtime's stack, where signal.c finds them for a handler's
 * context (collectors of garbage look there for pointers). They need not be restored. */
.macro KEEP
        pushq %rbx
        pushq %rbp
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
.endm
/* The general registers that a C function may change, but r11. */
.macro SAVE
        pushq %rax
        pushq %rcx
        pushq %rdx
        pushq %rsi
        pushq %rdi
        pushq %r8
        pushq %r9
        pushq %r10
.endm
.macro RESTORE
        popq %r10
        popq %r9
        popq %r8
        popq %rdi
        popq %rsi
        popq %rdx
        popq %rcx
        popq %rax
.endm
