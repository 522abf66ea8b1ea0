/* Proves: exit in one thread while the others run ends the replay the same, with the same output. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DHOW=_exit
// RUN: %rr %s %t -DHOW=quick_exit
// STATUS: 7
// SOAK: 2 4 8
#include "common.h"

#ifndef HOW
#define HOW exit
#endif
static volatile uint32_t pot[16];

static void last(void) {
    uint64_t h = 0;
    for (int i = 0; i < 500; i++) h = mix(h, pot[i % 16]++);
    printf("last %016llx\n", (unsigned long long)h);
    fflush(stdout);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; me != 1 || i < rounds; i++) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 8) % 16] = (uint32_t)h;
        if (i == rounds / 2) printf("%d %016llx\n", me, (unsigned long long)h), fflush(stdout);
    }
    printf("exit %016llx\n", (unsigned long long)h);
    fflush(stdout);
    HOW(7);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    if (threads < 2) threads = 2;
    atexit(last);
    at_quick_exit(last);
    return finish(together(cook));
}
