/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A small web server: the main thread accepts connections and puts them into a queue; a pool of workers answers GET /NUMBER
 * with a document, from a small cache under a lock if it is there, else made anew. Documents in the cache are counted,
 * since one may be thrown out while it is sent. The load is a forked process, the client, with as many threads as there
 * are workers; each makes -n requests, one connection for each, and looks at every byte that comes.
 *
 * The last line tells how often the cache had it: that depends on the threads. */
#include "kernel.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define DOCUMENTS 200
#define CACHED 64 /* of them */
#define QUEUE 64

static struct sockaddr_in address;

/* ---- documents */
static size_t document_size(long number) {
    return 4096 + (size_t)(number * 977 % 28672);
}
static char document_byte(long number, size_t i) {
    return (char)('a' + (mix((uint64_t)number, i) >> 20) % 26);
}

struct document {
    long number;
    int users; /* and one more while it is in the cache; under the lock */
    size_t size;
    char *bytes;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct document *cache[CACHED]; /* under the lock, with: */
static long hits, misses;

static void let_go(struct document *d) {
    if (--d->users) return;
    free(d->bytes);
    free(d);
}

static struct document *get_document(long number) {
    struct document **place = &cache[number % CACHED], *d;
    pthread_mutex_lock(&cache_lock);
    d = *place;
    if (d && d->number == number) {
        d->users++;
        hits++;
        pthread_mutex_unlock(&cache_lock);
        return d;
    }
    misses++;
    pthread_mutex_unlock(&cache_lock);
    d = room(1, sizeof *d);
    d->number = number;
    d->users = 2;
    d->size = document_size(number);
    d->bytes = room(1, d->size);
    for (size_t i = 0; i < d->size; i++) d->bytes[i] = document_byte(number, i);
    pthread_mutex_lock(&cache_lock);
    if (*place) let_go(*place);
    *place = d;
    pthread_mutex_unlock(&cache_lock);
    return d;
}

static void put_document(struct document *d) {
    pthread_mutex_lock(&cache_lock);
    let_go(d);
    pthread_mutex_unlock(&cache_lock);
}

static void send_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0) wrong("serve: send: %s", strerror(errno));
        p += sent, n -= (size_t)sent;
    }
}

/* ---- the server */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[QUEUE], head, count; /* under the lock; -1 ends a worker */

static void add_connection(int fd) {
    pthread_mutex_lock(&queue_lock);
    while (count == QUEUE) pthread_cond_wait(&not_full, &queue_lock);
    queue[(head + count++) % QUEUE] = fd;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&queue_lock);
}

static int take_connection(void) {
    pthread_mutex_lock(&queue_lock);
    while (!count) pthread_cond_wait(&not_empty, &queue_lock);
    int fd = queue[head];
    head = (head + 1) % QUEUE;
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&queue_lock);
    return fd;
}

static void answer(int fd) {
    char text[512];
    size_t have = 0;
    do {
        ssize_t n = recv(fd, text + have, sizeof text - 1 - have, 0);
        if (n <= 0) wrong("serve: a request that does not end");
        have += (size_t)n;
        text[have] = 0;
    } while (!strstr(text, "\r\n\r\n"));
    if (strncmp(text, "GET /", 5)) wrong("serve: not a request: %s", text);
    struct document *d = get_document(strtol(text + 5, NULL, 10));
    int n = snprintf(text, sizeof text, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", d->size);
    send_all(fd, text, (size_t)n);
    send_all(fd, d->bytes, d->size);
    put_document(d);
    close(fd);
}

static void *work(void *p) {
    (void)p;
    for (int fd; (fd = take_connection()) >= 0;) answer(fd);
    return NULL;
}

/* ---- the client */
static void *ask(void *p) {
    uint64_t s = 0x2545f4914f6cdd1dull * (uint64_t)((intptr_t)p + 1);
    char *text = room(1, 65536);
    for (long i = 0; i < size; i++) {
        uint64_t r = rnd(&s) >> 16;
        long number = (long)(r % 4 ? r / 4 % 50 : r / 4 % DOCUMENTS); /* some are asked for more often */
        int fd = socket(AF_INET, SOCK_STREAM, 0), n = snprintf(text, 100, "GET /%ld HTTP/1.0\r\n\r\n", number);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) wrong("serve: connect: %s", strerror(errno));
        send_all(fd, text, (size_t)n);
        size_t have = 0;
        for (ssize_t got; (got = recv(fd, text + have, 65535 - have, 0)) > 0;) have += (size_t)got;
        text[have] = 0;
        char *body = strstr(text, "\r\n\r\n");
        close(fd);
        if (!body || have - (size_t)(body + 4 - text) != document_size(number)) wrong("serve: document %ld came in part", number);
        for (size_t k = 0; k < document_size(number); k++)
            if (body[4 + k] != document_byte(number, k)) wrong("serve: document %ld is not right", number);
    }
    free(text);
    return NULL;
}

int main(int argc, char **argv) {
    socklen_t length = sizeof address;
    int status, listener = socket(AF_INET, SOCK_STREAM, 0);
    options(argc, argv, 6000);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 2 * MAX_THREADS) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        wrong("serve: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) wrong("serve: fork: %s", strerror(errno));
    if (child == 0) {
        together(ask);
        _exit(0);
    }
    pthread_t thread[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        errno = pthread_create(&thread[i], NULL, work, NULL);
        if (errno) wrong("pthread_create: %s", strerror(errno));
    }
    for (long i = 0; i < size * threads; i++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) wrong("serve: accept: %s", strerror(errno));
        add_connection(fd);
    }
    for (int i = 0; i < threads; i++) add_connection(-1);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    if (waitpid(child, &status, 0) != child || status) wrong("serve: the client ended with %x", (unsigned)status);
    if (hits + misses != size * threads) wrong("serve: %ld requests", hits + misses);
    printf("serve: %ld requests, %d threads, %ld from the cache\n", hits + misses, threads, hits);
    return 0;
}
