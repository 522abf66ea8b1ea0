/* Proves: racing copies of every size from 0 to 300 bytes at every alignment replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8
#include "common.h"

static unsigned char pot[1024] __attribute__((aligned(64)));

/* Half of the sizes are constants, which the compiler turns into loads and stores of its own choice. */
#define C(n) case n: memcpy(pot + a, pot + b, n); break;
#define C10(n) C(n) C(n + 1) C(n + 2) C(n + 3) C(n + 4) C(n + 5) C(n + 6) C(n + 7) C(n + 8) C(n + 9)

static NOINLINE void copy_constant(uint32_t n, uint32_t a, uint32_t b) {
    switch (n) {
        C10(0) C10(10) C10(20) C10(30) C10(40) C10(50) C10(60) C10(70) C10(80) C10(90)
        C10(100) C10(110) C10(120)
    default: memcpy(pot + a, pot + b, n);
    }
}

static uint64_t cook(int me) {
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++)
        for (uint32_t n = 0; n <= 300; n++) {
            uint32_t k = (uint32_t)(i * 301) + n + (uint32_t)me * 7919;
            uint32_t a = k * 13 % 64, b = 400 + k * 29 % 64;
            ENTER();
            if (k % 3 == 0) copy_constant(n, a, b);
            else if (k % 3 == 1) memmove(pot + b, pot + a, n);
            else memset(pot + a, (int)k, n & 63), memmove(pot + a + 5, pot + a, n);
            h = mix(h, ((volatile unsigned char *)pot)[a + n]);
            ((volatile unsigned char *)pot)[b + (n >> 1)] = (unsigned char)h;
            LEAVE();
        }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 60);
    for (uint32_t i = 0; i < sizeof pot; i++) pot[i] = (unsigned char)(i * 31);
    uint64_t h = together(cook);
    return finish(mix_bytes(h, pot, sizeof pot));
}
