/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LEAP's micro-benchmark (section 5.1.1): threads that read and write VARS shared variables at random. THREADS ROUNDS
 * VARS. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int *vars;
static struct { uint64_t saw; char pad[56]; } out[64];
static long rounds;
static uint32_t n_vars;

static void *work(void *p) {
    uint64_t me = (uintptr_t)p, s = 0x2545f4914f6cdd1dull * (me + 1), h = me + 1;
    uint32_t n = n_vars;
    for (long i = 0, end = rounds; i < end; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        uint32_t k = (uint32_t)((uint64_t)(uint32_t)(s >> 20) * n >> 32);
        if (s & 1) vars[k] = (int)h;
        else h = h * 31 + (uint32_t)vars[k];
    }
    out[me].saw = h;
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10;
    pthread_t t[64];
    uint64_t h = 0;
    rounds = argc > 2 ? atol(argv[2]) : 100000;
    n_vars = argc > 3 ? (uint32_t)atoi(argv[3]) : 100;
    vars = (volatile int *)calloc(n_vars, sizeof *vars);
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL), h = h * 31 + out[i].saw;
    printf("%016llx\naccesses %ld\n", (unsigned long long)h, (long)n * rounds);
    return 0;
}
