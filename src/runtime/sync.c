/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mutexes, condition variables, read-write locks, barriers, semaphores, spinlocks, once.
 *
 * One scheme for all: operations on an object form a chain; each comes after the one before it (weft__order). A lock takes
 * its place in the chain when it has the real lock, an unlock before it gives it up, so the chain is the order that
 * happened. In replay a thread waits at the operation's tick until the one before is done, and then does the real thing,
 * which succeeds at once. Results that are not the usual ones are inputs. A thread that would block is outside meanwhile.
 *
 * An attempt that fails, or a wait whose time is over, is in the chain too: who has the lock gives it up after that. (Replay does not need
 * that, since it has the result; a steered run does. It is not one step with the failure: an unlock may come in between.)
 *
 * Waiting on a condition variable is an unlock, and at the next tick a lock; who woke it does not matter, only when it got
 * the mutex back. So in replay signals do nothing and waits do not wait. That a wait began before or after a signal is in the
 * chain of the variable: only a steered run needs it, and who looks for a signal that was lost. Barriers likewise: the chain says that everybody
 * leaves after the last one came.
 *
 * An object in memory that processes share is used where all of them see it, at the back (weft__shm_real), and only in
 * record: in replay the other processes are not there, and order and results are known.
 *
 * Objects are ordered by address; those that live in memory which is freed and used again share a chain, which is
 * harmless. The bytes of the objects are libc's; the program's own accesses to them are checked as any other. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>

#define ENTER(native)                                                                                                  \
    int was;                                                                                                           \
    struct weft_thread *t = weft__enter(&was);                                                                         \
    if (!t) return native;                                                                                             \
    weft__loader_lets(t)
#define LEAVE(r)                                                                                                       \
    do {                                                                                                               \
        WAITED(t);                                                                                                     \
        weft__return(t, was);                                                                                          \
        return r;                                                                                                      \
    } while (0)
/* Cancelled: what is to be delivered, clean-up will see. */
#define LEFT(r)                                                                                                        \
    do {                                                                                                               \
        WAITED(t);                                                                                                     \
        weft__leave(t, was);                                                                                           \
        return r;                                                                                                      \
    } while (0)
#define RECORD (weft__mode == WEFT_RECORD)
/* The real operations of record and replay are different functions of libc, or none: an object that is not there must be
 * missed at one place. */
static inline void touch(const volatile void *o) { (void)*(const volatile char *)o; }
/* `real`: the object, where it is used; common: other processes use it too. */
#define REAL(o)                                                                                                        \
    int common;                                                                                                        \
    touch(o);                                                                                                          \
    __typeof__(o) real = weft__shm_real((const void *)(o), &common)
#define PLAYED (common && !RECORD) /* nothing is done */
/* The result of an operation that hardly fails: replay has it from doing the same, but not where nothing is done. */
static int outcome(struct weft_thread *t, int common, int op, int r) { return common ? (int)weft__input_if(t, op, r, 0) : r; }

/* cancel.c: the waits */
clockid_t weft__cond_clock(pthread_cond_t *c);
uint32_t weft__cond_begin(struct weft_thread *t, pthread_cond_t *c);
int weft__cond_block(struct weft_thread *t, pthread_cond_t *c, pthread_mutex_t *m, uint32_t now, clockid_t clock, const struct timespec *ts);
int weft__cond_wake(struct weft_thread *t, pthread_cond_t *c, int n);
int weft__sem_block(struct weft_thread *t, sem_t *s, clockid_t clock, const struct timespec *ts);
int weft__mutex_block(struct weft_thread *t, pthread_mutex_t *m);
int weft__rdlock_block(struct weft_thread *t, pthread_rwlock_t *l);
int weft__wrlock_block(struct weft_thread *t, pthread_rwlock_t *l);
int weft__mutex_timed(struct weft_thread *t, pthread_mutex_t *m, clockid_t clock, const struct timespec *end);
int weft__rdlock_timed(struct weft_thread *t, pthread_rwlock_t *l, clockid_t clock, const struct timespec *end);
int weft__wrlock_timed(struct weft_thread *t, pthread_rwlock_t *l, clockid_t clock, const struct timespec *end);
int weft__spin_block(struct weft_thread *t, pthread_spinlock_t *l);
int weft__barrier_block(struct weft_thread *t, pthread_barrier_t *b, uint64_t *round);
int weft__barrier_steered(struct weft_thread *t, pthread_barrier_t *b);

/* Copies a deadline in, so that foreign code does not read the program's memory while the thread is outside. */
static const struct timespec *deadline(struct weft_thread *t, const struct timespec *ts, struct timespec *copy) {
    if (!ts) return NULL;
    weft__take(t, ts, sizeof *ts);
    *copy = *ts;
    weft__tick(t); /* that access is done: the thread may go outside at this tick */
    return copy;
}

/* A mutex that checks for errors and is the thread's own: libc says so at once, when it is to be locked again. */
static int answers_at_once(const struct weft_thread *t, const void *o) {
    return weft__mutex_owner(o) == t->tid && (((const int *)o)[4] & 3) == PTHREAD_MUTEX_ERRORCHECK;
}

/* What libc finds out of a thread's priority when it first meets a mutex with a ceiling, and says EINVAL, is there the next time. */
static void ceiling(const void *o, int r) {
    if (unlikely(r == EINVAL) && ((const int *)o)[4] & 64) weft__real.pthread_mutex_trylock((pthread_mutex_t *)o);
}

/* A robust mutex whose owner has ended without giving it up: it is about to be had. */
static int left_behind(const void *o) {
    int owner = weft__mutex_owner(o);
    if (!weft__mutex_robust(o) || !owner) return 0;
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s]->alive && weft__threads[s]->tid == owner) return 0;
    weft__raw(SYS_sched_yield);
    return 1;
}

/* Threads wait for one another under weft's eyes: not for other processes. */
static int steers(int common) { return weft__given || (!common && weft__steers()); }

/* Blocking acquisition: try first; then outside. `r` results that mean "have it": 0 and EOWNERDEAD. */
#define ACQUIRE(try, block, op, kind) ACQUIRE_UNTIL(try, block, op, kind, CLOCK_MONOTONIC, NULL)
#define ACQUIRE_UNTIL(try, block, op, kind, by, until)                                                                   \
    do {                                                                                                               \
        if (RECORD) {                                                                                                  \
            for (;;) {                                                                                                 \
                r = try;                                                                                               \
                if (r != EBUSY && r != EAGAIN) break;                                                                  \
                if (unlikely(weft__steering) && steers(common) && !(kind == WEFT_WAIT_MUTEX && answers_at_once(t, o))) {\
                    if (kind == WEFT_WAIT_MUTEX && left_behind(o)) continue;                                           \
                    r = weft__steer_block(t, kind, (const void *)o, by, until);                                        \
                    if (r == ETIMEDOUT || r == EINVAL) break;                                                          \
                    if (r) weft__interrupt(t);                                                                         \
                    continue;                                                                                          \
                }                                                                                                      \
                t->blocked_on = (const void *)o;                                                                       \
                weft__outside(t);                                                                                      \
                r = block;                                                                                             \
                weft__inside(t);                                                                                       \
                t->blocked_on = NULL;                                                                                  \
                if (r != EINTR) break;                                                                                 \
                weft__interrupt(t); /* handlers run, and it tries again */                                             \
            }                                                                                                          \
            if (r == 0 || r == EOWNERDEAD || r == ETIMEDOUT) weft__order(t, o);                                        \
            weft__input_if(t, op, r, 0);                                                                               \
        } else {                                                                                                       \
            while (weft__interrupt(t)) {}                                                                              \
            r = (int)weft__input_if(t, op, 0, 0);                                                                      \
            if ((r == 0 || r == EOWNERDEAD) && !common) {                                                              \
                t->waiting = 4;                                                                                        \
                int rr = block;                                                                                        \
                t->waiting = 0;                                                                                        \
                if (rr != r)                                                                                           \
                    weft__diverged("thread %u at tick %lu: a lock gave %d, recorded was %d", t->slot, t->tls->clock,   \
                                   rr, r);                                                                             \
            }                                                                                                          \
            if (r == 0 || r == EOWNERDEAD) HOLDS(t, kind, o);                                                          \
            if (kind == WEFT_WAIT_MUTEX && !common) ceiling(o, r);                                                     \
        }                                                                                                              \
    } while (0)

WEFT_HIDDEN int weft__mutex_lock(pthread_mutex_t *o) {
    WAITS(WEFT_WAIT_MUTEX, o, NULL);
    ENTER(WEFT_GETS(o, weft__real.pthread_mutex_lock(o)));
    weft__rec_order_soon(o);
    REAL(o);
    int r;
    ACQUIRE(weft__real.pthread_mutex_trylock(real), RECORD ? weft__mutex_block(t, real) : weft__real.pthread_mutex_lock(real),
            WEFT_OP_MUTEX_LOCK, WEFT_WAIT_MUTEX);
    LEAVE(r);
}
WEFT_WRAP(pthread_mutex_lock, weft__mutex_lock);

WEFT_HIDDEN int weft__mutex_trylock(pthread_mutex_t *o) {
    ENTER(WEFT_GETS(o, weft__real.pthread_mutex_trylock(o)));
    REAL(o);
    int r;
    if (RECORD) {
        r = weft__real.pthread_mutex_trylock(real);
        weft__order(t, o);
        weft__input_if(t, WEFT_OP_MUTEX_TRYLOCK, r, 0);
    } else {
        r = (int)weft__input_if(t, WEFT_OP_MUTEX_TRYLOCK, 0, 0);
        if ((r == 0 || r == EOWNERDEAD) && !common) weft__real.pthread_mutex_lock(real);
        if (r == 0 || r == EOWNERDEAD) HOLDS(t, WEFT_WAIT_MUTEX, o);
        if (!common) ceiling(o, r);
    }
    LEAVE(r);
}
WEFT_WRAP(pthread_mutex_trylock, weft__mutex_trylock);

static int mutex_timed(pthread_mutex_t *o, clockid_t clock, const struct timespec *ts, int with_clock) {
    WAITS(WEFT_WAIT_MUTEX, o, NULL);
    ENTER(WEFT_GETS(o, with_clock ? weft__real.pthread_mutex_clocklock(o, clock, ts) : weft__real.pthread_mutex_timedlock(o, ts)));
    REAL(o);
    int r;
    struct timespec c;
    ts = deadline(t, ts, &c);
    if (RECORD) {
        ACQUIRE_UNTIL(weft__real.pthread_mutex_trylock(real),
                      weft__mutex_timed(t, real, with_clock ? clock : CLOCK_REALTIME, ts),
                      WEFT_OP_MUTEX_TIMEDLOCK, WEFT_WAIT_MUTEX, with_clock ? clock : CLOCK_REALTIME, ts);
    } else
        ACQUIRE(0, weft__real.pthread_mutex_lock(real), WEFT_OP_MUTEX_TIMEDLOCK, WEFT_WAIT_MUTEX);
    LEAVE(r);
}
WEFT_HIDDEN int weft__mutex_timedlock(pthread_mutex_t *o, const struct timespec *ts) { return mutex_timed(o, 0, ts, 0); }
WEFT_HIDDEN int weft__mutex_clocklock(pthread_mutex_t *o, clockid_t c, const struct timespec *ts) {
    return mutex_timed(o, c, ts, 1);
}
WEFT_WRAP(pthread_mutex_timedlock, weft__mutex_timedlock);
WEFT_WRAP(pthread_mutex_clocklock, weft__mutex_clocklock);

WEFT_HIDDEN int weft__mutex_unlock(pthread_mutex_t *o) {
    ENTER(WEFT_GIVES(o, weft__real.pthread_mutex_unlock(o)));
    REAL(o);
    if (unlikely(weft__plan_races) && RECORD) weft__owned(t, real);
    weft__order(t, o);
    int wakes = RECORD && __atomic_load_n((const uint32_t *)(const void *)real, __ATOMIC_RELAXED) > 1; /* somebody waits */
    if (wakes) weft__rec_lend(t, 0);
    SYNCS(t, o, WEFT_ACCESS_UNLOCK); /* before anybody else can have it */
    int r = PLAYED ? 0 : weft__real.pthread_mutex_unlock(real);
    if (wakes) weft__rec_back(t);
    if (unlikely(weft__steering)) weft__steer_release(o);
    r = outcome(t, common, WEFT_OP_MUTEX_UNLOCK, r);
    if (r == 0) RELEASES(t, o);
    LEAVE(r);
}
WEFT_WRAP(pthread_mutex_unlock, weft__mutex_unlock);

/* init, destroy, consistent: short, ordered like the rest. */
#define SIMPLE(name, type, params, args, there)                                                                        \
    WEFT_HIDDEN int weft__##name params {                                                                              \
        ENTER(weft__real.name args);                                                                                   \
        REAL(o);                                                                                                       \
        weft__order(t, o);                                                                                             \
        int r = PLAYED ? 0 : weft__real.name there;                                                                    \
        r = outcome(t, common, WEFT_OP_OTHER, r);                                                                      \
        LEAVE(r);                                                                                                      \
    }                                                                                                                  \
    WEFT_WRAP(name, weft__##name)
SIMPLE(pthread_mutex_init, , (pthread_mutex_t * o, const pthread_mutexattr_t *a), (o, a), (real, a));
SIMPLE(pthread_mutex_destroy, , (pthread_mutex_t * o), (o), (real));
SIMPLE(pthread_mutex_consistent, , (pthread_mutex_t * o), (o), (real));

/* ---- condition variables */

/* The wait has begun: who signals meanwhile finds it. */
static int cond_wait_steered(struct weft_thread *t, pthread_mutex_t *o, pthread_mutex_t *real, clockid_t clock, const struct timespec *ts) {
    int r = ts && (ts->tv_nsec < 0 || ts->tv_nsec > 999999999) ? EINVAL : weft__real.pthread_mutex_unlock(real), e;
    if (r) {
        weft__steer_wait_end(t);
        weft__tick(t);
        return r;
    }
    weft__steer_release(o);
    weft__tick(t);
    r = weft__steer_wait(t, clock, ts);
    while ((e = weft__real.pthread_mutex_trylock(real)) == EBUSY) {
        if (weft__steers())
            weft__steer_block(t, WEFT_WAIT_MUTEX, o, CLOCK_MONOTONIC, NULL);
        else {
            weft__outside(t);
            e = weft__real.pthread_mutex_lock(real);
            weft__inside(t);
            break;
        }
    }
    return e ? e : r == ETIMEDOUT ? r : 0;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *o, int kind, clockid_t clock, const struct timespec *ts) {
    ENTER(WEFT_GIVES(o, WEFT_GETS(o, WEFT_GETS(c, kind == 0   ? weft__real.pthread_cond_wait(c, o)
                                                  : kind == 1 ? weft__real.pthread_cond_timedwait(c, o, ts)
                                                              : weft__real.pthread_cond_clockwait(c, o, clock, ts)))));
    REAL(o);
    touch(c);
    int r = 0, shared;
    struct timespec copy;
    if (weft__cancel_due(t)) LEFT(0);
    ts = deadline(t, ts, &copy);
    pthread_cond_t *real_c = weft__shm_real(c, &shared);
    uint32_t now = 0;
    int steered = unlikely(weft__steering) && steers(common || shared);
    if (steered) {
        weft__order(t, c);
        weft__steer_wait_begin(t, WEFT_WAIT_COND, c);
        if (ts && weft__given) weft__turns_time_out(t, WEFT_OP_COND_WAIT, 2);
    } else if (RECORD)
        now = weft__cond_begin(t, real_c);
    weft__tick(t);     /* one order at a tick: who comes after it must not have to come before another one */
    if (unlikely(weft__plan_races) && RECORD) weft__owned(t, real);
    weft__order(t, o); /* the unlock */
    if (steered) {
        r = cond_wait_steered(t, o, real, kind == 2 ? clock : weft__cond_clock(c), ts);
        weft__order(t, o); /* the lock */
        weft__tick(t);
        if (weft__cancel_due(t)) LEFT(0);
        weft__input_if(t, WEFT_OP_COND_WAIT, r, 0);
    } else if (RECORD) {
        weft__tick(t);
        t->blocked_on = o;
        weft__outside(t);
        r = weft__cond_block(t, real_c, real, now, kind == 2 ? clock : -1, ts);
        weft__inside(t);
        t->blocked_on = NULL;
        weft__order(t, o); /* the lock */
        weft__tick(t);
        if (weft__cancel_due(t)) LEFT(0);
        weft__input_if(t, WEFT_OP_COND_WAIT, r, 0);
    } else {
        SYNCS(t, o, WEFT_ACCESS_UNLOCK);
        int rr = common ? EBUSY : weft__real.pthread_mutex_unlock(real);
        RELEASES(t, o);
        WAITS(WEFT_WAIT_COND, c, o);
        weft__tick(t);
        if (rr == 0) {
            t->waiting = 4;
            weft__real.pthread_mutex_lock(real);
            t->waiting = 0;
        }
        HOLDS(t, WEFT_WAIT_MUTEX, o);
        weft__tick(t);
        if (weft__cancel_due(t)) LEFT(0);
        r = (int)weft__input_if(t, WEFT_OP_COND_WAIT, 0, 0);
    }
    LEAVE(r);
}
WEFT_HIDDEN int weft__cond_wait(pthread_cond_t *c, pthread_mutex_t *m) { return cond_wait(c, m, 0, 0, NULL); }
WEFT_HIDDEN int weft__cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *ts) {
    return cond_wait(c, m, 1, 0, ts);
}
WEFT_HIDDEN int weft__cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t k, const struct timespec *ts) {
    return cond_wait(c, m, 2, k, ts);
}
WEFT_WRAP(pthread_cond_wait, weft__cond_wait);
WEFT_WRAP(pthread_cond_timedwait, weft__cond_timedwait);
WEFT_WRAP(pthread_cond_clockwait, weft__cond_clockwait);

#define COND_NOTIFY(name, n)                                                                                             \
    WEFT_HIDDEN int weft__##name(pthread_cond_t *c) {                                                                  \
        ENTER(WEFT_GIVES(c, weft__real.name(c)));                                                                      \
        REAL(c);                                                                                                       \
        int r = 0;                                                                                                     \
        if (unlikely(weft__given))                                                                                     \
            weft__order(t, c);                                                                                         \
        else if (RECORD)                                                                                               \
            r = weft__cond_wake(t, real, n);                                                                           \
        if (unlikely(weft__steering)) weft__steer_wake(c, n);                                                          \
        SIGNALS(t, WEFT_WAIT_COND, c);                                                                                 \
        LEAVE(r);                                                                                                      \
    }                                                                                                                  \
    WEFT_WRAP(name, weft__##name)
COND_NOTIFY(pthread_cond_signal, 1);
COND_NOTIFY(pthread_cond_broadcast, 0x7fffffff);
SIMPLE(pthread_cond_init, , (pthread_cond_t * o, const pthread_condattr_t *a), (o, a), (real, a));
/* Destroying waits for those who were woken and have not left yet: outside. */
WEFT_HIDDEN int weft__cond_destroy(pthread_cond_t *o) {
    ENTER(weft__real.pthread_cond_destroy(o));
    REAL(o);
    int r = 0;
    if (RECORD) {
        weft__outside(t);
        r = weft__real.pthread_cond_destroy(real);
        weft__inside(t);
    }
    LEAVE(r);
}
WEFT_WRAP(pthread_cond_destroy, weft__cond_destroy);

/* ---- read-write locks */

/* With a baton nobody waits in libc, so libc does not know of a writer that waits; but some locks let no more readers in then, not even those who have the lock
 * already. (A reader that takes such a lock twice is a deadlock, if a writer comes in between.) */
static int writer_first(struct weft_thread *t, const pthread_rwlock_t *real, const void *o) {
    if (likely(!weft__steering) || real->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) return 0;
    if (weft__given) weft__turns_last(t);
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s] != t && weft__threads[s]->alive && weft__threads[s]->writes == o) return 1;
    return 0;
}
static inline int tries(struct weft_thread *t, pthread_rwlock_t *real, const void *o, int kind, int (*try)(pthread_rwlock_t *)) {
    return kind == WEFT_WAIT_RDLOCK && writer_first(t, real, o) ? EBUSY : try(real);
}
/* It waits for the lock, until it has it or does not wait any more; then those may go on who let it go first. */
static inline void wants_it(struct weft_thread *t, int kind, const void *o) {
    if (unlikely(weft__steering) && kind == WEFT_WAIT_WRLOCK) t->writes = o;
}
static inline void wanted_it(struct weft_thread *t, const void *o, int r) {
    if (likely(!t->writes)) return;
    t->writes = NULL;
    if (r && weft__steering) weft__steer_release(o);
}

/* Steered: which threads have the lock, for those who wait for it (turns.c). */
static inline void rwlock_held(struct weft_thread *t, int kind, const void *o, int r) {
    if (unlikely(weft__given) && r == 0) weft__hold_note(t, (uint32_t)kind, o);
}

#define RWLOCK(name, tryname, op, pieces, kind)                                                                        \
    WEFT_HIDDEN int weft__##name(pthread_rwlock_t *o) {                                                                \
        WAITS(kind, o, NULL);                                                                                          \
        ENTER(WEFT_GETS(o, weft__real.name(o)));                                                                       \
        REAL(o);                                                                                                       \
        int r;                                                                                                         \
        wants_it(t, kind, o);                                                                                          \
        ACQUIRE(tries(t, real, o, kind, weft__real.tryname), RECORD ? pieces(t, real) : weft__real.name(real), op, kind);  \
        wanted_it(t, o, r);                                                                                            \
        rwlock_held(t, kind, o, r);                                                                                    \
        LEAVE(r);                                                                                                      \
    }                                                                                                                  \
    WEFT_WRAP(name, weft__##name);                                                                                     \
    WEFT_HIDDEN int weft__##tryname(pthread_rwlock_t *o) {                                                             \
        ENTER(WEFT_GETS(o, weft__real.tryname(o)));                                                                    \
        REAL(o);                                                                                                       \
        int r;                                                                                                         \
        if (RECORD) {                                                                                                  \
            r = tries(t, real, o, kind, weft__real.tryname);                                                           \
            weft__order(t, o);                                                                                         \
            weft__input_if(t, op, r, 0);                                                                               \
            rwlock_held(t, kind, o, r);                                                                                \
        } else {                                                                                                       \
            r = (int)weft__input_if(t, op, 0, 0);                                                                      \
            if (r == 0 && !common) weft__real.name(real);                                                              \
            if (r == 0) HOLDS(t, kind, o);                                                                             \
        }                                                                                                              \
        LEAVE(r);                                                                                                      \
    }                                                                                                                  \
    WEFT_WRAP(tryname, weft__##tryname)
RWLOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, WEFT_OP_RWLOCK_RDLOCK, weft__rdlock_block, WEFT_WAIT_RDLOCK);
RWLOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, WEFT_OP_RWLOCK_WRLOCK, weft__wrlock_block, WEFT_WAIT_WRLOCK);

#define RWTIMED(name, lockname, tryname, op, kind, params, args, timed, clock)                                         \
    WEFT_HIDDEN int weft__##name params {                                                                              \
        WAITS(kind, o, NULL);                                                                                          \
        ENTER(WEFT_GETS(o, weft__real.name args));                                                                                   \
        REAL(o);                                                                                                       \
        int r;                                                                                                         \
        struct timespec copy;                                                                                          \
        ts = deadline(t, ts, &copy);                                                                                   \
        wants_it(t, kind, o);                                                                                          \
        if (RECORD)                                                                                                    \
            ACQUIRE_UNTIL(tries(t, real, o, kind, weft__real.tryname), timed(t, real, clock, ts), op, kind, clock, ts);      \
        else                                                                                                           \
            ACQUIRE(0, weft__real.lockname(real), op, kind);                                                           \
        wanted_it(t, o, r);                                                                                            \
        rwlock_held(t, kind, o, r);                                                                                    \
        LEAVE(r);                                                                                                      \
    }                                                                                                                  \
    WEFT_WRAP(name, weft__##name)
RWTIMED(pthread_rwlock_timedrdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, WEFT_OP_RWLOCK_RDLOCK, WEFT_WAIT_RDLOCK,
        (pthread_rwlock_t * o, const struct timespec *ts), (o, ts), weft__rdlock_timed, CLOCK_REALTIME);
RWTIMED(pthread_rwlock_timedwrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, WEFT_OP_RWLOCK_WRLOCK, WEFT_WAIT_WRLOCK,
        (pthread_rwlock_t * o, const struct timespec *ts), (o, ts), weft__wrlock_timed, CLOCK_REALTIME);
RWTIMED(pthread_rwlock_clockrdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, WEFT_OP_RWLOCK_RDLOCK, WEFT_WAIT_RDLOCK,
        (pthread_rwlock_t * o, clockid_t k, const struct timespec *ts), (o, k, ts), weft__rdlock_timed, k);
RWTIMED(pthread_rwlock_clockwrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, WEFT_OP_RWLOCK_WRLOCK, WEFT_WAIT_WRLOCK,
        (pthread_rwlock_t * o, clockid_t k, const struct timespec *ts), (o, k, ts), weft__wrlock_timed, k);

WEFT_HIDDEN int weft__rwlock_unlock(pthread_rwlock_t *o) {
    ENTER(WEFT_GIVES(o, weft__real.pthread_rwlock_unlock(o)));
    REAL(o);
    if (unlikely(weft__plan_races) && RECORD) weft__owned_rwlock(t, real);
    weft__order(t, o);
    SYNCS(t, o, WEFT_ACCESS_UNLOCK);
    int r = PLAYED ? 0 : weft__real.pthread_rwlock_unlock(real);
    if (unlikely(weft__steering)) weft__steer_release(o);
    r = outcome(t, common, WEFT_OP_RWLOCK_UNLOCK, r);
    if (unlikely(weft__given) && r == 0) weft__release_note(t, o);
    if (r == 0) RELEASES(t, o);
    LEAVE(r);
}
WEFT_WRAP(pthread_rwlock_unlock, weft__rwlock_unlock);

/* ---- barriers */

static int barrier_native(pthread_barrier_t *o) {
    if (likely(!weft__profiles)) return weft__real.pthread_barrier_wait(o);
    uint64_t round = weft__profile_comes(o, ((const uint32_t *)(const void *)o)[2]); /* libc's: in, round, count */
    int r = weft__real.pthread_barrier_wait(o);
    weft__profile_leaves(o, round);
    return r;
}
WEFT_HIDDEN int weft__barrier_wait(pthread_barrier_t *o) {
    ENTER(barrier_native(o));
    REAL(o);
    int r = 0;
    weft__order(t, o); /* came */
    SYNCS(t, o, 0);
    WAITS(WEFT_WAIT_BARRIER, o, NULL);
    if (unlikely(weft__steering) && steers(common)) {
        uint64_t object = (uint64_t)(uintptr_t)o; /* for who removes the thread */
        r = weft__barrier_steered(t, real);
        weft__order(t, o); /* leaves */
        if (weft__given)
            weft__log_input(t, WEFT_OP_BARRIER_WAIT, r, &object, sizeof object);
        else
            weft__input_if(t, WEFT_OP_BARRIER_WAIT, r, 0);
        LEAVE(r);
    }
    weft__tick(t);
    if (RECORD) {
        uint64_t round = 0;
        t->blocked_on = o;
        for (;;) {
            weft__outside(t);
            r = weft__barrier_block(t, real, &round);
            weft__inside(t);
            if (r != EINTR) break;
            weft__interrupt(t);
        }
        t->blocked_on = NULL;
        weft__order(t, o); /* leaves: after all who came */
    } else
        while (weft__interrupt(t)) {}
    SYNCS(t, o, 0);
    r = (int)weft__input_if(t, WEFT_OP_BARRIER_WAIT, r, 0);
    LEAVE(r);
}
WEFT_WRAP(pthread_barrier_wait, weft__barrier_wait);

/* Destroying waits for those who are still there: outside; or, in a run that is steered, as for all that blocks. */
WEFT_HIDDEN int weft__barrier_destroy(pthread_barrier_t *o) {
    WAITS(WEFT_WAIT_BARRIER, o, NULL);
    ENTER(weft__real.pthread_barrier_destroy(o));
    REAL(o);
    int r = 0;
    if (RECORD) {
        while (unlikely(weft__steering) && steers(common) && __atomic_load_n((const uint32_t *)(const void *)real, __ATOMIC_ACQUIRE))
            if (weft__steer_block(t, WEFT_WAIT_BARRIER, real, CLOCK_MONOTONIC, NULL)) weft__interrupt(t);
        t->blocked_on = o;
        weft__outside(t);
        r = weft__real.pthread_barrier_destroy(real);
        weft__inside(t);
        t->blocked_on = NULL;
    } else
        while (weft__interrupt(t)) {}
    weft__order(t, o);
    LEAVE(r);
}
WEFT_WRAP(pthread_barrier_destroy, weft__barrier_destroy);

/* ---- spinlocks */

WEFT_HIDDEN int weft__spin_lock(pthread_spinlock_t *lock) {
    WAITS(WEFT_WAIT_SPIN, (const void *)lock, NULL);
    ENTER(WEFT_GETS((const void *)lock, weft__real.pthread_spin_lock(lock)));
    const void *o = (const void *)lock;
    REAL(lock);
    int r;
    ACQUIRE(weft__real.pthread_spin_trylock(real), RECORD ? weft__spin_block(t, real) : weft__real.pthread_spin_lock(real), WEFT_OP_SPIN_LOCK,
            WEFT_WAIT_SPIN);
    LEAVE(r);
}
WEFT_WRAP(pthread_spin_lock, weft__spin_lock);
WEFT_HIDDEN int weft__spin_trylock(pthread_spinlock_t *lock) {
    ENTER(WEFT_GETS((const void *)lock, weft__real.pthread_spin_trylock(lock)));
    REAL(lock);
    int r;
    if (RECORD) {
        r = weft__real.pthread_spin_trylock(real);
        weft__order(t, (const void *)lock);
        weft__input_if(t, WEFT_OP_SPIN_LOCK, r, 0);
    } else {
        r = (int)weft__input_if(t, WEFT_OP_SPIN_LOCK, 0, 0);
        if (r == 0 && !common) weft__real.pthread_spin_lock(real);
        if (r == 0) HOLDS(t, WEFT_WAIT_SPIN, (const void *)lock);
    }
    LEAVE(r);
}
WEFT_WRAP(pthread_spin_trylock, weft__spin_trylock);
WEFT_HIDDEN int weft__spin_unlock(pthread_spinlock_t *lock) {
    ENTER(WEFT_GIVES((const void *)lock, weft__real.pthread_spin_unlock(lock)));
    REAL(lock);
    weft__order(t, (const void *)lock);
    SYNCS(t, lock, WEFT_ACCESS_UNLOCK);
    int r = PLAYED ? 0 : weft__real.pthread_spin_unlock(real);
    if (unlikely(weft__steering)) weft__steer_release((const void *)lock);
    RELEASES(t, (const void *)lock);
    LEAVE(r);
}
WEFT_WRAP(pthread_spin_unlock, weft__spin_unlock);

/* ---- semaphores: results are -1 with errno */

#define ERRNO (*weft__real.__errno_location())

static int sem_wait_any(sem_t *o, int kind, clockid_t clock, const struct timespec *ts) {
    WAITS(WEFT_WAIT_SEM, o, NULL);
    ENTER(WEFT_GETS(o, kind == 0   ? weft__real.sem_wait(o)
                       : kind == 1 ? weft__real.sem_trywait(o)
                       : kind == 2 ? weft__real.sem_timedwait(o, ts)
                                   : weft__real.sem_clockwait(o, clock, ts)));
    REAL(o);
    int e = 0; /* errno of a failure */
    struct timespec copy;
    ts = deadline(t, ts, &copy);
again:
    if (kind != 1 && weft__cancel_due(t)) LEFT(0);
    if (!RECORD && weft__interrupt(t)) goto again;
    if (RECORD) {
        int saved = ERRNO;
        if (weft__real.sem_trywait(real) != 0) {
            e = ERRNO;
            if (unlikely(weft__steering) && steers(common) && kind != 1 && e == EAGAIN) {
                ERRNO = saved;
                e = weft__steer_block(t, WEFT_WAIT_SEM, o, kind == 3 ? clock : CLOCK_REALTIME, ts);
                if (e == ERESTART || (e == EINTR && weft__given)) weft__interrupt(t);
                if (!e || e == ERESTART || (e == EINTR && weft__given)) {
                    e = 0;
                    goto again;
                }
            } else if (kind != 1 && e == EAGAIN) {
                t->blocked_on = o;
                weft__outside(t);
                e = weft__sem_block(t, real, kind == 3 ? clock : CLOCK_REALTIME, ts);
                weft__inside(t);
                t->blocked_on = NULL;
            }
        }
        ERRNO = saved;
        if (e == ERESTART) {
            e = 0;
            weft__interrupt(t);
            goto again;
        }
        weft__order(t, o);
    }
    e = (int)weft__input_if(t, WEFT_OP_SEM_WAIT, e, 0);
    if (!RECORD && !e && !common) {
        t->waiting = 4;
        while (weft__real.sem_wait(real) != 0) {}
        t->waiting = 0;
    }
    if (!e) SYNCS(t, o, 0);
    if (e) ERRNO = e;
    LEAVE(e ? -1 : 0);
}
WEFT_HIDDEN int weft__sem_wait(sem_t *o) { return sem_wait_any(o, 0, 0, NULL); }
WEFT_HIDDEN int weft__sem_trywait(sem_t *o) { return sem_wait_any(o, 1, 0, NULL); }
WEFT_HIDDEN int weft__sem_timedwait(sem_t *o, const struct timespec *ts) { return sem_wait_any(o, 2, 0, ts); }
WEFT_HIDDEN int weft__sem_clockwait(sem_t *o, clockid_t c, const struct timespec *ts) { return sem_wait_any(o, 3, c, ts); }
WEFT_WRAP(sem_wait, weft__sem_wait);
WEFT_WRAP(sem_trywait, weft__sem_trywait);
WEFT_WRAP(sem_timedwait, weft__sem_timedwait);
WEFT_WRAP(sem_clockwait, weft__sem_clockwait);

WEFT_HIDDEN int weft__sem_post(sem_t *o) {
    ENTER(WEFT_GIVES(o, weft__real.sem_post(o)));
    REAL(o);
    weft__order(t, o);
    SYNCS(t, o, 0);
    int r = PLAYED ? 0 : weft__real.sem_post(real);
    if (unlikely(weft__steering)) weft__steer_release(o);
    SIGNALS(t, WEFT_WAIT_SEM, o);
    LEAVE(r);
}
WEFT_WRAP(sem_post, weft__sem_post);

WEFT_HIDDEN int weft__sem_getvalue(sem_t *o, int *out) {
    ENTER(weft__real.sem_getvalue(o, out));
    REAL(o);
    int v = 0;
    weft__real.sem_getvalue(real, &v);
    v = (int)weft__result(t, WEFT_OP_SEM_POST, v, NULL, 0);
    weft__take(t, out, sizeof *out);
    *out = v;
    LEAVE(0);
}
WEFT_WRAP(sem_getvalue, weft__sem_getvalue);

/* ---- C11 threads: glibc's types are the pthread ones */

static int c11(int r) {
    return r == 0 ? thrd_success : r == ETIMEDOUT ? thrd_timedout : r == EBUSY ? thrd_busy : r == ENOMEM ? thrd_nomem : thrd_error;
}
WEFT_HIDDEN int weft__mtx_lock(mtx_t *m) { return c11(weft__mutex_lock((pthread_mutex_t *)m)); }
WEFT_HIDDEN int weft__mtx_trylock(mtx_t *m) { return c11(weft__mutex_trylock((pthread_mutex_t *)m)); }
WEFT_HIDDEN int weft__mtx_unlock(mtx_t *m) { return c11(weft__mutex_unlock((pthread_mutex_t *)m)); }
WEFT_HIDDEN int weft__mtx_timedlock(mtx_t *m, const struct timespec *ts) { return c11(weft__mutex_timedlock((pthread_mutex_t *)m, ts)); }
WEFT_HIDDEN int weft__cnd_wait(cnd_t *c, mtx_t *m) { return c11(cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m, 0, 0, NULL)); }
WEFT_HIDDEN int weft__cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *ts) {
    return c11(cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m, 1, 0, ts));
}
WEFT_HIDDEN int weft__cnd_signal(cnd_t *c) { return c11(weft__pthread_cond_signal((pthread_cond_t *)c)); }
WEFT_HIDDEN int weft__cnd_broadcast(cnd_t *c) { return c11(weft__pthread_cond_broadcast((pthread_cond_t *)c)); }
WEFT_HIDDEN void weft__cnd_destroy(cnd_t *c) { weft__cond_destroy((pthread_cond_t *)c); }
WEFT_WRAP(mtx_lock, weft__mtx_lock);
WEFT_WRAP(mtx_trylock, weft__mtx_trylock);
WEFT_WRAP(mtx_unlock, weft__mtx_unlock);
WEFT_WRAP(mtx_timedlock, weft__mtx_timedlock);
WEFT_WRAP(cnd_wait, weft__cnd_wait);
WEFT_WRAP(cnd_timedwait, weft__cnd_timedwait);
WEFT_WRAP(cnd_signal, weft__cnd_signal);
WEFT_WRAP(cnd_broadcast, weft__cnd_broadcast);
WEFT_WRAP(cnd_destroy, weft__cnd_destroy);
