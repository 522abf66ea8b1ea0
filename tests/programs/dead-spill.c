/* Proves: a check that misses spills nothing to the program's stack, and leaves no other value in a register to push. */
// RUN: %rr %s %t
// RUN: %rr %s %t -- 1
// SOAK: 1 2 4
#include "common.h"

/* A leaf with many live values, checked accesses in an unrolled loop, and an array on its own stack whose address gets
 * away: where the cold path of a check needs a register of its own, the compiler would save one below the stack pointer,
 * in the recording only. Then somebody reads what lies there. */
static volatile uint32_t pot[64];

static NOINLINE uint64_t press(uint64_t h) {
    volatile unsigned char here = 1, *p = &here;
    __asm__("" : "+r"(p));
    h = mix(h, pot[h % 64]);
    for (int i = 300; i < 1200; i += 3) h = mix(h, p[-i]);
    return h;
}
static NOINLINE uint64_t press_more(uint64_t h, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    for (uint32_t i = 0; i < 64; i += 4) {
        a += pot[i] * b, b ^= pot[i + 1] + c, c += pot[i + 2] ^ d, d = d * 3 + pot[i + 3];
        pot[(i * 7 + (uint32_t)h) % 64] = (uint32_t)(a ^ b ^ c ^ d);
        h = h * 31 + a + (b << 3) + (c >> 5) + d;
    }
    return h;
}
static NOINLINE uint64_t dig(uint64_t h) {
    volatile unsigned char ground[1500];
    for (int i = 0; i < 1500; i++) {
        h = mix(h, ground[i]);
        if (i % 100 == 0) h = mix(h, pot[i % 64]++);
    }
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = dig(press(h));
        h = dig(press_more(h, h >> 7, h >> 14, h >> 21, h >> 28));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    return finish(together(cook));
}
