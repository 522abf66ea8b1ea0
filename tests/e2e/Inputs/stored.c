/* For stored.test: two processes with two threads each read the file data twice, by several calls. With an argument, without end. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 50000
#define PIECES 80

static uint64_t add(uint64_t h, const char *p) {
    for (int i = 0; i < PIECE; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3ull;
    return h;
}

static void *work(void *arg) {
    char *buf = malloc(PIECE);
    uint64_t h = 0;
    int fd = open("data", O_RDONLY), pair[2];
    if (fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)) abort();
    for (int i = 0; i < PIECES; i++) {
        if (read(fd, buf, PIECE) != PIECE) abort();
        h = add(h, buf);
        struct iovec v = {buf, PIECE};
        long n;
        if (!arg)
            n = pread(fd, buf, PIECE, i * (long)PIECE);
        else if (i % 2)
            n = preadv(fd, &v, 1, i * (long)PIECE);
        else
            n = send(pair[0], buf, PIECE, 0) == PIECE ? recv(pair[1], buf, PIECE, 0) : -1;
        if (n != PIECE) abort();
        h = add(h, buf);
    }
    close(fd), close(pair[0]), close(pair[1]);
    free(buf);
    return (void *)(uintptr_t)h;
}

static void both(const char *who) {
    pthread_t t[2];
    void *h[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], &h[i]);
    printf("%s: %lx %lx\n", who, (uintptr_t)h[0], (uintptr_t)h[1]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int status;
    (void)argv;
    do both("parent");
    while (argc > 1);
    pid_t pid = fork();
    if (!pid) {
        both("child");
        _exit(0);
    }
    return waitpid(pid, &status, 0) != pid || status;
}
