/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Each thread stays in its own part of one shared array: nothing passes between the threads until the end. THREADS
 * ROUNDS. Each step reads once in order, once at random, and writes. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (1u << 18)
static uint32_t *field;
static struct { uint64_t saw; char pad[56]; } out[64];
static long rounds;
static int n;

static void *work(void *p) {
    uint32_t me = (uint32_t)(uintptr_t)p, per = WORDS / (uint32_t)n;
    uint32_t *mine = field + (size_t)per * me, x = me + 1;
    for (long i = 0, end = rounds; i < end; i++)
        for (uint32_t k = 0; k < per; k++) {
            x = x * 1664525u + 1013904223u + mine[k];
            mine[k] = x ^ mine[(uint32_t)((uint64_t)x * per >> 32)];
        }
    out[me].saw = x;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t[64];
    uint64_t h = 0;
    n = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atol(argv[2]) : 100;
    field = (uint32_t *)calloc(WORDS, sizeof *field);
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL), h = h * 31 + out[i].saw;
    for (uint32_t k = 0; k < WORDS; k++) h = h * 31 + field[k];
    printf("%016llx\naccesses %ld\n", (unsigned long long)h, 3l * rounds * (long)(WORDS / (uint32_t)n) * n);
    return 0;
}
