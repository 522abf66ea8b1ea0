/* Proves: atomic operations of every kind, size and memory order, and fences, replay exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16 64
#include "common.h"
#include <stdatomic.h>

static _Atomic uint8_t b[2];
static _Atomic uint16_t w[2];
static _Atomic uint32_t d[2];
static _Atomic uint64_t q[2];
static _Atomic(void *) p[2];
static _Atomic double f[2];
static _Atomic _Bool t[2];
static struct { char pad; uint32_t x; } __attribute__((packed)) odd;
static volatile uint32_t plain[4];

/* The orders that a load and a store may have. */
#define LOADS(o) (o == memory_order_release || o == memory_order_acq_rel ? memory_order_acquire : o)
#define STORES(o) (o == memory_order_acquire || o == memory_order_acq_rel ? memory_order_release : o)

#define KINDS(v, o)                                                                                                    \
    switch ((r >> 6) % 12) {                                                                                           \
    case 0: h = mix(h, atomic_load_explicit(&v, LOADS(o))); break;                                                     \
    case 1: atomic_store_explicit(&v, h, STORES(o)); break;                                                            \
    case 2: h = mix(h, atomic_exchange_explicit(&v, h, o)); break;                                                     \
    case 3: h = mix(h, atomic_fetch_add_explicit(&v, 3, o)); break;                                                    \
    case 4: h = mix(h, atomic_fetch_sub_explicit(&v, h, o)); break;                                                    \
    case 5: h = mix(h, atomic_fetch_or_explicit(&v, r >> 20, o)); break;                                               \
    case 6: h = mix(h, atomic_fetch_and_explicit(&v, ~(uint64_t)1, o)); break;                                         \
    case 7: h = mix(h, atomic_fetch_xor_explicit(&v, h, o)); break;                                                    \
    case 8: {                                                                                                          \
        __typeof__(atomic_load(&v)) e = atomic_load_explicit(&v, memory_order_relaxed);                                \
        h = mix(h, atomic_compare_exchange_strong_explicit(&v, &e, h, o, memory_order_relaxed) + (uint64_t)e * 2);     \
        break;                                                                                                         \
    }                                                                                                                  \
    case 9: {                                                                                                          \
        __typeof__(atomic_load(&v)) e = r >> 3;                                                                        \
        while (!atomic_compare_exchange_weak_explicit(&v, &e, e * 5 + 1, o, memory_order_acquire)) h = mix(h, e);      \
        break;                                                                                                         \
    }                                                                                                                  \
    case 10: h = mix(h, __atomic_fetch_nand((__typeof__(atomic_load(&v)) *)&v, 255, __ATOMIC_SEQ_CST)); break;         \
    default: h = mix(h, __atomic_fetch_min((__typeof__(atomic_load(&v)) *)&v, h, __ATOMIC_SEQ_CST));                   \
        h = mix(h, __atomic_fetch_max((__typeof__(atomic_load(&v)) *)&v, r, __ATOMIC_SEQ_CST));                        \
    }
#define ORDERS(v)                                                                                                      \
    switch ((r >> 12) % 5) {                                                                                           \
    case 0: KINDS(v, memory_order_relaxed) break;                                                                      \
    case 1: KINDS(v, memory_order_acquire) break;                                                                      \
    case 2: KINDS(v, memory_order_release) break;                                                                      \
    case 3: KINDS(v, memory_order_acq_rel) break;                                                                      \
    default: KINDS(v, memory_order_seq_cst)                                                                            \
    }

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s), k = r & 1;
        switch ((r >> 1) % 9) {
        case 0: ORDERS(b[k]) break;
        case 1: ORDERS(w[k]) break;
        case 2: ORDERS(d[k]) break;
        case 3: ORDERS(q[k]) break;
        case 4: h = mix(h, (uintptr_t)atomic_exchange(&p[k], (void *)(uintptr_t)(h >> 3))); break;
        case 5: {
            double e = atomic_load(&f[k]);
            h = mix(h, (uint64_t)e);
            atomic_compare_exchange_strong(&f[k], &e, e + 1.0);
            f[!k] += 0.5;
            break;
        }
        case 6: h = mix(h, (uint64_t)atomic_exchange(&t[k], h & 1)); break;
        case 7:
            h = mix(h, __sync_fetch_and_add(&plain[k], 1) + __sync_lock_test_and_set(&plain[2], r));
            __sync_lock_release(&plain[3]);
            break;
        default:
            plain[k] = (uint32_t)h;
            atomic_thread_fence(r & 64 ? memory_order_seq_cst : memory_order_acq_rel);
            atomic_signal_fence(memory_order_seq_cst);
            __sync_synchronize();
            h = mix(h, plain[!k]);
            h = mix(h, odd.x), odd.x = r;
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 10000);
    uint64_t h = together(cook);
    for (int i = 0; i < 2; i++)
        h = mix(h, b[i] ^ w[i] ^ d[i] ^ q[i] ^ (uintptr_t)p[i] ^ (uint64_t)f[i] ^ plain[i] ^ (uint64_t)t[i]);
    return finish(h);
}
