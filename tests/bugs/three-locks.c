/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Three services that call each other in a ring: orders ask stock, stock asks prices, prices ask orders. Each keeps its
 * own lock during the call. */
// KIND: deadlock of three locks
// FAILS: three threads wait for each other in a ring
// SHOWS: stuck
// LEAST: 4 threads, 1 iteration, 2 preemptions
// NATIVE: 9 in 100
// ARGS: THREADS=3 CALLS=200
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERVICES = 3 };

struct service {
    const char *name;
    pthread_mutex_t lock;
    int calls;
    char log[48];
};

static struct service services[SERVICES] = {
    {.name = "orders", .lock = PTHREAD_MUTEX_INITIALIZER},
    {.name = "stock", .lock = PTHREAD_MUTEX_INITIALIZER},
    {.name = "prices", .lock = PTHREAD_MUTEX_INITIALIZER},
};
static int calls;
static pthread_barrier_t start;

static void ask(struct service *s, const char *caller) {
    pthread_mutex_lock(&s->lock);
    s->calls++;
    snprintf(s->log, sizeof s->log, "%s asks %s", caller, s->name);
    pthread_mutex_unlock(&s->lock);
}

static void handle(int number) {
    struct service *s = &services[number], *next = &services[(number + 1) % SERVICES];
    pthread_mutex_lock(&s->lock);
    s->calls++;
    snprintf(s->log, sizeof s->log, "%s handles %d", s->name, s->calls);
    ask(next, s->name);
    pthread_mutex_unlock(&s->lock);
}

static void *work(void *arg) {
    int first = (int)(size_t)arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < calls; i++) handle(first % SERVICES);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    calls = argc > 2 ? atoi(argv[2]) : 200;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < SERVICES; i++) printf("%s: %d calls\n", services[i].name, services[i].calls);
    free(t);
    return 0;
}
