/* Proves: a fast timer that interrupts floating-point and vector code leaves its registers alone, in record and in replay. */
// RUN: %rr %s %t -O2
// SOAK: 2 4
#include "common.h"
#include <signal.h>
#include <sys/time.h>

static volatile double shared_sum;
static volatile sig_atomic_t beats;
static volatile uint32_t pot[8];

static void on_alarm(int sig) {
    double x = pot[1] + sig;
    for (int i = 0; i < 8; i++) x = x * 1.0000001 + i; /* uses the same registers */
    shared_sum = x;
    float f[16];
    for (int i = 0; i < 16; i++) f[i] = (float)x + (float)i;
    for (int i = 0; i < 16; i++) pot[i % 8] += (uint32_t)f[i];
    beats++;
}

typedef float v8 __attribute__((vector_size(32)));
static NOINLINE double work(double a, double b, long n) {
    double c = a * b, d = a + b, e = a - b, f = 1.0;
    v8 v = {1, 2, 3, 4, 5, 6, 7, 8}, w = v;
    for (long i = 0; i < n; i++) {
        c = c * 0.999999 + d;
        d = d * 0.5 + e * 0.25;
        e = e + 1e-9;
        f = f * 1.0000001;
        v = v * 0.5f + w;
        pot[i % 8]++;
    }
    double s = 0;
    for (int i = 0; i < 8; i++) s += (double)v[i];
    return c + d + e + f + s;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    while (beats < rounds) {
        double r = work(1.5, 2.5, 1000), again = work(1.5, 2.5, 1000);
        if (r != again) h = mix(h, 0xbad), printf("registers were lost\n");
        h = mix(h, pot[h % 8]);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 60);
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_alarm;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    struct itimerval every = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &every, NULL);
    uint64_t h = together(cook);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, NULL);
    return finish(h);
}
