/* Proves: structures copied, passed and returned by value while others write them replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

#define DEF(n)                                                                                                         \
    struct s##n { unsigned char b[n]; };                                                                               \
    static struct s##n pot##n[3];                                                                                      \
    static NOINLINE struct s##n turn##n(struct s##n x) {                                                               \
        unsigned char t = x.b[0];                                                                                      \
        x.b[0] = x.b[n - 1] + 1;                                                                                       \
        x.b[n - 1] = t;                                                                                                \
        return x;                                                                                                      \
    }
#define DO(n)                                                                                                          \
    case n: {                                                                                                          \
        struct s##n x = pot##n[r % 3];                                                                                 \
        x.b[r % n] += (unsigned char)h;                                                                                \
        pot##n[(r >> 2) % 3] = turn##n(x);                                                                             \
        pot##n[(r >> 4) % 3] = pot##n[(r >> 6) % 3];                                                                   \
        pot##n[(r >> 8) % 3] = turn##n(pot##n[(r >> 10) % 3]);                                                         \
        h = mix_bytes(h, &x, n);                                                                                       \
        break;                                                                                                         \
    }
#define ALL(X) X(1) X(3) X(5) X(8) X(12) X(16) X(24) X(33) X(64) X(100) X(200)
ALL(DEF)

struct mixed {
    char c;
    double d;
    struct { short s; void *p; } in[2];
    float f[3];
};
static struct mixed m[2];
static const int which[] = {1, 3, 5, 8, 12, 16, 24, 33, 64, 100, 200};

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        ENTER();
        switch (which[(r >> 20) % 11]) { ALL(DO) }
        struct mixed x = m[r & 1];
        x.c++, x.d += 1, x.in[1].s = (short)h, x.f[2] += 0.5f;
        m[(r >> 1) & 1] = x;
        h = mix(h, (uint64_t)(x.c + x.d + x.f[2]) + (uint64_t)(uint16_t)x.in[1].s);
        LEAVE();
    }
    return h;
}

#define SUM(n) h = mix_bytes(h, pot##n, sizeof pot##n);
int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    uint64_t h = together(cook);
    ALL(SUM)
    return finish(mix(h, (uint64_t)(m[0].d + m[1].d)));
}
