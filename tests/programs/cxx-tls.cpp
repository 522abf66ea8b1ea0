/* Proves: thread_local objects with racing constructors and destructors, and global ones, replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <thread>
#include <vector>

static volatile uint32_t pot[8];
static uint64_t ended;
struct counted {
    uint64_t h;
    explicit counted(uint64_t s) : h(mix(s, pot[s % 8])) { pot[(s >> 4) % 8] = pot[(s >> 4) % 8] + 1; }
    ~counted() {
        for (int i = 0; i < 10; i++) h = mix(h, pot[h % 8]), pot[(h >> 8) % 8] = (uint32_t)h;
        __atomic_fetch_add(&ended, h, __ATOMIC_RELAXED);
    }
};
static thread_local counted a(11);
static thread_local std::vector<uint64_t> v(5, 7);
struct report {
    ~report() { printf("at exit %016llx %u\n", (unsigned long long)ended, pot[0]); }
};
static report at_exit;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        thread_local counted b((uint64_t)i + 3);
        h = mix(h, a.h + b.h + v[h % 5]);
        v[h % 5] = h;
        a.h += pot[h % 8];
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 500);
    std::thread t([] { a.h++; });
    uint64_t h = together(cook);
    t.join();
    return finish(mix(h, ended));
}
