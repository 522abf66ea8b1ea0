/* Proves: the time-stamp counter and the processor's random numbers are inputs, however the program asks for them. */
// RUN: %rr %s %t
// FLAGS: -mrdrnd
// SOAK: 2 4
#include "common.h"
#include <x86intrin.h>

static uint64_t by_hand(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}
static uint64_t high_first(void) {
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=d"(hi), "=a"(lo));
    return (uint64_t)hi << 32 | lo;
}
static uint32_t low_only(void) {
    uint32_t lo;
    __asm__ volatile("rdtsc" : "=a"(lo) : : "edx");
    return lo;
}
static uint64_t whole(void) {
    uint64_t v;
    __asm__ volatile("lfence; rdtsc; shlq $32, %%rdx; orq %%rdx, %%rax" : "=a"(v) : : "rdx");
    return v;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        unsigned cpu;
        unsigned long long r = 0;
        uint64_t a = by_hand(), b = whole(), c = __rdtsc(), d = __rdtscp(&cpu), e = high_first();
        if (b < a || c < b || e < c) abort(); /* of one thread, on machines with a constant counter */
        h = mix(mix(mix(mix(h, a), b ^ c), e ^ low_only()), d + cpu + __builtin_readcyclecounter());
        if (__builtin_cpu_supports("rdrnd")) h = mix(h, (uint64_t)_rdrand64_step(&r) + r);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    return finish(together(cook));
}
