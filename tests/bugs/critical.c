/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock that somebody wrote himself: it waits until the flag is clear and then sets it, in two steps. */
// KIND: LEAP Critical: not-atomic
// FAILS: two threads are in the critical section at once: assertion
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 20 in 1000
// ARGS: THREADS=2 ROUNDS=2000
// LARGE: 10 10
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int busy, inside;
static long served;
static int rounds;
static pthread_barrier_t start;

static void enter(void) {
    while (busy) sched_yield();
    busy = 1;
}

static void leave(void) {
    busy = 0;
}

static void *serve(void *arg) {
    char line[40];
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        enter();
        inside++;
        served += snprintf(line, sizeof line, "request %d", i);
        assert(inside == 1);
        inside--;
        leave();
    }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 2000;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, serve, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("%ld bytes\n", served);
    free(t);
    return 0;
}
