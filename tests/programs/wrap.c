/* Proves: what the linker redirects with --wrap is seen as it is: a wrapper may keep what the function itself would not; what __real_
 * functions touch is ordered; wrappers that a resolver of an ifunc comes to run before the runtime has started; and a wrapped function may be
 * of the program itself. */
// RUN: %rr %s %t
// RUN: %rr %s %t -weft-plan=races
// FLAGS: -fno-builtin -Wl,--wrap=strlen,--wrap,memcpy -Wl,-wrap,own -Xlinker --wrap=__cpu_indicator_init
#include "common.h"

static const volatile char *volatile kept[1];
size_t __real_strlen(const char *s), __wrap_strlen(const char *s);
size_t __wrap_strlen(const char *s) {
    kept[0] = s;
    return __real_strlen(s);
}

static char passed[64];
void *__real_memcpy(void *to, const void *from, size_t n), *__wrap_memcpy(void *to, const void *from, size_t n);
static volatile size_t wraps;
void *__wrap_memcpy(void *to, const void *from, size_t n) {
    wraps++;
    return __real_memcpy(to, from, n);
}

NOINLINE uint64_t own(uint64_t x);
NOINLINE uint64_t own(uint64_t x) { return x + 1; }
uint64_t __real_own(uint64_t x), __wrap_own(uint64_t x);
uint64_t __wrap_own(uint64_t x) { return __real_own(x) * 3; }

static volatile int inits;
void __real___cpu_indicator_init(void), __wrap___cpu_indicator_init(void);
void __wrap___cpu_indicator_init(void) {
    inits++;
    __real___cpu_indicator_init();
}
__attribute__((target_clones("avx2", "default"))) uint64_t cloned(uint64_t x) { return x * 5 + wraps; }

static uint64_t cook(int me) {
    char mine[8] = {(char)('a' + me), 'x', 'y', 0};
    uint64_t h = seed_of(me), spins = 0;
    if (threads == 1) {
        h = mix(h, strlen(mine));
    } else if (me == 0) { /* waits for what the other writes through the pointer that the wrapper kept */
        h = mix(h, strlen(mine));
        while (((volatile char *)mine)[1] == 'x') spins++;
    } else {
        while (!kept[0]) spins++;
        for (volatile int i = 0; i < 20000; i++) continue;
        ((char *)kept[0])[1] = 'z';
    }
    for (long i = 0; i < rounds; i++) {
        volatile size_t n = 1 + (h & 31);
        memcpy(passed + (h >> 8 & 15), passed + (h >> 16 & 15), n);
        passed[h >> 24 & 63] += (char)i;
        h = mix(h, (uint64_t)passed[i & 63] + cloned(own(h)));
    }
    return mix(h, spins);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 2000);
    if (!inits) return 9;
    if (own(1) != 6) return 8;
    return finish(together(cook));
}
