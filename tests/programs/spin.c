/* Proves: spinning on plain, volatile and atomic flags ends in the replay after the same number of turns. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <stdatomic.h>

/* A token goes round; the holder passes it on through a different kind of flag each time. */
static uint32_t plain;
static volatile uint32_t vol;
static _Atomic uint32_t atom, relaxed;
static volatile int chatter; /* a race on the side */

static NOINLINE uint32_t look(uint32_t *p) {
    __asm__ volatile("" ::: "memory"); /* or the compiler would read a plain flag only once */
    return *p;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), turns = 0;
    uint32_t n = (uint32_t)threads;
    for (uint32_t i = 0; i < (uint32_t)rounds; i++) {
        uint32_t mine = i * n + (uint32_t)me;
#define SPIN(e)                                                                                                        \
    while ((e) != mine) {                                                                                              \
        turns++;                                                                                                       \
        chatter++;                                                                                                     \
        if (turns % 1024 == 0) sched_yield();                                                                          \
    }
        SPIN(look(&plain));
        h = mix(h, (uint64_t)chatter);
        plain = mine + 1;
        SPIN(vol);
        vol = mine + 1;
        SPIN(atomic_load_explicit(&atom, memory_order_acquire));
        atomic_store_explicit(&atom, mine + 1, memory_order_release);
        SPIN(atomic_load_explicit(&relaxed, memory_order_relaxed));
        h = mix(h, turns);
        atomic_store_explicit(&relaxed, mine + 1, memory_order_relaxed);
    }
    return mix(h, turns);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 40);
    return finish(mix(together(cook), (uint64_t)chatter));
}
