/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A barrier made of a counter and a condition variable, without a number for the round. Who comes last sets the counter to 0 and wakes the others; whoever is back at the
 * barrier before these have looked has made it 1 again, and they go on waiting. */
// KIND: barrier that is used again before all have left it
// FAILS: threads of two rounds wait for each other
// SHOWS: stuck
// LEAST: all threads, 2 iterations, 0 preemptions
// NATIVE: 1000 in 1000
// ARGS: THREADS=4 ROUNDS=10
// LARGE: 33 10
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER;
static int waiting, threads, rounds;

static void barrier(void) {
    pthread_mutex_lock(&lock);
    if (++waiting == threads) {
        waiting = 0;
        pthread_cond_broadcast(&all_came);
    }
    while (waiting != 0) pthread_cond_wait(&all_came, &lock);
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    for (int i = 0; i < rounds; i++) {
        for (volatile int k = 0; k < 100000; k++) {}
        barrier();
    }
    return arg;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 4;
    rounds = argc > 2 ? atoi(argv[2]) : 10;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
