/* Proves: std::atomic_load and std::atomic_store of shared pointers replay exactly, the dead bytes of the stack below them included, whoever was
 * the first to call them. */
// RUN: %rr %s %t -r 3
// SOAK: 2 4 8
// RUN: weft-c++ -O2 -g -pthread -w %s -o %t.exe
// RUN: for k in 1 2 3 4; do rm -rf %t.trace && weft record --chaos=$k -o %t.trace -- %t.exe && weft replay --times 2 %t.trace || exit 1; done
#include "common.h"
#include <memory>

static std::shared_ptr<uint64_t> pot;

NOINLINE static uint64_t dig(uint64_t h) {
    volatile unsigned char dead[512];
    for (unsigned i = 0; i < sizeof dead; i++) h = mix(h, dead[i]);
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        std::shared_ptr<uint64_t> p = std::atomic_load(&pot);
        h = dig(h);
        if (p) h = mix(h, (*p)++); /* races */
        if (h % 4 == 0) std::atomic_store(&pot, std::make_shared<uint64_t>(h));
        h = dig(h);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 40);
    return finish(together(cook));
}
