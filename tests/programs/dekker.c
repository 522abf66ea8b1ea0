/* Proves: Dekker's mutual exclusion replays exactly, with volatile flags (broken on x86) and with atomics. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2
#include "common.h"

/* Two threads; -DSAFE has sequentially consistent flags and a counter that is therefore never wrong. */
#ifdef SAFE
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#else
#define LOAD(x) (x)
#define STORE(x, v) ((x) = (v))
#endif
static volatile int wants[2], turn, inside;
static volatile uint64_t counter, crowded;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), turns = 0;
    int other = !me;
    for (long i = 0; i < rounds; i++) {
        STORE(wants[me], 1);
        while (LOAD(wants[other])) {
            if (LOAD(turn) != me) {
                STORE(wants[me], 0);
                while (LOAD(turn) != me)
                    if (++turns % 4096 == 0) sched_yield();
                STORE(wants[me], 1);
            }
            turns++;
        }
        if (inside) crowded++;
        inside = 1;
        h = mix(h, ++counter + turns);
        inside = 0;
        STORE(turn, other);
        STORE(wants[me], 0);
        if (i + 1 == rounds) STORE(turn, other);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 20000);
    threads = 2;
    uint64_t h = together(cook);
    printf("%s, lost %ld, together %d\n", "dekker", 2 * rounds - (long)counter, crowded != 0);
    return finish(h);
}
