/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A cached object is let go by counting down and looking at the count, in two steps (Apache bug 21287). */
// KIND: reference count: decrement and test are two steps
// FAILS: an object is freed twice
// SHOWS: signal 6 or signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 40
// ARGS: THREADS=3 OBJECTS=200
// LARGE: 16 200
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct object {
    atomic_int refs;
    char *body;
};
static struct object **cache;
static int threads, objects;
static pthread_barrier_t together;

static void drop(struct object *o) {
    atomic_fetch_sub(&o->refs, 1);
    if (atomic_load(&o->refs) == 0) {
        free(o->body);
        free(o);
    }
}

static void *use(void *arg) {
    pthread_barrier_wait(&together);
    for (int i = 0; i < objects; i++) drop(cache[i]);
    return arg;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 3;
    objects = argc > 2 ? atoi(argv[2]) : 200;
    cache = calloc((size_t)objects, sizeof *cache);
    for (int i = 0; i < objects; i++) {
        cache[i] = calloc(1, sizeof **cache);
        cache[i]->body = strdup("body");
        atomic_init(&cache[i]->refs, threads);
    }
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, use, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(cache);
    free(t);
    return 0;
}
