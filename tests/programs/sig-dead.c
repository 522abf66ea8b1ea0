/* Proves: what signal handlers, faults and cancellation leave behind on the stack is the same in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <setjmp.h>
#include <signal.h>

static volatile uint32_t pot[8];
static __thread sigjmp_buf back;

static NOINLINE uint64_t look(void) { /* memory that nobody has written in this call */
    volatile unsigned char dead[6000];
    uint64_t h = 0;
    __asm__ volatile("" : : "r"(dead) : "memory");
    for (unsigned i = 0; i < sizeof dead; i++) h = mix(h, dead[i]);
    return h;
}
static void on_usr(int sig) { pot[1] += (uint32_t)sig; }
static void on_segv(int sig) {
    volatile uint64_t own[4] = {(uint64_t)sig};
    pot[2] += (uint32_t)own[sig & 3];
    siglongjmp(back, 1);
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    for (volatile long i = 0; i < rounds; i++) {
        pthread_kill(pthread_self(), SIGUSR1);
        h = mix(h, look());
        h = mix(h, pot[h % 8]++);
        kill(getpid(), SIGUSR2); /* to whatever thread */
        h = mix(h, look());
        if (!sigsetjmp(back, 1)) *(volatile int *)16 = (int)h;
        h = mix(h, look());
        pthread_testcancel();
        h = mix(h, look());
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 40);
    signal(SIGUSR1, on_usr);
    signal(SIGUSR2, on_usr);
    signal(SIGSEGV, on_segv);
    return finish(together(cook));
}
