/* Proves: a handler does not run where a thread waits for a lock of libc's own, which it need not do in replay. */
/* "passed tick 57 without an input" (2 of 3 runs of this test): it opened or closed a stream beside a fork, which has the lock of the list of streams, as the signal came. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile uint64_t pot;
static void handler(int sig) { pot = mix(pot, (uint64_t)sig); }

/* One forks, and signals come to the others, who open and close streams. */
static uint64_t work(int me) {
    uint64_t h = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (me) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (long i = 0; i < rounds; i++) {
        if (me == 0) {
            int status;
            pid_t p = fork();
            if (!p) _exit(0);
            while (waitpid(p, &status, 0) < 0 && errno == EINTR) {}
        } else
            for (int k = 0; k < 10; k++) {
                FILE *f = fopen("/dev/null", "r");
                if (f) fclose(f);
            }
        h = mix(h, pot);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 40);
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigset_t set;
    sigaction(SIGALRM, &a, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    return finish(together(work));
}
