/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signals. Fatal ones end the recording with a CRASH item and happen again, at the same place, in replay. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#define RECORD (weft__mode == WEFT_RECORD)
int weft__kernel_sigaction(int sig, void *handler, unsigned long flags, uint64_t mask);
void weft__note_reached(struct weft_thread *t);

struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};
static struct kernel_sigaction user[65]; /* what the program asked for */

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* The process is about to die of `sig` in this thread. */
static void crash(struct weft_thread *t, int sig, uint64_t ip, uint64_t addr, int code) {
    struct weft_crash_item c = {ip, addr, code, 0};
    if (RECORD) {
        weft__rec_release(t);
        weft__note_reached(t);
        weft__log_item(t, WEFT_ITEM_CRASH, (uint64_t)sig, &c, sizeof c, NULL, 0);
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_CRASH, sig);
        if (!it) weft__diverged("thread %u dies of signal %d at tick %lu @0x%lx, which the recording does not have", t->slot, sig, t->tls->clock, ip);
        const struct weft_crash_item *was = weft__gate_data(it);
        if (was->ip != ip || was->addr != addr)
            weft__diverged("thread %u dies of signal %d at @0x%lx (address 0x%lx), recorded was @0x%lx (address 0x%lx)", t->slot, sig, ip, addr, was->ip, was->addr);
        weft__gate_finish(t);
    }
    weft__control->exit_kind = WEFT_END_SIGNAL;
    weft__control->exit_code = (uint32_t)sig;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
}

static void on_fault(int sig, siginfo_t *info, void *ctx) {
    struct weft_thread *t = weft__self();
    greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
    static int dying;
    if (t && !__atomic_exchange_n(&dying, 1, __ATOMIC_ACQ_REL))
        crash(t, sig, (uint64_t)g[REG_RIP], (uint64_t)(uintptr_t)info->si_addr, info->si_code);
    else if (t)
        for (;;) weft__raw(SYS_pause); /* another thread is dying: it takes the process along */
    weft__kernel_sigaction(sig, NULL, 0, 0);
    /* Returning does the access again, which now kills the process where it stands. */
    if (info->si_code <= 0) weft__raw(SYS_tgkill, weft__raw(SYS_getpid), weft__raw(SYS_gettid), sig);
}

void weft__signal_open(void) {
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        weft__kernel_sigaction(faults[i], (void *)on_fault, SA_SIGINFO | SA_ONSTACK, 0);
}

void weft__signal_deliver(struct weft_thread *t) { t->sig_pending = 0; }

long weft__sys_sigaction(struct weft_thread *t, const long a[6]) {
    int sig = (int)a[0];
    if (sig < 1 || sig > 64 || a[3] != 8) return -EINVAL;
    struct kernel_sigaction old = user[sig];
    if (a[1]) {
        weft__take(t, (void *)a[1], sizeof old);
        struct kernel_sigaction k = *(struct kernel_sigaction *)a[1];
        if (k.handler != SIG_DFL && k.handler != SIG_IGN)
            weft__refuse("a handler for signal %d cannot be recorded yet", sig);
        user[sig] = k;
        int fault = 0;
        for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) fault |= faults[i] == sig;
        if (!fault && sig != SIGSYS) weft__kernel_sigaction(sig, k.handler, 0, 0);
    }
    if (a[2]) {
        weft__take(t, (void *)a[2], sizeof old);
        *(struct kernel_sigaction *)a[2] = old;
    }
    return 0;
}

/* As asked, but never SIGSYS. */
long weft__sys_sigprocmask(struct weft_thread *t, const long a[6]) {
    if (a[3] != 8) return -EINVAL;
    uint64_t set = 0, old = 0;
    if (a[1]) {
        weft__take(t, (void *)a[1], 8);
        set = *(uint64_t *)a[1] & ~(1ul << (SIGSYS - 1));
    }
    long r = weft__raw(SYS_rt_sigprocmask, a[0], a[1] ? &set : NULL, &old, 8);
    if (r == 0 && a[2]) {
        weft__take(t, (void *)a[2], 8);
        *(uint64_t *)a[2] = old;
    }
    return r;
}

long weft__sys_sigaltstack(struct weft_thread *t, const long a[6]) {
    (void)t;
    (void)a;
    weft__refuse("sigaltstack cannot be recorded yet");
}

long weft__sys_kill(struct weft_thread *t, long nr, const long a[6]) {
    int sig = (int)(nr == SYS_tgkill ? a[2] : a[1]);
    long self = weft__raw(SYS_getpid), tid = weft__raw(SYS_gettid);
    int to_self = RECORD ? (nr == SYS_kill ? a[0] == self : nr == SYS_tkill ? a[0] == tid : a[1] == tid) : 1;
    if (!to_self && sig) weft__refuse("sending signal %d cannot be recorded yet", sig);
    if (sig == 0) {
        long r = RECORD ? weft__raw6(nr, a[0], a[1], a[2], 0, 0, 0) : 0;
        return weft__input(t, (int)nr, r, NULL, 0);
    }
    if (user[sig].handler == SIG_DFL && sig != SIGCHLD && sig != SIGURG && sig != SIGWINCH && sig != SIGCONT) {
        crash(t, sig, 0, 0, 0);
        weft__kernel_sigaction(sig, NULL, 0, 0);
        uint64_t set = 1ul << (sig - 1);
        weft__raw(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, 0, 8);
        weft__raw(SYS_tgkill, self, tid, sig);
    }
    return 0;
}
