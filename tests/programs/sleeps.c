/* Proves: sleeping threads of every kind wake in the recorded order, and a replay need not take as long. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <time.h>

static volatile uint32_t pot[4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order;

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        struct timespec t = {0, 50000 + (long)(rnd(&s) % 300000)}, rest = {0, 0};
        switch (i % 4) {
        case 0: h = mix(h, (uint64_t)nanosleep(&t, &rest)); break;
        case 1: usleep((useconds_t)(t.tv_nsec / 1000)); break;
        case 2: clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); break;
        default:
            clock_gettime(CLOCK_MONOTONIC, &t);
            t.tv_nsec = t.tv_nsec < 999000000 ? t.tv_nsec + 200000 : 999999999;
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        }
        pthread_mutex_lock(&lock);
        h = mix(h, order = mix(order, (uint64_t)me));
        pthread_mutex_unlock(&lock);
        h = mix(h, pot[me % 4]++ + pot[(me + 1) % 4]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 20);
    uint64_t h = together(cook);
    return finish(mix(h, order));
}
