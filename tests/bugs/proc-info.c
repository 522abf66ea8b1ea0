/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a connection is doing is shown by the list of connections, while the connection clears it (MySQL bug 3596). */
// KIND: atomicity violation: a pointer is checked, then read once more
// FAILS: a null pointer is given to strlen
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 2 preemptions
// NATIVE: 0 in 40
// ARGS: CONNECTIONS=2 QUERIES=300
// LARGE: 8 300
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    const char *volatile info;
    int queries;
};
static struct connection *connections;
static int count, queries, open_ones;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *arg) {
    struct connection *c = arg;
    for (int i = 0; i < queries; i++) {
        c->info = i % 2 ? "select" : "insert";
        c->queries++;
        c->info = NULL;
    }
    pthread_mutex_lock(&lock);
    open_ones--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static size_t list(void) {
    size_t n = 0;
    for (int i = 0; i < count; i++)
        if (connections[i].info) n += strlen(connections[i].info);
    return n;
}

static void *show(void *arg) {
    size_t n = 0;
    for (int more = 1; more;) {
        n += list();
        pthread_mutex_lock(&lock);
        more = open_ones > 0;
        pthread_mutex_unlock(&lock);
    }
    *(size_t *)arg = n;
    return NULL;
}

int main(int argc, char **argv) {
    count = argc > 1 ? atoi(argv[1]) : 2;
    queries = argc > 2 ? atoi(argv[2]) : 300;
    open_ones = count;
    connections = calloc((size_t)count, sizeof *connections);
    pthread_t *t = calloc((size_t)count + 1, sizeof *t);
    size_t n;
    pthread_create(&t[count], NULL, show, &n);
    for (int i = 0; i < count; i++) pthread_create(&t[i], NULL, serve, &connections[i]);
    for (int i = 0; i <= count; i++) pthread_join(t[i], NULL);
    free(connections);
    free(t);
    return 0;
}
