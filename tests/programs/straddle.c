/* Proves: racing accesses that straddle a 64-byte line or a page are ordered on both sides, and replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16 64
#include "common.h"

struct u4 { uint32_t v; } __attribute__((packed));
struct u8 { uint64_t v; } __attribute__((packed));
struct u16 { unsigned __int128 v; } __attribute__((packed));

static uint8_t pot[3 * 4096] __attribute__((aligned(4096)));

#define AT(type, k) ((volatile struct type *)(pot + (k)))->v

/* Places just before a line's end; every fourth is also a page's end. */
static uint32_t place(uint32_t r) {
    return (r & 3 ? 64 * (1 + (r >> 2) % 6) : 4096 * (1 + (r >> 2) % 2)) - 1 - (r >> 8) % 15;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), a = place(r >> 3), b = place(rnd(&s));
        ENTER();
        switch (r & 7) {
        case 0: h = mix(h, AT(u4, a)), AT(u4, b) = (uint32_t)h; break;
        case 1: h = mix(h, AT(u8, a)), AT(u8, b) = h; break;
        case 2: h = mix(h, (uint64_t)(AT(u16, a) >> 33)), AT(u16, b) = (unsigned __int128)h * h; break;
        case 3: h = mix(h, *(volatile uint8_t *)(pot + a)), *(volatile uint8_t *)(pot + b + 1) = (uint8_t)h; break;
        case 4: memcpy(pot + b, pot + a, 12); break;
        case 5: h = mix(h, AT(u8, a)); break;
        case 6: h = mix(h, (uint64_t)AT(u16, a)); break;
        default: AT(u8, b) += AT(u8, a) | 1;
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 10000);
    uint64_t h = together(cook);
    return finish(mix_bytes(h, pot, sizeof pot));
}
