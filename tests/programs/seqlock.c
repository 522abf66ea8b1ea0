/* Proves: a seqlock, whose readers race and try again, replays with the same tries. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <stdatomic.h>

static _Atomic uint32_t seq;
static volatile uint64_t data[8]; /* plain: readers race with the writers */
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), tries = 0;
    for (long i = 0; i < rounds; i++) {
        if ((h + (uint64_t)i) % 8 == 0) {
            pthread_mutex_lock(&writers);
            atomic_fetch_add_explicit(&seq, 1, memory_order_relaxed);
            atomic_thread_fence(memory_order_release);
            for (int k = 0; k < 8; k++) data[k] += h >> k;
            atomic_fetch_add_explicit(&seq, 1, memory_order_release);
            pthread_mutex_unlock(&writers);
            h = mix(h, 1);
        } else {
            uint64_t copy[8];
            uint32_t a, b;
            do {
                while ((a = atomic_load_explicit(&seq, memory_order_acquire)) & 1)
                    if (++tries % 256 == 0) sched_yield();
                for (int k = 0; k < 8; k++) copy[k] = data[k];
                atomic_thread_fence(memory_order_acquire);
                b = atomic_load_explicit(&seq, memory_order_relaxed);
                tries++;
            } while (a != b);
            for (int k = 0; k < 8; k++) h = mix(h, copy[k]);
        }
    }
    return mix(h, tries);
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 3000);
    uint64_t h = together(cook);
    for (int k = 0; k < 8; k++) h = mix(h, data[k]);
    return finish(h);
}
