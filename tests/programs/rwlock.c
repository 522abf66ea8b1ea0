/* Proves: read-write locks, tried and timed, with readers side by side, replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <time.h>

static pthread_rwlock_t lock[2];
static uint64_t guarded[2];
static volatile uint32_t readers; /* a race between readers */

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r & 1;
        int e, write = 0;
        struct timespec t;
        switch ((r >> 1) % 8) {
        case 0: e = pthread_rwlock_wrlock(&lock[k]), write = 1; break;
        case 1: e = pthread_rwlock_trywrlock(&lock[k]), write = 1; break;
        case 2:
            clock_gettime(CLOCK_REALTIME, &t);
            e = pthread_rwlock_timedwrlock(&lock[k], &t), write = 1;
            break;
        case 3: e = pthread_rwlock_tryrdlock(&lock[k]); break;
        case 4:
            clock_gettime(CLOCK_REALTIME, &t);
            e = pthread_rwlock_timedrdlock(&lock[k], &t);
            break;
        default: e = pthread_rwlock_rdlock(&lock[k]);
        }
        h = mix(h, (uint64_t)e);
        if (e) continue;
        if (write) h = mix(h, guarded[k] = mix(guarded[k], (uint64_t)me));
        else h = mix(h, guarded[k] + readers++);
        if (r % 32 == 0) sched_yield();
        pthread_rwlock_unlock(&lock[k]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1000);
    pthread_rwlock_init(&lock[0], NULL);
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock[1], &a);
    uint64_t h = together(cook);
    return finish(mix(mix(h, guarded[0] ^ guarded[1]), readers));
}
