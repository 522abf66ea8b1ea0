/* Proves: private arenas side by side, also 4 GiB apart, with a few racing words, replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <sys/mman.h>

#define ARENA (64 << 10)
static unsigned char *arena[MAX_THREADS];
static volatile uint32_t pot[4];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    uint32_t *mine = (uint32_t *)(void *)arena[me];
    for (long i = 0; i < rounds; i++) {
        for (uint32_t j = 0; j < ARENA / 4; j += 61) {
            mine[j] = mine[(j * 7 + (uint32_t)h) % (ARENA / 4)] + (uint32_t)h;
            h = mix(h, mine[j]);
        }
        h = mix(h, pot[h % 4]++);
        if (i % 8 == 0) h = mix(h, ((volatile uint32_t *)(void *)arena[(me + 1) % threads])[h % 64]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    /* Pairs of neighbours; the pairs are 4 GiB apart, so the arenas of two pairs have equal low address bits. */
    for (int i = 0; i < threads; i += 2) {
        size_t apart = 4ul << 30;
        unsigned char *p =
            (unsigned char *)mmap(NULL, apart, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED || mprotect(p, 2 * ARENA, PROT_READ | PROT_WRITE)) return 3;
        arena[i] = p;
        arena[i + 1] = p + ARENA;
    }
    uint64_t h = together(cook);
    for (int i = 0; i < threads; i++) h = mix_bytes(h, arena[i], ARENA);
    return finish(h);
}
