/* Proves: a program that sets a handler for SIGSYS, among those that tell of crashes, is recorded, and finds it set. */
// RUN: %rr %s %t
#include "common.h"
#include <signal.h>

static uint32_t shared[8];
static void told(int sig) { _exit(sig); }

static uint64_t cook(int me) {
    static const int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        struct sigaction a = {.sa_handler = told, .sa_flags = SA_RESETHAND}, was;
        sigaction(all[h % 7], &a, &was);
        h = mix(h, was.sa_handler == told);
        h = mix(h, shared[i % 8]++);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 500);
    uint64_t h = together(cook);
    struct sigaction was;
    signal(SIGSYS, told);
    sigaction(SIGSYS, NULL, &was);
    return was.sa_handler == told ? finish(h) : 1;
}
