/* Proves: what std::future waits for, in the C++ library, replays: with and without a limit of time. */
// RUN: %rr %s %t -std=c++20
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <vector>
using namespace std::chrono_literals;

int main() {
    int late = 0, sum = 0;
    for (int i = 0; i < 100; i++) {
        std::promise<int> given;
        std::shared_future<int> got = given.get_future().share();
        std::vector<std::future<int>> waits;
        for (int k = 0; k < 3; k++)
            waits.push_back(std::async(std::launch::async, [got, k] {
                int n = 0;
                while (got.wait_for(std::chrono::microseconds(20 * k)) != std::future_status::ready) n++;
                return n;
            }));
        if (i % 4) std::this_thread::sleep_for(100us);
        given.set_value(i);
        for (auto &w : waits) late += w.get();
        sum += got.get();
    }
    printf("%d, %d times too early\n", sum, late);
}
