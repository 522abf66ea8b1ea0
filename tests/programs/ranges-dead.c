/* Proves: a replay takes the same of a loop's two copies, with and without checks, as the recording: each leaves other values on the stack
 * and in registers. Some loops have all their memory, some lose it on the way, some do not have it when they begin. */
// RUN: %rr %s %t
// RUN: %rr %s %t -- 1
// SOAK: 1 2 4 16
#define POT 64
#include "dead.h"

#define N 65536
static uint64_t field[N];

/* More is alive than there are registers: what is kept on the stack, and where, depends on the copy. */
static NOINLINE uint64_t press(const uint64_t *p, uint64_t *q, long n, uint64_t h) {
    uint64_t a = h, b = h >> 3, c = h >> 7, d = h >> 13, e = h >> 19, f = h >> 23, g = h >> 29, k = h >> 31, l = h >> 37, m = h >> 41;
    for (long i = 0; i < n; i++) {
        a += p[i] ^ m, b ^= a + c, c += b >> 3, d = d * 3 + p[i + 1], e ^= d + a, f += e >> 5, g ^= f * b, k += g ^ c, l ^= k + d, m = m * 5 + l;
        q[i] = q[i] * 3 + (a ^ f ^ k ^ m);
    }
    return mix(mix(mix(a ^ b, c ^ d), e ^ f), mix(g ^ k, l ^ m));
}
static NOINLINE double swing(double *x, long n, double by) {
    double a = by, b = by * 2, c = by * 3, d = by * 5;
    for (long i = 1; i < n; i++) a = a * 0.5 + x[i], b = b * 0.25 + a, c = c * 0.125 + b * x[i - 1], d = d * 0.5 + c, x[i] = d * 0.001;
    return a + b + c + d;
}
static double reals[N];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    long per = (N - 9000) / threads;
    for (long i = 0; i < rounds; i++) {
        long at = h % 4 ? per * me : (long)((h >> 8) % (N - 9000)), n = (long)((h >> 30) % 3000) + 20;
        h = dig(dig_below(press(field + at, field + (at + 90) % (N - 9000), n, h)));
        double d = swing(reals + at, n, (double)(h % 100));
        uint64_t bits;
        memcpy(&bits, &d, 8);
        h = dig_below(mix(h, bits));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 250);
    for (int i = 0; i < N; i++) field[i] = (uint64_t)i * 77, reals[i] = i;
    uint64_t h = together(cook);
    for (int i = 0; i < N; i++) h = mix(h, field[i]);
    return finish(h);
}
