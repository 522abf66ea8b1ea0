/* Proves: after an access that may lie in two lines or more, no register has anything left of its check: what a program finds in registers that
 * it did not set (a variadic function stores them all) is the same in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O1
// RUN: %rr %s %t -fPIC
// SOAK: 2 4 8 16
#include "common.h"

static struct {
    unsigned char b[512];
} __attribute__((aligned(64))) pot;
struct three { uint64_t w[3]; };
struct many { uint64_t w[25]; };

#define REGISTERS                                                                                                      \
    uint64_t c, d, si, di, r8, r9, r10, r11;                                                                           \
    __asm__ volatile("" : "=c"(c), "=d"(d), "=S"(si), "=D"(di));                                                       \
    __asm__ volatile("mov %%r8, %0\n\tmov %%r9, %1\n\tmov %%r10, %2\n\tmov %%r11, %3" : "=&r"(r8), "=&r"(r9), "=&r"(r10), "=&r"(r11));              \
    return c ^ d * 3 ^ si * 5 ^ di * 7 ^ r8 * 9 ^ r9 * 11 ^ r10 * 13 ^ r11 * 15

static NOINLINE uint64_t put8(unsigned char *p, uint64_t v) {
    memcpy(p, &v, 8);
    REGISTERS;
}
static NOINLINE uint64_t put24(unsigned char *p, uint64_t v) {
    memcpy(p, &(struct three){{v, v, v}}, sizeof(struct three));
    REGISTERS;
}
static NOINLINE uint64_t put200(unsigned char *p, const struct many *m) {
    memcpy(p, m, sizeof *m);
    REGISTERS;
}
static NOINLINE uint64_t get8(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    __asm__ volatile("" ::"r"(v));
    REGISTERS;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    struct many m = {{h, h + 1}};
    for (long i = 0; i < rounds; i++) {
        unsigned char *p = pot.b + (h >> 11) % 200;
        switch (h >> 5 & 3) {
        case 0: h = mix(h, put8(p, h)); break;
        case 1: h = mix(h, put24(p, h)); break;
        case 2: h = mix(h, get8(p)); break;
        default: m.w[3] = h, h = mix(h, put200(p, &m)); break;
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 400);
    return finish(mix_bytes(together(cook), pot.b, sizeof pot.b));
}
