/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A cache whose entries are thrown out by whoever finds them too old. Two threads can find the same one. */
// KIND: double free
// FAILS: an entry is freed twice
// SHOWS: signal 6 or signal 11
// LEAST: 3 threads, 3 iterations, 1 preemption
// NATIVE: 74 in 1000
// ARGS: THREADS=3 ROUNDS=50
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 16, OLD = 3 };

struct entry {
    int age;
    char *text;
};

static struct entry *volatile cache[ENTRIES];
static int rounds;
static pthread_barrier_t start;

static struct entry *entry_new(int number) {
    struct entry *e = malloc(sizeof *e);
    char text[24];
    snprintf(text, sizeof text, "entry %d", number);
    e->age = 0;
    e->text = strdup(text);
    return e;
}

static void entry_free(struct entry *e) {
    free(e->text);
    e->text = NULL;
    free(e);
}

static void expire(int number) {
    struct entry *e = cache[number];
    if (e == NULL || ++e->age < OLD) return;
    entry_free(e);
    cache[number] = entry_new(number);
}

static void *worker(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < ENTRIES; k++) expire(k);
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 50;
    for (int i = 0; i < ENTRIES; i++) cache[i] = entry_new(i);
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < ENTRIES; i++) entry_free(cache[i]);
    free(t);
    return 0;
}
