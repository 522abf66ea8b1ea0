/* Proves: a function that does nothing but trap, or look where it is, does so at one address in recording and replay. */
// RUN: %rr %s %t -O0
// RUN: %rr %s %t -O2
// RUN: %rr %s %t -O3
// STATUS: 132
#include "common.h"

static volatile long racy;

NOINLINE static void boom(void) { __builtin_trap(); }
/* Where this is, a handler could see as well. */
NOINLINE static void where(void) {
    if (racy < 0) return;
    __asm__ volatile("leaq 0(%%rip), %%rax\n\tmovq %%rax, %0" : "=m"(racy) : : "rax");
}
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (int i = 0; i < (int)rounds; i++) {
        if (i % 16 == me) where();
        h = mix(h, (uint64_t)racy++);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 100);
    uint64_t h = together(cook);
    printf("%lx\n", h);
    fflush(stdout);
    boom();
}
