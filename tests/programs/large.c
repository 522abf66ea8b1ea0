/* Proves: copies of hundreds of kilobytes that race with single stores and with each other replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"

#define SIZE (1 << 20)
static unsigned char *pot;

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    unsigned char *mine = (unsigned char *)malloc(SIZE);
    memset(mine, me, SIZE);
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), n = 1 + rnd(&s) % (SIZE / 4), a = rnd(&s) % (SIZE - n), b = rnd(&s) % (SIZE - n);
        switch (r % 5) {
        case 0: memcpy(mine + b, pot + a, n); break;
        case 1: memcpy(pot + a, mine + b, n); break;
        case 2: memmove(pot + a, pot + b, n); break;
        case 3: memset(pot + a, (int)h, n); break;
        default:
            for (uint32_t k = 0; k < n; k += 4096) {
                h = mix(h, ((volatile unsigned char *)pot)[a + k]);
                ((volatile unsigned char *)pot)[b + k] = (unsigned char)h;
            }
        }
        h = mix(h, mine[b] + ((volatile unsigned char *)pot)[a]);
    }
    for (uint32_t k = 0; k < SIZE; k += 64) h = mix(h, mine[k]);
    free(mine);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 12);
    pot = (unsigned char *)calloc(1, SIZE);
    uint64_t h = together(cook);
    for (uint32_t k = 0; k < SIZE; k++) h = mix(h, pot[k]);
    return finish(h);
}
