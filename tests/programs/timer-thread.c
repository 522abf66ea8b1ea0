/* Proves: timers whose expiry starts a thread (SIGEV_THREAD) are recorded: when they expired, and what their threads raced about with
 * each other and with the rest; setting, reading, stopping and deleting them works as with libc, and timers with signals beside them. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

#define TIMERS 3
static uint64_t pot[4];
static int fired[TIMERS], once;
static volatile sig_atomic_t alarms;

static void expired(union sigval v) {
    for (int i = 0; i < 20; i++) pot[(v.sival_int + i) % 4] = mix(pot[i % 4], (uint64_t)v.sival_int);
    __atomic_add_fetch(&fired[v.sival_int], 1, __ATOMIC_SEQ_CST);
}
static void only_once(union sigval v) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    __atomic_add_fetch((int *)v.sival_ptr, sigismember(&blocked, SIGUSR1) ? 1 : 100, __ATOMIC_SEQ_CST);
}
static void on_alarm(int s) { (void)s, alarms++; }

static void check(int ok, const char *what) {
    if (!ok) printf("%s\n", what), exit(1);
}
static timer_t timer(void (*f)(union sigval), union sigval v, pthread_attr_t *attr) {
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_value = v};
    timer_t t;
    e.sigev_notify_function = f;
    e.sigev_notify_attributes = attr;
    check(!timer_create(CLOCK_MONOTONIC, &e, &t), "timer_create");
    return t;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 15);
    timer_t t[TIMERS], late, plain;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 20);
    for (int i = 0; i < TIMERS; i++) {
        struct itimerspec s = {{0, 3000000 + i * 1000000}, {0, 200000}};
        t[i] = timer(expired, (union sigval){.sival_int = i}, i ? NULL : &attr);
        check(!timer_settime(t[i], 0, &s, NULL), "timer_settime");
    }
    pthread_attr_destroy(&attr);

    struct itimerspec s = {{0, 0}, {3600, 0}}, was;
    late = timer(only_once, (union sigval){.sival_ptr = &once}, NULL);
    timer_gettime(late, &was);
    check(!was.it_value.tv_sec && !was.it_value.tv_nsec, "not armed yet");
    timer_settime(late, 0, &s, NULL);
    clock_gettime(CLOCK_MONOTONIC, &s.it_value); /* long past when it is set */
    timer_settime(late, TIMER_ABSTIME, &s, &was);
    check(was.it_value.tv_sec >= 3500 && was.it_value.tv_sec < 3600, "what was left");
    s.it_value.tv_nsec = 1000000000;
    check(timer_settime(late, 0, &s, NULL) == -1 && errno == EINVAL, "EINVAL");
    struct sigevent e = {.sigev_notify = SIGEV_THREAD};
    check(timer_create(CLOCK_PROCESS_CPUTIME_ID, &e, &plain) == -1 && errno == ENOTSUP, "ENOTSUP");

    signal(SIGALRM, on_alarm);
    check(!timer_create(CLOCK_REALTIME, NULL, &plain), "timer_create for a signal");
    s = (struct itimerspec){{0, 1000000}, {0, 1000000}};
    check(!timer_settime(plain, 0, &s, NULL) && !timer_gettime(plain, &was) && timer_getoverrun(plain) >= 0, "a timer for signals");

    uint64_t h = 1;
    for (int i = 0; i < TIMERS; i++)
        while (__atomic_load_n(&fired[i], __ATOMIC_SEQ_CST) < rounds) {
            h = mix(h, pot[i]);
            usleep(100);
        }
    while (!alarms || !__atomic_load_n(&once, __ATOMIC_SEQ_CST)) usleep(100);
    for (int i = 0; i < TIMERS; i++) {
        check(timer_getoverrun(t[i]) >= 0, "timer_getoverrun");
        check(!timer_delete(t[i]), "timer_delete");
    }
    check(!timer_delete(late) && !timer_delete(plain), "timer_delete");
    check(once == 1, "once, with signals blocked");
    for (int i = 0; i < 4; i++) h = mix(h, pot[i]);
    return finish(h);
}
