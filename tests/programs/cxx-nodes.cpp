/* Proves: what std::map and std::list do from node to node is ordered: threads that use them without a lock replay alike, broken links included;
 * and that they are still maps and lists. */
/* Lists that are threaded through one another only change links; nodes are never freed, so that nothing crashes. */
// RUN: %rr %s %t -r 3
// SOAK: 2 4
#include "common.h"
#include <list>
#include <set>
#include <vector>

static void must(bool right) {
    if (!right) abort();
}

/* Alone: against what is known to be right. */
static void is_right(uint64_t *s) {
    std::set<unsigned> set;
    bool in[100] = {};
    for (int i = 0; i < 3000; i++) {
        unsigned k = rnd(s) % 100;
        if (rnd(s) % 2)
            set.insert(k), in[k] = true;
        else
            set.erase(k), in[k] = false;
        std::vector<unsigned> all;
        for (unsigned j = 0; j < 100; j++)
            if (in[j]) all.push_back(j);
        must(std::vector<unsigned>(set.begin(), set.end()) == all);
        must(std::vector<unsigned>(set.rbegin(), set.rend()) == std::vector<unsigned>(all.rbegin(), all.rend()));
    }
    for (int i = 0; i < 200; i++) {
        std::list<int> a, b;
        std::vector<int> as, bs;
        for (unsigned k = rnd(s) % 4; k; k--) a.push_back((int)k), as.push_back((int)k);
        for (unsigned k = rnd(s) % 4; k; k--) b.push_front((int)k), bs.insert(bs.begin(), (int)k);
        switch (rnd(s) % 4) {
        case 0: a.swap(b), as.swap(bs); break;
        case 1: a.reverse(), as = std::vector<int>(as.rbegin(), as.rend()); break;
        case 2: a.splice(a.begin(), b), as.insert(as.begin(), bs.begin(), bs.end()), bs.clear(); break;
        case 3:
            if (!a.empty()) b.splice(b.end(), a, a.begin()), bs.push_back(as[0]), as.erase(as.begin());
            break;
        }
        must(std::vector<int>(a.begin(), a.end()) == as && std::vector<int>(b.begin(), b.end()) == bs);
        must(std::vector<int>(a.rbegin(), a.rend()) == std::vector<int>(as.rbegin(), as.rend()));
    }
}

static std::set<unsigned> shared;
static std::list<unsigned> *ring;

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        if (me == 0) { /* one only puts in, others look: a walk never leaves the nodes that there are */
            shared.insert(rnd(&s) % 10000);
        } else {
            auto it = shared.begin();
            for (int k = 0; k < 20 && it != shared.end(); k++, ++it) h = mix(h, *it);
        }
        ring->push_back((unsigned)h);
        auto at = ring->begin();
        for (unsigned k = rnd(&s) % 8; k; k--) ++at;
        h = mix(h, *at);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1500);
    uint64_t s = 7;
    is_right(&s);
    ring = new std::list<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (unsigned i = 0; i < 100; i++) shared.insert(rnd(&s) % 10000);
    uint64_t h = together(cook);
    auto at = ring->begin();
    for (int i = 0; i < 6000; i++, ++at) h = mix(h, *at);
    for (unsigned x : shared) h = mix(h, x);
    int status = finish(h);
    fflush(stdout);
    _exit(status); /* nothing is taken apart */
}
