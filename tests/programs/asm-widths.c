/* Proves: inline assembly is ordered by what its instructions access, where the types of its operands say less: a 16-byte exchange on
 * a word, an exchange of a word on a char, bits far beyond the word, and words behind a pointer beside a memory operand. */
/* Without the widths, two of three recordings replay differently; four are made. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"

static _Alignas(64) uint64_t pair[2][2];
static _Alignas(64) uint64_t bits[64];
static _Alignas(64) uint64_t other[2];

static int exchange_pair(uint64_t *target, uint64_t *expected, uint64_t *wanted) {
    uint8_t same;
    __asm__ volatile("movq 0(%4), %%rax; movq 8(%4), %%rdx; lock cmpxchg16b %0; setz %1"
                     : "+m"(*target), "=q"(same)
                     : "b"(wanted[0]), "c"(wanted[1]), "q"(expected)
                     : "memory", "cc", "rax", "rdx");
    return same;
}
static uint64_t exchange(uint64_t *target, uint64_t wanted) {
    __asm__ volatile("xchg %1, %0" : "+m"(*(char *)target), "+r"(wanted) : : "memory");
    return wanted;
}
static int set_bit(uint64_t *words, uint64_t n) {
    uint8_t was;
    __asm__ volatile("lock btsq %2, %0; setc %1" : "+m"(*words), "=q"(was) : "r"(n) : "memory", "cc");
    return was;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        uint64_t *p = pair[r % 2];
        switch ((r >> 4) % 6) {
        case 0: h = mix(h, (uint64_t)exchange_pair(p, other, (uint64_t[2]){r, h})); break;
        case 1: h = mix(h, p[1]); break;
        case 2: p[1] = h, other[1] = h; break;
        case 3: h = mix(h, (uint64_t)set_bit(bits, (r >> 8) % 4096)); break;
        case 4: h = mix(h, bits[(r >> 8) % 64]), bits[(r >> 16) % 64] = h; break;
        case 5: h = mix(h, exchange(&p[0], h)), other[0] = p[0]; break;
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 5000);
    uint64_t h = together(cook);
    for (int i = 0; i < 64; i++) h = mix(h, bits[i] + pair[i % 2][i / 32]);
    return finish(h);
}
