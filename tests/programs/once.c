/* Proves: pthread_once and call_once run in the same thread in the replay, and the others see its effects. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <threads.h>

#define N 40
static pthread_once_t once[N];
static once_flag flag[N];
static __thread int who;
static volatile int ran_by[2 * N];
static volatile int at;
static volatile uint32_t pot[4];

static void first(void) {
    for (int i = 0; i < 30; i++) pot[i % 4] += (uint32_t)who;
    ran_by[at] = who + 1;
}
static void second(void) { ran_by[N + at] = who + 1; }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    who = me;
    for (int i = 0; i < N; i++) {
        at = i;
        pthread_once(&once[i], first);
        call_once(&flag[i], second);
        h = mix(h, (uint64_t)ran_by[i] + (uint64_t)ran_by[N + i] + pot[i % 4]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1);
    for (int i = 0; i < N; i++) once[i] = (pthread_once_t)PTHREAD_ONCE_INIT, flag[i] = (once_flag)ONCE_FLAG_INIT;
    uint64_t h = together(cook);
    for (int i = 0; i < 2 * N; i++) h = mix(h, (uint64_t)ran_by[i]);
    return finish(h);
}
