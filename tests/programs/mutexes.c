/* Proves: normal, recursive, error-checking and adaptive mutexes, tried, timed and plain, replay with their results. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <errno.h>
#include <time.h>

static pthread_mutex_t m[5];
static uint64_t guarded[5];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r % 5;
        int e = 0;
        switch ((r >> 4) % 5) {
        case 0: e = pthread_mutex_lock(&m[k]); break;
        case 1:
        case 2: e = pthread_mutex_trylock(&m[k]); break;
        case 3: {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec += 50000;
            if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
            e = pthread_mutex_timedlock(&m[k], &t);
            break;
        }
        default: {
            struct timespec t = {0, 0}; /* long past */
            e = pthread_mutex_timedlock(&m[k], &t);
        }
        }
        h = mix(h, (uint64_t)e);
        if (e) continue;
        h = mix(h, guarded[k] = mix(guarded[k], (uint64_t)me));
        if (k == 1) { /* recursive */
            h = mix(h, (uint64_t)pthread_mutex_lock(&m[k]));
            h = mix(h, (uint64_t)pthread_mutex_trylock(&m[k]));
            pthread_mutex_unlock(&m[k]);
            pthread_mutex_unlock(&m[k]);
        }
        if (k == 2) { /* error-checking */
            e = pthread_mutex_lock(&m[k]);
            h = mix(h, e == EDEADLK);
        }
        if (r % 16 == 0) sched_yield();
        h = mix(h, (uint64_t)pthread_mutex_unlock(&m[k]));
        if (k == 2) h = mix(h, pthread_mutex_unlock(&m[k]) == EPERM);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1000);
    static const int kind[5] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_DEFAULT};
    for (int i = 0; i < 5; i++) {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, kind[i]);
        pthread_mutex_init(&m[i], &a);
        pthread_mutexattr_destroy(&a);
    }
    uint64_t h = together(cook);
    for (int i = 0; i < 5; i++) h = mix(mix(h, guarded[i]), (uint64_t)pthread_mutex_destroy(&m[i]));
    return finish(h);
}
