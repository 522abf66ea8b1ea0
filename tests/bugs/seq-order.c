/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sequence number is advanced before the value that belongs to it is written: who sees the new number may take the old value. */
// KIND: atomics that are published in the wrong order
// FAILS: the value of an earlier number
// SHOWS: exit 2
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 40 in 1000
// ARGS: READERS=2 ROUNDS=1000
// LARGE: 9 1000
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long sequence, value;
static int rounds;

static void *publish(void *arg) {
    for (long i = 1; i <= rounds; i++) {
        atomic_store(&sequence, i);
        atomic_store(&value, 10 * i);
    }
    return arg;
}

static void *observe(void *arg) {
    for (long s; (s = atomic_load(&sequence)) < rounds;) {
        long v = atomic_load(&value);
        if (v >= 10 * s) continue;
        fprintf(stderr, "value %ld of number %ld\n", v, s);
        exit(2);
    }
    return arg;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 1000;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, observe, NULL);
    pthread_create(&t[readers], NULL, publish, NULL);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
