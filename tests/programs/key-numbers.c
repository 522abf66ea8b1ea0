/* Proves: which thread gets which key is the same in the replay, also when destructors make keys. */
// RUN: %rr %s %t -r 6
// SOAK: 4 8
#include "common.h"
#include <threads.h>

static pthread_key_t first;
static volatile uint64_t pot;

static void second(void *p) { pot = mix(pot, (uintptr_t)p); }
static void destroy(void *p) {
    pthread_key_t k;
    if (pthread_key_create(&k, second)) return;
    pthread_setspecific(k, (char *)p + 1);
    pot = mix(pot, k);
}

static uint64_t cook(int me) {
    uint64_t h = 0;
    tss_t t;
    pthread_setspecific(first, (void *)(uintptr_t)(me + 10));
    for (int i = 0; i < 10; i++) {
        pthread_key_t k;
        if (pthread_key_create(&k, NULL) == 0) h = mix(h, k);
        if (i % 2) pthread_key_delete(k);
        if (tss_create(&t, NULL) == thrd_success) h = mix(h, t), tss_delete(t);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 8, 1);
    pthread_key_create(&first, destroy);
    uint64_t h = together(cook);
    return finish(mix(h, pot));
}
