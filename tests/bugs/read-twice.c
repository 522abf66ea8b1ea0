/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An account book under a read-write lock that lets writers go first. The report takes the lock for reading and calls a function that does so again: if a writer has come in
 * between, that one waits for the report, and the report for it. */
// KIND: lock for reading that is taken twice, and a writer
// FAILS: deadlock
// SHOWS: stuck
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 1000
// ARGS: READERS=2 TIMES=100
// LARGE: 33 10
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t book;
static long total, bookings;
static int times;

static long mean(void) {
    pthread_rwlock_rdlock(&book);
    long m = bookings ? total / bookings : 0;
    pthread_rwlock_unlock(&book);
    return m;
}

static void *report(void *arg) {
    long all = 0;
    for (int i = 0; i < times; i++) {
        pthread_rwlock_rdlock(&book);
        all += total - mean();
        pthread_rwlock_unlock(&book);
    }
    return all < 0 ? arg : NULL;
}

static void *enter(void *arg) {
    for (int i = 0; i < times; i++) {
        pthread_rwlock_wrlock(&book);
        total += i;
        bookings++;
        pthread_rwlock_unlock(&book);
    }
    return arg;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    times = argc > 2 ? atoi(argv[2]) : 100;
    pthread_t *t = calloc((size_t)readers + 1, sizeof *t);
    pthread_rwlockattr_t writers_first;
    pthread_rwlockattr_init(&writers_first);
    pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&book, &writers_first);
    for (int i = 0; i < readers; i++) pthread_create(&t[i], NULL, report, NULL);
    pthread_create(&t[readers], NULL, enter, NULL);
    for (int i = 0; i <= readers; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
