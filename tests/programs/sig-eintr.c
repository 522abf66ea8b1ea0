/* Proves: system calls that a signal interrupts return EINTR in the replay where they did. */
// RUN: %rr %s %t
// SOAK: 2
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static volatile uint32_t hits;
static pthread_t sleeper[MAX_THREADS];
static volatile int stop, started;
static int p[2];

static void on_signal(int sig) { hits += (uint32_t)sig; }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    if (me == 0) {
        while (started < threads - 1) sched_yield();
        for (long i = 0; i < rounds; i++) {
            usleep(300);
            for (int k = 1; k < threads; k++) pthread_kill(sleeper[k], SIGUSR1);
        }
        stop = 1;
        while (started > 0) {
            for (int k = 1; k < threads; k++) pthread_kill(sleeper[k], SIGUSR1);
            usleep(500);
        }
        if (write(p[1], "x", 1) != 1) return 1;
        return h;
    }
    sleeper[me] = pthread_self();
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (!stop) {
        struct timespec t = {0, 2000000}, rest = {0, 0};
        char c;
        int r = (int)(h % 2 ? nanosleep(&t, &rest) : read(p[0], &c, 1));
        h = mix(mix(h, r ? (uint64_t)errno : 0), (uint64_t)rest.tv_nsec + hits);
    }
    __atomic_fetch_sub(&started, 1, __ATOMIC_SEQ_CST);
    while (started > 0) sched_yield(); /* alive until nobody signals any more */
    char c;
    if (me == 1 && read(p[0], &c, 1) < 0) h = mix(h, (uint64_t)errno);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 10);
    if (threads < 2) threads = 2;
    if (pipe(p)) return 3;
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal; /* without SA_RESTART */
    sigaction(SIGUSR1, &a, NULL);
    return finish(together(cook));
}
