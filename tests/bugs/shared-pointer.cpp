/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The current configuration in a std::shared_ptr. Its counter is atomic, but the pointer itself is not: who copies it
 * while it is replaced may hold an object that is deleted already. */
// KIND: std::shared_ptr replaced while it is copied
// FAILS: a configuration is used that was deleted
// SHOWS: signal 11 or signal 6 or exit 1
// LEAST: all threads, 1 iteration, 1 preemption
// NATIVE: 19 in 1000
// ARGS: READERS=2 CHANGES=100
// LARGE: 33 20
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct Configuration {
    enum { Valid = 0x600d, Gone = 0xdead };
    volatile int state = Valid;
    int version;
    char text[64];
    explicit Configuration(int version) : version(version) {
        std::snprintf(text, sizeof text, "configuration %d", version);
    }
    ~Configuration() {
        state = Gone;
    }
};

static std::shared_ptr<Configuration> current;

static void read(int &last) {
    std::shared_ptr<Configuration> c = current;
    if (c->state != Configuration::Valid) {
        std::fprintf(stderr, "a configuration that is gone, after version %d\n", last);
        std::exit(1);
    }
    last = c->version;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? std::atoi(argv[1]) : 2;
    int changes = argc > 2 ? std::atoi(argv[2]) : 100;
    current = std::make_shared<Configuration>(0);
    std::atomic<bool> stop{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < readers; i++)
        threads.emplace_back([&] {
            int last = 0;
            ready++;
            while (!stop) read(last);
        });
    while (ready < readers) std::this_thread::yield();
    for (int i = 1; i <= changes; i++) current = std::make_shared<Configuration>(i);
    stop = true;
    for (auto &t : threads) t.join();
    return 0;
}
