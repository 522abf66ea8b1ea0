/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A latch on which a thread waits until all others have arrived. The last one lets the lock go before it notifies; who waited may have destroyed the
 * latch by then. Each round has threads and a latch of its own. */
// KIND: an object is destroyed while the one who let it be is still in a method of it
// FAILS: what counts how often it was opened is reached through a null pointer, or was freed
// SHOWS: signal 11 or signal 6
// LEAST: all threads, 1 iteration, 1 preemption
// NATIVE: 0 in 1000
// ARGS: THREADS=4 ROUNDS=10
// LARGE: 20 5
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Latch {
    std::mutex lock;
    std::condition_variable all;
    int left;
    int *observed = new int(0); /* how often it was opened */

public:
    explicit Latch(int n) : left(n) {}
    ~Latch() {
        delete observed;
        observed = nullptr;
    }
    void arrive() {
        bool last;
        {
            std::lock_guard<std::mutex> l(lock);
            last = --left == 0;
        }
        if (!last) return;
        if (++*observed != 1) std::abort();
        all.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> l(lock);
        while (left) all.wait(l);
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 4, rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    for (int r = 0; r < rounds; r++) {
        std::vector<std::thread> threads;
        auto latch = std::make_unique<Latch>(n);
        Latch *l = latch.get();
        for (int i = 0; i < n; i++) threads.emplace_back([l] { l->arrive(); });
        latch->wait();
        latch.reset();
        for (auto &t : threads) t.join();
    }
    std::puts("done");
    return 0;
}
