/* Proves: pointers that a program keeps in doubles are followed: what they lead to is ordered as anything else, under plan races too. */
// RUN: %rr %s %t
// RUN: %rr %s %t -weft-plan=races
#include "common.h"

static double slots[8];
static uint64_t words[8];

static double box(uint64_t *p) {
    uint64_t bits = 0x7ff8000000000000ull | (uint64_t)(uintptr_t)p;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static uint64_t *unbox(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return (uint64_t *)(uintptr_t)(bits & 0xffffffffffffull);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        uint64_t *p = unbox(slots[(h >> 5) % 8]);
        h = mix(h, *p);
        *p = h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 2000);
    for (int i = 0; i < 8; i++) slots[i] = box(&words[(i * 3) % 8]);
    return finish(together(cook));
}
