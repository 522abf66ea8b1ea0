/* Proves: mutexes with a priority ceiling replay, although libc refuses the first attempt of each thread. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <errno.h>

static pthread_mutex_t lock;
static uint64_t pot;

static uint64_t work(int me) {
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        int e = i % 3 ? pthread_mutex_lock(&lock) : pthread_mutex_trylock(&lock);
        h = mix(h, (uint64_t)e);
        if (e) continue;
        h = mix(h, pot = mix(pot, (uint64_t)me));
        pthread_mutex_unlock(&lock);
    }
    return h;
}

int main(int argc, char **argv) {
    pthread_mutexattr_t a;
    args(argc, argv, 4, 200);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT);
    pthread_mutexattr_setprioceiling(&a, 10);
    if (pthread_mutex_init(&lock, &a)) return 1;
    return finish(together(work));
}
