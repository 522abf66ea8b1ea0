/* Proves: what a call does not write stays as it was: a sleep's rest, the status without a child, the parts of a structure that an old version lacks. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static unsigned char out[512] __attribute__((aligned(64)));
static struct stat other; /* something that the kernel has written just before */

/* Which bytes of `out` a call changes is found by doing it twice. */
#define SHOW(name, call)                                                                                               \
    do {                                                                                                               \
        unsigned char first[sizeof out];                                                                               \
        long r = 0;                                                                                                    \
        for (int k = 0; k < 2; k++) {                                                                                  \
            memcpy(first, out, sizeof out);                                                                            \
            memset(out, k ? 0xaa : 0x55, sizeof out);                                                                  \
            stat("/", &other);                                                                                         \
            errno = 0;                                                                                                 \
            r = (call);                                                                                                \
        }                                                                                                              \
        show(name, r, first);                                                                                          \
    } while (0)

static void show(const char *name, long r, const unsigned char *first) {
    printf("%s %d:", name, r < 0 ? -errno : r > 0);
    for (int i = 0, j; i < (int)sizeof out; i = j) {
        int w = first[i] != 0x55 || out[i] != 0xaa;
        for (j = i; j < (int)sizeof out && (first[j] != 0x55 || out[j] != 0xaa) == w; j++) {}
        if (w) printf(" %d-%d", i, j - 1);
    }
    printf("\n");
}
static void on_alarm(int sig) { (void)sig; }

static void calls(void) {
    struct timespec a_little = {0, 1000}, long_enough = {100, 0};
    SHOW("nanosleep", nanosleep(&a_little, (void *)out));
    SHOW("clock_nanosleep", clock_nanosleep(CLOCK_REALTIME, 0, &a_little, (void *)out));
    SHOW("waitid without a child", syscall(SYS_waitid, P_ALL, 0, out, WEXITED, out + 256));
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(1);
    }
    SHOW("wait4 of nobody", wait4(-1, (void *)out, WNOHANG, (void *)(out + 64)));
    SHOW("waitid of nobody", syscall(SYS_waitid, P_ALL, 0, out, WEXITED | WNOHANG, out + 256));
    kill(child, SIGKILL);
    SHOW("waitid", syscall(SYS_waitid, P_PID, child, out, WEXITED | WNOWAIT, out + 256));
    waitid(P_PID, (id_t)child, (void *)out, WEXITED);
    uint32_t head[2] = {0x19980330, 0}; /* version 1 */
    SHOW("capget", syscall(SYS_capget, head, out));
    SHOW("sigpending", syscall(SYS_rt_sigpending, out, 4));
    struct sigaction sa = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &sa, NULL);
    struct itimerval soon = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW("nanosleep that is interrupted", nanosleep(&long_enough, (void *)out));
    SHOW("clock_nanosleep that is interrupted", clock_nanosleep(CLOCK_MONOTONIC, 0, &long_enough, (void *)out));
    /* As one does it: with the rest, until there is none. */
    struct timespec rest = {0, 100000000};
    int times = 0;
    while (nanosleep(&rest, &rest) && errno == EINTR && times < 1000) times++;
    printf("%s\n", times && times < 1000 ? "it comes to an end" : "it does not come to an end");
}

static const char expected[] = "nanosleep 0:\n"
                               "clock_nanosleep 0:\n"
                               "waitid without a child -10: 0-11 16-27\n"
                               "wait4 of nobody 0:\n"
                               "waitid of nobody 0: 0-11 16-27\n"
                               "waitid 0: 0-11 16-27 256-399\n"
                               "capget 0: 0-11\n"
                               "sigpending 0: 0-3\n"
                               "nanosleep that is interrupted -4: 0-15\n"
                               "clock_nanosleep that is interrupted 1: 0-15\n"
                               "it comes to an end\n";

int main(void) {
    static char said[4096];
    FILE *real = stdout;
    stdout = fmemopen(said, sizeof said, "w");
    calls();
    fclose(stdout);
    stdout = real;
    fputs(said, stdout);
    return strcmp(said, expected) != 0;
}
