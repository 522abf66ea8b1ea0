/* Proves: memory that one thread allocates and another frees for ever is used again: the process does not grow. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <stdatomic.h>

#define SLOTS 64
static void *_Atomic ring[MAX_THREADS][SLOTS];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    int pair = me / 2;
    for (long i = 0; i < rounds; i++) {
        void *_Atomic *slot = &ring[pair][i % SLOTS];
        if (me & 1) {
            void *p;
            while (!(p = atomic_exchange(slot, NULL))) sched_yield();
            h = mix(h, (uintptr_t)p + *(unsigned char *)p);
            free(p);
        } else {
            while (atomic_load(slot)) sched_yield();
            char *p = (char *)malloc(4000);
            memset(p, (int)i, 4000);
            h = mix(h, (uintptr_t)p);
            atomic_store(slot, p);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 5000);
    threads = (threads + 1) & ~1;
    uint64_t h = together(cook);
    /* 5,000 blocks of 4,000 bytes are 20 MB; only SLOTS of them live at a time. */
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2) return 3;
    fclose(f);
    if (getenv("HEAP_GROWTH")) printf("resident %ld KiB\n", resident * 4);
    return finish(h);
}
