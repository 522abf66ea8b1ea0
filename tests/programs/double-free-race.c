/* Proves: a double free that races with the next life of the block is found out in the replay if it was in the recording. */
// RUN: %rr %s %t -r 12
// STATUS: 0 134
// SOAK: 2 4 8
#include "common.h"

static void *volatile shelf;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        void *p = shelf;
        if (p) {
            shelf = NULL;
            free(p); /* perhaps another thread does, too */
        } else shelf = malloc(64);
        h = mix(h, (uintptr_t)p);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1000);
    return finish(together(cook));
}
