/* Proves: condition variables with timeouts, signals and broadcasts wake the same threads in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <errno.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t real = PTHREAD_COND_INITIALIZER, mono;
static uint64_t word;
static int waiting, finished;

static struct timespec soon(clockid_t clock, long ns) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ns;
    while (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    return t;
}

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        struct timespec t;
        int e = 0;
        pthread_mutex_lock(&lock);
        h = mix(h, word);
        switch (r % 6) {
        case 0:
            t = soon(CLOCK_REALTIME, 20000 + (long)(r >> 8) % 100000);
            e = pthread_cond_timedwait(&real, &lock, &t);
            break;
        case 1:
            t = soon(CLOCK_MONOTONIC, 20000 + (long)(r >> 8) % 100000);
            e = pthread_cond_timedwait(&mono, &lock, &t);
            break;
        case 2:
            t = soon(CLOCK_MONOTONIC, 50000);
            e = pthread_cond_clockwait(&real, &lock, CLOCK_MONOTONIC, &t);
            break;
        case 3:
            word = mix(word, (uint64_t)me);
            pthread_cond_signal(r & 64 ? &real : &mono);
            break;
        case 4:
            word = mix(word, (uint64_t)me + 100);
            pthread_cond_broadcast(r & 64 ? &real : &mono);
            break;
        default:
            /* A wait without a time limit: only if somebody else is there to end it. */
            if (waiting + finished < threads - 1) {
                waiting++;
                pthread_cond_wait(&mono, &lock);
                waiting--;
            }
        }
        h = mix(mix(h, word), (uint64_t)e);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    finished++;
    while (waiting > 0) { /* the last ones must not sleep for ever */
        pthread_cond_broadcast(&mono);
        struct timespec t = soon(CLOCK_REALTIME, 100000);
        pthread_cond_timedwait(&real, &lock, &t);
    }
    pthread_mutex_unlock(&lock);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 150);
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&mono, &a);
    uint64_t h = together(cook);
    pthread_cond_destroy(&mono);
    pthread_cond_destroy(&real);
    return finish(mix(h, word));
}
