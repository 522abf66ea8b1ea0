/* Proves: a value that the program never gave, and that the optimiser therefore takes from whatever register it likes, is the
 * same in the replay: fresh memory of malloc, locals that were not set. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O1
// RUN: %rr %s %t -O3 -march=native
// SOAK: 2 4 8 16 64
#include "common.h"

static volatile uint32_t setting; /* which all threads read: a recording looks at it in the runtime, a replay does not */
static uint32_t shared __attribute__((aligned(4096)));

static NOINLINE uint64_t fold(uint64_t h, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    __asm__("" : "+r"(h), "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return mix(mix(mix(mix(h, a), b), c), d);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), never;
    for (long i = 0; i < rounds; i++) {
        uint64_t *fresh = (uint64_t *)malloc(64), local;
        h = fold(h, h >> 9, h >> 8, h >> 7, h >> 6);
        if (setting) h++;
        h = fold(h, local, never, fresh[3], local);
        free(fresh);
        if (i % 64 == 0) {
            h = mix(h, shared++);
            if (!h) setting++;
            sched_yield();
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    return finish(together(cook));
}
