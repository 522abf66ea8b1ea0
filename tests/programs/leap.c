/* Proves: LEAP's micro-benchmark (threads that update shared variables at random) replays exactly. */
// RUN: %rr %s %t -DVARS=100 -- 10
// RUN: %rr %s %t -DVARS=3 -- 2
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16 64
#include "common.h"

#ifndef VARS
#define VARS 100
#endif
static volatile int vars[VARS];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        ENTER();
        if (r & 1) vars[(r >> 1) % VARS] = (int)(h >> 11);
        else h = mix(h, (uint64_t)vars[(r >> 1) % VARS]);
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 20000);
    uint64_t h = together(cook);
    for (int i = 0; i < VARS; i++) h = mix(h, (uint64_t)vars[i]);
    return finish(h);
}
