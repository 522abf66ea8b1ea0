/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A report that several threads append to, in one std::string and without a lock. */
// KIND: std::string appended to by several threads
// FAILS: lines are missing, or memory that the string has grown out of is freed twice
// SHOWS: exit 1 or signal 6 or signal 11
// LEAST: 3 threads, 4 iterations, 1 preemption
// NATIVE: 10 in 1000
// ARGS: THREADS=2 LINES=60
// LARGE: 20 10
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

static std::string report;

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 2, lines = argc > 2 ? std::atoi(argv[2]) : 60;
    std::vector<std::thread> threads;
    size_t written[100] = {};
    for (int i = 0; i < n; i++)
        threads.emplace_back([lines, w = &written[i]] {
            for (int k = 0; k < lines; k++) {
                report += "one line\n";
                *w += 9;
            }
        });
    size_t all = 0;
    for (int i = 0; i < n; i++) {
        threads[i].join();
        all += written[i];
    }
    if (report.size() != all) {
        std::fprintf(stderr, "%zu bytes, not %zu\n", report.size(), all);
        return 1;
    }
    return 0;
}
