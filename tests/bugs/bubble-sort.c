/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A list that is nearly sorted is sorted by passes of bubble sort, a detached thread each. A pass compares two
 * neighbours without the lock and takes it only to swap them: by then, another pass may have swapped them already. */
// KIND: LEAP BubbleSort: not-atomic, orphaned thread
// FAILS: the list is not sorted
// SHOWS: exit 1
// LEAST: all threads, all iterations, 1 preemption
// NATIVE: 10 in 1000
// ARGS: PASSES=3 PAIRS=2000
// LARGE: 33 20
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int *list, length;
static int passes_left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t start;

static void swap(int i) {
    pthread_mutex_lock(&lock);
    int x = list[i];
    list[i] = list[i + 1];
    list[i + 1] = x;
    pthread_mutex_unlock(&lock);
}

static void *pass(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i + 1 < length; i++)
        if (list[i] > list[i + 1]) swap(i);
    pthread_mutex_lock(&lock);
    if (--passes_left == 0) pthread_cond_signal(&all_done);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    int passes = argc > 1 ? atoi(argv[1]) : 3;
    int pairs = argc > 2 ? atoi(argv[2]) : 2000;
    length = 2 * pairs;
    list = calloc((size_t)length, sizeof *list);
    for (int i = 0; i < length; i++) list[i] = i ^ 1; /* 1 0 3 2 5 4 ...: one pass does it */

    passes_left = passes;
    pthread_barrier_init(&start, NULL, (unsigned)passes);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < passes; i++) {
        pthread_t t;
        pthread_create(&t, &detached, pass, NULL);
    }
    pthread_mutex_lock(&lock);
    while (passes_left > 0) pthread_cond_wait(&all_done, &lock);
    pthread_mutex_unlock(&lock);

    for (int i = 0; i + 1 < length; i++) {
        if (list[i] <= list[i + 1]) continue;
        fprintf(stderr, "not sorted at %d: %d before %d\n", i, list[i], list[i + 1]);
        return 1;
    }
    free(list);
    return 0;
}
