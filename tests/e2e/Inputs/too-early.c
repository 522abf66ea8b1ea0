/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Three threads that may begin before what they need is there: while main has just created one, and has done nothing since. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int ready;

static void *early(void *arg) {
    if (!ready) {
        fprintf(stderr, "too early\n");
        exit(1);
    }
    return arg;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, early, NULL);
        if (i == 0) ready = 1;
        ready = i != 1;
        ready = 1;
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return 0;
}
