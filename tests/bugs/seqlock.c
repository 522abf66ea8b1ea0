/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A clock under a seqlock whose reader does not look at the sequence again after it has read. */
// KIND: seqlock: no second look
// FAILS: seconds and nanoseconds of two times
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 16 in 40
// ARGS: READERS=2 TICKS=2000
// LARGE: 8 2000
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    atomic_uint sequence;
    atomic_long seconds, nanoseconds; /* always the same number here */
} now;
static atomic_int stop;
static int ticks;

static void *advance(void *arg) {
    for (int i = 1; i <= ticks; i++) {
        atomic_fetch_add(&now.sequence, 1);
        atomic_store_explicit(&now.seconds, i, memory_order_relaxed);
        atomic_store_explicit(&now.nanoseconds, i, memory_order_relaxed);
        atomic_fetch_add(&now.sequence, 1);
    }
    stop = 1;
    return arg;
}

static void get(long *s, long *n) {
    while (atomic_load(&now.sequence) & 1) continue;
    *s = atomic_load_explicit(&now.seconds, memory_order_relaxed);
    *n = atomic_load_explicit(&now.nanoseconds, memory_order_relaxed);
}

static void *ask(void *arg) {
    while (!stop) {
        long s, n;
        get(&s, &n);
        assert(s == n);
    }
    return arg;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    ticks = argc > 2 ? atoi(argv[2]) : 2000;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, ask, NULL);
    pthread_create(&t[readers], NULL, advance, NULL);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
