/* Proves: freshly malloc'ed memory holds the same old bytes in the replay, and lies at the same addresses. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"

static void *volatile shelf[32]; /* blocks that some thread left for another one to take */

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        size_t n = 8 + (r >> 3) % (r & 7 ? 200 : 5000);
        unsigned char *p = (unsigned char *)malloc(n);
        h = mix(mix_bytes(h, p, n < 64 ? n : 64), (uintptr_t)p);
        memset(p, (int)(h & 255), n);
        p = (unsigned char *)__atomic_exchange_n(&shelf[r % 32], p, __ATOMIC_ACQ_REL);
        if (p) {
            h = mix(mix(h, p[0]), (uintptr_t)p);
            free(p);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1500);
    return finish(together(cook));
}
