/* Proves: shared_ptr counts, weak pointers, virtual calls and containers that threads race over replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

struct shape {
    volatile uint64_t seen = 0;
    virtual ~shape() {}
    virtual uint64_t area(uint64_t x) = 0;
};
static volatile uint32_t pot[8];
struct square : shape {
    uint64_t side = 3;
    ~square() override { pot[1] = pot[1] + 1; }
    uint64_t area(uint64_t x) override { side += x & 3; return side * side + (seen = seen + 1); }
};
struct circle : shape {
    double radius = 1.5;
    uint64_t area(uint64_t x) override { return (uint64_t)(radius += (double)(x & 7)) ^ (seen = seen + 2); }
};

static std::shared_ptr<shape> slot[6];
static std::mutex lock;
static std::unordered_map<std::string, std::weak_ptr<shape>> names;

/* A function-local static: who constructs it is a race. */
static std::vector<uint64_t> &once(uint64_t h) {
    static std::vector<uint64_t> v(10, h);
    return v;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    std::list<std::string> words;
    for (long i = 0; i < rounds; i++) {
        std::shared_ptr<shape> s = std::atomic_load(&slot[h % 6]);
        if (s) h = mix(h, s->area(h) + (uint64_t)s.use_count());
        if ((h >> 8) % 4 == 0) {
            std::shared_ptr<shape> n;
            if (h & 1) n = std::make_shared<square>();
            else n.reset(new circle);
            std::atomic_store(&slot[(h >> 12) % 6], n);
            std::lock_guard<std::mutex> g(lock);
            names[std::to_string(h % 20)] = n;
        } else if ((h >> 8) % 4 == 1) {
            std::lock_guard<std::mutex> g(lock);
            auto it = names.find(std::to_string(h % 20));
            if (it != names.end()) {
                auto p = it->second.lock();
                h = mix(h, p ? p->seen : 1);
            }
        }
        words.push_back(std::to_string(h));
        if (words.size() > 10) words.pop_front();
        h = mix(h, words.front().size() + once(h)[h % 10] + pot[1]);
        pot[h % 8] = (uint32_t)h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    uint64_t h = together(cook);
    for (auto &s : slot) h = mix(h, s ? s->area(1) : 0);
    return finish(mix(h, pot[1]));
}
