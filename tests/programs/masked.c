/* Proves: masked loads and stores, gathers and vectorised loops over racing arrays replay exactly. */
// RUN: %rr %s %t -O3
// SOAK: 2 4
#include "common.h"

#define N 128
static uint32_t a[N], b[N], idx[N];

__attribute__((target("avx2"), noinline)) static uint32_t avx2(void) {
    uint32_t sum = 0;
    for (int i = 0; i < N; i++)
        if (a[i] & 1) b[i] += a[i];
    for (int i = 0; i < N; i++) sum += a[idx[i] % N];
    for (int i = 0; i < N; i++) a[i] = b[i] > 1000 ? a[i] * 3 + 1 : a[i] ^ b[i];
    return sum;
}
static NOINLINE uint32_t sse2(void) {
    uint32_t sum = 0;
    for (int i = 0; i < N; i++) b[i] = a[i] * 3 + b[i];
    for (int i = 0; i < N; i++) sum += b[i];
    for (int i = 0; i < N; i += 4) a[i] ^= sum;
    return sum;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, h & 1 && __builtin_cpu_supports("avx2") ? avx2() : sse2());
        ((volatile uint32_t *)idx)[h % N] = (uint32_t)(h >> 30);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 600);
    for (uint32_t i = 0; i < N; i++) a[i] = i * 2654435761u, idx[i] = i * 7;
    uint64_t h = together(cook);
    return finish(mix_bytes(mix_bytes(h, a, sizeof a), b, sizeof b));
}
