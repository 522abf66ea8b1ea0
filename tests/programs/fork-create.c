/* Proves: threads that make threads while another one forks come before or after the fork in replay as they did. */
/* Replays were stuck, one of two: pthread_create let others go on, and came after a fork at the same position. */
// RUN: %rr %s %t
// SOAK: 4 8
#include "common.h"
#include <iconv.h>
#include <sys/wait.h>

static volatile uint64_t pot;

static void *child(void *p) {
    pot = mix(pot, (uintptr_t)p);
    return p;
}

/* One forks, others make threads, and open conversions, which takes the same lock. */
static uint64_t work(int me) {
    uint64_t h = 0;
    for (long i = 0; i < rounds; i++) {
        if (me == 0) {
            int status;
            pid_t p = fork();
            if (!p) _exit((int)(pot & 63));
            waitpid(p, &status, 0);
            h = mix(h, (uint64_t)status);
        } else if (me % 3 == 2) {
            iconv_t c = iconv_open("UTF-16LE", "UTF-8");
            if (c != (iconv_t)-1) iconv_close(c);
        } else {
            pthread_t t;
            if (pthread_create(&t, NULL, child, (void *)i)) return 0;
            pthread_join(t, NULL);
            h = mix(h, pot);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    return finish(together(work));
}
