/* Proves: what a server does for each connection and request (accept, epoll, options, recv, send, sendfile, shutdown, looking up
 * and opening a file) is recorded and replayed; errors come with their errno. */
// RUN: %rr %s %t
#include "common.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

static struct sockaddr_in address;
static char name[] = "/tmp/weft-sockets-XXXXXX";
static int failures;

static void need(int ok, const char *what) {
    if (ok) return;
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "%s: errno %d\n", what, errno);
}

/* Answers "HELLO n" with the file's first n bytes, however the request comes in. */
static uint64_t serve(int fd, uint64_t h) {
    char request[64] = {0};
    int there = 0;
    struct stat st, named;
    need(ioctl(fd, FIONREAD, &there) == 0 && there > 0, "ioctl");
    ssize_t n = recv(fd, request, sizeof request - 1, 0);
    need(n > 6, "recv");
    h = mix_bytes(mix(h, (uint64_t)there), request, (size_t)n);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    need(file >= 0 && fstat(file, &st) == 0 && stat(name, &named) == 0 && st.st_ino == named.st_ino, "open");
    h = mix(h, (uint64_t)st.st_ino);
    off_t from = 0;
    need(sendfile(fd, file, &from, (size_t)atoi(request + 6)) == from && from > 0, "sendfile");
    close(file);
    need(send(fd, ".", 1, MSG_NOSIGNAL) == 1 && shutdown(fd, SHUT_WR) == 0, "shutdown");
    return mix(h, (uint64_t)from);
}

static void *server(void *arg) {
    int listener = (int)(intptr_t)arg, all = epoll_create1(0);
    uint64_t h = 1;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, got[4];
    need(epoll_ctl(all, EPOLL_CTL_ADD, listener, &e) == 0, "epoll_ctl");
    for (long left = threads * rounds; left > 0;) {
        int n = epoll_pwait(all, got, 4, -1, NULL);
        for (int i = 0; i < n; i++) {
            int fd = got[i].data.fd, one = 1, is = 0;
            socklen_t len = sizeof is;
            struct sockaddr_in who = {0};
            socklen_t size = sizeof who;
            if (fd == listener) {
                fd = accept4(listener, (struct sockaddr *)&who, &size, SOCK_NONBLOCK);
                h = mix(h, who.sin_port);
                need(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "setsockopt");
                need(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &is, &len) == 0 && is > 0, "getsockopt");
                h = mix(h, (uint64_t)is);
                e.data.fd = fd;
                need(epoll_ctl(all, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
            } else {
                need(getpeername(fd, (struct sockaddr *)&who, &size) == 0, "getpeername");
                h = serve(fd, mix(h, who.sin_port));
                need(epoll_ctl(all, EPOLL_CTL_DEL, fd, NULL) == 0, "epoll_ctl");
                close(fd);
                left--;
            }
        }
    }
    close(all);
    return (void *)h;
}

static uint64_t work(int me) {
    uint64_t h = 2;
    for (long i = 0; i < rounds; i++) {
        char text[64], answer[256];
        struct sockaddr_in mine = {0};
        socklen_t size = sizeof mine;
        int fd = socket(AF_INET, SOCK_STREAM, 0), n = 0, r;
        need(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        getsockname(fd, (struct sockaddr *)&mine, &size);
        h = mix(h, mine.sin_port);
        int len = snprintf(text, sizeof text, "HELLO %ld", 10 + (me * 7 + i) % 80);
        need(send(fd, text, (size_t)len + 1, 0) == len + 1, "send");
        while ((r = (int)recv(fd, answer + n, sizeof answer - (size_t)n, 0)) > 0) n += r;
        need(n > 10 && answer[n - 1] == '.', "recv");
        h = mix_bytes(h, answer, (size_t)n);
        close(fd);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 10);
    char bytes[100];
    socklen_t size = sizeof address;
    struct stat st;
    int file = mkstemp(name), listener = socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < 100; i++) bytes[i] = (char)('a' + i % 26);
    need(write(file, bytes, sizeof bytes) == sizeof bytes, "write");
    close(file);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    need(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0, "listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    pthread_t t;
    void *h;
    pthread_create(&t, NULL, server, (void *)(intptr_t)listener);
    uint64_t all = together(work);
    pthread_join(t, &h);
    close(listener);

    int fd = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(fd, (struct sockaddr *)&address, sizeof address) == -1 && errno == ECONNREFUSED, "refused");
    need(recv(-1, bytes, 1, 0) == -1 && errno == EBADF, "bad descriptor");
    need(getpeername(fd, (struct sockaddr *)&address, &size) == -1 && errno == ENOTCONN, "not connected");
    need(open("/nowhere/at/all", O_RDONLY) == -1 && errno == ENOENT, "open nothing");
    need(stat("/nowhere/at/all", &st) == -1 && lstat("/nowhere/at/all", &st) == -1 && errno == ENOENT, "stat nothing");
    need(openat(AT_FDCWD, name, O_CREAT | O_EXCL | O_RDWR, 0600) == -1 && errno == EEXIST, "exists");
    need(recv(fd, NULL, 10, MSG_DONTWAIT) == -1, "nothing");
    unlink(name);
    int made = open(name, O_CREAT | O_RDWR, 0640);
    need(made >= 0 && fstat(made, &st) == 0 && (st.st_mode & 0777 & ~0640u) == 0 && (st.st_mode & 0600) == 0600, "mode");
    unlink(name);
    printf("%016llx\n", (unsigned long long)mix(all, (uint64_t)h));
    return failures != 0;
}
