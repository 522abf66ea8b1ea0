/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread that looks itself up in the list of threads, where its creator enters it: after pthread_create, which is too
 * late when the new thread is quick. */
// KIND: order violation at the start of a thread
// FAILS: a thread does not find itself: assertion
// SHOWS: signal 6
// LEAST: 2 threads, 1 iteration, 0 preemptions
// NATIVE: 988 in 1000
// ARGS: THREADS=4 ROUNDS=5
// LARGE: 33 10
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
    pthread_t thread;
    volatile int entered;
    int number;
    char name[24];
    unsigned priority;
};

static struct worker *workers;
static volatile int known;

static struct worker *self(int number) {
    assert(workers[number].entered);
    return &workers[number];
}

static void *run(void *arg) {
    int number = (int)(size_t)arg;
    char buffer[64]; /* what it works with */
    int n = 0;
    for (int i = 0; i < 40; i++) n += snprintf(buffer, sizeof buffer, "worker %d, part %d", number, i);
    struct worker *w = self(number);
    w->priority = (unsigned)n % 10;
    return NULL;
}

static void start(int number) {
    struct worker *w = &workers[number];
    w->entered = 0;
    pthread_create(&w->thread, NULL, run, (void *)(size_t)number);
    w->number = number;
    snprintf(w->name, sizeof w->name, "worker-%d", number);
    w->entered = 1;
    known++;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    workers = calloc((size_t)threads, sizeof *workers);
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < threads; i++) start(i);
        for (int i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
    }
    printf("%d started\n", known);
    free(workers);
    return 0;
}
