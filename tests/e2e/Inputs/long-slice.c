/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two threads add to a sum without a lock. What they add is computed in a long loop, in which there is nothing to be left out: all of its
 * instructions lead to the failure. */
#include <pthread.h>
#include <stdio.h>

static volatile unsigned sum;

static unsigned number(unsigned x, int n) {
    unsigned table[64];
    for (unsigned i = 0; i < 64; i++) table[i] = i * 2654435761u;
    while (n-- > 0) x = table[x % 64] += x * 1664525u + 1013904223u;
    return x | 1;
}

static void *add(void *arg) {
    unsigned x = number(*(unsigned *)arg, 100000);
    sum += x;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    unsigned one = 1, two = 2;
    pthread_create(&a, NULL, add, &one);
    pthread_create(&b, NULL, add, &two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unsigned wanted = number(1, 100000) + number(2, 100000);
    if (sum == wanted) return 0;
    fprintf(stderr, "the sum is wrong\n");
    return 1;
}
