/* Proves: what malloc and its relatives leave on the stack, also the first time in a thread, is the same in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"

static char *shelf;

static NOINLINE uint64_t dig(uint64_t h) {
    volatile uint64_t ground[38];
    for (int i = 0; i < 38; i++) h = mix(h, ground[i]);
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        char *p = __atomic_exchange_n(&shelf, (char *)NULL, __ATOMIC_SEQ_CST);
        p = (char *)realloc(p, 8 + (h & 511));
        h = dig(mix(h, (uintptr_t)p));
        p = __atomic_exchange_n(&shelf, p, __ATOMIC_SEQ_CST);
        free(p);
        h = dig(h);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 40);
    return finish(together(cook));
}
