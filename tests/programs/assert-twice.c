/* Proves: assertions that fail in several threads at once end the replay as they ended the run, and say the same. */
// RUN: %rr %s %t -r 20
// STATUS: 134
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>

static volatile uint32_t pot[16];
static volatile int arrived;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 8) % 16] = (uint32_t)h;
    }
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (arrived < threads) {} /* all together */
    if (me % 2) assert_perror(EAGAIN);
    assert(pot[0] + 1 == pot[0]);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    return finish(together(cook));
}
