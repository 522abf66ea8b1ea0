/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The worst case: every access is a race on a few lines, nothing else is done. THREADS ROUNDS; prints what it saw and
 * the number of accesses to shared memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint32_t pot[48];
static struct { uint32_t taste; char pad[60]; } out[64];
static long rounds;

static uint32_t stir(uint32_t a, uint32_t b) { return (a ^ (b << 5)) * 2654435761u + (b >> 3) + 1; }

static void *cook(void *p) {
    uint32_t me = (uint32_t)(uintptr_t)p, r = me + 17;
    for (long i = 0, n = rounds; i < n; i++) {
        r = stir(r, pot[r % 48]);
        pot[(r >> 8) % 48] = r + me; /* another word than the next read, or a thread would mostly meet itself */
    }
    out[me].taste = r;
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t t[64];
    uint32_t h = 0;
    rounds = argc > 2 ? atol(argv[2]) : 1000000;
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, cook, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL), h = stir(h, out[i].taste);
    printf("%08x\naccesses %ld\n", h, 2l * n * rounds);
    return 0;
}
