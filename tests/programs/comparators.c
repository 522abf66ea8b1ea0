/* Proves: comparators of qsort and bsearch that race (callbacks from code not built with weft) replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

/* Threads sort their own index arrays by keys that all of them change inside the comparator. */
static volatile uint32_t key[64];
static uint32_t calls;

static int by_key(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    calls++;
    if (calls % 5 == 0) key[x % 64] += 7;
    return key[x % 64] < key[y % 64] ? -1 : key[x % 64] > key[y % 64];
}
static int by_key_r(const void *a, const void *b, void *arg) {
    *(uint64_t *)arg = mix(*(uint64_t *)arg, calls);
    return by_key(a, b);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    uint32_t mine[40];
    for (long i = 0; i < rounds; i++) {
        for (uint32_t j = 0; j < 40; j++) mine[j] = (j * 17 + (uint32_t)h) % 64;
        ENTER();
        if (i & 1) qsort(mine, 40, sizeof *mine, by_key);
        else qsort_r(mine, 40, sizeof *mine, by_key_r, &h);
        uint32_t want = (uint32_t)h % 64;
        uint32_t *p = (uint32_t *)bsearch(&want, mine, 40, sizeof *mine, by_key);
        LEAVE();
        h = mix(h, p ? (uint64_t)(p - mine) : 99);
        if (i % 32 == 0) { /* too large for the stack: qsort calls malloc */
            uint32_t many[600];
            for (uint32_t j = 0; j < 600; j++) many[j] = (j * 31 + (uint32_t)h) % 64;
            ENTER();
            qsort(many, 600, sizeof *many, by_key);
            LEAVE();
            h = mix_bytes(h, many, sizeof many);
        }
        h = mix_bytes(h, mine, sizeof mine);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 150);
    for (uint32_t i = 0; i < 64; i++) key[i] = i * 2654435761u >> 20;
    uint64_t h = together(cook);
    for (int i = 0; i < 64; i++) h = mix(h, key[i]);
    return finish(mix(h, calls));
}
