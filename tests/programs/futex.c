/* Proves: programs that call futex directly (their own mutex and event) replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

static uint32_t lock, generation; /* lock: 0 free, 1 taken, 2 taken and waited for */
static uint64_t guarded, calls;

static long futex(uint32_t *p, int op, uint32_t v, const struct timespec *t) {
    return syscall(SYS_futex, p, op | FUTEX_PRIVATE_FLAG, v, t, NULL, 0);
}
static void acquire(void) {
    uint32_t c = 0;
    if (__atomic_compare_exchange_n(&lock, &c, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0) futex(&lock, FUTEX_WAIT, 2, NULL);
}
static void release(void) {
    if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2) futex(&lock, FUTEX_WAKE, 1, NULL);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        acquire();
        h = mix(h, guarded = mix(guarded, (uint64_t)me));
        for (volatile int k = 0; k < 50; k++)
            ;
        release();
        if (i % 16 == 0) {
            struct timespec t = {0, 100000};
            uint32_t g = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
            long r = futex(&generation, FUTEX_WAIT, g, &t);
            h = mix(mix(h, (uint64_t)r), r ? (uint64_t)errno : 0);
        } else if (i % 16 == 8) {
            __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
            h = mix(h, (uint64_t)futex(&generation, FUTEX_WAKE, 100, NULL));
        }
    }
    __atomic_fetch_add(&calls, h, __ATOMIC_RELAXED);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 500);
    uint64_t h = together(cook);
    return finish(mix(mix(h, guarded), calls));
}
