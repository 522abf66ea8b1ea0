/* Proves: barriers replay, the thread that gets PTHREAD_BARRIER_SERIAL_THREAD included. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"

static pthread_barrier_t all, pairs[MAX_THREADS / 2 + 1];
static volatile uint32_t pot[8];
static uint64_t serial;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 20; k++) pot[h % 8] ^= (uint32_t)h, h = mix(h, pot[(h >> 4) % 8]);
        if (pthread_barrier_wait(&all) == PTHREAD_BARRIER_SERIAL_THREAD) serial = mix(serial, (uint64_t)me);
        if (me / 2 * 2 + 1 < threads) h = mix(h, (uint64_t)pthread_barrier_wait(&pairs[me / 2]));
        h = mix(h, (uint64_t)pthread_barrier_wait(&all) + serial);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    for (int i = 0; i <= threads / 2; i++) pthread_barrier_init(&pairs[i], NULL, 2);
    uint64_t h = together(cook);
    pthread_barrier_destroy(&all);
    return finish(mix(h, serial));
}
