/* Proves: a function-local static is made once, however many threads come at the same time, with weft and without. */
// RUN: %rr %s %t
// RUN: %rr %s %t -weft-plan=races -weft-granularity=region
#include "common.h"
#include <vector>

static volatile int made[64];
template <int N> struct thing {
    uint64_t value;
    explicit thing(uint64_t h) : value(h) { made[N] = made[N] + 1; }
};
template <int N> static uint64_t get(uint64_t h) {
    static thing<N> t(h);
    return t.value;
}
template <int N> static uint64_t all(uint64_t h) {
    if constexpr (N == 0) return h;
    else return mix(all<N - 1>(h), get<N - 1>(h));
}

static uint64_t cook(int me) { return all<64>(seed_of(me)); }

int main(int argc, char **argv) {
    args(argc, argv, 8, 1);
    uint64_t h = together(cook);
    for (int m : made)
        if (m != 1) {
            printf("made %d times\n", m);
            return 1;
        }
    return finish(h);
}
