/* Proves: inline assembly with memory operands is ordered like any other access. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"

static volatile uint32_t pot[8];
static uint64_t wide[4];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), x = r;
        __asm__ volatile("lock; xaddl %0, %1" : "+r"(x), "+m"(pot[r % 8]) : : "memory", "cc");
        h = mix(h, x);
        __asm__ volatile("incq %0" : "+m"(wide[(r >> 4) % 4]) : : "cc");
        uint64_t y;
        __asm__ volatile("movq %1, %0" : "=r"(y) : "m"(wide[(r >> 6) % 4]));
        h = mix(h, y);
        __asm__ volatile("mfence; pause" ::: "memory");
        __asm__ volatile("movl %1, %0" : "=m"(pot[(r >> 8) % 8]) : "r"((uint32_t)h));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 5000);
    uint64_t h = together(cook);
    for (int i = 0; i < 8; i++) h = mix(h, pot[i] + wide[i / 2]);
    return finish(h);
}
