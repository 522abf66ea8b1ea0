/* Proves: 16-byte atomics, inlined and through libatomic, replay exactly. */
// RUN: %rr %s %t -mcx16
// RUN: %rr %s %t
// FLAGS: -latomic -Wno-atomic-alignment
// SOAK: 2 4 8
#include "common.h"
#include <stdatomic.h>

typedef unsigned __int128 u128;
static _Atomic u128 q[3];
struct triple { uint64_t a, b, c; };
static _Atomic struct triple big; /* too large for any instruction: the library locks */

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = (r >> 8) % 3;
        u128 v = 0;
        switch (r % 7) {
        case 0: v = atomic_load(&q[k]); break;
        case 1: atomic_store(&q[k], (u128)h << 40); break;
        case 2: v = atomic_fetch_add(&q[k], (u128)h * 3); break;
        case 3: v = atomic_exchange(&q[k], (u128)h * h); break;
        case 4: {
            u128 e = atomic_load(&q[k]);
            v = e + atomic_compare_exchange_strong(&q[k], &e, e + 1);
            break;
        }
        case 5: v = atomic_fetch_xor(&q[k], (u128)r << 90); break;
        default: {
            struct triple t = atomic_load(&big);
            h = mix(mix(h, t.a), t.c);
            t.a += h, t.b++, t.c ^= t.b;
            atomic_store(&big, t);
        }
        }
        h = mix(mix(h, (uint64_t)v), (uint64_t)(v >> 64));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    uint64_t h = together(cook);
    for (int i = 0; i < 3; i++) h = mix(h, (uint64_t)(q[i] >> 50));
    struct triple t = atomic_load(&big);
    return finish(mix(h, t.a + t.b + t.c));
}
