/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A web application is reloaded while requests are served. Stopping its loader clears the table of classes; a request
 * has asked whether the loader runs and then looks into the table. */
// KIND: LEAN Tomcat 37458: use after stop, 10 threads, 10 requests
// FAILS: a null pointer is used
// SHOWS: signal 11
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 71 in 1000
// ARGS: REQUESTS=3 ROUNDS=2000
// LARGE: 10 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 8 };

struct loader {
    volatile int started;
    const char *const *volatile classes;
    pthread_mutex_t statistics;
    long lookups;
};

static const char *const names[CLASSES] = {"Servlet", "Filter",  "Session", "Cookie",
                                           "Request", "Context", "Realm",   "Valve"};
static struct loader loader = {.statistics = PTHREAD_MUTEX_INITIALIZER};
static int rounds;
static pthread_barrier_t start;

static void loader_start(struct loader *l) {
    l->classes = names;
    l->started = 1;
}

static void loader_stop(struct loader *l) {
    l->started = 0;
    l->classes = NULL;
}

static const char *find_class(struct loader *l, unsigned number) {
    if (!l->started) return NULL; /* 503 */
    pthread_mutex_lock(&l->statistics);
    l->lookups++;
    pthread_mutex_unlock(&l->statistics);
    return l->classes[number % CLASSES];
}

static void *request(void *arg) {
    size_t *length = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        const char *class = find_class(&loader, (unsigned)i);
        if (class) *length += strlen(class);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 2000;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    size_t *lengths = calloc((size_t)threads * 8, sizeof *lengths);
    loader_start(&loader);
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, request, &lengths[8 * i]);
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds / 5; i++) { /* the files of the application change now and then */
        char message[64];
        loader_stop(&loader);
        for (int k = 0; k < CLASSES; k++) snprintf(message, sizeof message, "reload %d: %s", i, names[k]);
        loader_start(&loader);
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("%ld lookups\n", loader.lookups);
    return 0;
}
