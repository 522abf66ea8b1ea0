/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Timers in a list, under a lock. The lock is released while a timer's callback runs, since that may want it, and meanwhile another thread
 * cancels the timer. */
// KIND: the lock is released in the middle of a walk over a std::list
// FAILS: a timer that was cancelled goes off: assertion
// SHOWS: signal 6
// LEAST: 3 threads, 3 iterations, 1 preemption
// NATIVE: 12 in 1000
// ARGS: THREADS=4 ROUNDS=200
// LARGE: 34 10
#include <cassert>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

struct Timer {
    int due;
    bool cancelled;
};

static std::list<Timer *> timers;
static std::mutex lock;

static void tick(int rounds) {
    for (int i = 0; i < rounds; i++) {
        std::unique_lock<std::mutex> l(lock);
        for (Timer *t : timers) {
            if (--t->due > 0) continue;
            l.unlock();
            assert(!t->cancelled);
            l.lock();
            t->due = 5;
        }
    }
}

static void change(int rounds) {
    for (int i = 0; i < rounds; i++) {
        std::lock_guard<std::mutex> l(lock);
        if (timers.size() > 4) {
            timers.back()->cancelled = true; /* and is never freed: somebody may still look at it */
            timers.pop_back();
        }
        timers.push_front(new Timer{3 + i % 4, false});
    }
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
    for (int i = 0; i < 4; i++) timers.push_back(new Timer{i, false});
    std::vector<std::thread> t;
    for (int i = 0; i < threads; i++) t.emplace_back(i % 2 ? change : tick, rounds);
    for (auto &x : t) x.join();
    return 0;
}
