/* Proves: plain accesses, all of them races, replay exactly although the compiler may move and merge them. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O3
// SOAK: 2 4 8 16 64
#include "common.h"

static uint32_t pot[64];
static struct {
    uint64_t a, b;
    uint16_t c;
    uint8_t d[6];
} bowl[8];

static uint64_t cook(int me) {
    uint32_t r = (uint32_t)me * 77 + 5;
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        ENTER();
        uint32_t k = pot[r & 63];
        r = (r ^ k) * 2654435761u + 1;
        pot[(r >> 9) & 63] += r;
        bowl[r & 7].a ^= h;
        bowl[(r >> 3) & 7].b += bowl[(r >> 6) & 7].a;
        bowl[(r >> 9) & 7].c++;
        bowl[(r >> 12) & 7].d[(r >> 16) % 6] = (uint8_t)r;
        h = mix(h, k + bowl[(r >> 20) & 7].b + bowl[(r >> 23) & 7].d[(r >> 27) % 6]);
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 10000);
    uint64_t h = together(cook);
    h = mix_bytes(h, pot, sizeof pot);
    return finish(mix_bytes(h, bowl, sizeof bowl));
}
