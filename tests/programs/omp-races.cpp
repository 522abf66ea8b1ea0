/* Proves: what races in OpenMP regions replays: updates that are lost, iterations and tasks that anybody gets, regions of several threads of the
 * program's own at once, nested ones, an exception within a region, objects that are private. */
// RUN: %rr %s %t -fopenmp
// SOAK: 2 4 8
#include "common.h"
#include <memory>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

struct Box {
    std::string text = "x";
    int from = 0;
    Box() = default;
    Box(const Box &other) : text(other.text + "c"), from(other.from) {}
    ~Box() { from = -1; }
};

static int raced[64];
static std::vector<int> order;

static uint64_t work(int seed, long n) {
    uint64_t h = (uint64_t)seed;
    int lost = 0, thrown = 0;
    double sum = 0;
    Box box;
    box.from = seed;
#pragma omp parallel for schedule(dynamic, 5) firstprivate(box) reduction(+ : sum)
    for (int i = 0; i < (int)n; i++) {
        lost++; /* on purpose */
        raced[(i * 7 + seed) % 64] += omp_get_thread_num() + 1;
        sum += 1.0 / (raced[i % 64] + 1) + (double)box.text.size();
        try {
            if (raced[i % 64] % 11 == 3) throw std::runtime_error("three");
        } catch (const std::exception &e) {
#pragma omp atomic
            thrown++;
        }
        if (i % 16 == 0) {
#pragma omp critical
            order.push_back(omp_get_thread_num() * 1000 + i);
        }
    }
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i, box) shared(lost)
        {
            lost += raced[i] & 7;
            box.text += "t";
            if (box.text.size() > 3) raced[i + 20]++;
        }
#pragma omp task depend(inout : lost)
        raced[i + 40] ^= omp_get_thread_num();
    }
    h = mix(h, (uint64_t)lost);
    h = mix(h, (uint64_t)thrown);
    h = mix_bytes(h, &sum, sizeof sum);
    return h;
}

static void *several(void *arg) {
    static uint64_t hash[4];
    long k = (long)arg;
    omp_set_num_threads(2 + (int)k);
    hash[k] = work((int)k, rounds / 2);
    return &hash[k];
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    omp_set_num_threads(threads);
    uint64_t h = work(5, rounds);
    pthread_t id[3];
    for (long k = 0; k < 3; k++) pthread_create(&id[k], NULL, several, (void *)k);
    for (int k = 0; k < 3; k++) {
        void *p;
        pthread_join(id[k], &p);
        h = mix(h, *(uint64_t *)p);
    }
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel for num_threads(3) schedule(guided)
    for (int i = 0; i < 100; i++) raced[i % 8] += i;
    for (int o : order) h = mix(h, (uint64_t)o);
    h = mix_bytes(h, raced, sizeof raced);
    printf("%016lx\n", (unsigned long)h);
}
