/* Proves: the clock of a thread's own time, which libc makes from the thread's number in the kernel, is an input. */
// RUN: %rr %s %t
// SOAK: 2
#include "common.h"
#include <time.h>

static uint64_t cook(int me) {
    clockid_t c = 0;
    struct timespec ts;
    if (pthread_getcpuclockid(pthread_self(), &c) || clock_gettime(c, &ts)) exit(3);
    return mix(mix(seed_of(me), (uint64_t)c), (uint64_t)ts.tv_nsec);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 1);
    return finish(together(cook));
}
