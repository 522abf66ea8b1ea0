/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Connections are counted by reference, but the count is not atomic: of two threads that take a reference at once, only
 * one is counted, and the connection is freed while it is still used. It is overwritten first, as debug builds do. */
// KIND: use after free, reference count
// FAILS: a connection is used that was freed
// SHOWS: signal 6 or signal 11
// LEAST: 3 threads, 1 iteration, 2 preemptions
// NATIVE: 2 in 1000
// ARGS: THREADS=3 CONNECTIONS=200
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN = 0x0be7 };

struct connection {
    char peer[32];
    int state;
    volatile int references;
};

static struct connection **connections;
static int n;
static pthread_barrier_t start;

static struct connection *get(struct connection *c) {
    char line[64]; /* for the log */
    int users = c->references + 1;
    snprintf(line, sizeof line, "%d users of %.31s", users, c->peer);
    c->references = users;
    return c;
}

static void put(struct connection *c) {
    if (--c->references > 0) return;
    memset(c, 0xdd, sizeof *c);
    free(c);
}

static size_t use(struct connection *c) {
    if (c->state != OPEN) {
        fprintf(stderr, "a connection is used after its end\n");
        abort();
    }
    return strlen(c->peer);
}

static void *serve(void *arg) {
    size_t *bytes = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < n; i++) {
        struct connection *c = get(connections[i]);
        *bytes += use(c);
        put(c);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    n = argc > 2 ? atoi(argv[2]) : 200;
    connections = calloc((size_t)n, sizeof *connections);
    for (int i = 0; i < n; i++) {
        struct connection *c = connections[i] = calloc(1, sizeof *c);
        snprintf(c->peer, sizeof c->peer, "10.0.0.%d", i % 256);
        c->state = OPEN;
        c->references = 1; /* the table's */
    }
    size_t *bytes = calloc((size_t)threads * 8, sizeof *bytes);
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, serve, &bytes[8 * i]);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < n; i++) {
        use(connections[i]);
        put(connections[i]);
    }
    free(t);
    free(bytes);
    return 0;
}
