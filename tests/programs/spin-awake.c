/* Proves: a thread that waits in a loop of its own does not sleep in its first milliseconds: it would come too late to see what is written soon after. */
// RUN: %rr %s %t
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static volatile int go;
static long slept;

static void *waits(void *arg) {
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    while (!go) {}
    getrusage(RUSAGE_THREAD, &after);
    slept = after.ru_nvcsw - before.ru_nvcsw;
    return arg;
}

int main(void) {
    pthread_t t;
    clockid_t clock;
    struct timespec used = {0, 0};
    pthread_create(&t, NULL, waits, NULL);
    pthread_getcpuclockid(t, &clock);
    while (!used.tv_sec && used.tv_nsec < 5000000) {
        nanosleep(&(struct timespec){0, 200000}, NULL);
        clock_gettime(clock, &used);
    }
    go = 1;
    pthread_join(t, NULL);
    if (slept > 20) fprintf(stderr, "it slept %ld times\n", slept);
    return slept > 20;
}
