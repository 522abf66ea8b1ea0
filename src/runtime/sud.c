/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Syscall User Dispatch: the net under the wrappers. Every system call that is not made from the runtime's own text raises
 * SIGSYS, which is handled on a stack of the runtime's own; the call is done by weft__sys and its result put in rax. It is
 * off in a new thread until turned on, and SIGSYS must never be blocked: weft__sys_sigprocmask sees to that. Where the kernel
 * does not have it, a seccomp filter does the same (filter.c). */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include <signal.h>
#include <ucontext.h>

#define PR_SET_SYSCALL_USER_DISPATCH 59
#define ALT_SIZE (160ul << 10)

void weft__restorer(void);
void weft__own_text(uint64_t *lo, uint64_t *hi);
void weft__trap_deliver(void);
void weft__cancel_exit(void);
void weft__filter_open(uint64_t lo, uint64_t hi);
void weft__filter_pass(void *context);
long weft__sys_trapped(struct weft_thread *t, long nr, const long a[6], uint64_t ip);

struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

int weft__kernel_sigaction(int sig, void *handler, unsigned long flags, uint64_t mask) {
    struct kernel_sigaction k = {handler, flags | 0x04000000 /* SA_RESTORER */, (void *)weft__restorer, mask};
    return (int)weft__raw(SYS_rt_sigaction, sig, &k, 0, 8);
}

static void on_sigsys(int sig, siginfo_t *info, void *ctx) {
    (void)sig;
    if (unlikely(info->si_code <= 0)) weft__refuse("somebody sent SIGSYS, which cannot be recorded: weft needs that signal itself");
    greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
    struct weft_thread *t = weft__self();
    long a[6] = {g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]};
    struct weft_tls *s = &__weft_tls;
    if (unlikely(!s->selector)) {
        weft__filter_pass(ctx);
        return;
    }
    s->depth++;
    s->selector = 0;
    s->saved[0] = (uint64_t)g[REG_RSP];
    long nr = g[REG_RAX], r;
    /* One that leaves no trace is no place for a handler: it may not be made in replay. */
    int trace = !weft__sys_traceless(t, nr, a, (uint64_t)g[REG_RIP], &r);
    if (likely(trace)) r = weft__sys_trapped(t, nr, a, (uint64_t)g[REG_RIP]);
    g[REG_RAX] = r;
    if (unlikely(r == -WEFT_RESTART)) {
        /* The system call instruction is done again, after the handlers. */
        g[REG_RAX] = nr;
        g[REG_RIP] -= 2;
    }
    if (unlikely(t->ends_process)) {
        void exit(int);
        t->ends_process = 0;
        g[REG_RSP] = (g[REG_RSP] & ~15ll) - 8;
        g[REG_RDI] = 0;
        g[REG_RIP] = (greg_t)exit;
    } else if (unlikely(s->saved[2])) {
        /* Cancelled: libc's pthread_exit, as if called from here. */
        s->saved[2] = 0;
        g[REG_RSP] -= 8;
        *(greg_t *)g[REG_RSP] = g[REG_RIP];
        g[REG_RIP] = (greg_t)weft__cancel_exit;
    } else if (trace && unlikely(weft__signal_due(t, WEFT_AT_TRAP))) {
        g[REG_RCX] = g[REG_RIP];
        g[REG_RIP] = (greg_t)weft__trap_deliver;
    } else
        weft__signal_settle(t);
    /* Returning from here sets the kernel's mask: to what the program may have changed it to. */
    *(uint64_t *)&((ucontext_t *)ctx)->uc_sigmask = weft__signal_kernel_mask(t);
    s->selector = weft__selector;
    s->depth--;
}

void weft__sud_open(void) {
    weft__kernel_sigaction(SIGSYS, (void *)on_sigsys, SA_SIGINFO | SA_ONSTACK | SA_NODEFER, 0);
    weft__selector = 1;
}

void weft__sud_thread(struct weft_thread *t) {
    if (!t->alt_stack) t->alt_stack = weft__rt_map(ALT_SIZE); /* for all threads of the slot */
    stack_t ss = {.ss_sp = t->alt_stack, .ss_size = ALT_SIZE};
    weft__raw(SYS_sigaltstack, &ss, 0);
    weft__sud_again(t);
}

int weft__filtered; /* for good, in new threads and forked processes too */

void weft__sud_again(struct weft_thread *t) {
    uint64_t lo, hi;
    if (weft__filtered) return;
    weft__own_text(&lo, &hi);
    if (weft__raw(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, lo, hi - lo, &t->tls->selector) == 0) return;
    weft__filtered = 1;
    weft__filter_open(lo, hi);
}
