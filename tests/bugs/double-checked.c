/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Settings that are made by whoever needs them first, with double-checked locking: the pointer is set before what it
 * points to is filled in, and the first check is without the lock. */
// KIND: broken double-checked locking
// FAILS: settings are used before they are filled in
// SHOWS: exit 4
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 64 in 1000
// ARGS: THREADS=4 RELOADS=20
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    char host[32];
    int port, timeout;
    int complete;
};

static struct settings *volatile settings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int reloads;
static pthread_barrier_t start;

static void fill(struct settings *s) {
    snprintf(s->host, sizeof s->host, "%s.%s", "db", "example.org");
    s->port = 5432;
    s->timeout = 30;
    s->complete = 1;
}

static struct settings *get_settings(void) {
    if (settings == NULL) {
        pthread_mutex_lock(&lock);
        if (settings == NULL) {
            settings = calloc(1, sizeof *settings);
            fill(settings);
        }
        pthread_mutex_unlock(&lock);
    }
    return settings;
}

static void *request(void *arg) {
    for (int i = 0; i < reloads; i++) {
        if (pthread_barrier_wait(&start) == PTHREAD_BARRIER_SERIAL_THREAD) settings = NULL; /* reload */
        pthread_barrier_wait(&start);
        struct settings *s = get_settings();
        if (!*(volatile int *)&s->complete) {
            fprintf(stderr, "settings without a port: %d\n", s->port);
            exit(4);
        }
    }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    reloads = argc > 2 ? atoi(argv[2]) : 20;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, request, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
