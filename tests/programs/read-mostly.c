/* Proves: a table that all threads read and now and then one of them changes replays exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

static volatile uint32_t table[1024];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        ENTER();
        for (int k = 0; k < 8; k++) h = mix(h, table[(r + (uint32_t)k * 131) % 1024]);
        if (r % 100 == 0) table[(r >> 10) % 1024] += (uint32_t)h;
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    for (uint32_t i = 0; i < 1024; i++) table[i] = i * i;
    uint64_t h = together(cook);
    for (int i = 0; i < 1024; i++) h = mix(h, table[i]);
    return finish(h);
}
