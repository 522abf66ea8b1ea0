/* Proves: structures that calls copy (arguments by value, large results) are read and written in order; atomics of odd
 * sizes are one access, with and without -latomic. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// FLAGS: -Wno-atomic-alignment
// SOAK: 2 4 8
#include "common.h"
#include <stdatomic.h>

struct big { uint64_t v[9]; };
struct three { uint8_t v[3]; };
struct many { uint32_t v[100]; };
static struct big bigs[4];
static struct many manys[2];
static _Atomic struct three small;
static _Atomic struct big locked;

static NOINLINE uint64_t sum(struct big a, int k, struct big b) {
    uint64_t h = (uint64_t)k;
    for (int i = 0; i < 9; i++) h = mix(h, a.v[i] ^ b.v[8 - i]);
    return h;
}
static NOINLINE struct big make(uint64_t x) {
    struct big b;
    for (int i = 0; i < 9; i++) b.v[i] = x * (uint64_t)(i + 1);
    return b;
}
static NOINLINE uint64_t hash(struct many m) { return mix_bytes(7, &m, sizeof m); }

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        h = mix(h, sum(bigs[r % 4], me, bigs[(r >> 2) % 4]));
        bigs[(r >> 4) % 4] = make(h);
        h = mix(h, hash(manys[(r >> 6) & 1]));
        manys[(r >> 7) & 1].v[(r >> 8) % 100] = (uint32_t)h;
        struct three t = atomic_load(&small);
        h = mix(h, (uint64_t)t.v[0] + t.v[2]);
        t.v[0]++, t.v[1] = t.v[0], t.v[2] = t.v[0];
        atomic_store(&small, t);
        if (t.v[1] != t.v[2]) abort();
        struct big e = atomic_load(&locked), n = e;
        for (int j = 0; j < 9; j++) {
            if (e.v[j] != e.v[0]) abort();
            n.v[j] = e.v[0] + 1;
        }
        h = mix(h, e.v[0] * 2 + atomic_compare_exchange_strong(&locked, &e, n));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1500);
    uint64_t h = together(cook);
    struct big l = atomic_load(&locked);
    return finish(mix(mix_bytes(h, bigs, sizeof bigs), l.v[8]));
}
