/* Proves: a check that misses spills nothing to the program's stack, and leaves no other value in a register to push. */
// RUN: %rr %s %t
// RUN: %rr %s %t -- 1
// SOAK: 1 2 4
#define POT 64
#include "dead.h"

/* A leaf with many live values and checked accesses in an unrolled loop, or with a variable whose address gets away
 * (dig_below): where the cold path of a check needs a register of its own, the compiler would save one below the stack
 * pointer, in the recording only. Then somebody reads what lies there. */
static NOINLINE uint64_t press(uint64_t h, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    for (uint32_t i = 0; i < 64; i += 4) {
        a += pot[i] * b, b ^= pot[i + 1] + c, c += pot[i + 2] ^ d, d = d * 3 + pot[i + 3];
        pot[(i * 7 + (uint32_t)h) % 64] = (uint32_t)(a ^ b ^ c ^ d);
        h = h * 31 + a + (b << 3) + (c >> 5) + d;
    }
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = dig(dig_below(h));
        h = dig(press(h, h >> 7, h >> 14, h >> 21, h >> 28));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    return finish(together(cook));
}
