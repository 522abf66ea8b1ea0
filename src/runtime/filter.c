/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The net under the wrappers where Syscall User Dispatch is missing (Linux before 5.11, a sandbox that refuses it): a seccomp
 * filter raises the same SIGSYS, for the same handler. Three things are different.
 *
 * A filter cannot be taken off, and stays when the process becomes another program, which has no handler. So it looks at
 * where a call comes from: only those from the places that weft gives to a program (abi.h) are trapped, where the kernel puts
 * nothing by itself. Programs that are linked to an address have no such place and are refused.
 *
 * A filter cannot be told to let calls pass for a while. When the runtime calls libc, with the selector at 0, they are
 * trapped as well, and sent on their way: the thread goes on at a system call instruction in the runtime's own text, with
 * all registers as they are, and a jump from there to where it came from. So a call that returns twice, or on another stack,
 * does so in libc. Each place has an instruction of its own, since no register is free to hold the way back.
 *
 * SIGSYS must have its handler and not be blocked even then: libc blocks all signals when it makes a thread or a process, and
 * gives all of them back their default action before it starts another program. */
#define _GNU_SOURCE
#include "alloc.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <ucontext.h>

#define PLACES 256 /* also in stubs.S */
WEFT_HIDDEN uint64_t weft__pass_back[PLACES]; /* where the instruction at weft__pass_call + 8 i goes back to; written once */
void weft__pass_call(void);
void weft__restorer(void);

static greg_t pass_at(uint64_t back) {
    for (uint32_t i = (uint32_t)(back * 0x9e3779b97f4a7c15ull >> 56), n = 0; n < PLACES; i = (i + 1) % PLACES, n++) {
        uint64_t is = __atomic_load_n(&weft__pass_back[i], __ATOMIC_ACQUIRE);
        if (!is) /* or, if another thread was faster, what it has put there */
            __atomic_compare_exchange_n(&weft__pass_back[i], &is, back, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (!is || is == back)
            return (greg_t)((uint64_t)(uintptr_t)weft__pass_call + 8ul * i);
    }
    weft__rt_panic("libc makes system calls from too many places");
}

void weft__filter_pass(void *ctx) {
    greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
    uint64_t *mask = (uint64_t *)&((ucontext_t *)ctx)->uc_sigmask, old = *mask, sigsys = 1ul << (SIGSYS - 1);
    switch (g[REG_RAX]) {
    case SYS_rt_sigreturn: g[REG_RIP] = (greg_t)(uintptr_t)weft__restorer; return;
    case SYS_rt_sigaction:
        if (g[REG_RDI] != SIGSYS || !g[REG_RSI]) break;
        g[REG_RAX] = 0;
        return;
    case SYS_rt_sigprocmask:
        if (g[REG_RSI]) {
            uint64_t set = *(const uint64_t *)g[REG_RSI];
            switch (g[REG_RDI]) {
            case SIG_BLOCK: set = old | set; break;
            case SIG_UNBLOCK: set = old & ~set; break;
            default: break;
            }
            *mask = set & ~sigsys; /* in force when the handler returns */
        }
        if (g[REG_RDX]) *(uint64_t *)g[REG_RDX] = old;
        g[REG_RAX] = 0;
        return;
    default: break;
    }
    g[REG_RIP] = pass_at((uint64_t)g[REG_RIP]);
}

static int install(const struct sock_fprog *p) {
    long r = weft__raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, p);
    if (r != -EACCES) return (int)r;
    r = weft__raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return r ? (int)r : (int)weft__raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, p);
}

#define HIGH(address) ((uint32_t)((address) >> 32))
void weft__filter_open(uint64_t lo, uint64_t hi) {
    if (weft__program_at < WEFT_HEAP_BASE)
        weft__refuse("this kernel has no Syscall User Dispatch (Linux 5.11); without it, only position-independent programs "
                     "can be recorded (not -no-pie)");
    WEFT_CHECK(HIGH(lo) == HIGH(hi) && lo >= WEFT_PLACE_LOW && hi <= WEFT_PLACE_TOP);
    enum { TRAP = 11, ALLOW = 12 };
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(at, test, k, yes, no) BPF_JUMP(BPF_JMP | test | BPF_K, k, (uint8_t)((yes) - (at) - 1), (uint8_t)((no) - (at) - 1))
    struct sock_filter code[] = {
        /* 0 */ LOAD(arch),
        /* 1 */ IF(1, BPF_JEQ, AUDIT_ARCH_X86_64, 2, ALLOW),
        /* 2 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        /* 3 */ IF(3, BPF_JGT, HIGH(WEFT_PLACE_TOP), ALLOW, 4),
        /* 4 */ IF(4, BPF_JGE, HIGH(WEFT_PLACE_LOW), 7, 5), /* libraries */
        /* 5 */ IF(5, BPF_JGE, HIGH(WEFT_PLACE_BRK_END), ALLOW, 6),
        /* 6 */ IF(6, BPF_JGE, HIGH(WEFT_HEAP_BASE), TRAP, ALLOW), /* what it compiled itself, and the program */
        /* 7 */ IF(7, BPF_JEQ, HIGH(lo), 8, TRAP),
        /* 8 */ LOAD(instruction_pointer),
        /* 9 */ IF(9, BPF_JGE, (uint32_t)hi, TRAP, 10),
        /* 10 */ IF(10, BPF_JGE, (uint32_t)lo, ALLOW, TRAP),
        /* 11 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        /* 12 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof code / sizeof *code, code};
    int r = install(&prog);
    if (r) weft__refuse("this kernel has no Syscall User Dispatch (Linux 5.11), and seccomp filters are refused (error %d)", -r);
}
