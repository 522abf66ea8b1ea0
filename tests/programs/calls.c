/* Proves: function pointers that threads exchange, variadic functions and indirect calls replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"
#include <stdarg.h>

typedef uint32_t (*op)(uint32_t);
static volatile uint32_t pot[16];

static NOINLINE uint32_t sum(int n, ...) {
    va_list ap, again;
    uint32_t r = 0;
    va_start(ap, n);
    va_copy(again, ap);
    for (int i = 0; i < n; i++) {
        uint32_t x = i & 1 ? (uint32_t)va_arg(ap, double) : va_arg(ap, uint32_t);
        pot[x % 16] += x;
        r = r * 3 + pot[(x >> 4) % 16];
    }
    va_end(ap);
    r += va_arg(again, uint32_t);
    va_end(again);
    return r;
}
static uint32_t add(uint32_t x) { return x + pot[x % 16]; }
static uint32_t bump(uint32_t x) { return pot[x % 16]++ + x; }
static uint32_t fold(uint32_t x) { return x ^ (pot[(x >> 8) % 16] = x * 5); }
static uint32_t many(uint32_t x) {
    return sum(7, x, (double)(x & 1023), x * 3, 2.5, x + 1, (double)(x >> 20), x ^ pot[x % 16]);
}
static uint32_t self(uint32_t x);
static op const ops[] = {add, bump, fold, many, self};
static op slot[4] = {add, bump, fold, many};
struct table {
    op f, g;
    uint32_t (*h)(int, ...);
};
static struct table tables[3] = {{add, fold, sum}, {bump, many, sum}, {self, add, sum}};

/* Comes back to itself through a pointer. */
static uint32_t self(uint32_t x) {
    if (x % 5 == 0 || x < 1000) return x;
    uint32_t r = ((op volatile *)slot)[x % 4](x / 3);
    pot[r % 16] ^= x;
    return r;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        ENTER();
        h = mix(h, ((op volatile *)slot)[r % 4](r));
        ((op volatile *)slot)[(r >> 4) % 4] = ops[(r >> 6) % 5];
        h = mix(h, tables[(r >> 9) % 3].f((uint32_t)h) + tables[(r >> 11) % 3].g(r));
        tables[(r >> 13) % 3].f = tables[(r >> 15) % 3].g;
        tables[(r >> 17) % 3].g = ops[(r >> 20) % 5];
        h = mix(h, tables[r % 3].h(3, r, 1.5, (uint32_t)h));
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 2000);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 5; k++)
            if (slot[i] == ops[k]) h = mix(h, (uint64_t)k);
    return finish(h);
}
