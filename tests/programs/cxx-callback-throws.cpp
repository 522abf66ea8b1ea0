/* Proves: an exception that leaves a comparator passes through qsort, bsearch and the like, as it does through libc's. */
// RUN: %rr %s %t
#include "common.h"
#include <stdexcept>

static volatile uint32_t pot[16];

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    pot[(x ^ y) % 16] += x;
    if (pot[x % 16] % 7 == 3) throw std::runtime_error("no order");
    return x < y ? -1 : x > y;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        uint32_t v[9], *found = NULL;
        for (int k = 0; k < 9; k++) v[k] = pot[k] ^ (uint32_t)(h >> k);
        try {
            qsort(v, 9, sizeof *v, compare);
            found = (uint32_t *)bsearch(&v[4], v, 9, sizeof *v, compare);
        } catch (const std::exception &e) {
            h = mix_bytes(h, e.what(), 8);
        }
        h = mix(mix_bytes(h, v, sizeof v), found != NULL);
        pot[h % 16] = (uint32_t)h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    return finish(together(cook));
}
