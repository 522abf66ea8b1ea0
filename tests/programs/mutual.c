/* Proves: mutual recursion and tail calls, direct and indirect, have a tick on every cycle and replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

static volatile uint32_t pot[16];

static NOINLINE uint32_t odd(uint32_t n, uint32_t x);
static NOINLINE uint32_t even(uint32_t n, uint32_t x) {
    pot[x % 16]++;
    if (!n) return x;
    uint32_t r = odd(n - 1, x * 5 + pot[n % 16]);
    pot[(r >> 3) % 16] ^= r;
    return r + pot[x % 16];
}
static NOINLINE uint32_t odd(uint32_t n, uint32_t x) {
    if (!n) return x ^ 1;
    uint32_t r = n % 3 ? even(n - 1, x + pot[n % 16]) : odd(n - 1, x);
    pot[r % 16] += n;
    return r ^ pot[(x >> 5) % 16];
}

/* A state machine of real tail calls: no loop in sight. */
static NOINLINE uint32_t step_a(uint32_t n, uint32_t x);
static NOINLINE uint32_t step_b(uint32_t n, uint32_t x);
static NOINLINE uint32_t step_c(uint32_t n, uint32_t x);
static uint32_t (*const steps[])(uint32_t, uint32_t) = {step_a, step_b, step_c};
#define STEP(name, e)                                                                                                  \
    static NOINLINE uint32_t name(uint32_t n, uint32_t x) {                                                            \
        pot[x % 16] = x + pot[(x >> 4) % 16];                                                                          \
        if (!n) return x;                                                                                              \
        x = (e) + pot[(x >> 8) % 16];                                                                                  \
        __attribute__((musttail)) return steps[x % 3](n - 1, x);                                                       \
    }
STEP(step_a, x * 7 + 3)
STEP(step_b, x ^ (x >> 3))
STEP(step_c, x * 11 + 1)

static NOINLINE uint32_t ping(uint32_t n, uint32_t x);
static NOINLINE uint32_t pong(uint32_t n, uint32_t x) {
    x += pot[x % 16]++;
    if (!n) return x;
    __attribute__((musttail)) return ping(n - 1, x * 3);
}
static NOINLINE uint32_t ping(uint32_t n, uint32_t x) {
    pot[x % 16] ^= n;
    __attribute__((musttail)) return pong(n, x + 1);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ENTER();
        h = mix(h, even(25, (uint32_t)h));
        h = mix(h, step_a(40, (uint32_t)h));
        h = mix(h, ping(20, (uint32_t)h));
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    return finish(h);
}
