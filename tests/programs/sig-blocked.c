/* Proves: handlers run in threads that wait for a mutex, a lock, a condition, a semaphore or a thread. */
// RUN: %rr %s %t
// SOAK: 5
#include "common.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>

static volatile uint32_t pot[8];
static volatile int hits[MAX_THREADS];
static __thread int who;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, mine = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t zero;
static volatile int go, ready;
static pthread_t t[MAX_THREADS];

static void on_signal(int sig) {
    hits[who]++;
    pot[who % 8] += (uint32_t)sig + pot[(who + 1) % 8];
}

static void *sleeper(void *p) {
    (void)p;
    while (!go) sched_yield();
    return NULL;
}

static void *waits(void *p) {
    int me = (int)(uintptr_t)p;
    uint64_t h = seed_of(me);
    pthread_t c;
    who = me;
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    switch (me % 5) {
    case 0:
        pthread_mutex_lock(&held);
        pthread_mutex_unlock(&held);
        break;
    case 1:
        pthread_rwlock_wrlock(&rw);
        pthread_rwlock_unlock(&rw);
        break;
    case 2:
        pthread_mutex_lock(&mine);
        while (!go) pthread_cond_wait(&changed, &mine), h = mix(h, pot[2]);
        pthread_mutex_unlock(&mine);
        break;
    case 3:
        while (sem_wait(&zero)) h = mix(h, (uint64_t)errno + pot[3]);
        break;
    default:
        pthread_create(&c, NULL, sleeper, NULL);
        pthread_join(c, NULL);
    }
    h = mix(h, pot[me % 8]);
    return (void *)(uintptr_t)h;
}

int main(int argc, char **argv) {
    args(argc, argv, 5, 6);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    sigaction(SIGUSR1, &a, NULL);
    sem_init(&zero, 0, 0);
    pthread_mutex_lock(&held);
    pthread_rwlock_rdlock(&rw);
    uint64_t h = 0;
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, waits, (void *)(uintptr_t)i);
    while (ready < threads) sched_yield();
    for (long k = 0; k < rounds; k++)
        for (int i = 0; i < threads; i++) {
            int was = hits[i];
            pthread_kill(t[i], SIGUSR1);
            while (hits[i] == was) usleep(100); /* it runs although the thread waits */
            h = mix(h, pot[i % 8]++);
        }
    go = 1;
    pthread_mutex_lock(&mine);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mine);
    pthread_mutex_unlock(&held);
    pthread_rwlock_unlock(&rw);
    for (int i = 0; i < threads; i++)
        if (i % 5 == 3) sem_post(&zero);
    for (int i = 0; i < threads; i++) {
        void *r;
        pthread_join(t[i], &r);
        h = mix(mix(h, (uint64_t)(uintptr_t)r), (uint64_t)hits[i]);
    }
    return finish(h);
}
