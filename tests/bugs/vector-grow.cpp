/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Observers in a std::vector. One thread adds observers while others notify them: the vector grows, and the loops go on
 * over the array that it had before. */
// KIND: iterator of a std::vector that grows
// FAILS: observers are called that are not there
// SHOWS: signal 11 or signal 6 or exit 1
// LEAST: all threads, 1 iteration, 1 preemption
// NATIVE: 73 in 1000
// ARGS: NOTIFIERS=2 OBSERVERS=300
// LARGE: 4 300
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

struct Observer {
    virtual ~Observer() = default;
    virtual long notify(const std::string &event) = 0;
};

struct Counter : Observer {
    long number;
    explicit Counter(long number) : number(number) {}
    long notify(const std::string &event) override {
        return number + static_cast<long>(event.size());
    }
};

class Subject {
    std::vector<Observer *> observers;

public:
    void add(Observer *o) {
        observers.push_back(o);
    }
    long notify(const std::string &event) {
        long sum = 0;
        for (Observer *o : observers) {
            if (!o) {
                std::fprintf(stderr, "an observer is null\n");
                std::exit(1);
            }
            sum += o->notify(event);
        }
        return sum;
    }
};

int main(int argc, char **argv) {
    int notifiers = argc > 1 ? std::atoi(argv[1]) : 2;
    int n = argc > 2 ? std::atoi(argv[2]) : 300;
    Subject subject;
    std::atomic<bool> stop{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(notifiers));
    for (int i = 0; i < notifiers; i++)
        threads.emplace_back([&, i] {
            ready++;
            for (long event = 0; !stop; event++) subject.notify("event " + std::to_string(event * notifiers + i));
        });
    while (ready < notifiers) std::this_thread::yield();
    for (int i = 0; i < n; i++) subject.add(new Counter(i));
    stop = true;
    for (auto &t : threads) t.join();
    return 0;
}
