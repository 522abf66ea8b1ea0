/* Proves: code that runs before the runtime has started (resolvers of ifuncs, .preinit_array) does no harm, natively,
 * recorded and replayed; and recursion in tail position needs no stack. */
// RUN: %rr %s %t
// RUN: %rr %s %t -fPIE -pie
#include "common.h"

static volatile uint32_t pot[8];
static int started;

static NOINLINE int which(void) { return pot[0] == 0 && __builtin_cpu_is("intel") < 2; }
static uint32_t fast(uint32_t x) { return pot[x % 8] += x; }
static uint32_t slow(uint32_t x) { return pot[x % 8] -= x; }
static void *choose(void) {
    __builtin_cpu_init();
    return which() ? (void *)fast : (void *)slow;
}
uint32_t step(uint32_t x) __attribute__((ifunc("choose")));

static void before(int argc, char **argv, char **env) {
    (void)argc, (void)argv, (void)env;
    started++;
    pot[7] = 5;
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **, char **) = before;
__attribute__((constructor)) static void constructor(void) { started += 10; }

static NOINLINE uint32_t ping(uint32_t n, uint32_t x);
static NOINLINE uint32_t pong(uint32_t n, uint32_t x) {
    pot[x % 8]++;
    if (!n) return x;
    return ping(n - 1, x * 5 + 1);
}
static NOINLINE uint32_t ping(uint32_t n, uint32_t x) {
    x ^= pot[n % 8];
    if (!n) return x;
    return pong(n - 1, x);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) h = mix(h, step((uint32_t)h));
    return mix(h, ping(1000000, (uint32_t)h)); /* far more frames than there is stack */
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 1000);
    if (started != 11) return 9;
    return finish(together(cook));
}
