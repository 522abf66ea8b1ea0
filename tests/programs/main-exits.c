/* Proves: main may leave with pthread_exit; the last thread ends the process, and atexit handlers run there. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"

static volatile uint32_t pot[8];
static void last(void) {
    uint64_t h = 0;
    for (int i = 0; i < 8; i++) h = mix(h, pot[i]);
    finish(h);
}

static void *cook(void *p) {
    uint64_t h = seed_of((int)(uintptr_t)p);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 4) % 8] = (uint32_t)h;
    }
    printf("%d %016llx\n", (int)(uintptr_t)p, (unsigned long long)h);
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 3000);
    atexit(last);
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, cook, (void *)(uintptr_t)i)) return 3;
        pthread_detach(t);
    }
    pot[0]++;
    pthread_exit(NULL);
}
