/* Proves: a handler for SIGSEGV that jumps out (synchronous signals) replays with racing accesses around it. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <setjmp.h>
#include <signal.h>

static volatile uint32_t pot[8];
static uint32_t *volatile where[8];
static __thread sigjmp_buf *back;

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    pot[3] += (uint32_t)sig + (uint32_t)((uintptr_t)info->si_addr & 0xff);
    siglongjmp(*back, 1);
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    static uint32_t real[8];
    sigjmp_buf j;
    back = &j;
    for (volatile long i = 0; i < rounds; i++) {
        if (sigsetjmp(j, 1)) {
            h = mix(h, 99 + pot[3]);
            continue;
        }
        where[h % 8] = (h >> 8) % 16 ? &real[(h >> 12) % 8] : (uint32_t *)0x18;
        h = mix(h, pot[h % 8]++);
        h = mix(h, (*(volatile uint32_t *)where[(h >> 4) % 8])++);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 500);
    static uint32_t first;
    for (int i = 0; i < 8; i++) where[i] = &first;
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &a, NULL);
    return finish(mix(together(cook), pot[3]));
}
