/* Proves: detached threads, whose stacks and ids are used again, replay exactly. */
// RUN: %rr %s %t
// SOAK: 4 16
#include "common.h"
#include <semaphore.h>

static volatile uint32_t pot[8];
static sem_t done, room;
static uint64_t result;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *cook(void *p) {
    uint64_t h = seed_of((int)(uintptr_t)p);
    if ((uintptr_t)p & 1) pthread_detach(pthread_self());
    for (int i = 0; i < 200; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 4) % 8] = (uint32_t)h;
    }
    pthread_mutex_lock(&lock);
    result = mix(mix(result, h), (uintptr_t)&h);
    pthread_mutex_unlock(&lock);
    sem_post(&room);
    sem_post(&done);
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    sem_init(&done, 0, 0);
    sem_init(&room, 0, (unsigned)threads);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 256 << 10);
    for (long i = 0; i < rounds; i++) {
        pthread_t t;
        sem_wait(&room);
        if (pthread_create(&t, i & 1 ? NULL : &attr, cook, (void *)i)) return 3;
        pot[i % 8]++;
    }
    for (long i = 0; i < rounds; i++) sem_wait(&done);
    return finish(result);
}
