/* Proves: a crash that needs a certain order of threads, once recorded, happens in every replay. */
// RUN: %rr %s %t -r 4
// STATUS: 0 139
// SOAK: 2 4
#include "common.h"

/* Use after another thread has cleared the pointer: sometimes. */
struct thing {
    uint64_t v[8];
};
static struct thing things[2];
static struct thing *volatile current = &things[0];

static volatile uint64_t noise[8];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        if (me == 0) {
            if (i % 64 == 63) current = NULL;
            h = mix(h, noise[i & 7]++);
            current = &things[i & 1];
        } else if (current) {
            h = mix(h, noise[h & 7]);
            h = mix(h, current->v[h & 7]++);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 1500);
    return finish(together(cook));
}
