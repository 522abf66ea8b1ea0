/* Proves: what UndefinedBehaviorSanitizer finds is told by the same thread, in the same order, in replay. */
// FLAGS: -fsanitize=undefined
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"

static int total[8];

/* Each line is told of once, by whoever overflows first. */
static uint64_t work(int me) {
    uint64_t h = 0, s = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        int by = (int)(rnd(&s) >> 1), *n = &total[rnd(&s) % 8];
        switch (rnd(&s) % 4) {
        case 0: *n += by; break;
        case 1: *n -= by; break;
        case 2: *n *= by | 1; break;
        case 3: *n = by << (*n & 31); break;
        }
        h = mix(h, (uint64_t)*n);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    return finish(together(work));
}
