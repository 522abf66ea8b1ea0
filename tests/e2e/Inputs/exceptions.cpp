/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads throw again what others threw, and look at what is left on their stacks. */
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::exception_ptr kept[8];
static std::mutex lock;
static uint64_t seen[4];

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    return h ^ (h >> 29);
}

__attribute__((noinline)) static uint64_t dig(uint64_t h) {
    volatile uint64_t ground[128];
    for (int i = 0; i < 128; i++) h = mix(h, ground[i]);
    return h;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            for (int round = 0; round < 40; round++) {
                try {
                    throw std::runtime_error("x");
                } catch (...) {
                    std::lock_guard<std::mutex> l(lock);
                    kept[(i + round) % 8] = std::current_exception();
                }
                std::exception_ptr e;
                {
                    std::lock_guard<std::mutex> l(lock);
                    e = kept[round % 8];
                }
                try {
                    if (e) std::rethrow_exception(e);
                } catch (...) {
                }
                seen[i] = dig(seen[i]);
            }
        });
    for (auto &t : threads) t.join();
    for (uint64_t h : seen) printf("%016llx\n", (unsigned long long)h);
}
