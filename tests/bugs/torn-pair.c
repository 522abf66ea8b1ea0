/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The best bid and the best ask of a share, copied as a whole by whoever wants them, without a lock: a reader can get the one of this moment and the other of the next. */
// KIND: structure that is copied while it is written, by readers that do nothing else
// FAILS: a quote of two halves
// SHOWS: exit 3
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 280 in 1000
// ARGS: READERS=2 QUOTES=20000
// LARGE: 33 20000
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct quote {
    long bid, size, ask;
};
static struct quote current;
static volatile int closed;
static int quotes;

static void *feed(void *arg) {
    for (long i = 1; i <= quotes; i++) {
        struct quote q = {i, i, i};
        memcpy(&current, &q, sizeof q);
        __asm__ volatile("" ::: "memory");
    }
    closed = 1;
    return arg;
}

static void *watch(void *arg) {
    while (!closed) {
        struct quote q;
        memcpy(&q, &current, sizeof q);
        __asm__ volatile("" ::: "memory");
        if (q.bid == q.ask) continue;
        fprintf(stderr, "a bid of quote %ld, an ask of quote %ld\n", q.bid, q.ask);
        exit(3);
    }
    return arg;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    quotes = argc > 2 ? atoi(argv[2]) : 20000;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, watch, NULL);
    pthread_create(&t[readers], NULL, feed, NULL);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
