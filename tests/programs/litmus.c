/* Proves: litmus shapes (store buffering, message passing, load buffering, IRIW) replay with their outcomes. */
// RUN: %rr %s %t
// SOAK: 4
#include "common.h"

static struct {
    volatile int x __attribute__((aligned(64)));
    volatile int y __attribute__((aligned(64)));
} cell[64];
static volatile int turn;
static volatile int got[64][4][2];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (int i = 0; i < (int)rounds; i++) {
        int k = i % 64;
        /* All start a round together, as well as spinning allows. */
        __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
        for (int n = 0; turn < 4 * (i + 1); n++)
            if (n % 1000 == 999) sched_yield();
        int a = 0, b = 0;
        switch (me) {
        case 0: cell[k].x = i + 1, a = cell[k].y; break;
        case 1: cell[k].y = i + 1, a = cell[k].x; break;
        case 2: a = cell[k].x, b = cell[k].y; break;
        default: a = cell[k].y, b = cell[k].x;
        }
        got[k][me][0] = a, got[k][me][1] = b;
        h = mix(h, (uint64_t)(unsigned)a * 1000003 + (unsigned)b);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    threads = 4;
    return finish(together(cook));
}
