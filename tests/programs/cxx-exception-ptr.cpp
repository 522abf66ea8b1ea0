/* Proves: who of several threads lets go of a shared exception last, and so runs its destructor, is the same in replay. */
/* Without the order, one of two recordings replays differently; eight are made. */
// RUN: %rr %s %t -r 4 -std=c++17
// SOAK: 2 4 8
#include "common.h"
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

static thread_local uint64_t mine;

struct trouble : std::runtime_error {
    uint64_t n;
    explicit trouble(uint64_t n) : std::runtime_error("trouble"), n(n) {}
    trouble(const trouble &) = default;
    ~trouble() override { mine = mix(mine, n); }
};

/* Shared by all: each throws it again, and lets go of it at the end of its handler and once more. */
static std::vector<std::exception_ptr> held;

static uint64_t share(int me, std::vector<std::exception_ptr> all) {
    mine = seed_of(me);
    for (auto &e : all) {
        try {
            if (mine & 1) std::rethrow_exception(e);
        } catch (const trouble &t) {
            mine = mix(mine, t.n);
        }
        e = nullptr;
    }
    return mine;
}

/* Thrown by one, seen by another while the thrower is still in its handler. */
static uint64_t pass_on(int me) {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread other([&p, me] {
        mine = seed_of(me);
        try {
            throw trouble(mine);
        } catch (...) {
            p.set_exception(std::current_exception());
        }
        held[(size_t)me] = std::make_exception_ptr(trouble(mine));
    });
    try {
        f.get();
    } catch (const trouble &t) {
        mine = mix(mine, t.n);
    }
    { auto done = std::move(f); }
    other.join();
    return mine;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 3000);
    uint64_t h = 1;
    held.resize((size_t)threads);
    std::vector<std::exception_ptr> all;
    for (long i = 0; i < rounds; i++) all.push_back(std::make_exception_ptr(trouble((uint64_t)i)));
    std::vector<std::future<uint64_t>> f;
    for (int i = 0; i < threads; i++) f.push_back(std::async(std::launch::async, share, i, all));
    all.clear();
    for (auto &x : f) h = mix(h, x.get());
    for (int i = 0; i < threads; i++) h = mix(h, pass_on(i));
    for (auto &e : held) e = nullptr;
    try {
        std::async(std::launch::async, []() -> int { throw trouble(7); }).get();
    } catch (const std::exception &e) {
        h = mix(h, (uint64_t)e.what()[0]);
    }
    try {
        try {
            try {
                throw trouble(9);
            } catch (...) {
                std::throw_with_nested(std::logic_error("nested"));
            }
        } catch (const std::logic_error &e) {
            std::rethrow_if_nested(e);
        }
    } catch (const trouble &t) {
        h = mix(h, t.n);
    }
    try {
        try {
            throw trouble(8);
        } catch (...) {
            throw; /* thrown again: not let go of at the end of this handler */
        }
    } catch (const trouble &t) {
        h = mix(h, t.n);
    }
    return finish(mix(h, mine));
}
