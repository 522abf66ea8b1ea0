/* Proves: a comparison of long doubles whose result is used behind a check is right: what a check does to the flags is known to the compiler.
 * One thread alone knows what comes out; then several race. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O3 -march=native
#include "common.h"

static long double sum;
static unsigned char pot[64];
static uint64_t from[400], to[400];
static volatile long above; /* how often, by the first thread alone */

static NOINLINE void copy(uint64_t *restrict d, const uint64_t *restrict s, long n) {
    for (long i = 0; i < n; i++) d[i] = s[i];
}

static NOINLINE uint64_t cook(int me) {
    uint64_t h = seed_of(me), n = 0;
    for (long i = 0; i < rounds; i++) {
        sum += 1.5L; /* races */
        uint64_t more = (uint64_t)(sum > 100.0L);
        h = mix(h, more);
        n += more;
        copy(to, from + 7, 150);
        uint16_t two = (uint16_t)(h | 1);
        uint32_t four;
        memcpy(&pot[7], &two, sizeof two);
        memcpy(&four, &pot[(h >> 35) % 60], sizeof four);
        h = mix(h, four);
    }
    if (me < 0) above = (long)n;
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 200);
    cook(-1);
    if (above != (rounds > 66 ? rounds - 66 : 0)) return printf("above: %ld of %ld\n", above, rounds), 1;
    return finish(mix(together(cook), (uint64_t)sum));
}
