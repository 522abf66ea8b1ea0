/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Routes are read without a lock. Who changes them makes a copy, publishes it and frees the old table, without waiting
 * for the readers that still use it. A freed table goes to a list, from where the next copy is made. */
// KIND: read-copy-update misuse
// FAILS: a reader uses a table while it is overwritten
// SHOWS: exit 1
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 12 in 1000
// ARGS: READERS=3 CHANGES=1000
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTES = 24 };

struct table {
    struct table *next_free;
    volatile int version;
    volatile int hop[ROUTES]; /* all of one version */
};

static struct table *volatile current;
static struct table *free_tables;
static int changes;
static volatile int stop;
static pthread_barrier_t start;

static struct table *table_new(void) {
    struct table *t = free_tables;
    if (t) free_tables = t->next_free;
    else t = calloc(1, sizeof *t);
    return t;
}

static void table_free(struct table *t) {
    t->next_free = free_tables;
    free_tables = t;
}

static void change(int version) {
    struct table *old = current, *t = table_new();
    t->version = version;
    for (int i = 0; i < ROUTES; i++) t->hop[i] = version + i;
    current = t;
    table_free(old); /* synchronize_rcu() should come first */
}

static void *reader(void *arg) {
    unsigned long *looked = arg;
    pthread_barrier_wait(&start);
    for (int round = 0; round < changes && !stop; round++) {
        struct table *t = current;
        int version = t->version;
        for (int i = 0; i < ROUTES; i++) {
            if (t->hop[i] != version + i) {
                fprintf(stderr, "route %d is of version %d, not %d\n", i, t->hop[i] - i, version);
                exit(1);
            }
            ++*looked;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 3;
    changes = argc > 2 ? atoi(argv[2]) : 1000;
    current = calloc(1, sizeof *current);
    for (int i = 0; i < ROUTES; i++) current->hop[i] = i;
    pthread_t *t = calloc((size_t)readers, sizeof *t);
    unsigned long *looked = calloc((size_t)readers * 8, sizeof *looked);
    pthread_barrier_init(&start, NULL, (unsigned)readers + 1);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, reader, &looked[8 * i]);
    pthread_barrier_wait(&start);
    for (int i = 1; i <= changes; i++) {
        change(i);
        for (volatile int pause = 0; pause < 100; pause++) continue;
    }
    stop = 1;
    for (int i = 0; i < readers; i++) pthread_join(t[i], NULL);
    return 0;
}
