/* Proves: loops whose memory is looked at before they begin replay exactly when they touch a table in any order, go round a ring, or may end the
 * program, and others take some of it meanwhile. */
// RUN: %rr %s %t
// SOAK: 2 4 8 32
#include "common.h"

#define N 4000
static uint32_t keys[N], table[64][256], ring[3 * N];
static uint64_t big[2048];
static pthread_barrier_t all;

static NOINLINE void count(uint32_t *t, const uint32_t *k, int n) {
    for (int i = 0; i < n; i++) t[k[i] >> 3 & 255]++;
}
static NOINLINE void spread(uint32_t *to, uint64_t *t, int n) { /* two tables, one of them written, and what is written is what is looked up by */
    for (int i = 0; i < n; i++) t[to[i] & 2047] += to[i] = to[i] * 5 + (uint32_t)t[to[i] >> 20 & 2047];
}
static NOINLINE uint64_t around(const uint32_t *p, long from, long n, long turns) {
    uint64_t s = 0;
    for (long k = 0; k < turns; k++) {
        long i = from + k < n ? from + k : from + k - n;
        s = s * 5 + p[3 * i] + p[3 * i + 2];
    }
    return s;
}
static NOINLINE void push_around(uint32_t *p, long from, long n, long turns) {
    for (long k = 0; k < turns; k++) p[from + k >= n ? from + k - n : from + k] += (uint32_t)k;
}
static NOINLINE void must(const uint32_t *p, int n) {
    for (int i = 1; i < n; i++)
        if (p[i] == 0xffffffffu && p[i - 1] == 0xfffffffeu) {
            fprintf(stderr, "this cannot be\n");
            abort();
        }
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    pthread_barrier_wait(&all);
    for (long i = 0; i < rounds; i++) {
        int n = (int)(h % 1200) + 1, at = (int)((h >> 16) % (N - 1200)), mine = (h >> 32) % 4 != 0;
        uint32_t *t = table[mine ? me % 64 : (int)(h >> 20) % 64 & 63];
        switch ((h >> 40) % 7) {
        case 0:
        case 1: count(t, keys + at, n); break;
        case 2: spread(keys + (mine ? me * (N / threads) : at), big, mine ? N / threads : n); break;
        case 3: h = mix(h, around(ring, (long)(h >> 8) % N & 0xfff, N, n)); break;
        case 4: push_around(ring + (mine ? me * (3 * N / threads) : 0), (long)(h >> 24) % 700 & 0x3ff, 800, (long)n % 700); break;
        case 5: must(keys + at, n); break;
        default: h = mix(h, around(ring, (long)(h >> 8) % 100 & 0x7f, 100 + n % 3, 90));
        }
        h = mix(h, t[h % 256] + ring[h % (3 * N)]);
    }
    pthread_barrier_wait(&all);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    for (int i = 0; i < N; i++) keys[i] = (uint32_t)i * 2654435761u;
    for (int i = 0; i < 3 * N; i++) ring[i] = (uint32_t)i;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    uint64_t h = together(cook);
    for (int i = 0; i < N; i++) h = mix(h, keys[i]);
    for (int i = 0; i < 3 * N; i++) h = mix(h, ring[i]);
    for (int i = 0; i < 64 * 256; i++) h = mix(h, table[i / 256][i % 256]);
    for (int i = 0; i < 2048; i++) h = mix(h, big[i]);
    return finish(h);
}
