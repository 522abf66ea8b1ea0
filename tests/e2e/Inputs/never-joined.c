/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that nobody joins count, and main counts with them, in two steps. */
#include <pthread.h>
#include <stdio.h>

static volatile int n;

static void *count(void *arg) {
    n++;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, count, NULL); /* no loop, of which iterations could be left out */
    pthread_create(&t, NULL, count, NULL);
    pthread_create(&t, NULL, count, NULL);
    pthread_create(&t, NULL, count, NULL);
    int was = n;
    n = was + 1;
    if (n == was + 1) return 0;
    fprintf(stderr, "it is %d\n", n);
    return 1;
}
