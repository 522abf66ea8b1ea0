/* Proves: a program in which every access is a race replays exactly (volatile accesses). */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O0 -- 3
// SOAK: 2 4 8 16 64
#include "common.h"

static volatile uint32_t pot[48];

static uint32_t stir(uint32_t a, uint32_t b) { return (a ^ (b << 5)) * 2654435761u + (b >> 3) + 1; }

static uint64_t cook(int me) {
    uint32_t r = (uint32_t)me + 17;
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        ENTER();
        r = stir(r, pot[r % 48]);
        pot[r % 48] = r + (uint32_t)me;
        r = stir(r, pot[(r >> 7) % 48]);
        LEAVE();
        h = mix(h, r);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 20000);
    uint64_t h = together(cook);
    for (int i = 0; i < 48; i++) h = mix(h, pot[i]);
    return finish(h);
}
