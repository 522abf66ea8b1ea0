/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Each thread keeps the size of a shared table, and looks under the lock whether the table is still the same. Then it reads the table without
 * the lock: it may be another one by then. */
// KIND: thread-local copy that is stale
// FAILS: what is read is beyond the end of the table
// SHOWS: exit 1
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 18 in 1000
// ARGS: THREADS=3 ROUNDS=1000
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 32, WORD = 1234 };

struct table {
    int generation, size;
    int data[ROOM];
};

static struct table *volatile shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int known_generation = -1, known_size;
static int rounds;

static struct table *table_new(int generation) {
    struct table *t = calloc(1, sizeof *t);
    t->generation = generation;
    t->size = 16 - generation % 8;
    for (int i = 0; i < t->size; i++) t->data[i] = WORD;
    return t;
}

static int read_last(void) {
    pthread_mutex_lock(&lock);
    if (shared->generation != known_generation) {
        known_generation = shared->generation;
        known_size = shared->size;
    }
    pthread_mutex_unlock(&lock);
    return shared->data[known_size - 1];
}

static void *work(void *arg) {
    for (int i = 0; i < rounds; i++)
        if (read_last() != WORD) {
            fprintf(stderr, "beyond the end of the table\n");
            exit(1);
        }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 1000;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    shared = table_new(0);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 1; i < 60; i++) { /* the former ones are never freed: somebody may still look at them */
        struct table *n = table_new(i);
        pthread_mutex_lock(&lock);
        shared = n;
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
