/* Proves: a system call that is given memory which is there no more, or must not be read, gets its error (EFAULT, or what the kernel finds wrong first), as it
 * would without weft; and so it does in replay. Programs ask in this way whether an address is good (libunwind, collectors). */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

static char *none;
static int failures;
static int alone; /* else another thread may map memory where it is gone */
#define WANT(error, call)                                                                                                  \
    do {                                                                                                                   \
        errno = 0;                                                                                                         \
        if ((call) != -1 || errno != (error)) fprintf(stderr, "%s: %s\n", #call, strerror(errno)), failures++;             \
    } while (0)

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    sigset_t all;
    sigfillset(&all);
    struct timespec ms = {0, 1000000};
    for (long i = 0; i < rounds; i++) {
        char *gone = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int p[2], s[2], e = epoll_create1(0);
        struct epoll_event ev = {.events = EPOLLIN};
        if (gone == MAP_FAILED || e < 0 || pipe(p) || socketpair(AF_UNIX, SOCK_DGRAM, 0, s)) abort();
        gone[0] = 'g';
        if (write(p[1], gone, 8) != 8 || epoll_ctl(e, EPOLL_CTL_ADD, p[0], &ev)) abort();
        int unmaps = alone && i & 1;
        if (unmaps) munmap(gone, 8192);
        else mprotect(gone, 8192, PROT_NONE);
        for (int k = 0; k < 2; k++) {
            char *bad = k ? none : gone;
            WANT(EFAULT, read(p[0], bad, 4));
            WANT(EFAULT, write(p[1], bad, 4));
            WANT(EBADF, write(-1, bad, 4));
            WANT(EFAULT, fstat(p[0], (struct stat *)bad));
            WANT(EFAULT, open(bad, O_RDONLY));
            WANT(EFAULT, nanosleep((void *)bad, NULL));
            WANT(EFAULT, epoll_wait(e, (void *)bad, 1, -1));
            WANT(EFAULT, epoll_pwait(e, (void *)bad, 1, -1, &all));
            WANT(EFAULT, writev(p[1], (void *)bad, 1));
            WANT(EFAULT, sendto(s[0], bad, 4, 0, NULL, 0));
            WANT(EFAULT, mincore(none, 4096, (void *)bad));
            WANT(EFAULT, ppoll((void *)bad, 1, &ms, &all));
            if (write(p[1], "x", 1) != 1) abort();
        }
        h = mix(h, (uint64_t)read(p[0], &ev, 1));
        close(e);
        close(s[0]);
        close(s[1]);
        close(p[0]);
        close(p[1]);
        if (!unmaps) munmap(gone, 8192);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 20);
    none = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t h = together(cook);
    alone = 1;
    int r = finish(mix(h, cook(0)));
    return failures ? 9 : r;
}
