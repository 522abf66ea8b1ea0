/* Proves: sleeps of every kind give what libc gives: errors, what is left after a handler, an end by cancellation. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

static volatile int handled;
static void on_alarm(int sig) { handled += sig == SIGALRM; }

static void *sleeper(void *arg) {
    int kind = *(int *)arg;
    struct timespec t = {900, 0};
    if (kind == 0) nanosleep(&t, NULL);
    if (kind == 1) clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    if (kind == 2) usleep(900000000);
    return NULL;
}

int main(void) {
    struct timespec t = {0, 1000000000}, left = {7, 7};
    errno = 0;
    printf("nanosleep %d", nanosleep(&t, &left));
    printf(" %d\n", errno == EINVAL);
    errno = 0;
    printf("clock_nanosleep %d", clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left) == EINVAL);
    printf(" %d %d", clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &left, NULL) == EINVAL, clock_nanosleep(99, 0, &left, NULL) == EINVAL);
    printf(" %d\n", errno);
    t.tv_nsec = 1;
    printf("processor time %d\n", clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, TIMER_ABSTIME, &t, NULL));
    printf("short %d %d %ld %ld\n", nanosleep(&t, &left), usleep(0), (long)left.tv_sec, left.tv_nsec);

    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &a, NULL);
    t.tv_sec = 900;
    for (int kind = 0; kind < 3; kind++) {
        struct itimerspec soon = {.it_value = {0, 20000000}, .it_interval = {0, 20000000}}; /* again, should it come too soon */
        timer_t timer;
        timer_create(CLOCK_MONOTONIC, NULL, &timer);
        timer_settime(timer, 0, &soon, NULL);
        errno = 0;
        int r = kind == 0 ? nanosleep(&t, &left) : kind == 1 ? clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left) : usleep(900000000);
        printf("interrupted %d %d %d %d\n", r == (kind == 1 ? EINTR : -1), kind == 1 || errno == EINTR, handled > kind, left.tv_sec > 800 && left.tv_sec < 900);
        timer_delete(timer);
    }
    for (int kind = 0; kind < 3; kind++) {
        pthread_t p;
        void *gave;
        pthread_create(&p, NULL, sleeper, &kind);
        usleep(2000);
        pthread_cancel(p);
        pthread_join(p, &gave);
        printf("cancelled %d\n", gave == PTHREAD_CANCELED);
    }
    return 0;
}
