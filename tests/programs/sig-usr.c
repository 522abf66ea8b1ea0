/* Proves: signals by kill, pthread_kill and raise, with masks and siginfo, come at the same place in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <signal.h>

static volatile uint32_t pot[8];
static volatile uint64_t trace[MAX_THREADS];
static pthread_t self[MAX_THREADS];
static __thread int who = -1;
static volatile int got, ready;

static void on_signal(int sig, siginfo_t *info, void *context) {
    (void)context;
    int me = who < 0 ? MAX_THREADS - 1 : who;
    trace[me] = mix(trace[me], pot[1] + (uint32_t)sig + (uint32_t)info->si_code);
    pot[2] ^= (uint32_t)trace[me];
    got++;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    sigset_t set, old;
    who = me;
    self[me] = pthread_self();
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (ready < threads) sched_yield();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (i % 40) {
        case 5: pthread_kill(self[(me + 1) % threads], SIGUSR1); break;
        case 15: kill(getpid(), SIGUSR2); break;
        case 25: raise(SIGUSR1); break;
        case 30: pthread_sigmask(SIG_BLOCK, &set, &old); break;
        case 35: pthread_sigmask(SIG_SETMASK, &old, NULL); break;
        }
        h = mix(h, (uint64_t)got);
    }
    /* A thread that is gone must not be signalled. */
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (ready < 2 * threads) sched_yield();
    return mix(h, trace[me]);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 800);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_signal;
    a.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGUSR2, &a, NULL);
    uint64_t h = together(cook);
    return finish(mix(h, trace[MAX_THREADS - 1]));
}
