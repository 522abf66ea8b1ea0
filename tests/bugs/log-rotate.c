/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A log with two buffers. A writer takes a line by an atomic counter and fills it; who finds none left swaps the buffers and flushes the full one, in which a
 * line that was taken may not have been filled yet. */
// KIND: a place is reserved, and counts as filled
// FAILS: an empty line is flushed
// SHOWS: exit 7
// LEAST: 3 threads, 4 iterations, 1 preemption
// NATIVE: 4 in 1000
// ARGS: THREADS=4 LINES=400
// LARGE: 34 10
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 4
static struct buffer {
    _Atomic int taken;
    volatile int line[ROOM];
} two[2];
static struct buffer *_Atomic now = &two[0];
static pthread_mutex_t rotating = PTHREAD_MUTEX_INITIALIZER;
static long flushed;
static int lines;

static void flush(struct buffer *b) {
    for (int i = 0; i < ROOM; i++) {
        if (!b->line[i]) {
            fprintf(stderr, "an empty line is flushed\n");
            exit(7);
        }
        b->line[i] = 0;
        flushed++;
    }
    b->taken = 0;
}

static void put(int text) {
    for (;;) {
        struct buffer *b = now;
        int i = b->taken++;
        if (i < ROOM) {
            b->line[i] = text;
            return;
        }
        pthread_mutex_lock(&rotating);
        if (now == b) {
            now = b == &two[0] ? &two[1] : &two[0];
            flush(b);
        }
        pthread_mutex_unlock(&rotating);
    }
}

static void *writer(void *arg) {
    for (int i = 0; i < lines; i++) put(1 + i);
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    lines = argc > 2 ? atoi(argv[2]) : 400;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, writer, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("%ld lines flushed\n", flushed);
    free(t);
    return 0;
}
