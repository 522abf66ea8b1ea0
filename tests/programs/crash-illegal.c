/* Proves: an illegal instruction in one thread, while the others race, ends the replay in the same signal. */
// RUN: %rr %s %t
// STATUS: 132
// SOAK: 2 4 8
#include "common.h"

static volatile uint32_t pot[16];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    long mine = me == threads - 1 ? rounds / 4 : rounds * 100;
    for (long i = 0; i < mine; i++) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 8) % 16] = (uint32_t)h;
    }
    printf("%d %016llx\n", me, (unsigned long long)h);
    fflush(stdout);
    if (me == threads - 1) __builtin_trap();
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    return finish(together(cook));
}
