/* Proves: threads joined by others than their parent, tried and timed joins, and return values replay exactly. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <errno.h>
#include <time.h>

static volatile uint32_t pot[8];
static pthread_t child[MAX_THREADS];
static volatile int have[MAX_THREADS];

static void *leaf(void *p) {
    uint64_t h = (uintptr_t)p;
    for (int i = 0; i < 300; i++) h = mix(h, pot[h % 8]++);
    return (void *)(uintptr_t)h;
}

/* Starts a child and joins its neighbour's. */
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        if (pthread_create(&child[me], NULL, leaf, (void *)(uintptr_t)h)) return 1;
        __atomic_store_n(&have[me], 1, __ATOMIC_RELEASE);
        int other = (me + 1) % threads;
        while (!__atomic_exchange_n(&have[other], 0, __ATOMIC_ACQUIRE)) sched_yield();
        void *r = NULL;
        int e = EBUSY;
        struct timespec t;
        switch (h % 3) {
        case 0:
            for (int k = 0; k < 3 && e == EBUSY; k++) h = mix(h, (uint64_t)(e = pthread_tryjoin_np(child[other], &r)));
            break;
        case 1:
            clock_gettime(CLOCK_REALTIME, &t);
            e = pthread_timedjoin_np(child[other], &r, &t);
            h = mix(h, (uint64_t)e);
        }
        if (e) e = pthread_join(child[other], &r);
        h = mix(mix(h, (uint64_t)e), (uintptr_t)r);
        __atomic_fetch_add(&have[MAX_THREADS - 1], 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&have[MAX_THREADS - 1], __ATOMIC_ACQUIRE) < (i + 1) * threads) sched_yield();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 10);
    return finish(together(cook));
}
