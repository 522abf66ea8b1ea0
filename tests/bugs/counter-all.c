/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The twin of counter.c that cannot be made smaller: a run without one of the threads or one of the rounds fails in
 * every order, so no order of such a run passes. */
// KIND: twin of counter that cannot shrink
// FAILS: updates of the counter are lost: assertion
// SHOWS: signal 6
// LEAST: all threads, all iterations, 1 preemption
// NATIVE: 48 in 1000
// ARGS: THREADS=3 ROUNDS=200
// LARGE: 33 10
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static volatile int n;
static int threads, rounds;
static pthread_barrier_t start;

static void *count(void *arg) {
    unsigned *seed = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        for (int k = rand_r(seed) % 8; k > 0; k--) rand_r(seed);
        n++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 200;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    unsigned *seeds = calloc((size_t)threads * 16, sizeof *seeds);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        seeds[16 * i] = (unsigned)i;
        pthread_create(&t[i], NULL, count, &seeds[16 * i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    assert(n == threads * rounds);
    free(t);
    free(seeds);
    return 0;
}
