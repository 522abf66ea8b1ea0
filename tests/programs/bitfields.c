/* Proves: neighbouring bit-fields written by different threads lose the same updates in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

struct fields {
    unsigned a : 1, b : 3, c : 7, d : 13, e : 8;
    uint64_t f : 33, g : 20, h : 11;
    unsigned char i : 4, j : 4;
    signed k : 5;
    unsigned : 0;
    unsigned l : 9;
} __attribute__((packed));

static volatile struct fields v[3];
static struct fields p[5];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = (r >> 8) % 3, m = (r >> 11) % 5;
        ENTER();
        switch (r % 11) {
        case 0: v[k].a = !v[k].a; break;
        case 1: v[k].b += 3, h = mix(h, v[k].c); break;
        case 2: v[k].c = (unsigned)h & 127, h = mix(h, v[k].d); break;
        case 3: v[k].d += v[k].e; break;
        case 4: v[k].f += h & 0xffff, h = mix(h, v[k].g); break;
        case 5: v[k].g++, v[k].h--; break;
        case 6: v[k].i = v[k].j + 1, h = mix(h, v[k].h); break;
        case 7: v[k].k = (int)(h & 15) - 8, h = mix(h, (uint64_t)v[k].k); break;
        case 8: p[m].d += p[(m + 1) % 5].c + 1, p[m].c ^= (unsigned)h & 127; break;
        case 9: p[m] = p[(m + 2) % 5]; break;
        default: v[k].l = p[m].d & 511, h = mix(h, v[k].f + v[k].a + p[m].f), p[m].f += 5;
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 30000);
    uint64_t h = together(cook);
    h = mix_bytes(h, (void *)v, sizeof v);
    return finish(mix_bytes(h, p, sizeof p));
}
