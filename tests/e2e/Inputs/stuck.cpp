// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads that lock two accounts in different orders; std::mutex is inlined, and so is what calls it.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

struct account {
    std::mutex lock;
    int balance = 0;
};

static std::mutex gate;
static std::condition_variable met;
static int came;

static void meet() {
    std::unique_lock<std::mutex> l(gate);
    came++;
    met.notify_all();
    met.wait(l, [] { return came == 2; });
}

static inline void transfer(account &from, account &to) {
    std::lock_guard<std::mutex> first(from.lock); /* first */
    meet();
    std::lock_guard<std::mutex> second(to.lock); /* second */
    from.balance--;
    to.balance++;
}

int main() {
    auto a = std::make_unique<account>(), b = std::make_unique<account>();
    std::thread t([&] { transfer(*a, *b); });
    std::thread u([&] { transfer(*b, *a); }); /* calls */
    t.join();
    u.join(); /* joins */
}
