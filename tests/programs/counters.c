/* Proves: 20,000 counters that two threads raise at about the same time lose the same updates in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4
#include "common.h"

#define N 20000
static volatile uint32_t counter[N];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long k = 0; k < rounds; k++)
        for (int i = 0; i < N; i++) {
            ENTER();
            counter[i]++;
            LEAVE();
            if (i % 64 == 0) h = mix(h, counter[i]);
        }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 1);
    uint64_t h = together(cook), sum = 0;
    for (int i = 0; i < N; i++) sum += counter[i], h = mix(h, counter[i]);
    printf("lost %s\n", sum == (uint64_t)(N * threads * rounds) ? "none" : "some");
    return finish(h);
}
