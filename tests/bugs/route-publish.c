/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A route is put into the table before its next hop is filled in: who looks it up between the two follows a null pointer. */
// KIND: RCU: an object is published before it is whole
// FAILS: a null pointer is followed
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 55 in 1000
// ARGS: READERS=2 ROUTES=200
// LARGE: 9 500
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct hop {
    int port;
};
struct route {
    int metric;
    struct hop *next;
};
static struct route *volatile table[64];
static volatile int stop;
static int routes;

static void *update(void *arg) {
    for (int i = 0; i < routes; i++) {
        struct route *r = calloc(1, sizeof *r);
        struct hop *h = calloc(1, sizeof *h);
        h->port = i + 1;
        r->metric = i;
        table[i % 64] = r; /* old ones are never freed */
        __asm__ volatile("" ::: "memory");
        r->next = h;
    }
    stop = 1;
    return arg;
}

static void *forward(void *arg) {
    long sum = 0;
    while (!stop)
        for (int i = 0; i < 64; i++) {
            struct route *r = table[i];
            if (r) sum += r->next->port;
        }
    *(long *)arg = sum;
    return NULL;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    routes = argc > 2 ? atoi(argv[2]) : 200;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    long *sums = calloc((size_t)readers, sizeof *sums);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, forward, &sums[i]);
    pthread_create(&t[readers], NULL, update, NULL);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(sums);
    free(t);
    return 0;
}
