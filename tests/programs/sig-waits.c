/* Proves: handlers run in threads that wait at a barrier, for a lock with or without a time limit, a spinlock, a routine that runs once,
 * or another thread's end; the wait goes on afterwards, and the replay has every handler at its place. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

/* Whoever waits is let go by its own handler: a handler that comes only after the wait would make it last forever. */
static volatile uint32_t hits;
static volatile int state; /* 1: the other one waits; 2: its handler has run */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once;
static pthread_t waiter;

static void on_signal(int sig) {
    hits += (uint32_t)sig;
    if (state == 1) state = 2;
}
static void until_handled(void) {
    while (state != 2) {
        usleep(1000);
        pthread_kill(waiter, SIGUSR1);
    }
}
static struct timespec later(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += 100;
    return ts;
}

enum { BARRIER, LOCK, TIMEDLOCK, RDLOCK, TIMEDWRLOCK, SPIN, ONCE, JOIN, TIMEDJOIN, KINDS };
static int kind;

static void *other(void *p) {
    if (kind == LOCK || kind == TIMEDLOCK) pthread_mutex_lock(&mutex);
    if (kind == RDLOCK || kind == TIMEDWRLOCK) pthread_rwlock_wrlock(&rw);
    if (kind == SPIN) pthread_spin_lock(&spin);
    pthread_barrier_wait(&barrier);
    until_handled();
    if (kind == LOCK || kind == TIMEDLOCK) pthread_mutex_unlock(&mutex);
    if (kind == RDLOCK || kind == TIMEDWRLOCK) pthread_rwlock_unlock(&rw);
    if (kind == SPIN) pthread_spin_unlock(&spin);
    if (kind == BARRIER) pthread_barrier_wait(&barrier);
    return p;
}
static void slow(void) {
    pthread_barrier_wait(&barrier);
    until_handled();
}
static void *runs_once(void *p) {
    pthread_once(&once, slow);
    return p;
}

int main(void) {
    struct sigaction a;
    uint64_t h = 0;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    sigaction(SIGUSR1, &a, NULL);
    waiter = pthread_self();
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    for (kind = 0; kind < KINDS; kind++) {
        pthread_t t;
        int r = 0;
        struct timespec ts = later();
        once = PTHREAD_ONCE_INIT;
        state = 0;
        pthread_create(&t, NULL, kind == ONCE ? runs_once : other, NULL);
        pthread_barrier_wait(&barrier);
        state = 1;
        switch (kind) {
        case BARRIER: pthread_barrier_wait(&barrier); break;
        case LOCK: r = pthread_mutex_lock(&mutex); break;
        case TIMEDLOCK: r = pthread_mutex_timedlock(&mutex, &ts); break;
        case RDLOCK: r = pthread_rwlock_rdlock(&rw); break;
        case TIMEDWRLOCK: r = pthread_rwlock_timedwrlock(&rw, &ts); break;
        case SPIN: r = pthread_spin_lock(&spin); break;
        case ONCE: r = pthread_once(&once, slow); break;
        case JOIN: r = pthread_join(t, NULL); break;
        case TIMEDJOIN: r = pthread_timedjoin_np(t, NULL, &ts); break;
        }
        h = mix(mix(h, (uint64_t)r), hits);
        printf("%d: %d\n", kind, r);
        if (kind == LOCK || kind == TIMEDLOCK) pthread_mutex_unlock(&mutex);
        if (kind == RDLOCK || kind == TIMEDWRLOCK) pthread_rwlock_unlock(&rw);
        if (kind == SPIN) pthread_spin_unlock(&spin);
        if (kind < JOIN) pthread_join(t, NULL);
    }
    return finish(h);
}
