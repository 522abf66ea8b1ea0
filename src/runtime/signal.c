/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signals: what the program's handlers see, and when.
 *
 * In record the kernel knows only handlers of the runtime. For an asynchronous signal (on_async) it puts the siginfo into
 * the thread's queue, sets the clock's limit to 0, and poisons the thread's id, so that the next check comes to the runtime as well. The program's handler runs where
 * the thread next comes to the runtime at one of these places:
 *
 *   TICK     a tick of instrumented code
 *   ACCESS   an access of instrumented code is about to be made, but for the loops that do not check theirs. (With ticks alone no handler could come between two
 *            accesses of one iteration, and bugs in which it does were never seen.)
 *   RETURN   a wrapper is about to return (weft__return)
 *   BLOCKED  a wrapper was interrupted while it waited, and will wait again (weft__interrupt)
 *   TRAP     a trapped system call is about to return, but for those of libc's own locks: in replay others may come first
 *   FAULT    an instruction failed (SIGSEGV and the like): there, at once
 *
 * A SIGNAL item holds the siginfo, the place, and what the program wanted of that signal (struct signal_item). In replay no
 * signal is involved: a thread that comes to a place looks whether the recording has a SIGNAL item at this tick for it.
 * In both modes: tick; frame; handler; tick. So the handler's memory accesses are at positions of their own, and what
 * follows the place has a fresh tick.
 *
 * The handler runs on the program's stack, below the red zone, or on the program's alternate stack, with a frame that has
 * the same bytes in both modes (weft__handler_call). The general registers in the ucontext are the recorded ones, which a collector of
 * garbage searches for pointers; of an asynchronous signal that is delivered within a call those that the call preserves, the others are
 * zero. What the handler of a fault changes in them is done. The vector registers in it are the initial ones. A handler may leave
 * by longjmp: its level of nesting is found to be dead when the next signal is delivered higher up on the stack.
 *
 * Masks: t->sigmask is what the program sees, in both modes. In record the kernel's mask is the same but for SIGSYS, the
 * faults (so that a fault is always seen here) and the signals that libc and the runtime keep for themselves. A signal that
 * becomes blocked while it is in the queue goes back to the kernel, so that sigpending, sigwait and other threads see it.
 *
 * A handler for SIGSYS, which those who tell of crashes set with the others, is kept and never called: the signal is the runtime's
 * (sud.c), filters of the program's own that would raise it are refused, and so is one that somebody sends.
 *
 * Fatal signals end the recording with a CRASH item and happen again, at the same place, in replay. */
#define _GNU_SOURCE
#include "real.h"
#include "sys_calls.h"
#include <errno.h>
#include <signal.h>
#include <sys/ucontext.h>

#define ORDERS (weft__mode == WEFT_RECORD)
#define BIT(sig) (1ul << ((sig) - 1))
#define KICK 32 /* libc's own for cancellation, which the runtime does itself */
#define FAULTS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP))
#define NEVER_BLOCKED (FAULTS | BIT(SIGSYS) | BIT(SIGKILL) | BIT(SIGSTOP) | BIT(32) | BIT(33))
#define RED_ZONE 128ul
#define SA_RESTORER 0x04000000

int weft__kernel_sigaction(int sig, void *handler, unsigned long flags, uint64_t mask);
void weft__handler_call(void *level, uint64_t sp, void *fn, int sig, void *info, void *context);
void weft__fault_deliver(void);
extern char weft__intr_begin[], weft__intr_at[], weft__intr_abort[];

struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};
static struct kernel_sigaction user[65]; /* what the program asked for; under user_lock */
static int user_lock;
WEFT_HIDDEN int weft__fault_handlers; /* it handles SIGSEGV or SIGBUS now: these may mean that memory is to be made accessible */
WEFT_HIDDEN int weft__handlers; /* the program has handled a signal: waits must be interruptible */

/* The bytes of a SIGNAL item. */
struct signal_item {
    siginfo_t info;
    uint32_t place; /* enum weft_place */
    uint32_t zero;
    uint64_t handler, flags, mask; /* what the program wanted when it was delivered */
    uint64_t regs[NGREG];          /* as the handler finds them, but for rsp */
};
_Static_assert(sizeof(siginfo_t) == 128, "siginfo");

/* What the kernel puts on the stack of a handler, as far as it matters here. */
struct kernel_context {
    unsigned long flags;
    void *link;
    stack_t stack;
    greg_t regs[NGREG];
    void *fpstate;
    uint64_t reserved[8];
    uint64_t mask;
};
_Static_assert(offsetof(struct kernel_context, regs) == offsetof(ucontext_t, uc_mcontext), "context");
_Static_assert(offsetof(struct kernel_context, mask) == offsetof(ucontext_t, uc_sigmask), "context");

/* A handler that runs. deliver.S knows the size and the first two. */
#define LEVELS 32
struct level {
    uint64_t rsp;
    unsigned char *xsave;    /* vector state of what was interrupted */
    unsigned char *context;  /* FAULT: the kernel's context, and the vector state 1024 bytes on */
    uint64_t rt_sp;          /* where the runtime's stack began before */
    uint64_t sp;             /* the handler's own frame lies below */
    uint64_t alt_lo, alt_hi; /* the alternate stack that it runs on; 0, 0: none */
    uint64_t spare[9];
};
_Static_assert(sizeof(struct level) == 128, "deliver.S");

#define QUEUE 64
struct signals {
    struct level level[LEVELS];
    int levels;
    int count;               /* of the queue; written by the thread only, with signals blocked or in on_async */
    siginfo_t queue[QUEUE];
    stack_t alt;             /* the program's */
    int have_alt;
    int suspended;           /* the next handler's end restores this mask (sigsuspend and the like) */
    uint64_t suspended_mask;
    siginfo_t fault;
    uint64_t fault_ip, fault_addr;
    int building;            /* the frame of a fault's handler is being written: that may fail */
};

static uint32_t xsave_size(void) {
    static uint32_t size;
    if (!size) {
        uint32_t a = 0xd, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        size = b < 1024 ? 1024 : (b + 63) & ~63u;
    }
    return size;
}

/* ---- the end of the process ------------------------------------------------------------------------------------- */

void weft__signal_forked(struct weft_thread *t) {
    struct signals *q = t->sigq;
    user_lock = 0;
    q->count = 0;
    __atomic_store_n(&t->sig_pending, 0, __ATOMIC_SEQ_CST);
    t->attention = 0;
    weft__attend(t);
}

/* The process is about to die of `sig` in this thread. */
static void crash(struct weft_thread *t, int sig, uint64_t ip, uint64_t addr, int code) {
    struct weft_crash_item c = {ip, addr, code, 0};
    if (ORDERS) {
        weft__control->last_site = t->last_site;
        weft__control->last_slot = t->slot;
        if (weft__given) weft__look(WEFT_LOOK_END);
        weft__rec_release(t);
        weft__console_settle();
        weft__note_reached(t);
        weft__log_item(t, WEFT_ITEM_CRASH, (uint64_t)sig, &c, sizeof c, NULL, 0);
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_CRASH, sig);
        if (!it) weft__diverged("thread %u dies of signal %d at tick %lu @0x%lx, which the recording does not have", t->slot, sig, t->tls->clock, ip);
        const struct weft_crash_item *was = weft__gate_data(it);
        if (was->ip != ip || was->addr != addr)
            weft__diverged("thread %u dies of signal %d at @0x%lx (address 0x%lx), recorded was @0x%lx (address 0x%lx)", t->slot, sig, ip, addr, was->ip, was->addr);
        weft__gate_finish(t);
        weft__access_end();
    }
    weft__control->exit_kind = WEFT_END_SIGNAL;
    weft__control->exit_code = (uint32_t)sig;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
}

/* ---- masks and the queue ---------------------------------------------------------------------------------------- */

static void kernel_mask(uint64_t m) { weft__raw(SYS_rt_sigprocmask, SIG_SETMASK, &m, 0, 8); }

/* The kernel's mask for what the program sees. In replay nothing is blocked: what comes from outside is not the program's. */
uint64_t weft__signal_kernel_mask(struct weft_thread *t) {
    if (!RECORD) return 0;
    struct signals *q = t->sigq;
    return (q->count == QUEUE ? ~0ul : t->sigmask) & ~NEVER_BLOCKED; /* a full queue takes no more */
}

/* Says what the thread has to look at: sig_pending at ticks (bit 0: a signal; bit 1: cancellation), attention also before
 * it waits. The handlers may interrupt this: they set bits, and what they set them for is looked at after the store. */
WEFT_HIDDEN void weft__attend(struct weft_thread *t) {
    struct signals *q = t->sigq;
    __atomic_store_n(&t->sig_pending, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->attention, 0, __ATOMIC_SEQ_CST);
    int bits = 0, n = q ? __atomic_load_n(&q->count, __ATOMIC_ACQUIRE) : 0;
    for (int i = 0; i < n; i++) bits |= !(t->sigmask & BIT(q->queue[i].si_signo));
    int cancel = __atomic_load_n(&t->cancel_pending, __ATOMIC_SEQ_CST) && !t->cancel_state && !t->cancelled ? 2 : 0;
    int pending = bits | (t->cancel_type ? cancel : 0);
    if (bits | cancel) __atomic_fetch_or(&t->attention, bits | cancel, __ATOMIC_SEQ_CST);
    if (pending) {
        __atomic_fetch_or(&t->sig_pending, pending, __ATOMIC_SEQ_CST);
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_SEQ_CST);
    }
}

/* Gives a signal back to the kernel: to this thread if it was meant for it, else to the process. */
static void give_back(siginfo_t *i) {
    long pid = weft__raw(SYS_getpid);
    if (i->si_code == SI_TKILL)
        weft__raw(SYS_rt_tgsigqueueinfo, pid, weft__raw(SYS_gettid), i->si_signo, i);
    else
        weft__raw(SYS_rt_sigqueueinfo, pid, i->si_signo, i);
}

static void remove_at(struct signals *q, int k) {
    for (int i = k + 1; i < q->count; i++) __builtin_memcpy(&q->queue[i - 1], &q->queue[i], sizeof(siginfo_t));
    q->count--;
}

/* The program's mask becomes m. */
static void set_mask(struct weft_thread *t, uint64_t m) {
    struct signals *q = t->sigq;
    t->sigmask = m & ~(BIT(SIGKILL) | BIT(SIGSTOP));
    if (!RECORD) return;
    kernel_mask(weft__signal_kernel_mask(t));
    int back = 0;
    for (int i = 0; i < q->count; i++) back |= (t->sigmask & BIT(q->queue[i].si_signo)) != 0;
    if (back) {
        kernel_mask(~(BIT(SIGSYS)));
        for (int i = 0; i < q->count;)
            if (t->sigmask & BIT(q->queue[i].si_signo) & ~NEVER_BLOCKED) {
                give_back(&q->queue[i]);
                remove_at(q, i);
            } else
                i++;
        kernel_mask(weft__signal_kernel_mask(t));
    }
    weft__attend(t);
}

/* The next signal to be delivered; 0: none. */
static int take_next(struct weft_thread *t, siginfo_t *out) {
    struct signals *q = t->sigq;
    int sig = 0;
    kernel_mask(~(BIT(SIGSYS)));
    for (int i = 0; i < q->count && !sig; i++)
        if (!(t->sigmask & BIT(q->queue[i].si_signo))) {
            *out = q->queue[i];
            sig = out->si_signo;
            remove_at(q, i);
        }
    kernel_mask(weft__signal_kernel_mask(t));
    weft__attend(t);
    return sig;
}

static void enqueue(struct weft_thread *t, siginfo_t *info, struct kernel_context *c) {
    struct signals *q = t->sigq;
    int have = 0;
    if (info->si_signo < 32)
        for (int i = 0; i < q->count; i++) have |= q->queue[i].si_signo == info->si_signo;
    if (!have && q->count < QUEUE) {
        __builtin_memcpy(&q->queue[q->count], info, sizeof *info);
        __atomic_store_n(&q->count, q->count + 1, __ATOMIC_RELEASE);
    }
    /* Full: no more until one is delivered, which sets the mask again. */
    if (q->count == QUEUE) c->mask |= ~NEVER_BLOCKED;
    if (t->sigmask & BIT(info->si_signo)) return; /* a fault's number, sent by somebody */
    __atomic_fetch_or(&t->attention, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&t->sig_pending, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_SEQ_CST); /* pairs with rearm() in owner.c */
}

/* If a system call of weft__raw_intr was about to begin, it does not. */
static void break_wait(struct kernel_context *c) {
    uint64_t ip = (uint64_t)c->regs[REG_RIP];
    if (ip >= (uint64_t)weft__intr_begin && ip <= (uint64_t)weft__intr_at) c->regs[REG_RIP] = (greg_t)weft__intr_abort;
}

static void on_async(int sig, siginfo_t *info, void *ctx) {
    struct weft_thread *t = weft__self();
    struct kernel_context *c = ctx;
    (void)sig;
    if (!t || !t->sigq || !t->alive || !t->tls) {
        /* A thread that is not there yet, or no more: for somebody else, or for later. */
        c->mask |= BIT(info->si_signo);
        give_back(info);
        return;
    }
    enqueue(t, info, c);
    if (weft__mode == WEFT_RECORD && !t->tls->depth && !t->tls->outside && t->tls->me == t->slot) t->tls->me = WEFT_POISON;
    break_wait(c);
}

/* Somebody cancels this thread: it may be waiting. */
static void on_kick(int sig, siginfo_t *info, void *ctx) {
    struct weft_thread *t = weft__self();
    (void)sig;
    (void)info;
    if (!t || !t->tls || !t->cancel_pending || t->cancel_state || t->cancelled) return;
    __atomic_fetch_or(&t->attention, 2, __ATOMIC_SEQ_CST);
    if (t->cancel_type) {
        __atomic_fetch_or(&t->sig_pending, 2, __ATOMIC_SEQ_CST);
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_SEQ_CST);
    }
    break_wait(ctx);
}

/* ---- delivery --------------------------------------------------------------------------------------------------- */

/* Levels whose handlers have been left by longjmp. */
static void bury(struct weft_thread *t, uint64_t sp) {
    struct signals *q = t->sigq;
    while (q->levels) {
        struct level *l = &q->level[q->levels - 1];
        int alive = l->alt_hi ? sp > l->alt_lo && sp <= l->sp : sp <= l->sp;
        if (alive) return;
        t->tls->rt_sp = (void *)l->rt_sp;
        q->levels--;
    }
}

static struct level *next_level(struct weft_thread *t) {
    struct signals *q = t->sigq;
    if (q->levels == LEVELS) weft__refuse("more than %d signal handlers run inside one another", LEVELS);
    struct level *l = &q->level[q->levels];
    if (!l->xsave) {
        l->xsave = weft__rt_map(xsave_size() + 1024 + xsave_size() + 64);
        l->context = l->xsave + xsave_size();
    }
    return l;
}

/* Runs the program's handler. `given`: FAULT, the context of the failed instruction, changed on return as the handler wants.
 * The thread is inside. */
static void run(struct weft_thread *t, const struct signal_item *it, struct kernel_context *given) {
    struct signals *q = t->sigq;
    uint64_t isp = t->tls->saved[0], top = isp - RED_ZONE;
    int sig = it->info.si_signo, error = *weft__real.__errno_location();
    bury(t, isp);
    struct level *l = next_level(t);
    l->rt_sp = (uint64_t)t->tls->rt_sp;
    l->alt_lo = l->alt_hi = 0;
    if (q->have_alt) {
        uint64_t lo = (uint64_t)q->alt.ss_sp, hi = lo + q->alt.ss_size;
        int on = isp > lo && isp <= hi;
        if ((it->flags & SA_ONSTACK) && !on) top = hi;
        if ((it->flags & SA_ONSTACK) || on) l->alt_lo = lo, l->alt_hi = hi;
    }
    /* From top to bottom: vector state, context, siginfo, the level's number. */
    uint64_t fp = (top - 512) & ~63ul;
    ucontext_t *uc = (ucontext_t *)((fp - sizeof *uc) & ~15ul);
    siginfo_t *info = (siginfo_t *)(((uint64_t)uc - sizeof *info) & ~15ul);
    uint64_t sp = (uint64_t)info - 16;
    l->sp = sp;
    uint64_t old = q->suspended ? q->suspended_mask : t->sigmask, mask = t->sigmask | it->mask;
    if (!(it->flags & SA_NODEFER)) mask |= BIT(sig);
    q->suspended = 0;
    weft__tick(t);
    if (it->flags & SA_RESETHAND) {
        if (RECORD) weft__lock(&user_lock);
        weft__order(t, &user[sig]);
        user[sig].handler = SIG_DFL;
        if (RECORD && !(BIT(sig) & FAULTS)) weft__kernel_sigaction(sig, SIG_DFL, 0, 0);
        if (RECORD) weft__unlock(&user_lock);
        weft__tick(t); /* where the frame lies may be somebody else's */
    }
    weft__take(t, (void *)sp, fp + 512 - sp);
    q->building = given != NULL;
    weft__zero((void *)sp, fp + 512 - sp);
    *(uint64_t *)sp = (uint64_t)q->levels;
    __builtin_memcpy(info, &it->info, sizeof *info);
    uc->uc_flags = 7;
    uc->uc_stack = q->alt;
    if (!q->have_alt) uc->uc_stack.ss_flags = SS_DISABLE;
    *(uint64_t *)&uc->uc_sigmask = old;
    __builtin_memcpy(uc->uc_mcontext.gregs, it->regs, sizeof it->regs);
    if (!given) uc->uc_mcontext.gregs[REG_RSP] = (greg_t)isp;
    uc->uc_mcontext.fpregs = (fpregset_t)fp;
    uc->uc_mcontext.fpregs->cwd = 0x37f;
    uc->uc_mcontext.fpregs->mxcsr = 0x1f80;
    q->building = 0;
    int level = q->levels++;
    set_mask(t, mask);
    int foreign = !weft__in_weft_code(it->handler);
    if (foreign) {
        weft__tick(t);
        weft__outside(t);
    }
    weft__handler_call(l, sp, (void *)it->handler, sig, info, uc);
    if (t->tls->outside) weft__inside(t);
    q->levels = level;
    set_mask(t, *(uint64_t *)&uc->uc_sigmask);
    if (given) {
        for (int i = 0; i < NGREG; i++)
            if ((uint64_t)uc->uc_mcontext.gregs[i] != it->regs[i]) given->regs[i] = uc->uc_mcontext.gregs[i];
    } else if (uc->uc_mcontext.gregs[REG_RSP] != (greg_t)isp || uc->uc_mcontext.gregs[REG_RIP] != (greg_t)it->regs[REG_RIP])
        weft__refuse("a handler of signal %d changes where the program goes on: this cannot be recorded", sig);
    *weft__real.__errno_location() = error;
    weft__tick(t);
}

/* sigsuspend and the like: nothing was delivered after all; the old mask is back anyway. */
WEFT_HIDDEN void weft__signal_settle(struct weft_thread *t) {
    struct signals *q = t->sigq;
    if (likely(!q->suspended)) return;
    q->suspended = 0;
    set_mask(t, q->suspended_mask);
}

/* Accesses within a tick are told apart by their site. */
static int is_at(const struct weft_sched_item *i, int place, uint64_t ip) {
    const struct signal_item *s = weft__gate_data(i);
    return (int)s->place == place && (place != WEFT_AT_ACCESS || s->regs[REG_RIP] == ip);
}

/* Replay: the SIGNAL item that is due here. */
static struct weft_sched_item *recorded(struct weft_thread *t, int place, uint64_t ip) {
    uint64_t now = t->tls->clock;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == now; i++)
        if (i->kind == WEFT_S_INPUT) {
            if (i->item != WEFT_ITEM_SIGNAL || i->size != sizeof(struct signal_item)) return NULL;
            return is_at(i, place, ip) ? i : NULL;
        }
    return NULL;
}

/* A steered run: where the trace has it; a thread that has come beyond that place, at the next tick or call. */
static struct weft_sched_item *given(struct weft_thread *t, int place, uint64_t ip) {
    struct weft_sched_item *i = weft__given_signal(t, place);
    return i && place == WEFT_AT_ACCESS && (i->tick != weft__trace_clock(t) || !is_at(i, place, ip)) ? NULL : i;
}

static int due(struct weft_thread *t, int place, uint64_t ip) {
    if (RECORD) return __atomic_load_n(&t->sig_pending, __ATOMIC_RELAXED) & 1;
    if (weft__given) return given(t, place, ip) != NULL;
    return weft__mode == WEFT_REPLAY && recorded(t, place, ip);
}
WEFT_HIDDEN int weft__signal_due(struct weft_thread *t, int place) { return due(t, place, 0); }

/* The program's registers, as the entries have put them on the runtime's stack (KEEP, and for ticks SAVE, in entry.h). Those of a tick
 * that are dead may hold anything: so they are recorded. */
static void registers(const struct weft_thread *t, int place, uint64_t ip, uint64_t regs[NGREG]) {
    static const unsigned char kept[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};
    static const unsigned char more[] = {REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10};
    const uint64_t *top = t->tls->rt_sp;
    for (unsigned i = 0; i < sizeof kept; i++) regs[kept[i]] = *--top;
    top -= 3; /* rsp, r11, rax: the way back */
    for (unsigned i = 0; i < sizeof more; i++) regs[more[i]] = place == WEFT_AT_TICK || place == WEFT_AT_ACCESS ? *--top : 0;
    regs[REG_RIP] = ip;
}

/* Runs the handlers that are due at this place, one after the other. Returns how many. */
WEFT_HIDDEN int weft__signal_deliver(struct weft_thread *t, int place, uint64_t ip) {
    int n = 0;
    while (due(t, place, ip)) {
        struct signal_item it = {.place = (uint32_t)place};
        int sig;
        if (RECORD) {
            if (!(sig = take_next(t, &it.info))) break;
            weft__lock(&user_lock);
            struct kernel_sigaction k = user[sig];
            weft__unlock(&user_lock);
            if (k.handler == SIG_IGN) continue;
            if (k.handler == SIG_DFL) {
                give_back(&it.info); /* the kernel does what is usual */
                continue;
            }
            it.handler = (uint64_t)k.handler;
            it.flags = k.flags;
            it.mask = k.mask;
            registers(t, place, ip, it.regs);
            weft__log_item(t, WEFT_ITEM_SIGNAL, (uint64_t)sig, &it, sizeof it, NULL, 0);
        } else {
            struct weft_sched_item *i = weft__given ? given(t, place, ip) : recorded(t, place, ip);
            __builtin_memcpy(&it, weft__gate_data(i), sizeof it);
            if (weft__given) {
                weft__given_use(t, i);
                weft__given_sent(i);
                it.place = (uint32_t)place;
                registers(t, place, ip, it.regs);
                weft__log_item(t, WEFT_ITEM_SIGNAL, i->a, &it, sizeof it, NULL, 0);
            } else
                i->kind = 0;
        }
        run(t, &it, NULL);
        n++;
    }
    return n;
}

/* A handler has run in the middle of a loop, which may have the clock in a register (src/pass/clock.cc), as it was before: at its next tick it gets the right one. */
static void clock_went_on(struct weft_thread *t) {
    t->clock_is = t->tls->clock;
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
}

/* A loop without checks has more than one access to lose: it is left at its tick. */
WEFT_HIDDEN void weft__signal_access(struct weft_thread *t, uint64_t site) {
    if (likely(!due(t, WEFT_AT_ACCESS, site)) || t->tls->fast || t->tls->outside) return;
    if (ORDERS) weft__rec_release(t);
    uint64_t region = t->tls->region;
    if (!weft__signal_deliver(t, WEFT_AT_ACCESS, site)) return;
    t->tls->region = region; /* as after the handler of a fault */
    t->nlost = WEFT_LOST + 1;
    clock_went_on(t);
}

/* A wrapper is about to return. */
void weft__return(struct weft_thread *t, int was_outside) {
    if (unlikely(weft__signal_due(t, WEFT_AT_RETURN)))
        weft__signal_deliver(t, WEFT_AT_RETURN, *(uint64_t *)t->tls->saved[0]);
    weft__signal_settle(t);
    weft__leave(t, was_outside);
}

/* A wrapper waited in vain: handlers run, and it waits again at a fresh tick. 0: nothing was due. */
int weft__interrupt(struct weft_thread *t) {
    return weft__signal_due(t, WEFT_AT_BLOCKED) && weft__signal_deliver(t, WEFT_AT_BLOCKED, *(uint64_t *)t->tls->saved[0]);
}

/* From deliver.S, after a trapped system call. */
WEFT_HIDDEN void weft__enter_trap(uint64_t ip) {
    struct weft_thread *t = weft__self();
    int was = t->tls->outside;
    if (was) weft__inside(t);
    weft__signal_deliver(t, WEFT_AT_TRAP, ip);
    weft__signal_settle(t);
    weft__leave(t, was);
}

/* ---- system calls that are interrupted -------------------------------------------------------------------------- */

/* Calls that the kernel begins again after a handler with SA_RESTART; signal(7). */
static int restarts(long nr) {
    switch (nr) {
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev: case SYS_ioctl: case SYS_open: case SYS_openat:
    case SYS_wait4: case SYS_waitid: case SYS_accept: case SYS_accept4: case SYS_connect: case SYS_recvfrom: case SYS_sendto:
    case SYS_recvmsg: case SYS_sendmsg: case SYS_flock: case SYS_fcntl: case SYS_futex: case SYS_getrandom: case SYS_pread64:
    case SYS_pwrite64: return 1;
    default: return 0;
    }
}

/* As the kernel does it: what comes back when call nr was interrupted, or (not begun) is to be interrupted. */
WEFT_HIDDEN long weft__raw_wait(struct weft_thread *t, long nr, const long a[6]) {
    long weft__raw_intr(long nr, const long a[6], const int *attention);
    if (!RECORD) return weft__raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    for (;;) {
        int attention = __atomic_load_n(&t->attention, __ATOMIC_RELAXED), may = t->cancel_point ? 3 : 1;
        /* Cancellation that this call does not heed must not keep it from being made. */
        long r = attention && !(attention & may) ? weft__raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
                                                 : weft__raw_intr(nr, a, &t->attention);
        if (likely(r != -EINTR && r != -513)) return r;
        weft__attend(t);
        attention = __atomic_load_n(&t->attention, __ATOMIC_RELAXED) & may;
        if (!attention) continue; /* a kick that was for nothing */
        if ((attention & 2) && t->cancel_point == 2) return -EINTR;
        if (r == -513 || (attention & 2)) return -WEFT_RESTART;
        struct signals *q = t->sigq;
        int all = restarts(nr);
        for (int i = 0; i < q->count; i++) all &= (user[q->queue[i].si_signo].flags & SA_RESTART) != 0;
        return all ? -WEFT_RESTART : -EINTR;
    }
}

/* ---- synchronous signals ---------------------------------------------------------------------------------------- */

static void die(struct weft_thread *t, int sig, uint64_t ip, siginfo_t *info) {
    static int dying;
    if (!__atomic_exchange_n(&dying, 1, __ATOMIC_ACQ_REL))
        crash(t, sig, ip, (uint64_t)(uintptr_t)info->si_addr, info->si_code);
    else
        for (;;) weft__raw(SYS_pause); /* another thread is dying: it takes the process along */
}

extern const char weft__peek_at[], weft__poke_at[], weft__peek_no[], weft__same_from[], weft__same_to[];
static void on_fault(int sig, siginfo_t *info, void *ctx) {
    struct weft_thread *t = weft__self();
    struct kernel_context *c = ctx;
    uint64_t ip = (uint64_t)c->regs[REG_RIP];
    int same = ip >= (uint64_t)weft__same_from && ip < (uint64_t)weft__same_to;
    if ((ip == (uint64_t)weft__peek_at || ip == (uint64_t)weft__poke_at || same) && info->si_code > 0) {
        c->regs[REG_RIP] = (greg_t)weft__peek_no;
        return;
    }
    struct signals *q = t ? t->sigq : NULL;
    void *handler = q ? user[sig].handler : NULL;
    int has = handler != SIG_DFL && handler != SIG_IGN;
    if (info->si_code <= 0 && q && t->tls && (has || (t->sigmask & BIT(sig)))) {
        enqueue(t, info, c); /* sent by somebody */
        break_wait(c);
        return;
    }
    if (q && q->building) {
        /* No room for the handler's frame: the kernel would kill the process at the instruction that failed. */
        ip = q->fault_ip;
        info = &q->fault;
        has = 0;
    }
    if (has && !t->tls->depth && !(t->sigmask & BIT(sig))) {
        bury(t, (uint64_t)c->regs[REG_RSP]);
        struct level *l = next_level(t);
        /* The context as it is, to go on from; and on to weft__enter_fault, on the runtime's stack. */
        struct kernel_context *k = (struct kernel_context *)l->context;
        __builtin_memcpy(k, c, sizeof *k);
        uint32_t size = 512;
        if (*(uint32_t *)((char *)c->fpstate + 464) == 0x46505853) size = *(uint32_t *)((char *)c->fpstate + 468);
        if (size > xsave_size() + 64) weft__rt_panic("the kernel's vector state is larger than the processor's");
        weft__copy(l->context + 1024, c->fpstate, size);
        k->fpstate = l->context + 1024;
        __builtin_memcpy(&q->fault, info, sizeof *info);
        q->fault_ip = ip;
        c->regs[REG_RIP] = (greg_t)weft__fault_deliver;
        c->regs[REG_EFL] &= ~0x500; /* no direction, no single step */
        return;
    }
    if (t) die(t, sig, ip, info);
    weft__kernel_sigaction(sig, NULL, 0, 0);
    /* Returning does the access again, which now kills the process where it stands. A breakpoint is behind it already. */
    if (info->si_code <= 0 || sig == SIGTRAP || (q && q->building)) weft__raw(SYS_tgkill, weft__raw(SYS_getpid), weft__raw(SYS_gettid), sig);
}

/* Returns the context that the kernel is to go on from. */
WEFT_HIDDEN void *weft__enter_fault(void) {
    struct weft_thread *t = weft__self();
    struct signals *q = t->sigq;
    struct kernel_context *k = (struct kernel_context *)q->level[q->levels].context;
    struct signal_item it = {.place = WEFT_AT_FAULT};
    int was = t->tls->outside, sig = q->fault.si_signo;
    if (ORDERS) weft__rec_release(t);
    if (was) weft__inside(t);
    if (ORDERS) {
        weft__lock(&user_lock);
        struct kernel_sigaction u = user[sig];
        weft__unlock(&user_lock);
        __builtin_memcpy(&it.info, &q->fault, sizeof it.info);
        it.handler = (uint64_t)u.handler;
        it.flags = u.flags;
        it.mask = u.mask;
        __builtin_memcpy(it.regs, k->regs, sizeof it.regs);
        weft__log_item(t, WEFT_ITEM_SIGNAL, (uint64_t)sig, &it, sizeof it, NULL, 0);
    } else {
        struct weft_sched_item *i = recorded(t, WEFT_AT_FAULT, 0);
        if (!i) {
            weft__gate_input(t, WEFT_ITEM_SIGNAL, sig); /* parks if the recording was cut here */
            weft__diverged("thread %u gets signal %d at tick %lu @0x%lx, which the recording does not have", t->slot, sig, t->tls->clock, q->fault_ip);
        }
        i->kind = 0;
        __builtin_memcpy(&it, weft__gate_data(i), sizeof it);
        if (it.info.si_signo != sig || it.regs[REG_RIP] != q->fault_ip || it.info.si_addr != q->fault.si_addr)
            weft__diverged("thread %u gets signal %d at @0x%lx (address 0x%lx), recorded was signal %d at @0x%lx (address 0x%lx)", t->slot, sig,
                           q->fault_ip, (unsigned long)q->fault.si_addr, it.info.si_signo, it.regs[REG_RIP], (unsigned long)it.info.si_addr);
    }
    struct weft_tls_range range[WEFT_RANGES];
    uint8_t fast = t->tls->fast; /* the handler may have loops of its own */
    __builtin_memcpy(range, t->tls->range, sizeof range);
    uint64_t region = t->tls->region;
    t->tls->fast = 0;
    t->tls->region = 0;
    run(t, &it, k);
    __builtin_memcpy(t->tls->range, range, sizeof range);
    t->tls->fast = fast;
    t->tls->region = region;
    t->nlost = WEFT_LOST + 1; /* whatever the handler's loops have looked at, it was not what this one needs */
    /* The instruction is done again, and nothing looks whether its memory is still the thread's: it is taken, up to a line on both sides. And
     * in the copy of a loop without checks, all that the loop touches; and weak locks. */
    uint64_t at = (uint64_t)(uintptr_t)it.info.si_addr & ~(WEFT_LINE - 1ul);
    int memory = (sig == SIGSEGV || sig == SIGBUS) && at >= WEFT_LINE && at < 1ul << 47;
    do {
        if (memory) weft__take(t, (void *)(at - WEFT_LINE), 3ul * WEFT_LINE);
    } while (ORDERS && weft__rec_again(t, 0));
    /* Others of the same kind that somebody sent are delivered at the next place. */
    weft__leave(t, was);
    clock_went_on(t);
    k->mask = weft__signal_kernel_mask(t);
    return k;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

/* t is the main thread, before any of the program's code. What the process was started with is an input, if it is not the
 * usual: signals that are ignored (nohup, a shell's background), and those that are blocked. */
void weft__signal_open(struct weft_thread *t) {
    uint64_t with[2] = {0, 0}; /* ignored, blocked */
    for (int sig = 1; sig < 65; sig++)
        if (FAULTS & BIT(sig)) weft__kernel_sigaction(sig, (void *)on_fault, SA_SIGINFO | SA_ONSTACK, ~(FAULTS | BIT(SIGSYS)));
    weft__tick(t);
    if (RECORD) {
        weft__kernel_sigaction(KICK, (void *)on_kick, SA_SIGINFO | SA_ONSTACK | SA_RESTART, ~(FAULTS | BIT(SIGSYS)));
        for (int sig = 1; sig < 65; sig++) {
            struct kernel_sigaction k = {0};
            if (!(NEVER_BLOCKED & BIT(sig)) && weft__raw(SYS_rt_sigaction, sig, 0, &k, 8) == 0 && k.handler == SIG_IGN)
                with[0] |= BIT(sig);
        }
        weft__raw(SYS_rt_sigprocmask, SIG_BLOCK, 0, &with[1], 8);
        with[1] &= ~NEVER_BLOCKED;
        if (with[0] | with[1]) weft__log_input(t, WEFT_OP_SIGNALS, 0, with, sizeof with);
    } else {
        struct weft_sched_item *i = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_SIGNALS);
        if (i && i->size == 8 + sizeof with) __builtin_memcpy(with, (const char *)weft__gate_data(i) + 8, sizeof with);
    }
    for (int sig = 1; sig < 65; sig++)
        if (with[0] & BIT(sig)) user[sig].handler = SIG_IGN;
    t->sigmask = with[1];
}

/* Before thread c, which t creates, starts; c is t for the main thread. */
WEFT_HIDDEN void weft__signal_born(struct weft_thread *t, struct weft_thread *c) {
    if (!c->sigq) c->sigq = weft__rt_map(sizeof(struct signals));
    struct signals *q = c->sigq;
    q->levels = q->count = q->have_alt = q->suspended = q->building = 0;
    q->alt = (stack_t){0};
    c->sigmask = c == t ? 0 : t->sigmask;
    c->sig_pending = c->attention = 0;
    c->cancel_state = c->cancel_type = c->cancel_pending = c->cancelled = c->streams = c->cut = 0;
}

/* The thread starts. */
WEFT_HIDDEN void weft__signal_begin(struct weft_thread *t) {
    struct signals *q = t->sigq;
    t->tls->saved[1] = (uint64_t)q->level;
    t->tls->saved[2] = 0;
    kernel_mask(weft__signal_kernel_mask(t));
    weft__attend(t);
}

/* ---- system calls ----------------------------------------------------------------------------------------------- */

long weft__sys_sigaction(struct weft_thread *t, const long a[6]) {
    int sig = (int)a[0];
    if (sig < 1 || sig > 64 || a[3] != 8) return -EINVAL;
    struct kernel_sigaction old;
    if (a[1] && (BIT(sig) & (BIT(SIGKILL) | BIT(SIGSTOP)))) return -EINVAL;
    if (a[1]) weft__take(t, (void *)a[1], sizeof old);
    if (a[2]) weft__take(t, (void *)a[2], sizeof old);
    if (a[1] && a[2]) weft__take2(t, (void *)a[2], sizeof old, (void *)a[1], sizeof old);
    /* Its place in the order: a tick of its own, since what was read above is done. */
    struct kernel_sigaction k = {0};
    if (a[1]) k = *(struct kernel_sigaction *)a[1];
    weft__tick(t);
    if (RECORD) weft__lock(&user_lock);
    weft__order(t, &user[sig]);
    old = user[sig];
    if (a[1]) {
        int has = k.handler != SIG_DFL && k.handler != SIG_IGN;
        k.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
        user[sig] = k;
        if (has) weft__handlers = 1;
        weft__fault_handlers = (user[SIGSEGV].handler != SIG_DFL && user[SIGSEGV].handler != SIG_IGN) ||
                               (user[SIGBUS].handler != SIG_DFL && user[SIGBUS].handler != SIG_IGN);
        if (RECORD && !(BIT(sig) & (FAULTS | BIT(SIGSYS) | BIT(32) | BIT(33)))) {
            unsigned long pass = k.flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
            if (has)
                weft__kernel_sigaction(sig, (void *)on_async, SA_SIGINFO | SA_ONSTACK | pass, ~(FAULTS | BIT(SIGSYS)));
            else
                weft__kernel_sigaction(sig, k.handler, pass, 0);
        }
    }
    if (RECORD) weft__unlock(&user_lock);
    if (a[2]) {
        weft__tick(t);
        weft__take(t, (void *)a[2], sizeof old);
        *(struct kernel_sigaction *)a[2] = old;
    }
    return 0;
}

/* As asked, but never SIGSYS. */
long weft__sys_sigprocmask(struct weft_thread *t, const long a[6]) {
    if (a[3] != 8) return -EINVAL;
    uint64_t set = 0, old = t->sigmask, now = old;
    if (a[1]) {
        weft__take(t, (void *)a[1], 8);
        set = *(uint64_t *)a[1];
        switch (a[0]) {
        case SIG_BLOCK: now |= set; break;
        case SIG_UNBLOCK: now &= ~set; break;
        case SIG_SETMASK: now = set; break;
        default: return -EINVAL;
        }
    }
    if (a[2]) {
        weft__take(t, (void *)a[2], 8);
        *(uint64_t *)a[2] = old;
    }
    if (a[1] && now != old) set_mask(t, now);
    return 0;
}

/* The program's own alternate stack; the kernel has the runtime's. */
long weft__sys_sigaltstack(struct weft_thread *t, const long a[6]) {
    struct signals *q = t->sigq;
    uint64_t sp = t->tls->saved[0];
    int on = q->have_alt && sp > (uint64_t)q->alt.ss_sp && sp <= (uint64_t)q->alt.ss_sp + q->alt.ss_size;
    stack_t old = q->alt, now = {0};
    old.ss_flags = q->have_alt ? (on ? SS_ONSTACK : 0) : SS_DISABLE;
    if (a[0]) {
        weft__take(t, (void *)a[0], sizeof now);
        now = *(stack_t *)a[0];
        int flags = now.ss_flags & ~(int)(1u << 31); /* SS_AUTODISARM */
        if (on) return -EPERM;
        if (flags && flags != SS_DISABLE && flags != SS_ONSTACK) return -EINVAL;
        if (flags != SS_DISABLE && now.ss_size < 2048) return -ENOMEM;
        q->have_alt = flags != SS_DISABLE;
        q->alt = q->have_alt ? now : (stack_t){0};
        q->alt.ss_flags = 0;
    }
    if (a[1]) {
        weft__take(t, (void *)a[1], sizeof old);
        *(stack_t *)a[1] = old;
    }
    return 0;
}

static int fatal_by_default(int sig) {
    return sig != SIGCHLD && sig != SIGURG && sig != SIGWINCH && sig != SIGCONT && sig != SIGSTOP && sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU;
}

/* Replay: whether this thread died here. */
static int dies_here(struct weft_thread *t) {
    uint64_t now = t->tls->clock;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == now; i++)
        if (i->kind == WEFT_S_INPUT) return i->item == WEFT_ITEM_CRASH;
    return 0;
}

/* The program sends a signal: done in record only; what is delivered where, SIGNAL items say. One that kills the process is a
 * crash. nr: kill, tkill, tgkill. */
long weft__sys_kill(struct weft_thread *t, long nr, const long a[6]) {
    int sig = (int)(nr == SYS_tgkill ? a[2] : a[1]);
    long pid = weft__raw(SYS_getpid), tid = weft__raw(SYS_gettid);
    int own = a[0] == pid || (nr == SYS_tkill && a[0] == tid), dies;
    if (ORDERS)
        dies = own && sig > 0 && sig < 65 && user[sig].handler == SIG_DFL && fatal_by_default(sig) && !(t->sigmask & BIT(sig) & ~BIT(SIGKILL));
    else
        dies = dies_here(t);
    if (dies) {
        crash(t, sig, 0, 0, 0);
        weft__kernel_sigaction(sig, NULL, 0, 0);
        kernel_mask(0);
        weft__raw(SYS_tgkill, pid, tid, sig);
        for (;;) weft__raw(SYS_pause);
    }
    long r = RECORD ? weft__raw6(nr, a[0], a[1], a[2], 0, 0, 0) : 0;
    if (weft__given) weft__given_send(sig);
    return weft__input(t, (int)nr, r, NULL, 0);
}

/* sigsuspend, ppoll, pselect, epoll_pwait: a mask for the time of the call. In record it counts from before the call, so that
 * what arrives meanwhile is seen to be deliverable. If the call was interrupted, handlers run with that mask, and the first
 * one's end brings the old one back; else the old one is back at once. */
static void mask_begin(struct weft_thread *t, uint64_t mask) {
    struct signals *q = t->sigq;
    q->suspended_mask = t->sigmask;
    if (!RECORD) return;
    t->sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
    weft__attend(t);
}
static long mask_end(struct weft_thread *t, long r, uint64_t mask) {
    struct signals *q = t->sigq;
    if (r == -EINTR) {
        q->suspended = 1;
        t->sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
    } else
        set_mask(t, q->suspended_mask);
    return r;
}

long weft__sys_sigsuspend(struct weft_thread *t, const long a[6]) {
    if (a[1] != 8) return -EINVAL;
    weft__take(t, (void *)a[0], 8);
    uint64_t mask = *(uint64_t *)a[0], kernel = mask & ~NEVER_BLOCKED;
    long r = 0, b[6] = {(long)&kernel, 8};
    weft__tick(t);
    mask_begin(t, mask);
    if (RECORD) {
        weft__outside(t);
        r = weft__raw_wait(t, SYS_rt_sigsuspend, b);
        weft__inside(t);
    }
    return mask_end(t, weft__input(t, SYS_rt_sigsuspend, r, NULL, 0), mask);
}

/* For the calls in sys.c: the mask to hand to the kernel. */
uint64_t *weft__signal_mask_in(struct weft_thread *t, long p, uint64_t *copy, uint64_t *kernel) {
    if (!p) return NULL;
    weft__take(t, (void *)p, 8);
    *copy = *(uint64_t *)p;
    *kernel = *copy & ~NEVER_BLOCKED;
    mask_begin(t, *copy);
    return kernel;
}
long weft__signal_mask_out(struct weft_thread *t, long r, const uint64_t *copy, int given) {
    return given ? mask_end(t, r, *copy) : r;
}

/* ---- libc functions that look at their target on the way -------------------------------------------------------- */

WEFT_HIDDEN int weft__raise(int sig) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    long pid = weft__raw(SYS_getpid), tid = weft__raw(SYS_gettid), r;
    if (t)
        r = weft__sys_kill(t, SYS_tgkill, (long[6]){pid, tid, sig});
    else
        r = weft__raw(SYS_tgkill, pid, tid, sig);
    if (t) weft__return(t, was);
    if (r < 0) *weft__real.__errno_location() = (int)-r;
    return r < 0 ? -1 : 0;
}
WEFT_WRAP(raise, weft__raise);

static int send_thread(pthread_t p, int sig, int queue, union sigval value) {
    int was, r = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return queue ? weft__real.pthread_sigqueue(p, sig, value) : weft__real.pthread_kill(p, sig);
    int dies = ORDERS ? sig > 0 && sig < 65 && user[sig].handler == SIG_DFL && fatal_by_default(sig) && !(t->sigmask & BIT(sig)) : dies_here(t);
    if (dies) weft__sys_kill(t, SYS_tgkill, (long[6]){weft__raw(SYS_getpid), weft__raw(SYS_gettid), sig});
    if (RECORD) r = queue ? weft__real.pthread_sigqueue(p, sig, value) : weft__real.pthread_kill(p, sig);
    if (weft__given) weft__given_send(sig);
    r = (int)weft__input(t, SYS_tgkill, r, NULL, 0);
    weft__return(t, was);
    return r;
}
WEFT_HIDDEN int weft__pthread_kill(pthread_t p, int sig) { return send_thread(p, sig, 0, (union sigval){0}); }
WEFT_HIDDEN int weft__pthread_sigqueue(pthread_t p, int sig, union sigval v) { return send_thread(p, sig, 1, v); }
WEFT_WRAP(pthread_kill, weft__pthread_kill);
WEFT_WRAP(pthread_sigqueue, weft__pthread_sigqueue);
