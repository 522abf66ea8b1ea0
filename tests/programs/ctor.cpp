/* Proves: threads started before main by global constructors, and still racing in global destructors, replay. */
// RUN: %rr %s %t
// SOAK: 2
#include "common.h"
#include <atomic>
#include <thread>

static volatile uint32_t pot[8];
static std::atomic<int> stop{0};
static uint64_t stir(uint64_t h, int n) {
    for (int i = 0; i < n; i++) h = mix(h, pot[h % 8]), pot[(h >> 8) % 8] = (uint32_t)h;
    return h;
}
struct early {
    uint64_t saw = 0;
    std::thread t;
    early() : t([this] {
        while (!stop.load(std::memory_order_relaxed)) saw = stir(saw, 20);
    }) {}
    ~early() {
        uint64_t h = stir(1, 300);
        stop = 1;
        t.join();
        printf("destructor %016llx\n", (unsigned long long)mix(h, saw));
    }
};
static early one, two;
__attribute__((constructor)) static void before() { stir(3, 10); }
__attribute__((destructor)) static void after() { printf("after %08x\n", pot[0]); }

int main(int argc, char **argv) {
    args(argc, argv, 2, 2000);
    uint64_t h = together([](int me) { return stir(seed_of(me), (int)rounds); });
    return finish(h);
}
