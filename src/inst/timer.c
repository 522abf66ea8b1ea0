/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* timer_create and its family. For a timer that starts threads (SIGEV_THREAD) libc has a helper thread of its own, which weft does
 * not know. Here such a timer is a thread of the program's: it waits on a condition variable until the time has come, and
 * starts a detached thread for each expiry, as libc's helper does, with all signals blocked. So everything about it is ordered,
 * replayed and steered as any other thread. Timers that send signals are the kernel's.
 *
 * The kernel's timers are exact, and a thread that waits is woken up to 50 us late (its timer slack): so these threads have none while they wait. (Of a program
 * that frees what its timer's function uses just when the timer expires, 39 of 60 runs failed with libc, and 7 of 60 without this.)
 *
 * Clocks of processor time cannot be waited for in this way: ENOTSUP, which POSIX has for it. A clock that is set while a timer waits is
 * looked at again only when the timer ends its wait. */
#include "inst.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ll

struct timer {
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t changed;
    int64_t at, every; /* ns of its clock; at 0: not armed */
    int overrun, deleted;
    clockid_t clock;
    pthread_attr_t attr; /* of threads that are started */
    void (*notify)(union sigval);
    union sigval value;
};
struct call {
    void (*notify)(union sigval);
    union sigval value;
};

/* A timer_t is the kernel's number, or a struct timer with the highest bit set. */
#define OWN (1ull << 63)
static struct timer *own(timer_t id) { return (uintptr_t)id & OWN ? (struct timer *)((uintptr_t)id & ~OWN) : NULL; }

static int64_t ns_of(const struct timespec *ts) { return ts->tv_sec * SECOND + ts->tv_nsec; }
static struct timespec timespec_of(int64_t ns) { return (struct timespec){ns / SECOND, ns % SECOND}; }
static int64_t now(clockid_t clock) {
    struct timespec ts = {0};
    clock_gettime(clock, &ts);
    return ns_of(&ts);
}

static void *called(void *arg) {
    __weft_exact(0);
    struct call c = *(struct call *)arg;
    free(arg);
    c.notify(c.value);
    return NULL;
}
/* Without memory or threads an expiry is lost, as with libc. */
static void expire(struct timer *t) {
    struct call *c = malloc(sizeof *c);
    pthread_t id;
    if (!c) return;
    *c = (struct call){t->notify, t->value};
    if (pthread_create(&id, &t->attr, called, c)) free(c);
}

static void *wait_and_expire(void *arg) {
    struct timer *t = arg;
    __weft_exact(1);
    pthread_mutex_lock(&t->lock);
    while (!t->deleted) {
        int64_t left = t->at ? t->at - now(t->clock) : 1;
        if (!t->at)
            pthread_cond_wait(&t->changed, &t->lock);
        else if (left > 0) {
            struct timespec until = timespec_of(now(CLOCK_MONOTONIC) + left);
            pthread_cond_clockwait(&t->changed, &t->lock, CLOCK_MONOTONIC, &until);
        } else {
            int64_t missed = t->every ? -left / t->every : 0;
            t->overrun = missed < INT_MAX ? (int)missed : INT_MAX;
            t->at = t->every ? t->at + (missed + 1) * t->every : 0;
            expire(t);
        }
    }
    pthread_mutex_unlock(&t->lock);
    pthread_attr_destroy(&t->attr);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}

/* What the program asks for its threads, as far as libc heeds it; theirs may be gone when they start. */
static void take_attr(pthread_attr_t *to, const pthread_attr_t *from) {
    size_t size;
    int n;
    struct sched_param p;
    pthread_attr_init(to);
    if (from) {
        if (!pthread_attr_getstacksize(from, &size)) pthread_attr_setstacksize(to, size);
        if (!pthread_attr_getguardsize(from, &size)) pthread_attr_setguardsize(to, size);
        if (!pthread_attr_getinheritsched(from, &n)) pthread_attr_setinheritsched(to, n);
        if (!pthread_attr_getschedpolicy(from, &n)) pthread_attr_setschedpolicy(to, n);
        if (!pthread_attr_getschedparam(from, &p)) pthread_attr_setschedparam(to, &p);
    }
    pthread_attr_setdetachstate(to, PTHREAD_CREATE_DETACHED);
}

static int create_thread_timer(clockid_t clock, const struct sigevent *e, timer_t *id) {
    struct timespec ts;
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    if (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) {
        errno = ENOTSUP;
        return -1;
    }
    if (clock_gettime(clock, &ts)) return -1;
    struct timer *t = calloc(1, sizeof *t);
    if (!t) return -1;
    t->clock = clock;
    t->notify = e->sigev_notify_function;
    t->value = e->sigev_value;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    take_attr(&t->attr, e->sigev_notify_attributes);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread, &attr, wait_and_expire, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (failed) {
        free(t);
        errno = EAGAIN;
        return -1;
    }
    *id = (timer_t)((uintptr_t)t | OWN);
    return 0;
}

WEFT_INST int timer_create(clockid_t clock, struct sigevent *restrict e, timer_t *restrict id) {
    if (e && e->sigev_notify == SIGEV_THREAD) return create_thread_timer(clock, e, id);
    struct sigevent alarm = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    int number;
    if (syscall(SYS_timer_create, clock, e ? e : &alarm, &number) < 0) return -1;
    *id = (timer_t)(intptr_t)number;
    return 0;
}

static struct itimerspec state(const struct timer *t) {
    int64_t left = t->at ? t->at - now(t->clock) : 0;
    return (struct itimerspec){timespec_of(t->every), timespec_of(t->at && left < 1 ? 1 : left)};
}

WEFT_INST int timer_settime(timer_t id, int flags, const struct itimerspec *restrict new, struct itimerspec *restrict old) {
    struct timer *t = own(id);
    if (!t) return (int)syscall(SYS_timer_settime, (int)(intptr_t)id, flags, new, old);
    if (!new || new->it_value.tv_nsec < 0 || new->it_value.tv_nsec >= SECOND || new->it_value.tv_sec < 0 ||
        new->it_interval.tv_nsec < 0 || new->it_interval.tv_nsec >= SECOND || new->it_interval.tv_sec < 0) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&t->lock);
    if (old) *old = state(t);
    t->at = ns_of(&new->it_value);
    t->every = ns_of(&new->it_interval);
    if (t->at && !(flags & TIMER_ABSTIME)) t->at += now(t->clock);
    t->overrun = 0;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

WEFT_INST int timer_gettime(timer_t id, struct itimerspec *value) {
    struct timer *t = own(id);
    if (!t) return (int)syscall(SYS_timer_gettime, (int)(intptr_t)id, value);
    pthread_mutex_lock(&t->lock);
    *value = state(t);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

WEFT_INST int timer_getoverrun(timer_t id) {
    struct timer *t = own(id);
    if (!t) return (int)syscall(SYS_timer_getoverrun, (int)(intptr_t)id);
    pthread_mutex_lock(&t->lock);
    int n = t->overrun;
    pthread_mutex_unlock(&t->lock);
    return n;
}

WEFT_INST int timer_delete(timer_t id) {
    struct timer *t = own(id);
    if (!t) return (int)syscall(SYS_timer_delete, (int)(intptr_t)id);
    pthread_mutex_lock(&t->lock);
    t->deleted = 1;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return 0;
}
