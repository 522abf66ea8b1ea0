/* Proves: alloca and variable-length arrays that other threads write into while they live replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <alloca.h>

/* Everyone leaves a pointer to the middle of its own stack for the others to play with. */
static volatile uint32_t *volatile door[MAX_THREADS];
static pthread_barrier_t all;

static NOINLINE uint64_t play(int me, int n, uint64_t h) {
    uint32_t vla[n];
    volatile uint32_t *a = (volatile uint32_t *)alloca((size_t)n * 4);
    for (int i = 0; i < n; i++) vla[i] = a[i] = (uint32_t)(h + (uint64_t)i);
    door[me] = h & 1 ? a : vla;
    pthread_barrier_wait(&all);
    for (int k = 0; k < 30; k++) {
        volatile uint32_t *o = door[(me + 1 + k) % threads];
        h = mix(h, o[k % 8]);
        o[(h >> 9) % 8] += (uint32_t)h;
    }
    pthread_barrier_wait(&all);
    for (int i = 0; i < n; i++) h = mix(h, vla[i] + a[i]);
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) h = play(me, 8 + (int)(h % 60), h);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    return finish(together(cook));
}
