/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* System calls that servers make per request, and the clock: CPU nanoseconds per call, each the best of several rounds.
 *
 *     calls [calls per round] [rounds]
 *
 * Prints lines `NAME NS`. What a call costs over native is the difference of two builds' figures: run.py --only calls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int zero, null, file, pair[2], ep, ev;
static char buf[4096];
static struct iovec iov[2] = {{buf, 32}, {buf + 64, 32}};
static struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

static void must(long r) {
    if (r < 0) {
        perror("calls");
        exit(2);
    }
}

#define CALLS(X)                                                                                                       \
    X(getpid, (void)getpid())                                                                                          \
    X(clock_gettime, struct timespec ts; clock_gettime(CLOCK_MONOTONIC, &ts))                                          \
    X(gettimeofday, struct timeval tv; gettimeofday(&tv, NULL))                                                        \
    X(time, (void)time(NULL))                                                                                          \
    X(read_1, must(read(zero, buf, 1)))                                                                                \
    X(read_4096, must(read(zero, buf, 4096)))                                                                          \
    X(pread_4096, must(pread(file, buf, 4096, 0)))                                                                     \
    X(write_64, must(write(null, buf, 64)))                                                                            \
    X(write_4096, must(write(null, buf, 4096)))                                                                        \
    X(writev_64, must(writev(null, iov, 2)))                                                                           \
    X(lseek, must(lseek(file, 0, SEEK_SET)))                                                                           \
    X(send_recv_64, must(send(pair[0], buf, 64, 0)); must(recv(pair[1], buf, 64, 0)))                                  \
    X(sendmsg_recvmsg_64, must(sendmsg(pair[0], &msg, 0)); must(recvmsg(pair[1], &msg, 0)))                            \
    X(write_read_64, must(write(pair[0], buf, 64)); must(read(pair[1], buf, 64)))                                      \
    X(epoll_wait, struct epoll_event e[4]; must(epoll_wait(ep, e, 4, 0)))                                              \
    X(epoll_ctl, struct epoll_event e = {.events = EPOLLIN}; must(epoll_ctl(ep, EPOLL_CTL_MOD, ev, &e)))               \
    X(poll, struct pollfd p = {ev, POLLIN, 0}; must(poll(&p, 1, 0)))                                                   \
    X(fcntl, must(fcntl(pair[0], F_GETFL)))                                                                            \
    X(fstat, struct stat st; must(fstat(file, &st)))                                                                   \
    X(ioctl, int n; must(ioctl(pair[0], FIONREAD, &n)))                                                                \
    X(getsockopt, int n; socklen_t l = sizeof n; must(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &n, &l)))               \
    X(open_close, int fd = open("/dev/null", O_RDONLY); must(fd); must(close(fd)))                                     \
    X(getrandom, must(getrandom(buf, 16, 0)))

static uint64_t now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *other(void *arg) { return arg; }

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100000, rounds = argc > 2 ? atoi(argv[2]) : 5;
    pthread_t t;
    char name[] = "/tmp/weft-calls-XXXXXX";
    must(zero = open("/dev/zero", O_RDONLY));
    must(null = open("/dev/null", O_WRONLY));
    must(file = mkstemp(name));
    must(unlink(name));
    must(write(file, buf, sizeof buf));
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    must(ep = epoll_create1(0));
    must(ev = eventfd(1, 0));
    must(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &(struct epoll_event){.events = EPOLLIN}));
    /* A threaded program, as those that are recorded. */
    if (pthread_create(&t, NULL, other, NULL) || pthread_join(t, NULL)) return 2;
#define X(name, ...)                                                                                                   \
    {                                                                                                                  \
        uint64_t best = UINT64_MAX;                                                                                    \
        for (int r = 0; r < rounds; r++) {                                                                             \
            uint64_t from = now();                                                                                     \
            for (int i = 0; i < n; i++) {                                                                              \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
            uint64_t took = now() - from;                                                                              \
            if (took < best) best = took;                                                                              \
        }                                                                                                              \
        printf("%s %.1f\n", #name, (double)best / n);                                                                  \
    }
    CALLS(X)
    return 0;
}
