/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sleep in place of an order: main takes it for granted that workers that sleep for 5 ms are done after 20 ms of its own. */
// KIND: order by sleeping
// FAILS: main comes before a worker: a wrong sum
// SHOWS: exit 1
// LEAST: 2 threads, 1 iteration, 0 preemptions
// NATIVE: 3 in 200, on a busy machine
// ARGS: WORKERS=1
// LARGE: 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 64
static int *volatile loaded[MOST];

static void *load(void *arg) {
    usleep(5000); /* a slow disk */
    int *one = malloc(sizeof *one);
    *one = 1;
    *(int *volatile *)arg = one;
    return NULL;
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
    pthread_t t[MOST];
    for (int i = 0; i < workers; i++) pthread_create(&t[i], NULL, load, (void *)&loaded[i]);
    usleep(20000); /* they have surely loaded by now */
    for (int i = 0; i < workers; i++) {
        int *one = loaded[i];
        if (one) sum += *one;
    }
    for (int i = 0; i < workers; i++) pthread_join(t[i], NULL);
    if (sum != workers) printf("the sum is %d\n", sum);
    return sum != workers;
}
