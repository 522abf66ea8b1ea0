/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A store with a journal. A change locks the store and then the journal; a change that fails is rolled back, and the
 * rollback locks them the other way round. Which changes fail is random, by a seed from the kernel. */
// KIND: LEAP DeadlockException: deadlock on an error path, random seed
// FAILS: a change and a rollback wait for each other's lock
// SHOWS: stuck
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 17 in 100
// ARGS: CLIENTS=3 CHANGES=60
// LARGE: 33 10
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static struct {
    pthread_mutex_t lock;
    int values[16];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    char lines[64][32];
    unsigned n;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int changes;
static pthread_barrier_t start;

static void note(const char *what, int key, int value) {
    pthread_mutex_lock(&journal.lock);
    snprintf(journal.lines[journal.n++ % 64], 32, "%s %d=%d", what, key, value);
    pthread_mutex_unlock(&journal.lock);
}

static void change(int key, int value, jmp_buf *failed) {
    pthread_mutex_lock(&store.lock);
    int old = store.values[key];
    store.values[key] = value;
    if (value % 4 == 0) { /* the value is not valid */
        store.values[key] = old;
        pthread_mutex_unlock(&store.lock);
        longjmp(*failed, 1);
    }
    note("set", key, value);
    pthread_mutex_unlock(&store.lock);
}

static void roll_back(int key) {
    pthread_mutex_lock(&journal.lock);
    snprintf(journal.lines[journal.n++ % 64], 32, "rollback %d", key);
    pthread_mutex_lock(&store.lock);
    store.values[key] = 0;
    pthread_mutex_unlock(&store.lock);
    pthread_mutex_unlock(&journal.lock);
}

static void *client(void *arg) {
    unsigned *seed = arg;
    pthread_barrier_wait(&start);
    for (volatile int i = 0; i < changes; i++) {
        jmp_buf failed;
        volatile int key = rand_r(seed) % 16;
        if (setjmp(failed) == 0) change(key, 1 + rand_r(seed) % 1000, &failed);
        else roll_back(key);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int clients = argc > 1 ? atoi(argv[1]) : 3;
    changes = argc > 2 ? atoi(argv[2]) : 60;
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    unsigned *seeds = calloc((size_t)clients, sizeof *seeds);
    if (getrandom(seeds, (size_t)clients * sizeof *seeds, 0) < 0) return 2;
    pthread_barrier_init(&start, NULL, (unsigned)clients);
    for (int i = 0; i < clients; i++) pthread_create(&t[i], NULL, client, &seeds[i]);
    for (int i = 0; i < clients; i++) pthread_join(t[i], NULL);
    printf("%u lines\n", journal.n);
    return 0;
}
