/* Proves: racing accesses of every size (1 to 32 bytes, floats, vectors, non-temporal) replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16 64
#include "common.h"

typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint32_t v8 __attribute__((vector_size(32)));
typedef uint8_t v3 __attribute__((ext_vector_type(3)));
typedef float f2 __attribute__((vector_size(8)));

static volatile union {
    uint8_t b[32];
    uint16_t h[16];
    uint32_t w[8];
    uint64_t d[4];
    unsigned __int128 q[2];
    float f[8];
    double g[4];
    v4 v[2];
    v8 o;
    v3 t[8];
    f2 p[4];
} pot[4] __attribute__((aligned(64)));
static volatile long double ld[2];
static uint32_t nt[16] __attribute__((aligned(64)));

static uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r & 3, x = r >> 8;
        ENTER();
        switch ((r >> 2) % 13) {
        case 0: h = mix(h, pot[k].b[x & 31]), pot[k].b[(x >> 5) & 31] = (uint8_t)h; break;
        case 1: h = mix(h, pot[k].h[x & 15]), pot[k].h[(x >> 5) & 15] = (uint16_t)h; break;
        case 2: h = mix(h, pot[k].w[x & 7]), pot[k].w[(x >> 5) & 7] = (uint32_t)h; break;
        case 3: h = mix(h, pot[k].d[x & 3]), pot[k].d[(x >> 5) & 3] = h; break;
        case 4: {
            unsigned __int128 q = pot[k].q[x & 1];
            h = mix(mix(h, (uint64_t)q), (uint64_t)(q >> 64));
            pot[k].q[(x >> 1) & 1] = q * 3 + h;
            break;
        }
        case 5: h = mix(h, bits(pot[k].f[x & 7])), pot[k].f[(x >> 5) & 7] = (float)(h >> 40); break;
        case 6: {
            double g = pot[k].g[x & 3];
            uint64_t u;
            memcpy(&u, &g, 8);
            h = mix(h, u);
            pot[k].g[(x >> 5) & 3] = (double)(h >> 30);
            break;
        }
        case 7: {
            v4 v = pot[k].v[x & 1];
            h = mix(h, v[0] + v[1] * 3 + v[2] * 5 + v[3] * 7);
            pot[k].v[(x >> 1) & 1] = v * 5 + (uint32_t)h;
            break;
        }
        case 8: {
            v8 v = pot[k].o;
            h = mix(h, v[0] + v[1] * 3 + v[5] * 5 + v[7] * 7);
            pot[k].o = v + (uint32_t)h;
            break;
        }
        case 9: {
            v3 v = pot[k].t[x & 7];
            h = mix(h, (uint32_t)v[0] + v[1] * 3u + v[2] * 5u);
            pot[k].t[(x >> 3) & 7] = v + (uint8_t)h;
            break;
        }
        case 10: {
            f2 v = pot[k].p[x & 3];
            h = mix(h, bits(v[0]) ^ bits(v[1]));
            v[0] = (float)(h >> 48);
            pot[k].p[(x >> 2) & 3] = v;
            break;
        }
        case 11: {
            long double l = ld[x & 1];
            h = mix(h, (uint64_t)l);
            ld[(x >> 1) & 1] = (long double)(h >> 20) + 0.5L;
            break;
        }
        default:
            h = mix(h, nt[x & 15]);
            __builtin_nontemporal_store((uint32_t)h, &nt[(x >> 4) & 15]);
            __builtin_prefetch(&nt[8], 1);
        }
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 15000);
    uint64_t h = together(cook);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 32; j++) h = mix(h, pot[i].b[j]);
    for (int i = 0; i < 16; i++) h = mix(h, nt[i]);
    return finish(mix(h, (uint64_t)ld[0]));
}
