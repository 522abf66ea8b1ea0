/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A downloader, as aget: each thread fetches a part of a file of -n MiB over a connection of its own, and writes it to its
 * place in the file; a counter of what has come is under a lock. The server is a forked process on the loopback interface,
 * with a thread for each connection, that sends no faster than RATE, as a network would.
 *
 * Checked: every byte of the file that was written. */
#include "kernel.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define PIECE (1 << 16)
#define RATE 128 /* MiB per second, all connections together */

static struct sockaddr_in address;
static int output = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long received; /* under the lock */

/* The file's bytes, 8 at a time. */
static void content(char *to, long from, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = mix(3, (uint64_t)(from + (long)i));
        memcpy(to + i, &v, 8);
    }
}

static void send_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0) wrong("load: send: %s", strerror(errno));
        p += sent, n -= (size_t)sent;
    }
}

/* ---- the server: a request is two numbers, from where and how much */
static void *serve(void *p) {
    int fd = (int)(intptr_t)p;
    char buffer[PIECE];
    long range[2];
    const double seconds = (double)PIECE * threads / (RATE * 1048576.0); /* that a piece takes */
    struct timespec due;
    if (recv(fd, range, sizeof range, MSG_WAITALL) != sizeof range) wrong("load: no request");
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long at = range[0], end = range[0] + range[1]; at < end; at += PIECE) {
        size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;
        content(buffer, at, n);
        send_all(fd, buffer, n);
        due.tv_nsec += (long)(seconds * 1e9);
        due.tv_sec += due.tv_nsec / 1000000000, due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    close(fd);
    return NULL;
}

static void serve_all(int listener) {
    pthread_t thread[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) wrong("load: accept: %s", strerror(errno));
        errno = pthread_create(&thread[i], NULL, serve, (void *)(intptr_t)fd);
        if (errno) wrong("pthread_create: %s", strerror(errno));
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

/* ---- the downloader */
static void *fetch(void *p) {
    int me = (int)(intptr_t)p, fd = socket(AF_INET, SOCK_STREAM, 0);
    long low = part(size, me) << 20, high = part(size, me + 1) << 20, range[2] = {low, high - low};
    char *buffer = room(1, PIECE);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) wrong("load: connect: %s", strerror(errno));
    send_all(fd, (char *)range, sizeof range);
    for (long at = low; at < high;) {
        ssize_t n = recv(fd, buffer, PIECE, 0);
        if (n <= 0) wrong("load: part %d ended after %ld bytes", me, at - low);
        if (pwrite(output, buffer, (size_t)n, at) != n) wrong("load: pwrite: %s", strerror(errno));
        at += n;
        pthread_mutex_lock(&lock);
        received += n;
        pthread_mutex_unlock(&lock);
    }
    close(fd);
    free(buffer);
    return NULL;
}

int main(int argc, char **argv) {
    char path[] = "/tmp/load.XXXXXX", *is = room(1, PIECE), *should = room(1, PIECE);
    socklen_t length = sizeof address;
    int status, listener = socket(AF_INET, SOCK_STREAM, 0);
    options(argc, argv, 128);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, MAX_THREADS) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        wrong("load: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) wrong("load: fork: %s", strerror(errno));
    if (child == 0) {
        serve_all(listener);
        _exit(0);
    }
    close(listener);
    output = mkstemp(path);
    if (output < 0) wrong("load: %s: %s", path, strerror(errno));
    unlink(path);
    together(fetch);
    if (waitpid(child, &status, 0) != child || status) wrong("load: the server ended with %x", (unsigned)status);
    if (received != size << 20) wrong("load: %ld bytes came", received);
    for (long at = 0; at < size << 20; at += PIECE) {
        content(should, at, PIECE);
        if (pread(output, is, PIECE, at) != PIECE || memcmp(is, should, PIECE)) wrong("load: the piece at %ld is not right", at);
    }
    printf("load: %ld bytes, %d threads\n", received, threads);
    return 0;
}
