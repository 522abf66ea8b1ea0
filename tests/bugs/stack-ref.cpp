/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A detached thread has a reference to a local variable of who started it, who does not wait long enough. */
// KIND: reference to a local variable that outlives it
// FAILS: the request is gone
// SHOWS: exit 4
// LEAST: 2 threads, 1 iteration, 0 preemptions
// NATIVE: 160 in 1000
// ARGS: REQUESTS=20
// LARGE: 200
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

struct Request {
    enum { Valid = 0x600d, Gone = 0xdead };
    volatile int state = Valid;
    int number;
    explicit Request(int number) : number(number) {}
    ~Request() { state = Gone; }
};
static std::atomic<int> running;
static std::atomic<long> total;

static void start(int i) {
    Request request(i);
    running++;
    std::thread([&request] {
        if (request.state != Request::Valid) {
            std::fprintf(stderr, "request %d is gone\n", request.number);
            std::_Exit(4);
        }
        total += request.number;
        running--;
    }).detach();
    usleep(50); /* it has surely begun by now */
}

int main(int argc, char **argv) {
    int requests = argc > 1 ? std::atoi(argv[1]) : 20;
    for (int i = 0; i < requests; i++) start(i);
    while (running) std::this_thread::yield();
    return 0;
}
