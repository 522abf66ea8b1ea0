/* Proves: SIGALRM from alarm, setitimer and timer_create is delivered at the same place in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile uint32_t pot[8];
static volatile sig_atomic_t beats;
static volatile uint64_t trace;

static void on_alarm(int sig) {
    beats++;
    trace = mix(trace, pot[0] + (uint32_t)sig); /* what the handler sees depends on where it runs */
    pot[1] += pot[2];
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    while (beats < rounds) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 15);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_alarm;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    sigaction(SIGUSR2, &a, NULL);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    timer_t t;
    struct sigevent e;
    memset(&e, 0, sizeof e);
    e.sigev_notify = SIGEV_SIGNAL;
    e.sigev_signo = SIGUSR2;
    struct itimerspec spec = {{0, 1500000}, {0, 1500000}};
    int have_timer = timer_create(CLOCK_MONOTONIC, &e, &t) == 0 && timer_settime(t, 0, &spec, NULL) == 0;
    uint64_t h = together(cook);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, NULL);
    if (have_timer) timer_delete(t);
    printf("%s\n", have_timer ? "timer" : "no timer");
    return finish(mix(h, trace));
}
