/* Proves: semaphores, waited, tried and timed, replay with their results. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <errno.h>
#include <semaphore.h>
#include <time.h>

static sem_t free_slots, used;
static volatile uint32_t pot[8];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        struct timespec t;
        int e, value;
        switch (r % 4) {
        case 0: e = sem_trywait(&free_slots); break;
        case 1:
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec = t.tv_nsec < 999900000 ? t.tv_nsec + 50000 : 999999999;
            e = sem_timedwait(&free_slots, &t);
            break;
        default: e = sem_wait(&free_slots);
        }
        h = mix(h, e ? (uint64_t)errno : 0);
        if (!e) {
            h = mix(h, pot[r % 8]++);
            sem_getvalue(&free_slots, &value);
            h = mix(h, (uint64_t)value);
            sem_post(&free_slots);
        }
        sem_post(&used);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 600);
    sem_init(&free_slots, 0, 2);
    sem_init(&used, 0, 0);
    uint64_t h = together(cook);
    int value;
    sem_getvalue(&used, &value);
    sem_destroy(&used);
    return finish(mix(h, (uint64_t)value));
}
