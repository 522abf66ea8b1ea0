/* Proves: calls that servers make often, through their wrappers, by threads that use each other's descriptors and buffers. */
// RUN: %rr %s %t
#define _GNU_SOURCE
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 60
static int listener, port;
static char buffer[4][512]; /* all read and write all of them */
static volatile unsigned racy;

static void must(long r, const char *what) {
    if (r < 0) {
        printf("%s: %s\n", what, strerror(errno));
        exit(2);
    }
}
#define MUST(x) must(x, #x)

static void *client(void *arg) {
    int k = *(int *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)}, from;
        int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
        socklen_t len = sizeof from;
        MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
        MUST(connect(fd, (struct sockaddr *)&to, sizeof to));
        MUST(getpeername(fd, (struct sockaddr *)&from, &len));
        racy += from.sin_port == to.sin_port;
        snprintf(buffer[k], sizeof buffer[k], "request %d of %d", i, k);
        MUST(send(fd, buffer[k], 64, MSG_NOSIGNAL));
        char answer[64];
        MUST(recv(fd, answer, sizeof answer, MSG_WAITALL));
        struct iovec iov = {answer, sizeof answer};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        MUST(sendmsg(fd, &msg, MSG_NOSIGNAL));
        MUST(shutdown(fd, SHUT_WR));
        while (recv(fd, answer, sizeof answer, 0) > 0) racy += (unsigned char)answer[3];
        MUST(close(fd));
    }
    return NULL;
}

static unsigned serve(int fd, int file) {
    char in[64];
    struct iovec iov = {in, sizeof in};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct sockaddr_in name;
    socklen_t len = sizeof name, four = sizeof(int);
    int type, waiting, flags;
    off_t at = 3;
    unsigned sum = 0;
    MUST(recvmsg(fd, &msg, MSG_WAITALL));
    racy += (unsigned char)in[9];
    MUST(getsockname(fd, (struct sockaddr *)&name, &len));
    MUST(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &four));
    MUST(flags = fcntl(fd, F_GETFL));
    MUST(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
    MUST(fcntl(fd, F_SETFL, flags));
    MUST(send(fd, in, 64, MSG_NOSIGNAL));
    MUST(recv(fd, in, 64, MSG_WAITALL));
    MUST(ioctl(fd, FIONREAD, &waiting));
    MUST(sendfile(fd, file, &at, 50));
    MUST(getrandom(in, 5, 0));
    for (int i = 0; i < 5; i++) sum += (unsigned char)in[i];
    MUST(close(fd));
    return sum + (unsigned)waiting + (unsigned)type + (ntohs(name.sin_port) == port) + (unsigned)at;
}

int main(void) {
    pthread_t t[3];
    int id[3] = {0, 1, 2}, ep, file, odd;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    struct stat st, by_name, link;
    unsigned sum = 0;
    char path[] = "/proc/self/exe";
    MUST(file = open(path, O_RDONLY));
    MUST(fstat(file, &st));
    MUST(stat(path, &by_name));
    MUST(lstat(path, &link));
    printf("%d %d\n", st.st_size == by_name.st_size, S_ISLNK(link.st_mode));
    MUST(odd = openat(AT_FDCWD, "/dev/null", O_WRONLY));
    printf("%d\n", open("/nowhere/at/all", O_RDONLY) < 0 && errno == ENOENT);
    MUST(listener = socket(AF_INET, SOCK_STREAM, 0));
    MUST(bind(listener, (struct sockaddr *)&a, len));
    MUST(listen(listener, 64));
    MUST(getsockname(listener, (struct sockaddr *)&a, &len));
    port = ntohs(a.sin_port);
    MUST(fcntl(listener, F_SETOWN, -getpgrp())); /* a group: its number comes back negative */
    printf("%d\n", fcntl(listener, F_GETOWN) == -getpgrp());
    MUST(ep = epoll_create1(0));
    MUST(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN}));
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, client, &id[i]);
    for (int served = 0; served < 3 * ROUNDS;) {
        struct epoll_event e;
        MUST(epoll_wait(ep, &e, 1, -1));
        len = sizeof a;
        int fd = served % 2 ? accept(listener, (struct sockaddr *)&a, &len) : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        MUST(fd);
        sum += serve(fd, file) + (unsigned)(buffer[served % 3][8]);
        served++;
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    MUST(write(odd, buffer, sizeof buffer));
    printf("%u %u\n", sum, racy);
    return 0;
}
