/* Proves: memcpy, memmove and memset that race with single stores, and with each other, replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -fno-builtin
// SOAK: 2 4 8 16 64
#include "common.h"

#define SIZE 2000
static unsigned char pot[SIZE];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    unsigned char mine[300];
    memset(mine, me, sizeof mine);
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), a = rnd(&s) % (SIZE - 300), b = rnd(&s) % (SIZE - 300), n = (r >> 8) % 300;
        ENTER();
        switch (r & 7) {
        case 0: memcpy(mine, pot + a, n), h = mix_bytes(h, mine, n); break;
        case 1: memcpy(pot + a, mine, sizeof mine); break;
        case 2: memmove(pot + a, pot + b, n); break;
        case 3: memset(pot + a, (int)(h & 255), n); break;
        case 4: memset(pot + a, me, 64); break;
        case 5: memcpy(mine + 7, pot + b, 128), h = mix(h, mine[20]); break;
        default:
            for (uint32_t k = 0; k < n; k += 7) {
                h = mix(h, ((volatile unsigned char *)pot)[a + k]);
                ((volatile unsigned char *)pot)[b + k] = (unsigned char)h;
            }
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 600);
    uint64_t h = together(cook);
    return finish(mix_bytes(h, pot, sizeof pot));
}
