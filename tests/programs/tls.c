/* Proves: thread-local variables whose addresses are given to other threads replay exactly when they race on them. */
// RUN: %rr %s %t
// RUN: %rr %s %t -fPIC -ftls-model=global-dynamic
// SOAK: 2 4 8 16
#include "common.h"

static __thread volatile uint32_t box[8];
static __thread struct { uint64_t a; char name[16]; } mine = {42, "local"};
static _Thread_local uint64_t counter = 7;
static volatile uint32_t *volatile door[MAX_THREADS];
static uint64_t *volatile count_of[MAX_THREADS];
static pthread_barrier_t all;

static uint64_t cook(int me) {
    uint64_t h = mix(seed_of(me), mine.a + counter);
    door[me] = box;
    count_of[me] = &counter;
    pthread_barrier_wait(&all);
    for (long i = 0; i < rounds; i++) {
        volatile uint32_t *o = door[(h >> 20) % (uint64_t)threads];
        h = mix(h, o[h % 8] + box[(h >> 4) % 8]);
        o[(h >> 7) % 8] = (uint32_t)h;
        (*(volatile uint64_t *)count_of[(h >> 30) % (uint64_t)threads])++;
        mine.a += counter;
        mine.name[h % 16] = (char)h;
    }
    h = mix(mix_bytes(h, mine.name, 16), mine.a);
    pthread_barrier_wait(&all);
    return mix(h, counter);
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 10000);
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    return finish(together(cook));
}
