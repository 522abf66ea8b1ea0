/* Proves: uninitialised stack memory reads the same in the replay, racing accesses and library calls included. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16 64
#include "common.h"

static volatile uint32_t pot[16];

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

/* A volatile array keeps the loads although nothing was ever stored. The accesses to the pot in between may wait for
 * another thread here; nothing of that may show below. */
static NOINLINE uint64_t dig(uint64_t h) {
    volatile unsigned char ground[1500];
    for (int i = 0; i < 1500; i++) {
        h = mix(h, ground[i]);
        if (i % 100 == 0) h = mix(h, pot[i % 16]++);
    }
    return h;
}

/* Below the stack pointer, without any frame there. */
static NOINLINE uint64_t dig_below(uint64_t h) {
    volatile unsigned char here = 1;
    volatile unsigned char *p = &here;
    __asm__("" : "+r"(p));
    h = mix(h, pot[h % 16]);
    for (int i = 300; i < 1200; i += 3) h = mix(h, p[-i]);
    return h;
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
