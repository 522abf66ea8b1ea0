/* Proves: threads that stay in their own parts of a shared array, but for its borders, replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"

#define WORDS (1 << 16)
static uint32_t field[WORDS];

static uint64_t cook(int me) {
    uint32_t per = WORDS / (uint32_t)threads, lo = per * (uint32_t)me, hi = lo + per;
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        for (uint32_t k = lo + 1; k + 1 < hi; k++) field[k] = field[k] * 5 + (field[k - 1] ^ field[k + 1]) + 1;
        /* The borders are the neighbours' as well: a race, and false sharing. */
        field[lo] += ((volatile uint32_t *)field)[(lo + WORDS - 1) % WORDS];
        field[hi - 1] ^= ((volatile uint32_t *)field)[hi % WORDS];
        h = mix(h, field[lo] + field[hi - 1]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 40);
    for (uint32_t i = 0; i < WORDS; i++) field[i] = i * 2654435761u;
    uint64_t h = together(cook);
    for (uint32_t i = 0; i < WORDS; i++) h = mix(h, field[i]);
    return finish(h);
}
