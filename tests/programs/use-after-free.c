/* Proves: reads and writes through pointers to freed and reused memory see the same bytes in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"

struct thing {
    struct thing *next;
    volatile uint64_t v[6];
};
static struct thing *volatile shelf[16];

/* Nobody waits before freeing: the others still use what was on the shelf. */
static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        struct thing *t = shelf[r % 16];
        if (t) {
            h = mix(h, t->v[(r >> 4) % 6]);
            t->v[(r >> 7) % 6] = h;
        }
        if (r % 4 == 0) {
            struct thing *n = (struct thing *)malloc(sizeof *n);
            h = mix(h, n->v[3]); /* whatever is there */
            for (int k = 0; k < 6; k++) n->v[k] += h >> k;
            struct thing *old = __atomic_exchange_n(&shelf[(r >> 10) % 16], n, __ATOMIC_ACQ_REL);
            free(old);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    return finish(together(cook));
}
