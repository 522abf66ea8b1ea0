/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Is interleaving alive? The racey-like worst case, in which every value names its writer. A read counts when it is the
 * first of this thread to see a value that the other thread wrote: something came across. A recorder that runs one
 * thread at a time has next to none. THREADS ROUNDS; prints reads and how many of them saw the other thread's write. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 48
static volatile uint32_t pot[N];
static struct { long fresh; uint32_t taste; char pad[48]; } out[64];
static long rounds;

static uint32_t stir(uint32_t a, uint32_t b) { return (a ^ (b << 5)) * 2654435761u + (b >> 3) + 1; }

static void *cook(void *p) {
    uint32_t me = (uint32_t)(uintptr_t)p, r = me + 17, last[N] = {0};
    long fresh = 0;
    for (long i = 0, n = rounds; i < n; i++) {
        uint32_t k = r % N, v = pot[k];
        if (v != last[k]) {
            fresh += (v & 63) != me;
            last[k] = v;
        }
        r = stir(r, v);
        pot[(r >> 8) % N] = (r & ~63u) | me; /* another word than the next read, or a thread would mostly meet itself */
    }
    out[me].fresh = fresh;
    out[me].taste = r;
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t t[64];
    uint32_t h = 0;
    long fresh = 0;
    rounds = argc > 2 ? atol(argv[2]) : 1000000;
    for (uint32_t k = 0; k < N; k++) pot[k] = 63;
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, cook, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL), h = stir(h, out[i].taste), fresh += out[i].fresh;
    printf("%08x\nreads %ld\nfresh %ld\n", h, (long)n * rounds, fresh);
    return 0;
}
