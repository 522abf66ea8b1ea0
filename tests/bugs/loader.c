/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Each class is loaded by a thread of its own, and the main thread sleeps for as long as that has always taken. With
 * thousands of classes there are thousands of threads. */
// KIND: LEAP Loader: initialization-sleep pattern, thousands of threads
// FAILS: a class is used that is not loaded yet: a null pointer
// SHOWS: signal 11
// LEAST: all threads, all iterations, 0 preemptions
// NATIVE: 772 in 1000
// ARGS: CLASSES=20 BATCHES=3
// LARGE: 1000 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct class {
    char name[24];
    unsigned hash;
};

static struct class **classes;

static void *load(void *arg) {
    size_t number = (size_t)arg;
    struct class *c = calloc(1, sizeof *c);
    snprintf(c->name, sizeof c->name, "class%zu", number);
    for (int round = 0; round < 100; round++) /* verify it */
        for (char *p = c->name; *p; p++) c->hash = c->hash * 31 + (unsigned char)*p;
    classes[number] = c;
    return NULL;
}

static void load_batch(size_t first, size_t n) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 64 << 10);
    for (size_t i = 0; i < n; i++) {
        pthread_t t;
        int error = pthread_create(&t, &detached, load, (void *)(first + i));
        if (error) {
            fprintf(stderr, "thread %zu: error %d\n", first + i, error);
            exit(2);
        }
    }
    pthread_attr_destroy(&detached);
    usleep(200); /* they are all loaded by now */
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atol(argv[1]) : 20;
    size_t batches = argc > 2 ? (size_t)atol(argv[2]) : 3;
    classes = calloc(n * batches, sizeof *classes);
    unsigned sum = 0;
    for (size_t b = 0; b < batches; b++) {
        load_batch(b * n, n);
        for (size_t i = b * n; i < (b + 1) * n; i++) sum += classes[i]->hash;
    }
    printf("%zu classes, %08x\n", n * batches, sum);
    return 0;
}
