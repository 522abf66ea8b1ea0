/* Proves: unaligned accesses of different sizes that overlap each other, all racing, replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16 64
#include "common.h"

struct u2 { uint16_t v; } __attribute__((packed));
struct u4 { uint32_t v; } __attribute__((packed));
struct u8 { uint64_t v; } __attribute__((packed));
struct u16 { unsigned __int128 v; } __attribute__((packed));
typedef uint32_t v4 __attribute__((vector_size(16), aligned(1)));

static uint8_t pot[96] __attribute__((aligned(64)));

#define AT(type, k) ((volatile struct type *)(pot + (k)))->v

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), a = (r >> 4) % 80, b = (r >> 16) % 80;
        ENTER();
        switch (r & 7) {
        case 0: h = mix(h, *(volatile uint8_t *)(pot + a)), *(volatile uint8_t *)(pot + b) = (uint8_t)h; break;
        case 1: h = mix(h, AT(u2, a)), AT(u2, b) = (uint16_t)h; break;
        case 2: h = mix(h, AT(u4, a)), AT(u4, b) = (uint32_t)h; break;
        case 3: h = mix(h, AT(u8, a)), AT(u8, b) = h; break;
        case 4: h = mix(h, (uint64_t)(AT(u16, a) >> 60)), AT(u16, b) = (unsigned __int128)h * h; break;
        case 5: {
            v4 v = *(volatile v4 *)(pot + a);
            h = mix(h, v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7);
            *(volatile v4 *)(pot + b) = v + (uint32_t)h;
            break;
        }
        case 6: AT(u4, b) += AT(u8, a) & 0xffff; break;
        default: AT(u8, b) ^= (uint64_t)AT(u2, a) << 24;
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 15000);
    uint64_t h = together(cook);
    return finish(mix_bytes(h, pot, sizeof pot));
}
