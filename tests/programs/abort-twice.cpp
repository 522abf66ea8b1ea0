/* Proves: several threads that abort, or throw what nobody catches, at the same time end the replay as they ended the run. */
// RUN: %rr %s %t -r 4
// STATUS: 134
#include <cstdlib>
#include <thread>
#include <vector>

static volatile unsigned pot[8];

static void cook(unsigned me) {
    unsigned h = me;
    for (int i = 0; i < 2000; i++) {
        h = h * 31 + pot[h & 7];
        pot[(h >> 3) & 7] = h;
    }
    if (me & 1) abort();
    throw 1;
}

int main() {
    std::vector<std::thread> all;
    for (unsigned i = 0; i < 4; i++) all.emplace_back(cook, i);
    for (auto &t : all) t.join();
}
