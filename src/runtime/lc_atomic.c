/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libatomic's functions, for atomics that no instruction can do. The program is linked with the runtime in front of
 * everything, so these are used whether or not it asks for -latomic, by libraries not built with weft too: all must use the
 * same locks. libatomic's own would not do: its locks are pthread mutexes, which tick here, and what was taken before the
 * call may be gone at a tick.
 *
 * To the pass they are short functions (externals.def): their operands are taken before the call, which therefore is one
 * access, at the position of the take. The lock matters natively, in replay, and against code not built with weft; the
 * code between lock and unlock is the same in all modes. Sixteen bytes are done by cmpxchg16b, as libatomic does it. */
#include "runtime.h"
#include "sys.h"

typedef unsigned __int128 u128;

/* Striped by line. A signal handler that uses the very atomic it has interrupted hangs, as with libatomic. */
#define LOCKS 64
static struct {
    _Alignas(64) int held;
} locks[LOCKS];

static int *lock(const volatile void *p) {
    int *l = &locks[(uint64_t)(uintptr_t)p >> 6 & (LOCKS - 1)].held;
    for (int i = 0; __atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE); i++) /* pairs with unlock() */
        if (i < 100)
            weft__pause();
        else
            weft__raw(SYS_sched_yield);
    return l;
}
static void unlock(int *l) { __atomic_store_n(l, 0, __ATOMIC_RELEASE); }

static void bytes(volatile void *d, const volatile void *s, size_t n) {
    volatile char *a = d;
    const volatile char *b = s;
    for (size_t i = 0; i < n; i++) a[i] = b[i];
}
static int same(const volatile void *p, const volatile void *q, size_t n) {
    const volatile char *a = p, *b = q;
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

/* Whether an instruction does it: then it must, since other code may use the instruction on the same object. */
static int native(size_t n, const volatile void *p) {
    return (n == 1 || n == 2 || n == 4 || n == 8 || n == 16) && !((uintptr_t)p & (n - 1));
}

/* Assembly, since the builtin becomes a call of these very functions when it is inlined into one of them. */
static u128 swap16(volatile u128 *p, u128 expected, u128 desired) {
    uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "+a"(low), "+d"(high)
                     : "b"((uint64_t)desired), "c"((uint64_t)(desired >> 64))
                     : "memory", "cc");
    return (u128)high << 64 | low;
}
static u128 load16(const volatile void *p) { return swap16((volatile u128 *)p, 0, 0); }
static u128 exchange16(volatile void *p, u128 v) {
    u128 old = 0, seen;
    while ((seen = swap16(p, old, v)) != old) old = seen;
    return old;
}

#define SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t)

/* ---- any size; the compiler would take definitions of these names for its own builtins */

#define NAMED(name) __asm__(name)
WEFT_API void weft__at_load(size_t n, const volatile void *p, void *to, int order) NAMED("__atomic_load");
WEFT_API void weft__at_store(size_t n, volatile void *p, const void *from, int order) NAMED("__atomic_store");
WEFT_API void weft__at_exchange(size_t n, volatile void *p, const void *from, void *to, int order) NAMED("__atomic_exchange");
WEFT_API _Bool weft__at_cas(size_t n, volatile void *p, void *expected, const void *desired, int ok, int fail)
    NAMED("__atomic_compare_exchange");
WEFT_API _Bool weft__at_lock_free(size_t n, const volatile void *p) NAMED("__atomic_is_lock_free");

void weft__at_load(size_t n, const volatile void *p, void *to, int order) {
    (void)order;
    if (native(n, p)) switch (n) {
#define X(k, type) \
    case k: { type v = __atomic_load_n((const volatile type *)p, __ATOMIC_SEQ_CST); bytes(to, &v, k); return; }
        SIZES(X)
#undef X
    default: {
        u128 v = load16(p);
        bytes(to, &v, 16);
        return;
    }
    }
    int *l = lock(p);
    bytes(to, p, n);
    unlock(l);
}

void weft__at_store(size_t n, volatile void *p, const void *from, int order) {
    (void)order;
    if (native(n, p)) switch (n) {
#define X(k, type) \
    case k: { type v; bytes(&v, from, k); __atomic_store_n((volatile type *)p, v, __ATOMIC_SEQ_CST); return; }
        SIZES(X)
#undef X
    default: {
        u128 v;
        bytes(&v, from, 16);
        exchange16(p, v);
        return;
    }
    }
    int *l = lock(p);
    bytes(p, from, n);
    unlock(l);
}

void weft__at_exchange(size_t n, volatile void *p, const void *from, void *to, int order) {
    (void)order;
    if (native(n, p)) switch (n) {
#define X(k, type) \
    case k: { type v; bytes(&v, from, k); v = __atomic_exchange_n((volatile type *)p, v, __ATOMIC_SEQ_CST); bytes(to, &v, k); return; }
        SIZES(X)
#undef X
    default: {
        u128 v;
        bytes(&v, from, 16);
        v = exchange16(p, v);
        bytes(to, &v, 16);
        return;
    }
    }
    int *l = lock(p);
    for (size_t i = 0; i < n; i++) { /* `from` and `to` may be the same */
        char c = ((const char *)from)[i];
        ((char *)to)[i] = ((volatile char *)p)[i];
        ((volatile char *)p)[i] = c;
    }
    unlock(l);
}

_Bool weft__at_cas(size_t n, volatile void *p, void *expected, const void *desired, int ok, int fail) {
    (void)ok;
    (void)fail;
    if (native(n, p)) switch (n) {
#define X(k, type)                                                                                                           \
    case k: {                                                                                                                \
        type e, v;                                                                                                           \
        bytes(&e, expected, k);                                                                                              \
        bytes(&v, desired, k);                                                                                               \
        if (__atomic_compare_exchange_n((volatile type *)p, &e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;         \
        bytes(expected, &e, k);                                                                                              \
        return 0;                                                                                                            \
    }
        SIZES(X)
#undef X
    default: {
        u128 e, v, seen;
        bytes(&e, expected, 16);
        bytes(&v, desired, 16);
        seen = swap16(p, e, v);
        if (seen == e) return 1;
        bytes(expected, &seen, 16);
        return 0;
    }
    }
    int *l = lock(p);
    int equal = same(p, expected, n);
    if (equal)
        bytes(p, desired, n);
    else
        bytes(expected, p, n);
    unlock(l);
    return equal;
}

_Bool weft__at_lock_free(size_t n, const volatile void *p) { return native(n, p); }

/* ---- of one size: what code from other compilers calls */

#define FETCH(k, type, name, expression)                                                                                     \
    WEFT_API type weft__at_fetch_##name##_##k(volatile type *p, type v, int order) NAMED("__atomic_fetch_" #name "_" #k);    \
    type weft__at_fetch_##name##_##k(volatile type *p, type v, int order) {                                                  \
        type old, new;                                                                                                       \
        (void)order;                                                                                                         \
        weft__at_load(k, p, &old, 5);                                                                                        \
        do new = (type)(expression);                                                                                         \
        while (!weft__at_cas(k, p, &old, &new, 5, 5));                                                                       \
        return old;                                                                                                          \
    }                                                                                                                        \
    WEFT_API type weft__at_##name##_fetch_##k(volatile type *p, type v, int order) NAMED("__atomic_" #name "_fetch_" #k);    \
    type weft__at_##name##_fetch_##k(volatile type *p, type v, int order) {                                                  \
        type old = weft__at_fetch_##name##_##k(p, v, order);                                                                 \
        return (type)(expression);                                                                                           \
    }

#define SIZED(k, type)                                                                                                       \
    WEFT_API type weft__at_load_##k(const volatile type *p, int order) NAMED("__atomic_load_" #k);                           \
    type weft__at_load_##k(const volatile type *p, int order) {                                                              \
        type v;                                                                                                              \
        weft__at_load(k, p, &v, order);                                                                                      \
        return v;                                                                                                            \
    }                                                                                                                        \
    WEFT_API void weft__at_store_##k(volatile type *p, type v, int order) NAMED("__atomic_store_" #k);                       \
    void weft__at_store_##k(volatile type *p, type v, int order) { weft__at_store(k, p, &v, order); }                        \
    WEFT_API type weft__at_exchange_##k(volatile type *p, type v, int order) NAMED("__atomic_exchange_" #k);                 \
    type weft__at_exchange_##k(volatile type *p, type v, int order) {                                                        \
        type old;                                                                                                            \
        weft__at_exchange(k, p, &v, &old, order);                                                                            \
        return old;                                                                                                          \
    }                                                                                                                        \
    WEFT_API _Bool weft__at_cas_##k(volatile type *p, type *expected, type desired, int ok, int fail)                        \
        NAMED("__atomic_compare_exchange_" #k);                                                                              \
    _Bool weft__at_cas_##k(volatile type *p, type *expected, type desired, int ok, int fail) {                               \
        return weft__at_cas(k, p, expected, &desired, ok, fail);                                                             \
    }                                                                                                                        \
    FETCH(k, type, add, old + v)                                                                                             \
    FETCH(k, type, sub, old - v)                                                                                             \
    FETCH(k, type, and, old & v)                                                                                             \
    FETCH(k, type, or, old | v)                                                                                              \
    FETCH(k, type, xor, old ^ v)                                                                                             \
    FETCH(k, type, nand, ~(old & v))
SIZES(SIZED)
SIZED(16, u128)

/* For src/inst/exception.c. Nothing of the count stays on the stack, which is the program's. */
WEFT_API int weft__at_last(volatile int *count) NAMED("__atomic_fetch_last_4");
int weft__at_last(volatile int *count) { return __atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL) == 1; }
