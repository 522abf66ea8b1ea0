/* Proves: cancellation unwinds C++ frames (destructors, catch (...) and rethrow), and call_once that throws is done again. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static volatile uint32_t pot[8];
static volatile uint64_t order;

struct Guard {
    uint32_t n;
    explicit Guard(uint32_t k) : n(k) { pot[k % 8]++; }
    ~Guard() { order = mix(order, n + pot[(n + 1) % 8]++); }
};
static std::mutex m;
static std::condition_variable never;

static NOINLINE void deep(int n, int how) {
    Guard g((uint32_t)n);
    if (n > 0) {
        deep(n - 1, how);
        pot[3] ^= 5;
        return;
    }
    if (how == 0) {
        std::unique_lock<std::mutex> l(m);
        for (;;) never.wait(l);
    } else if (how == 1)
        for (;;) sleep(100);
    else
        for (;;) {
            pot[1]++;
            pthread_testcancel();
        }
}

static void *victim(void *p) {
    Guard g(100);
    try {
        deep(6, (int)(uintptr_t)p % 3);
    } catch (...) {
        order = mix(order, pot[2]++);
        throw;
    }
    return nullptr;
}

static std::once_flag flag[20];
static volatile int tries[20];
static void try_it(int i) {
    int n = ++tries[i];
    Guard g((uint32_t)i);
    if (n < 3) throw std::runtime_error("not yet");
    pot[4] += (uint32_t)n;
}
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (int i = 0; i < 20; i++) {
        bool done = false;
        while (!done) {
            try {
                std::call_once(flag[i], try_it, i);
                done = true;
            } catch (std::runtime_error &) {
                h = mix(h, pot[5]++);
            }
        }
        h = mix(h, (uint64_t)tries[i] + pot[4]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 5);
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        std::vector<pthread_t> t((size_t)threads);
        for (int k = 0; k < threads; k++) pthread_create(&t[(size_t)k], NULL, victim, (void *)(uintptr_t)k);
        if (i & 1) usleep(1000);
        for (auto &x : t) pthread_cancel(x);
        for (auto &x : t) {
            void *r;
            pthread_join(x, &r);
            h = mix(h, r == PTHREAD_CANCELED);
        }
    }
    return finish(mix(mix(h, order), together(cook)));
}
