/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The position of a moving thing is a pair of 64-bit numbers that belong together. Writers store all 128 bits with one
 * compare-and-exchange; readers copy the two halves, one after the other. */
// KIND: torn 128-bit read
// FAILS: a reader sees halves of two different positions
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 73 in 1000
// ARGS: READERS=2 MOVES=20000
// FLAGS: -mcx16
// LARGE: 33 10
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned __int128 pair;

static union position {
    pair both;
    struct {
        volatile uint64_t x, y; /* y is always 3 x */
    };
} position __attribute__((aligned(16)));

static int moves;
static pthread_barrier_t start;

static void *mover(void *arg) {
    uint64_t x = 0;
    pthread_barrier_wait(&start);
    for (int i = 0; i < moves; i++) {
        pair from = (pair)(3 * x) << 64 | x;
        x++;
        if (!__sync_bool_compare_and_swap(&position.both, from, (pair)(3 * x) << 64 | x)) abort();
        for (volatile int pause = 0; pause < 50; pause++) continue;
    }
    return arg;
}

static void *reader(void *arg) {
    uint64_t *seen = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < moves; i++) {
        uint64_t x = position.x, y = position.y;
        if (y != 3 * x) {
            fprintf(stderr, "position %lu, %lu\n", (unsigned long)x, (unsigned long)y);
            exit(1);
        }
        *seen += x;
        for (volatile int pause = 0; pause < 50; pause++) continue;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    moves = argc > 2 ? atoi(argv[2]) : 20000;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    uint64_t *seen = calloc((size_t)readers * 8, sizeof *seen);
    pthread_barrier_init(&start, NULL, (unsigned)readers + 1);
    pthread_create(&t[readers], NULL, mover, NULL);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, reader, &seen[8 * i]);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(t);
    free(seen);
    return 0;
}
