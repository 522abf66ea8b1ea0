/* Proves: pthread spinlocks replay in the same order, tried ones with the same results. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"

static pthread_spinlock_t lock[2];
static uint64_t guarded[2];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r & 1;
        int e = r & 2 ? pthread_spin_lock(&lock[k]) : pthread_spin_trylock(&lock[k]);
        h = mix(h, (uint64_t)e);
        if (e) continue;
        h = mix(h, guarded[k] = mix(guarded[k], (uint64_t)me));
        pthread_spin_unlock(&lock[k]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 5000);
    for (int i = 0; i < 2; i++) pthread_spin_init(&lock[i], PTHREAD_PROCESS_PRIVATE);
    uint64_t h = together(cook);
    return finish(mix(h, guarded[0] ^ guarded[1]));
}
