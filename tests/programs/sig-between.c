/* Proves: a handler comes between two accesses of one iteration, as it does natively, and there in the replay too; what the thread has in vector registers is not
 * lost. (That it does come there when accesses are checked: tests/e2e/between.test.) */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <signal.h>
#include <sys/time.h>

static __thread volatile uint32_t first, second; /* of each thread, with no tick between them */
static volatile uint32_t pot[64], halves, others;
static __thread volatile uint32_t handlers;
static pthread_t self[MAX_THREADS];
static int ready;

static void on_signal(int sig) {
    uint64_t h = mix(second, pot[7]);
    handlers++;
    if (first != second) __atomic_add_fetch(sig == SIGALRM ? &halves : &others, 1, __ATOMIC_RELAXED);
    pot[h % 64] += (uint32_t)h;
    for (int i = 0; i < 64; i++) h = mix(h, pot[i]); /* a loop that looks at its memory before it begins */
    pot[7] = (uint32_t)h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    double a = 1.5, b = 0.25, c = 3;
    self[me] = pthread_self();
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < threads) sched_yield();
    for (long i = 0; i < 300 * rounds; i++) {
        first++;
        a = a * 0.999 + c;
        pot[i % 64] += (uint32_t)h;
        b = b * 0.5 + a;
        h = mix(h, pot[(h + 13) % 64]);
        c = c * 0.25 + b * 0.0001 + 1;
        second++;
        if (i % 1000 == 0) pthread_kill(self[(me + 1) % threads], SIGUSR1);
    }
    if (!(a > 0 && a < 1e7 && b < 1e8 && c < 1e6)) printf("lost: %f %f %f\n", a, b, c);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2 * threads) sched_yield();
    return mix(mix(h, handlers), (uint64_t)(a * 1000 + b * 100 + c));
}

/* Natively about half of all handlers come there. */
static int between(void) {
    for (long i = 0; handlers < 60 && halves < 3; i++) {
        first++;
        pot[i % 64]++;
        pot[(i + 5) % 64]++;
        second++;
    }
    return halves >= 3;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 100);
    struct sigaction a;
    struct itimerval t = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal;
    a.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    int seen = between();
    setitimer(ITIMER_REAL, &none, NULL);
    printf("%s\n", seen ? "between" : "never between");
    return finish(mix(together(cook), others));
}
