/* Proves: cancellation, deferred and asynchronous, with clean-up handlers that race, replays exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <semaphore.h>
#include <time.h>

static volatile uint32_t pot[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t zero;
static uint64_t cleaned[MAX_THREADS];

static void cleanup(void *p) {
    uint64_t *h = (uint64_t *)p;
    for (int i = 0; i < 10; i++) *h = mix(*h, pot[*h % 8]++);
}
static void unlock(void *p) {
    pot[1]++;
    pthread_mutex_unlock((pthread_mutex_t *)p);
}

static void *victim(void *p) {
    int me = (int)(uintptr_t)p, old;
    uint64_t *h = &cleaned[me];
    pthread_cleanup_push(cleanup, h);
    switch (me % 6) {
    case 0: /* in a condition variable: comes back with the mutex locked */
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(unlock, &lock);
        for (;;) pthread_cond_wait(&never, &lock);
        pthread_cleanup_pop(1);
        break;
    case 1: sem_wait(&zero); break;
    case 2:
        for (;;) {
            pot[*h % 8]++;
            *h = mix(*h, 1);
            pthread_testcancel();
        }
        break;
    case 3:
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        for (int i = 0; i < 2000; i++) *h = mix(*h, pot[i % 8]++);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
        for (;;) pause();
        break;
    case 4: {
        struct timespec t = {100, 0};
        nanosleep(&t, NULL);
        break;
    }
    default:
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        for (;;) pot[3]++;
    }
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 6, 5);
    uint64_t h = 0;
    sem_init(&zero, 0, 0);
    for (long i = 0; i < rounds; i++) {
        pthread_t t[MAX_THREADS];
        for (int k = 0; k < threads; k++) pthread_create(&t[k], NULL, victim, (void *)(uintptr_t)k);
        for (int k = 0; k < 300; k++) pot[k % 8] ^= (uint32_t)k;
        if (i & 1) usleep(2000);
        for (int k = 0; k < threads; k++) pthread_cancel(t[k]);
        for (int k = 0; k < threads; k++) {
            void *r;
            pthread_join(t[k], &r);
            h = mix(mix(h, r == PTHREAD_CANCELED), cleaned[k]);
        }
    }
    return finish(mix(h, pot[0] + pot[3]));
}
