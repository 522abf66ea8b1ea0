/* Proves: a robust mutex whose owner dies is handed on in the replay to the thread that got it. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <errno.h>

static pthread_mutex_t m;
static uint64_t state;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    int e = pthread_mutex_lock(&m);
    if (e == EOWNERDEAD) {
        h = mix(h, state = mix(state, 99));
        pthread_mutex_consistent(&m);
    } else if (e) return (uint64_t)e;
    h = mix(h, state = mix(state, (uint64_t)me));
    if (me % 3 != 0) pthread_mutex_unlock(&m); /* every third dies with the mutex locked */
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 8, 10);
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&m, &a);
        h = mix(h, together(cook));
        int e = pthread_mutex_lock(&m);
        h = mix(mix(h, (uint64_t)e), state);
        pthread_mutex_unlock(&m); /* not made consistent: the mutex is lost for good */
        h = mix(h, (uint64_t)pthread_mutex_lock(&m) + (uint64_t)(e == EOWNERDEAD));
    }
    return finish(h);
}
