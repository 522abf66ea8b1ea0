/* Proves: padding and unset members that a program writes out are the same bytes in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// SOAK: 2 4 8
#include "common.h"

struct holes {
    char a;
    uint64_t b;
    char c;
    uint16_t d;
    char e;
    long double f;
    char g;
};
static struct holes shared[4];
static volatile uint32_t pot[16];
static FILE *out;

static NOINLINE void fill(struct holes *s, uint32_t x) {
    s->a = (char)x;
    s->b = x + pot[x % 16]++;
    if (pot[(x >> 4) % 16] & 1) s->d = (uint16_t)x;
    s->f = (long double)x;
}

static NOINLINE uint64_t one(uint64_t h) {
    struct holes s, t;
    fill(&s, (uint32_t)h);
    shared[h % 4] = s;
    t = shared[(h >> 8) % 4];
    if ((h >> 12) % 8 == 0) fwrite(&s, sizeof s, 1, out), fwrite(&t, sizeof t, 1, out);
    return mix_bytes(mix_bytes(h, &s, sizeof s), &t, sizeof t);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        struct holes *m = (struct holes *)malloc(sizeof *m);
        fill(m, (uint32_t)h);
        h = mix_bytes(one(h), m, sizeof *m);
        free(m);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    out = stdout;
    uint64_t h = together(cook);
    for (int i = 0; i < 4; i++) h = mix_bytes(h, &shared[i], sizeof shared[i]);
    return finish(h);
}
