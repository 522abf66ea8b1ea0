/* Proves: a loop that a signal interrupts goes on with checks when the handler has let go of what it touches. Half of the threads work in their own
 * parts, in long loops; the others send them signals, and look at their parts while the handler waits for them to do so. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <sched.h>
#include <signal.h>

#define PART 8192
static uint64_t field[MAX_THREADS][PART];
static pthread_t who[MAX_THREADS];
static pthread_barrier_t all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for one signal at a time */
static int inside, looked;
static int left; /* of those that send signals */

static void on_signal(int sig) {
    (void)sig;
    __atomic_store_n(&inside, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&looked, __ATOMIC_RELAXED)) sched_yield(); /* meanwhile it has nothing for sure */
    __atomic_store_n(&looked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&inside, 0, __ATOMIC_RELAXED);
}

static NOINLINE void churn(uint64_t *p, long n, uint64_t by) {
    for (long i = 0; i < n; i++) p[i] = p[i] * 3 + by;
}
static NOINLINE uint64_t look(const volatile uint64_t *p, uint64_t h) {
    for (long i = 0; i < 4; i++) h = mix(h, p[h % PART]);
    return h;
}

static uint64_t work(int me) {
    uint64_t h = seed_of(me);
    while (__atomic_load_n(&left, __ATOMIC_RELAXED)) churn(field[me], PART, h += 0x9e3779b97f4a7c15u);
    return h;
}
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    who[me] = pthread_self();
    pthread_barrier_wait(&all);
    if (me && me % 2 == 0) return work(me);
    for (long i = 0; i < rounds && threads > 2; i++) {
        int to = 2 + (int)(h % (uint64_t)((threads - 1) / 2)) * 2;
        pthread_mutex_lock(&lock);
        pthread_kill(who[to], SIGUSR1);
        while (!__atomic_load_n(&inside, __ATOMIC_RELAXED)) sched_yield();
        h = look(field[to], h);
        __atomic_store_n(&looked, 1, __ATOMIC_RELAXED);
        h = look(field[to], h);
        while (__atomic_load_n(&inside, __ATOMIC_RELAXED)) sched_yield();
        pthread_mutex_unlock(&lock);
        for (uint64_t k = (h >> 20) % 100000; k; k--) __asm__ volatile("");
    }
    __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 20);
    signal(SIGUSR1, on_signal);
    left = threads - (threads - 1) / 2;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    uint64_t h = together(cook);
    for (int t = 0; t < threads; t++)
        for (int i = 0; i < PART; i++) h = mix(h, field[t][i]);
    return finish(h);
}
