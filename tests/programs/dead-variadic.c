/* Proves: what a variadic function stores of registers that hold no argument of its caller's, and what of the stack is then dead, is the
 * same in the replay: after checks that went to the runtime, of fixed addresses, atomics, words in two lines, and loops. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O1
// RUN: %rr %s %t -O3 -march=native
// SOAK: 2 4 8 16 64
#include "common.h"
#include <stdarg.h>

static volatile uint32_t setting; /* which all threads read: a recording looks at it in the runtime, a replay does not */
static volatile uint32_t copy;
static uint32_t counter, large[96];
static struct __attribute__((packed, aligned(64))) {
    char skip[61];
    uint64_t word;
} across;

static NOINLINE uint64_t sum(int n, ...) {
    va_list ap;
    uint64_t h = 0;
    va_start(ap, n);
    for (int i = 0; i < n; i++) h += va_arg(ap, uint64_t);
    va_end(ap);
    return h;
}
static NOINLINE uint64_t dig(uint64_t h) {
    volatile unsigned char ground[400];
    for (int i = 0; i < 400; i++) h = mix(h, ground[i]);
    return h;
}
static NOINLINE uint64_t fixed(uint64_t h) {
    if (setting) h++;
    copy = setting;
    return sum(1, h);
}
static NOINLINE uint64_t atomic(uint64_t h) {
    __atomic_fetch_add(&counter, (uint32_t)(h >> 40), __ATOMIC_RELAXED);
    return sum(1, h);
}
static NOINLINE uint64_t unaligned(uint64_t h) {
    across.word += 3;
    return sum(1, h);
}
static NOINLINE uint64_t loop(uint64_t h) {
    uint32_t s = 0;
    for (int i = 0; i < 96; i++) s += large[i];
    return sum(2, h, (uint64_t)s);
}
static NOINLINE uint64_t fill(uint64_t h) {
    for (int i = 0; i < 96; i++) large[i] += (uint32_t)h;
    return sum(1, h);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = dig(h + fixed(h));
        h = dig(h + atomic(h));
        h = dig(h + unaligned(h));
        h = dig(h + loop(h));
        if (i % 16 == 0) {
            h = dig(h + fill(h));
            if (!h) setting++;
            sched_yield();
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    return finish(together(cook));
}
