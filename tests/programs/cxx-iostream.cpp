/* Proves: output of several threads through std::cout, stringstreams and files comes out the same in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DUNSYNCED
// SOAK: 2 4
#include "common.h"
#include <fstream>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>

static volatile uint32_t pot[8];
UNUSED static std::mutex lock;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        std::ostringstream s;
        s << me << ' ' << std::hex << std::setw(8) << std::setfill('0') << pot[h % 8] << ' ' << (double)(h % 100) / 8;
        h = mix_bytes(h, s.str().data(), s.str().size());
        pot[(h >> 8) % 8] = (uint32_t)h;
#ifdef UNSYNCED
        std::lock_guard<std::mutex> g(lock);
#endif
        std::cout << s.str() << (i % 4 ? "\n" : "") << (void *)&h;
        if (i % 4 == 0) std::cout << std::endl;
        if (i % 16 == 0) std::cerr << "thread " << me << " at " << i << '\n';
        if (i % 16 == 8) {
            std::ifstream f("/proc/self/comm");
            std::string line;
            std::getline(f, line);
            h = mix_bytes(h, line.data(), line.size());
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 50);
#ifdef UNSYNCED
    std::ios::sync_with_stdio(false);
#endif
    uint64_t h = together(cook);
    std::cout << std::hex << h << std::endl;
    return 0;
}
