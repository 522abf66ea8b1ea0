/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A singleton that is made when it is first asked for. Two threads can find that there is none, and each makes one. */
// KIND: lazy singleton, not atomic
// FAILS: threads have different registries
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 29 in 1000
// ARGS: THREADS=12 LOOKUPS=50
// LARGE: 33 10
#undef NDEBUG
#include <cassert>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

class Registry {
    static Registry *instance;
    std::string name{"registry"};

public:
    static Registry &get() {
        if (!instance) instance = new Registry;
        return *instance;
    }
};
Registry *Registry::instance;

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 12;
    int lookups = argc > 2 ? std::atoi(argv[2]) : 50;
    std::vector<std::thread> threads;
    std::vector<Registry *> got(static_cast<size_t>(n));
    for (int i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            for (int k = 0; k < lookups; k++) got[static_cast<size_t>(i)] = &Registry::get();
        });
    for (auto &t : threads) t.join();
    for (Registry *r : got) assert(!r || r == &Registry::get());
    return 0;
}
