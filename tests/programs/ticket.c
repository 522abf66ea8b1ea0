/* Proves: ticket locks, test-and-set locks and MCS locks written by hand replay in the same order. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16
#include "common.h"
#include <stdatomic.h>

static _Atomic uint32_t next_ticket, serving;
static atomic_flag tas = ATOMIC_FLAG_INIT;
struct mcs {
    struct mcs *_Atomic next;
    _Atomic int wait;
};
static struct mcs *_Atomic tail;
static uint64_t a, b, c; /* each under one lock */

static void relax(uint32_t *n) {
    if (++*n % 32 == 0) sched_yield();
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    uint32_t n = 0;
    for (long i = 0; i < rounds; i++) {
        uint32_t t = atomic_fetch_add(&next_ticket, 1);
        while (atomic_load_explicit(&serving, memory_order_acquire) != t) relax(&n);
        h = mix(h, a = mix(a, (uint64_t)me));
        atomic_store_explicit(&serving, t + 1, memory_order_release);

        while (atomic_flag_test_and_set_explicit(&tas, memory_order_acquire)) relax(&n);
        h = mix(h, b = mix(b, (uint64_t)me));
        atomic_flag_clear_explicit(&tas, memory_order_release);

        struct mcs my = {NULL, 1}, *before = atomic_exchange(&tail, &my);
        if (before) {
            atomic_store(&before->next, &my);
            while (atomic_load(&my.wait)) relax(&n);
        }
        h = mix(h, c = mix(c, (uint64_t)me));
        struct mcs *expected = &my;
        if (!atomic_compare_exchange_strong(&tail, &expected, NULL)) {
            struct mcs *after;
            while (!(after = atomic_load(&my.next))) relax(&n);
            atomic_store(&after->wait, 0);
        }
    }
    return mix(h, n);
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    uint64_t h = together(cook);
    return finish(mix(mix(mix(h, a), b), c));
}
