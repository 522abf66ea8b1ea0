/* Proves: std::thread, mutexes, condition variables, futures, call_once and atomics replay exactly. */
// RUN: %rr %s %t -std=c++17
// SOAK: 2 4 8
#include "common.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::timed_mutex timed;
static std::recursive_mutex recursive;
static std::shared_mutex shared;
static std::condition_variable changed;
static std::deque<uint64_t> queue;
static std::map<uint64_t, uint64_t> table;
static std::atomic<uint64_t> sum{0};
static std::once_flag flag;
static volatile uint32_t pot[8];
static thread_local uint64_t mine = 5;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    std::call_once(flag, [&] { pot[0] = (uint32_t)me + 1; });
    for (long i = 0; i < rounds; i++) {
        switch (h % 7) {
        case 0: {
            std::lock_guard<std::mutex> g(lock);
            queue.push_back(h);
            changed.notify_one();
            break;
        }
        case 1: {
            std::unique_lock<std::mutex> g(lock);
            changed.wait_for(g, std::chrono::microseconds(100), [] { return !queue.empty(); });
            if (!queue.empty()) h = mix(h, queue.front()), queue.pop_front();
            break;
        }
        case 2:
            if (timed.try_lock_for(std::chrono::microseconds(20))) {
                h = mix(h, pot[h % 8]);
                pot[h % 8] = (uint32_t)h;
                timed.unlock();
            }
            break;
        case 3: {
            std::unique_lock<std::shared_mutex> g(shared);
            table[h % 50] = h;
            break;
        }
        case 4: {
            std::shared_lock<std::shared_mutex> g(shared);
            auto it = table.lower_bound(h % 50);
            if (it != table.end()) h = mix(h, it->second);
            break;
        }
        case 5: {
            std::scoped_lock g(recursive, lock);
            h = mix(h, queue.size() + sum.load());
            break;
        }
        default:
            sum.fetch_add(h >> 40, std::memory_order_relaxed);
            pot[h % 8] = pot[(h >> 4) % 8] + 1;
        }
        mine += pot[1];
        h = mix(h, mine + sum);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    std::vector<std::thread> all;
    std::vector<uint64_t> saw((size_t)threads);
    for (int i = 0; i < threads; i++) all.emplace_back([i, &saw] { saw[(size_t)i] = cook(i); });
    auto f = std::async(std::launch::async, [] { return cook(100); });
    std::promise<uint64_t> p;
    std::thread last([&p] { p.set_value(mix(1, pot[2])); });
    uint64_t h = mix(f.get(), p.get_future().get());
    for (auto &t : all) t.join();
    last.join();
    for (uint64_t x : saw) h = mix(h, x);
    return finish(mix(h, table.size() + queue.size()));
}
