/* Proves: sigwait, sigwaitinfo, sigtimedwait, sigsuspend, sigpending and signals sent with a value replay exactly. */
// RUN: %rr %s %t
// SOAK: 2
#include "common.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

static volatile uint32_t pot[8];
static volatile int hits;
static pthread_t waiter;

static void on_signal(int sig, siginfo_t *info, void *context) {
    (void)context;
    hits += sig + info->si_value.sival_int;
    pot[3] ^= (uint32_t)hits;
}

static void *wait_all(void *p) {
    uint64_t h = 1;
    sigset_t set, none, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 3);
    sigemptyset(&none);
    for (long i = 0; i < rounds; i++) {
        int sig = 0;
        siginfo_t info;
        struct timespec t = {5, 0}, zero = {0, 0};
        memset(&info, 0, sizeof info);
        switch (i % 5) {
        case 0: sigwait(&set, &sig); break;
        case 1: sig = sigwaitinfo(&set, &info); break;
        case 2: sig = sigtimedwait(&set, &info, &t); break;
        case 3:
            sig = sigsuspend(&none); /* the handler runs with the mask open */
            h = mix(h, (uint64_t)errno);
            break;
        case 4:
            sig = ppoll(NULL, 0, &t, &none);
            h = mix(h, (uint64_t)errno);
            break;
        }
        sigpending(&pending);
        h = mix(mix(h, (uint64_t)sig), (uint64_t)(info.si_code + info.si_value.sival_int + hits));
        h = mix(h, (uint64_t)(sigismember(&pending, SIGUSR1) * 2 + sigismember(&pending, SIGRTMIN + 3)));
        pot[h % 8]++;
        sig = sigtimedwait(&set, NULL, &zero);
        h = mix(h, (uint64_t)sig);
        __atomic_fetch_add(&pot[7], 1, __ATOMIC_SEQ_CST);
    }
    *(uint64_t *)p = h;
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 60);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* in all threads */
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_signal;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGRTMIN + 3, &a, NULL);
    uint64_t got = 0, h = 0;
    volatile int done = 0;
    pthread_create(&waiter, NULL, wait_all, &got);
    for (long i = 0; !done; i++) {
        union sigval v = {.sival_int = (int)i};
        struct timespec t = {0, 200000};
        if (i % 3 == 0)
            pthread_kill(waiter, SIGUSR1);
        else if (i % 3 == 1)
            sigqueue(getpid(), SIGRTMIN + 3, v);
        else
            pthread_sigqueue(waiter, SIGRTMIN + 3, v);
        h = mix(h, pot[h % 8]++);
        nanosleep(&t, NULL);
        done = pthread_tryjoin_np(waiter, NULL) == 0;
    }
    return finish(mix(h, got));
}
