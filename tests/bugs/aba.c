/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock-free stack of free blocks: pop reads the top and its successor and exchanges the top if it is still the same.
 * It may be the same block again, with another successor: ABA. */
// KIND: ABA
// FAILS: a block is taken by two threads
// SHOWS: exit 1
// LEAST: 3 threads, 2 iterations, 1 preemption
// NATIVE: 90 in 1000
// ARGS: THREADS=3 ROUNDS=2000
// LARGE: 34 200
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
    struct block *_Atomic next;
    atomic_int taken;
};

static struct block *_Atomic top;
static int rounds;
static pthread_barrier_t start;

static void push(struct block *b) {
    struct block *was = top;
    do b->next = was;
    while (!atomic_compare_exchange_weak(&top, &was, b));
}

static struct block *pop(void) {
    struct block *b = top;
    while (b && !atomic_compare_exchange_weak(&top, &b, b->next)) continue;
    return b;
}

static void take(struct block *b) {
    if (atomic_exchange(&b->taken, 1)) {
        fprintf(stderr, "a block was taken twice\n");
        exit(1);
    }
}

static void give(struct block *b) {
    b->taken = 0;
    push(b);
}

static void *worker(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        struct block *a = pop();
        if (!a) continue;
        take(a);
        struct block *b = pop();
        if (b) take(b);
        give(a);
        if (b) give(b);
    }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 2000;
    struct block *blocks = calloc((size_t)threads * 2, sizeof *blocks);
    for (int i = 0; i < threads * 2; i++) push(&blocks[i]);
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    free(blocks);
    return 0;
}
