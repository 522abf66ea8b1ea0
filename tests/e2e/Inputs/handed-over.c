/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fails without any race: threads that have nothing in common but the allocator, which hands memory that one has freed to another. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, BLOCKS = 1000, ROUNDS = 10 };

static void *work(void *arg) {
    long *sum = arg;
    char *block[BLOCKS];
    for (int r = 0; r < ROUNDS; r++) {
        int n = BLOCKS / (1 + (r + (int)*sum) % 4); /* now many, now few: the rest goes to the common pool */
        for (int i = 0; i < n; i++) memset(block[i] = malloc(48), 1, 48);
        for (int i = 0; i < n; i++) *sum += block[i][i % 48];
        for (int i = 0; i < n; i++) free(block[i]);
    }
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    long sum[THREADS];
    for (int i = 0; i < THREADS; i++) sum[i] = i;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, &sum[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    return sum[0] > 0 ? 3 : 4;
}
