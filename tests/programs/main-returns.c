/* Proves: main may return while threads run or sleep: the replay ends there too. */
// RUN: %rr %s %t
// STATUS: 5
// SOAK: 2 4
#include "common.h"
#include <time.h>

static volatile uint32_t pot[16];

static void *cook(void *p) {
    uint64_t h = seed_of((int)(uintptr_t)p);
    struct timespec t = {100, 0};
    if ((uintptr_t)p % 4 == 3) nanosleep(&t, NULL);
    for (;;) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 8) % 16] = (uint32_t)h;
    }
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 3000);
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, cook, (void *)(uintptr_t)i)) return 3;
    }
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) h = mix(h, pot[i % 16]++);
    finish(h);
    return 5;
}
