/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Cancellation, waits that it can end, and pthread_once.
 *
 * libc's cancellation is not used: pthread_cancel here sets a flag in the target and, in record, sends it a signal of the
 * runtime's own, which ends the system call that it may wait in (weft__raw_wait). The target acts on the flag at its next
 * cancellation point, which logs an input of op CANCEL and comes after the pthread_cancel; in replay that input is all that
 * counts. Acting means: the wrapper returns at once, weft__switch sees tls.saved[2] and calls libc's pthread_exit on the
 * program's stack as if the caller of the wrapper had (weft__cancel_exit). With asynchronous type ticks are cancellation
 * points, and the thread leaves from there.
 *
 * Waits on condition variables and semaphores are done here in record, because libc goes on waiting when a signal comes. A
 * condition variable is a counter that each signal and broadcast advances (in its first word, which libc's does not need to
 * agree with: all users come here, and in replay nobody waits); waiting is waiting for it to change. Spurious wake-ups are
 * allowed, and happen only when a signal or cancellation arrives. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#define RECORD (weft__mode == WEFT_RECORD)
#define KICK 32
#define FLAG saved[2]
struct weft_thread *weft__thread_of(pthread_t p);

/* ---- acting ----------------------------------------------------------------------------------------------------- */

WEFT_HIDDEN void (*weft__exit_function)(void *);

/* Replay: whether the recording has the thread cancelled here. */
static struct weft_sched_item *recorded(struct weft_thread *t) {
    uint64_t now = t->tls->clock;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == now; i++)
        if (i->kind == WEFT_S_INPUT) return i->item == WEFT_ITEM_INPUT && i->a == WEFT_OP_CANCEL ? i : NULL;
    return NULL;
}

int weft__cancel_due(struct weft_thread *t) {
    if (t->cancelled) return 0;
    if (RECORD) {
        if (likely(!__atomic_load_n(&t->cancel_pending, __ATOMIC_ACQUIRE)) || t->cancel_state) return 0;
        weft__order(t, &t->cancel_pending);
        weft__log_input(t, WEFT_OP_CANCEL, 0, NULL, 0);
    } else {
        struct weft_sched_item *i = recorded(t);
        if (likely(!i)) return 0;
        i->kind = 0;
    }
    t->cancelled = 1;
    t->tls->FLAG = 1;
    weft__attend(t);
    return 1;
}

/* Calls that wait. Trapped ones are made by libc: what it reads and writes for itself must not end there. */
int weft__cancel_nr(long nr, int trapped) {
    switch (nr) {
    case SYS_pause: case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_poll: case SYS_ppoll: case SYS_select:
    case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_rt_sigtimedwait: case SYS_rt_sigsuspend:
    case SYS_wait4: case SYS_waitid: case SYS_accept: case SYS_accept4: case SYS_connect: case SYS_recvfrom: case SYS_sendto:
    case SYS_recvmsg: case SYS_sendmsg: return 1;
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev: case SYS_pread64: case SYS_pwrite64: case SYS_close:
    case SYS_fsync: case SYS_fdatasync: case SYS_open: case SYS_openat: case SYS_fcntl: return !trapped;
    default: return 0;
    }
}

WEFT_HIDDEN int weft__pthread_cancel(pthread_t p) {
    int was, r = 0;
    struct weft_thread *t = weft__enter(&was), *c = weft__thread_of(p);
    if (!t) return weft__real.pthread_cancel(p);
    if (RECORD) {
        if (!c) r = ESRCH;
        if (c) {
            weft__order(t, &c->cancel_pending);
            __atomic_store_n(&c->cancel_pending, 1, __ATOMIC_SEQ_CST);
            int tid = __atomic_load_n(&c->tid, __ATOMIC_SEQ_CST);
            if (c == t)
                weft__attend(t);
            else if (unlikely(weft__given))
                weft__turns_kick(c);
            else if (tid && c->alive)
                weft__raw(SYS_tgkill, weft__raw(SYS_getpid), tid, KICK);
        }
    }
    r = (int)weft__input_if(t, WEFT_OP_OTHER, r, 0);
    if (c == t && t->cancel_type) {
        weft__tick(t);
        if (weft__cancel_due(t)) {
            weft__leave(t, was);
            return 0;
        }
    }
    weft__return(t, was);
    return r;
}
WEFT_WRAP(pthread_cancel, weft__pthread_cancel);

WEFT_HIDDEN void weft__testcancel(void) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) {
        weft__real.pthread_testcancel();
        return;
    }
    if (weft__cancel_due(t))
        weft__leave(t, was);
    else
        weft__return(t, was);
}
WEFT_WRAP(pthread_testcancel, weft__testcancel);

static int set(int *what, int value, int *old, int (*real)(int, int *)) {
    int was;
    struct weft_thread *t = weft__active();
    if (!t) return real(value, old);
    if (value != 0 && value != 1) return EINVAL;
    weft__enter(&was);
    int o = *what;
    *what = value;
    weft__attend(t);
    if (old) {
        weft__take(t, old, sizeof *old);
        *old = o;
        weft__tick(t);
    }
    if (t->cancel_type && weft__cancel_due(t))
        weft__leave(t, was);
    else
        weft__return(t, was);
    return 0;
}
WEFT_HIDDEN int weft__setcancelstate(int state, int *old) {
    struct weft_thread *t = weft__self();
    return set(t ? &t->cancel_state : NULL, state, old, weft__real.pthread_setcancelstate);
}
WEFT_HIDDEN int weft__setcanceltype(int type, int *old) {
    struct weft_thread *t = weft__self();
    return set(t ? &t->cancel_type : NULL, type, old, weft__real.pthread_setcanceltype);
}
WEFT_WRAP(pthread_setcancelstate, weft__setcancelstate);
WEFT_WRAP(pthread_setcanceltype, weft__setcanceltype);

/* The thread is in pthread_exit. */
WEFT_HIDDEN void weft__exiting(void) {
    struct weft_thread *t = weft__active();
    if (!t) return;
    t->cancelled = 1;
    weft__attend(t);
}

/* ---- waits (record) --------------------------------------------------------------------------------------------- */

/* Waits while *word is `value`, until an absolute time; -ETIMEDOUT, -EINTR or -WEFT_RESTART (a signal or, at a cancellation
 * point, cancellation), or 0. */
WEFT_HIDDEN long weft__wait_at(struct weft_thread *t, int point, void *word, uint32_t value, int shared, clockid_t clock, const struct timespec *ts) {
    int op = FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG) | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
    long a[6] = {(long)word, op, (long)value, (long)ts, 0, (long)FUTEX_BITSET_MATCH_ANY};
    t->cancel_point = point;
    long r = weft__raw_wait(t, SYS_futex, a);
    t->cancel_point = 0;
    return r == -EAGAIN ? 0 : r;
}
static long wait_word(struct weft_thread *t, void *word, uint32_t value, int shared, clockid_t clock, const struct timespec *ts) {
    return weft__wait_at(t, 1, word, value, shared, clock, ts);
}

#define COND_SHARED 1
#define COND_MONOTONIC 2
static uint32_t cond_flags(pthread_cond_t *c) { return ((const uint32_t *)c)[9]; } /* what pthread_cond_init was told */

WEFT_HIDDEN clockid_t weft__cond_clock(pthread_cond_t *c) { return cond_flags(c) & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME; }

/* How many wait for condition variables with this hash; more is harmless (a handler may leave a wait for good). Not in the variable:
 * who has been woken may find it gone. */
static uint32_t *cond_waiters(pthread_cond_t *c) {
    static uint32_t waiters[1024];
    return &waiters[((uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15ull) >> 54];
}

/* The thread is about to wait: it counts, then looks at the word; weft__cond_wake changes the word, then looks who counts. Which of
 * the two comes first is an order of its own: a signal that comes too early is lost, and nothing else would tell. */
WEFT_HIDDEN uint32_t weft__cond_begin(struct weft_thread *t, pthread_cond_t *c) {
    __atomic_fetch_add(cond_waiters(c), 1, __ATOMIC_SEQ_CST);
    return weft__rec_order_add(t, c, (uint32_t *)c, 0);
}

/* Gives the mutex up, waits, and has it again. */
WEFT_HIDDEN int weft__cond_block(struct weft_thread *t, pthread_cond_t *c, pthread_mutex_t *m, uint32_t now, clockid_t clock, const struct timespec *ts) {
    uint32_t *word = (uint32_t *)c, *waiters = cond_waiters(c);
    int shared = cond_flags(c) & COND_SHARED, e = ts && (ts->tv_nsec < 0 || ts->tv_nsec > 999999999) ? EINVAL : 0;
    if (clock < 0) clock = weft__cond_clock(c);
    if (!e) e = weft__real.pthread_mutex_unlock(m);
    long r = e ? 0 : ts && ts->tv_sec < 0 ? -ETIMEDOUT : wait_word(t, word, now, shared, clock, ts);
    __atomic_fetch_sub(waiters, 1, __ATOMIC_SEQ_CST);
    if (e) return e;
    e = weft__real.pthread_mutex_lock(m);
    return e ? e : r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

WEFT_HIDDEN int weft__cond_wake(struct weft_thread *t, pthread_cond_t *c, int n) {
    int shared = cond_flags(c) & COND_SHARED;
    weft__rec_order_add(t, c, (uint32_t *)c, 1);
    if (!shared && !__atomic_load_n(cond_waiters(c), __ATOMIC_SEQ_CST)) return 0;
    weft__rec_lend(t, 0);
    weft__raw(SYS_futex, c, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, n);
    weft__rec_back(t);
    return 0;
}

/* libc's semaphore: value in the low half of the first word, how many wait in the high half; then whether it is shared. */
WEFT_HIDDEN int weft__sem_block(struct weft_thread *t, sem_t *s, clockid_t clock, const struct timespec *ts) {
    uint64_t *data = (uint64_t *)s;
    int shared = ((int *)s)[2];
    if (ts && (ts->tv_nsec < 0 || ts->tv_nsec > 999999999)) return EINVAL;
    uint64_t d = __atomic_fetch_add(data, 1ul << 32, __ATOMIC_SEQ_CST) + (1ul << 32);
    int e = 0;
    for (;;) {
        if ((uint32_t)d) {
            if (__atomic_compare_exchange_n(data, &d, d - 1 - (1ul << 32), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 0;
            continue;
        }
        long r = ts && ts->tv_sec < 0 ? -ETIMEDOUT : wait_word(t, data, 0, shared, clock, ts);
        d = __atomic_load_n(data, __ATOMIC_RELAXED);
        if (r == -ETIMEDOUT) e = ETIMEDOUT;
        if (r == -WEFT_RESTART) e = ERESTART;
        if (r == -EINTR) e = EINTR;
        if (e && !(uint32_t)d) break;
        e = 0;
    }
    __atomic_fetch_sub(data, 1ul << 32, __ATOMIC_SEQ_CST);
    return e;
}

/* Until thread c has ended, or an absolute time; EINTR: a signal or cancellation came first. */
WEFT_HIDDEN int weft__join_block(struct weft_thread *t, struct weft_thread *c, clockid_t clock, const struct timespec *ts) {
    if (ts && (ts->tv_nsec < 0 || ts->tv_nsec > 999999999)) return EINVAL;
    while (__atomic_load_n(&c->alive, __ATOMIC_ACQUIRE)) {
        long r = ts && ts->tv_sec < 0 ? -ETIMEDOUT : wait_word(t, &c->alive, 1, 0, clock, ts);
        if (r == -ETIMEDOUT) return ETIMEDOUT;
        if (r < 0) return EINTR;
    }
    return 0;
}

/* libc's barrier begins with two words for its own use, which are zero between rounds as far as libc is concerned, and then how many
 * are to come. Here they are how many have come, and the round; so handlers can run while a thread waits. *round: 0, or the one
 * for which the thread has waited since before a handler. */
WEFT_HIDDEN int weft__barrier_block(struct weft_thread *t, pthread_barrier_t *b, uint64_t *round) {
    uint32_t *word = (uint32_t *)b, count = word[2], now;
    if (!*round) {
        /* More than `count` may come at once: they belong to the rounds that follow. */
        uint64_t was = __atomic_fetch_add((uint64_t *)b, 1, __ATOMIC_ACQ_REL);
        if (((uint32_t)was + 1) % count == 0) {
            __atomic_fetch_add((uint64_t *)b, (1ul << 32) - count, __ATOMIC_ACQ_REL);
            weft__raw(SYS_futex, &word[1], FUTEX_WAKE, INT_MAX);
            return PTHREAD_BARRIER_SERIAL_THREAD;
        }
        *round = 1ul << 32 | (uint32_t)((was >> 32) + (uint32_t)was / count);
    }
    while ((int32_t)((now = __atomic_load_n(&word[1], __ATOMIC_ACQUIRE)) - (uint32_t)*round) <= 0)
        if (weft__wait_at(t, 0, &word[1], now, 1, CLOCK_MONOTONIC, NULL) < 0) return EINTR;
    return 0;
}

/* Steered: who comes waits before the tick at which it leaves. Threads that were removed have come already. */
WEFT_HIDDEN int weft__barrier_steered(struct weft_thread *t, pthread_barrier_t *b) {
    uint32_t *word = (uint32_t *)b, count = word[2], removed = weft__given ? weft__given_barrier(b) : 0, before = UINT32_MAX;
    for (; removed >= count && removed < before; removed = weft__given_barrier(b)) { /* of these, some came to a barrier that was here before */
        before = removed;
        weft__given_round(b);
    }
    count = removed < count ? count - removed : 1;
    uint64_t was = __atomic_fetch_add((uint64_t *)b, 1, __ATOMIC_ACQ_REL);
    if ((uint32_t)was + 1 >= count) {
        if (weft__given) weft__given_round(b);
        __atomic_fetch_add((uint64_t *)b, (1ul << 32) - ((uint32_t)was + 1), __ATOMIC_ACQ_REL);
        weft__steer_wake(b, INT_MAX);
        weft__steer_release(b); /* who destroys it */
        weft__tick(t);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    uint32_t round = (uint32_t)(was >> 32);
    weft__steer_wait_begin(t, WEFT_WAIT_BARRIER, b);
    weft__tick(t);
    while (weft__steer_wait(t, CLOCK_MONOTONIC, NULL)) {
        weft__interrupt(t);
        if (__atomic_load_n(&word[1], __ATOMIC_ACQUIRE) != round) break;
        weft__steer_wait_begin(t, WEFT_WAIT_BARRIER, b);
    }
    return 0;
}

WEFT_HIDDEN int weft__spin_block(struct weft_thread *t, pthread_spinlock_t *l) {
    for (uint32_t i = 1;; i++) {
        int r = weft__real.pthread_spin_trylock(l);
        if (r != EBUSY) return r;
        if (__atomic_load_n(&t->sig_pending, __ATOMIC_RELAXED) & 1) return EINTR;
        if (i % 1024)
            weft__pause();
        else
            weft__raw(SYS_sched_yield);
    }
}

/* Locks that libc waits for: in pieces, so that handlers run. EINTR: one is due. */
#define PIECE 20000000
/* 1: the wait ends before the next piece would. */
WEFT_HIDDEN int weft__piece(clockid_t clock, const struct timespec *end, long length, struct timespec *ts) {
    weft__raw(SYS_clock_gettime, clock, ts);
    ts->tv_nsec += length;
    if (ts->tv_nsec > 999999999) ts->tv_nsec -= 1000000000, ts->tv_sec++;
    int last = end && (end->tv_sec < ts->tv_sec || (end->tv_sec == ts->tv_sec && end->tv_nsec <= ts->tv_nsec));
    if (last || (end && end->tv_nsec > 999999999) || (end && end->tv_nsec < 0)) *ts = *end;
    return last;
}
#define IN_PIECES(whole, clock, end, timed)                                                                            \
    do {                                                                                                               \
        struct timespec ts = {0, 0};                                                                                   \
        if (!weft__handlers) return whole;                                                                             \
        for (;;) {                                                                                                     \
            int last = weft__piece(clock, end, PIECE, &ts), r = timed;                                                              \
            if (r != ETIMEDOUT || last) return r;                                                                      \
            if (t->sig_pending & 1) return EINTR;                                                                      \
        }                                                                                                              \
    } while (0)
#define BLOCK(name, type, lock, clocklock)                                                                             \
    WEFT_HIDDEN int weft__##name##_block(struct weft_thread *t, type *o) {                                             \
        IN_PIECES(weft__real.lock(o), CLOCK_REALTIME, NULL, weft__real.clocklock(o, CLOCK_REALTIME, &ts));              \
    }                                                                                                                  \
    WEFT_HIDDEN int weft__##name##_timed(struct weft_thread *t, type *o, clockid_t clock, const struct timespec *end) { \
        IN_PIECES(weft__real.clocklock(o, clock, end), clock, end, weft__real.clocklock(o, clock, &ts));               \
    }
BLOCK(mutex, pthread_mutex_t, pthread_mutex_lock, pthread_mutex_clocklock)
BLOCK(rdlock, pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_clockrdlock)
BLOCK(wrlock, pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_clockwrlock)

/* ---- pthread_once: the parts that lc_once.c calls on the runtime's stack ------------------------------------------
 * Operations on the object form a chain: somebody begins, and ends or gives up; others find it done. Those who wait are
 * outside and not in the chain. */

#define ONCE_RUNS 1
#define ONCE_DONE 2

/* 1: the caller is to run the routine. */
WEFT_HIDDEN int weft__once_begin(int *o) {
    int was, r = 0;
    WAITS(WEFT_WAIT_ONCE, o, NULL);
    struct weft_thread *t = weft__enter(&was);
    while (t && !RECORD && weft__interrupt(t)) {}
    for (;;) {
        int v = __atomic_load_n(o, __ATOMIC_ACQUIRE);
        if (v == ONCE_DONE) break;
        if (v == 0 && __atomic_compare_exchange_n(o, &v, ONCE_RUNS, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            r = 1;
            break;
        }
        if (v != ONCE_RUNS) continue;
        if (!t || !RECORD) {
            weft__raw(SYS_futex, o, FUTEX_WAIT, v, 0);
            continue;
        }
        if (unlikely(weft__steering) && weft__steers()) {
            if (weft__steer_block(t, WEFT_WAIT_ONCE, o, CLOCK_MONOTONIC, NULL)) weft__interrupt(t);
            continue;
        }
        weft__outside(t);
        long w = weft__wait_at(t, 0, o, (uint32_t)v, 1, CLOCK_MONOTONIC, NULL);
        weft__inside(t);
        if (w < 0) weft__interrupt(t);
    }
    if (!t) return r;
    weft__order(t, o);
    SYNCS(t, o, 0);
    if (r) HOLDS(t, WEFT_WAIT_ONCE, o);
    WAITED(t);
    weft__return(t, was);
    return r;
}
WEFT_HIDDEN void weft__once_end(int *o, int done) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (t) weft__order(t, o);
    if (t) SYNCS(t, o, WEFT_ACCESS_UNLOCK);
    if (t) RELEASES(t, o);
    __atomic_store_n(o, done ? ONCE_DONE : 0, __ATOMIC_RELEASE);
    if (unlikely(weft__steering)) weft__steer_release(o);
    weft__raw(SYS_futex, o, FUTEX_WAKE, INT_MAX);
    if (t) weft__return(t, was);
}

/* ---- C11 threads: glibc's thrd_t is pthread_t ------------------------------------------------------------------- */

int weft__pthread_create(pthread_t *th, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int weft__pthread_join(pthread_t p, void **ret);
int weft__pthread_detach(pthread_t p);

WEFT_HIDDEN int weft__thrd_create(thrd_t *th, thrd_start_t fn, void *arg) {
    int r = weft__pthread_create((pthread_t *)th, NULL, (void *(*)(void *))(void *)fn, arg);
    return r == 0 ? thrd_success : r == ENOMEM ? thrd_nomem : thrd_error;
}
WEFT_HIDDEN int weft__thrd_join(thrd_t p, int *result) {
    void *value = NULL;
    int was, r = weft__pthread_join((pthread_t)p, &value);
    if (r == 0 && result) {
        struct weft_thread *t = weft__enter(&was);
        if (t) weft__take(t, result, sizeof *result);
        *result = (int)(uintptr_t)value;
        if (t) weft__return(t, was);
    }
    return r == 0 ? thrd_success : thrd_error;
}
WEFT_HIDDEN int weft__thrd_detach(thrd_t p) { return weft__pthread_detach((pthread_t)p) ? thrd_error : thrd_success; }
WEFT_WRAP(thrd_create, weft__thrd_create);
WEFT_WRAP(thrd_join, weft__thrd_join);
WEFT_WRAP(thrd_detach, weft__thrd_detach);
