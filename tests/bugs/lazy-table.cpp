/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A table of powers is made when it is first asked for, and it says that it is made before it is. */
// KIND: lazy initialisation: the flag comes first
// FAILS: the table has no such element yet
// SHOWS: signal 6 or signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 25 in 1000
// ARGS: THREADS=4
// LARGE: 33
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

class Table {
    volatile bool made = false;
    std::vector<long> powers;

  public:
    long get(unsigned i) {
        if (!made) {
            made = true;
            long power = 1;
            for (int k = 0; k < 32; k++) {
                powers.push_back(power);
                power *= 3;
            }
        }
        return powers.at(i);
    }
};
static Table table;

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<std::thread> threads;
    std::vector<long> sum(n);
    for (int i = 0; i < n; i++)
        threads.emplace_back([&sum, i] {
            for (unsigned k = 0; k < 32; k++) sum[i] += table.get(k);
        });
    for (auto &t : threads) t.join();
    return 0;
}
