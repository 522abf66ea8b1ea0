/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One thread adds up a value very often. Then it looks whether two are equal, while main changes one after the other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int a, b, sum;
static pthread_barrier_t ready;

static void *look(void *arg) {
    for (int i = 0; i < 250000; i++) sum += a;
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 100; i++) {
        int x = a, y = b;
        if (x == y) continue;
        fprintf(stderr, "%d is not %d\n", x, y);
        exit(1);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&t, NULL, look, NULL);
    pthread_barrier_wait(&ready);
    for (int i = 1; i <= 100; i++) {
        a = i;
        b = i;
    }
    pthread_join(t, NULL);
    return 0;
}
