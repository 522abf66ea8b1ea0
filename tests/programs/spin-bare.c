/* Proves: a spin loop without any call, yield or pause is served at its ticks: nobody waits for ever. */
// RUN: %rr %s %t
// SOAK: 2 3
#include "common.h"

static volatile int go, stop;
static int plain_go;
static volatile uint64_t beats[4];

static uint64_t cook(int me) {
    uint64_t turns = 0, h = seed_of(me);
    for (int i = 1; i <= (int)rounds; i++) {
        if (me == 0) {
            for (int k = 0; k < 2000; k++) beats[0] += (uint64_t)k;
            go = i;
            while (stop < (threads - 1) * i) turns++;
        } else {
            while (go < i) turns++, beats[me & 3]++;
            h = mix(h, beats[0]);
            __atomic_fetch_add(&stop, 1, __ATOMIC_SEQ_CST);
        }
        h = mix(h, turns);
    }
    if (me == 0) __atomic_store_n(&plain_go, 1, __ATOMIC_RELAXED);
    else
        do { __asm__ volatile("" ::: "memory"); } while (!plain_go);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 20);
    return finish(together(cook));
}
