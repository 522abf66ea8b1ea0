/* Proves: a process that is forked while another thread closes a stream has the streams that it had in the recording. */
/* "passed tick 39 without an input" (3 of 3 recordings): the stream was off the runtime's list and waited for libc's, which the fork had; in replay it was still on both. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <sys/wait.h>

static int done;

/* One forks, and the child ends by exit, which goes through all streams; the others open and close streams meanwhile. */
static uint64_t work(int me) {
    uint64_t h = 0;
    for (long i = 0; me == 0 && i < rounds; i++) {
        int status;
        pid_t p = fork();
        if (!p) exit(3);
        waitpid(p, &status, 0);
        h = mix(h, (uint64_t)status);
    }
    if (me == 0) __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        FILE *f = fopen("/dev/null", "r");
        if (f) fclose(f);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 20);
    return finish(together(work));
}
