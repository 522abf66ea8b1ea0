/* Proves: loops with two entries (goto) tick on every cycle, and racing accesses in them replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16
#include "common.h"

static volatile uint32_t pot[16];

static NOINLINE uint32_t two_doors(uint32_t x, uint32_t n) {
    if (x & 1) goto inside;
outside:
    pot[x % 16] += x;
    x = x * 5 + 1;
    if (pot[(x >> 3) % 16] & 4) goto out;
inside:
    x ^= pot[(x >> 4) % 16];
    pot[x % 16] ^= n;
    if (n-- > 0) goto outside;
out:
    return x;
}

static NOINLINE uint32_t three_doors(uint32_t x, uint32_t n) {
    switch (x % 3) {
    case 0: goto a;
    case 1: goto b;
    default: goto c;
    }
a:
    x += pot[x % 16]++;
    if (!n--) return x;
    if (x & 8) goto c;
b:
    pot[(x >> 2) % 16] = x;
    if (x & 16 && n) {
        n--;
        goto a;
    }
    x = x * 7 + 1;
c:
    x ^= pot[(x >> 5) % 16];
    if (n && x & 32) {
        n--;
        goto b;
    }
    if (n) goto a;
    return x;
}

/* Duff's device: a switch into the middle of a loop. */
static NOINLINE uint32_t duff(uint32_t x, uint32_t n) {
    uint32_t k = (n + 3) / 4;
    switch (n % 4) {
    case 0:
        do {
            x += pot[x % 16];
            __attribute__((fallthrough));
        case 3: pot[(x >> 3) % 16] ^= x;
            __attribute__((fallthrough));
        case 2: x = x * 3 + pot[(x >> 6) % 16];
            __attribute__((fallthrough));
        case 1: pot[(x >> 9) % 16]++;
        } while (--k > 0);
    }
    return x;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ENTER();
        h = mix(h, two_doors((uint32_t)h, 9));
        h = mix(h, three_doors((uint32_t)h, 12));
        h = mix(h, duff((uint32_t)h, 1 + (uint32_t)(h >> 40) % 11));
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1500);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    return finish(h);
}
