/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A std::weak_ptr is asked whether what it points to is still there, and locked only then. */
// KIND: std::weak_ptr that expires between the question and the lock
// FAILS: there is no session any more
// SHOWS: signal 6
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 1000
// ARGS: READERS=2 ROUNDS=100
// LARGE: 33 100
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct Session {
    int user;
};
static std::weak_ptr<Session> last;

int main(int argc, char **argv) {
    int readers = argc > 1 ? std::atoi(argv[1]) : 2;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
    auto session = std::make_shared<Session>(Session{7});
    last = session;
    std::vector<std::thread> threads;
    std::vector<long> sum(readers);
    for (int i = 0; i < readers; i++)
        threads.emplace_back([&sum, i, rounds] {
            for (int k = 0; k < rounds; k++) {
                if (last.expired()) break;
                auto s = last.lock();
                if (!s) std::abort();
                sum[i] += s->user;
            }
        });
    session.reset();
    for (auto &t : threads) t.join();
    return 0;
}
