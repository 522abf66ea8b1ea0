/* Proves: a lock-free stack (8-byte compare and swap with a tag) replays exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"
#include <stdatomic.h>

#define NODES 64
static struct { _Atomic uint32_t next; uint32_t value; } node[NODES + 1];
static _Atomic uint64_t top; /* tag << 32 | index, 0 is empty */

static void push(uint32_t n) {
    uint64_t old = atomic_load_explicit(&top, memory_order_relaxed), new;
    do {
        atomic_store_explicit(&node[n].next, (uint32_t)old, memory_order_relaxed);
        new = ((old >> 32) + 1) << 32 | n;
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, new, memory_order_release, memory_order_relaxed));
}
static uint32_t pop(void) {
    uint64_t old = atomic_load_explicit(&top, memory_order_acquire), new;
    do {
        if (!(uint32_t)old) return 0;
        new = ((old >> 32) + 1) << 32 | atomic_load_explicit(&node[(uint32_t)old].next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, new, memory_order_acq_rel, memory_order_acquire));
    return (uint32_t)old;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        uint32_t a = pop(), b = pop();
        if (a) h = mix(h, a + node[a].value++);
        if (b) h = mix(h, b + node[b].value), node[b].value ^= (uint32_t)h & 255;
        if (a) push(a);
        if (b) push(b);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 5000);
    for (uint32_t i = 1; i <= NODES; i++) push(i);
    uint64_t h = together(cook);
    for (uint32_t n; (n = pop());) h = mix(h, n + node[n].value);
    return finish(h);
}
