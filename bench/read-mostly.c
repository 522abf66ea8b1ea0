/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All threads look things up in one table; one look-up in 10,000 is followed by a change. THREADS ROUNDS. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 4096u
static volatile uint32_t *table;
static struct { uint64_t saw; char pad[56]; } out[64];
static long rounds;

static void *work(void *p) {
    uint64_t me = (uintptr_t)p, s = 0x2545f4914f6cdd1dull * (me + 1), h = 0;
    for (long i = 0, end = rounds; i < end; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        h = h * 31 + table[(s >> 20) % WORDS];
        if (i % 10000 == 9999) table[(s >> 32) % WORDS] = (uint32_t)h;
    }
    out[me].saw = h;
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t t[64];
    uint64_t h = 0;
    rounds = argc > 2 ? atol(argv[2]) : 100000;
    table = (volatile uint32_t *)calloc(WORDS, sizeof *table);
    for (uint32_t i = 0; i < WORDS; i++) table[i] = i * i;
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL), h = h * 31 + out[i].saw;
    printf("%016llx\naccesses %ld\n", (unsigned long long)h, (long)n * (rounds + rounds / 10000));
    return 0;
}
