/* Proves: uninitialised stack memory reads the same in the replay, racing accesses and library calls included. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16 64
#define POT 16
#include "dead.h"

/* Leaves garbage below the stack pointer: its own frame, and whatever the accesses left there. */
static NOINLINE uint32_t dirty(uint32_t x, int depth) {
    volatile uint32_t junk[24];
    for (uint32_t i = 0; i < 24; i += 5) {
        junk[i] = x + pot[(x + i) % 16];
        pot[(x >> 3) % 16] ^= junk[i];
    }
    if (depth) x ^= dirty(x * 3 + 1, depth - 1);
    return x + junk[5];
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char text[64];
    for (long i = 0; i < rounds; i++) {
        h = mix(h, dirty((uint32_t)h, 4));
        h = dig(h);
        if (i % 4 == 0) {
            snprintf(text, sizeof text, "%llx", (unsigned long long)h);
            free(malloc(h % 500));
        }
        h = dig_below(h);
        if (i % 16 == 0) sched_yield();
        h = dig(h);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    uint64_t h = together(cook);
    return finish(dig(h));
}
