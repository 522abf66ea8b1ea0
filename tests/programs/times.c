/* Proves: clocks of every kind, read on several threads, give the recorded times in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

static volatile uint64_t latest;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        struct timespec t;
        struct timeval v;
        struct tms m;
        struct rusage u;
        static const clockid_t clocks[] = {CLOCK_REALTIME,       CLOCK_MONOTONIC,         CLOCK_PROCESS_CPUTIME_ID,
                                           CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW,  CLOCK_REALTIME_COARSE,
                                           CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME};
        clock_gettime(clocks[i % 8], &t);
        h = mix(h, (uint64_t)t.tv_nsec + (uint64_t)t.tv_sec);
        gettimeofday(&v, NULL);
        h = mix(h, (uint64_t)v.tv_usec + (uint64_t)time(NULL));
        h = mix(h, (uint64_t)clock());
        clock_getres(CLOCK_REALTIME, &t);
        if (i % 8 == 0) {
            h = mix(h, (uint64_t)times(&m) + (uint64_t)m.tms_utime);
            getrusage(RUSAGE_SELF, &u);
            h = mix(h, (uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_minflt);
            timespec_get(&t, TIME_UTC);
            h = mix(h, (uint64_t)t.tv_nsec);
        }
#if defined __x86_64__
        h = mix(h, __rdtsc());
        unsigned cpu;
        h = mix(h, __rdtscp(&cpu) + cpu);
#endif
        h = mix(h, latest);
        latest = h;
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    struct tm tm;
    char text[64];
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    strftime(text, sizeof text, "%F %T %Z", &tm);
    puts(text);
    return finish(mix(together(cook), latest));
}
