/* Proves: C++ exceptions thrown across frames with racing accesses replay exactly (landing pads, cleanups, rethrow). */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16
#include "common.h"
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

static volatile uint32_t pot[16];

struct guard {
    uint32_t x;
    explicit guard(uint32_t x) : x(x) { pot[x % 16] = pot[x % 16] + 1; }
    ~guard() { pot[(x >> 4) % 16] = pot[(x >> 4) % 16] ^ x; }
};
struct odd_error {
    uint32_t x;
};

static NOINLINE uint32_t dive(int depth, uint32_t x) {
    guard g(x);
    if (!depth) {
        switch (pot[x % 16] % 4) {
        case 0: throw std::runtime_error(std::to_string(pot[(x >> 3) % 16] % 1000));
        case 1: throw odd_error{pot[(x >> 6) % 16]};
        case 2: throw (int)(x % 100);
        default: return x;
        }
    }
    try {
        x += dive(depth - 1, x * 5 + 1);
        pot[x % 16] = x;
    } catch (odd_error &e) {
        pot[e.x % 16] = pot[e.x % 16] + 3;
        if (pot[(e.x >> 2) % 16] & 1) throw;
        x += e.x;
    } catch (int i) {
        if (depth > 2 && pot[i % 16] & 1) throw std::logic_error("deep");
        x ^= (uint32_t)i;
    }
    return x + pot[x % 16];
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ENTER();
        try {
            h = mix(h, dive(5, (uint32_t)h));
        } catch (const std::exception &e) {
            h = mix_bytes(h, e.what(), strlen(e.what()));
        } catch (odd_error &e) {
            h = mix(h, e.x);
        } catch (...) {
            h = mix(h, 1);
        }
        std::vector<uint32_t> v(20);
        for (uint32_t j = 0; j < 20; j++) v[j] = j * 2654435761u ^ (uint32_t)h;
        try {
            std::sort(v.begin(), v.end(), [](uint32_t a, uint32_t b) {
                pot[a % 16] = pot[a % 16] + 1;
                if (pot[b % 16] % 29 == 0) throw odd_error{a};
                return a < b;
            });
        } catch (odd_error &e) {
            h = mix(h, e.x);
        }
        for (uint32_t x : v) h = mix(h, x);
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    return finish(h);
}
