/* Proves: 200 threads that are alive at once and race with each other record and replay. */
// RUN: %rr %s %t -r 1
// SOAK: 200
#include "common.h"

static volatile uint32_t pot[64];
static pthread_barrier_t all;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        pot[h % 64] += (uint32_t)h;
        h = mix(h, pot[(h >> 8) % 64]);
        if (i % 8 == 0) pthread_barrier_wait(&all);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 200, 32);
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    return finish(together(cook));
}
