/* Proves: a copy from NULL or to NULL, which is one of the runtime's functions at -O0, comes to the program's handler of SIGSEGV. */
// RUN: %rr %s %t -O0
// RUN: %rr %s %t -O2
#include "common.h"
#include <setjmp.h>
#include <signal.h>

struct large {
    char c[77];
};
static struct large somewhere[MAX_THREADS];
static struct large *volatile null;
static __thread sigjmp_buf back;
static volatile long racy;

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)context;
    racy += 1 + (long)(uintptr_t)info->si_addr;
    siglongjmp(back, 1);
}
NOINLINE static void from(int me, struct large *p) { somewhere[me] = *p; }
NOINLINE static void to(int me, struct large *p) { *p = somewhere[me]; }
NOINLINE static void clear(struct large *p, size_t n) { memset(p, 0, n); }
NOINLINE static void move(int me, struct large *p, size_t n) { memmove(p, &somewhere[me], n); }

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    for (volatile int i = 0; i < (int)rounds; i++) {
        if (sigsetjmp(back, 1)) {
            h = mix(h, (uint64_t)racy);
            continue;
        }
        switch (i % 4) {
        case 0: from(me, null); break;
        case 1: to(me, null); break;
        case 2: clear(null, sizeof *null + (size_t)(i % 3)); break;
        default: move(me, null, sizeof *null - (size_t)(i % 3));
        }
        abort();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 60);
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &sa, NULL);
    return finish(together(cook));
}
