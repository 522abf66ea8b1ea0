/* Proves: Peterson's lock, pairwise in a tournament for more than two threads, replays exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8
#include "common.h"

#ifdef SAFE
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#else
#define LOAD(x) (x)
#define STORE(x, v) ((x) = (v))
#endif

/* A binary tree of two-thread locks; thread i enters at leaf 64 + i and climbs to node 1. */
static volatile struct { int flag[2], turn; } node[128];
static volatile uint64_t counter;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), turns = 0;
    int leaf = 64 + me % 64;
    for (long i = 0; i < rounds; i++) {
        for (int n = leaf; n > 1; n /= 2) {
            int side = n & 1, p = n / 2;
            STORE(node[p].flag[side], 1);
            STORE(node[p].turn, !side);
            while (LOAD(node[p].flag[!side]) && LOAD(node[p].turn) != side)
                if (++turns % 512 == 0) sched_yield();
        }
        h = mix(h, ++counter);
        for (int p = 1, k = 5; k >= 0; k--) { /* from the root down: the release order of the climb reversed */
            int n = leaf >> k;
            STORE(node[p].flag[n & 1], 0);
            p = n;
        }
    }
    return mix(h, turns);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 4000);
    if (threads > 64) threads = 64;
    uint64_t h = together(cook);
    printf("lost %d\n", counter != (uint64_t)(rounds * threads));
    return finish(h);
}
