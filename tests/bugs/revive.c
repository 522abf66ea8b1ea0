/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who takes a reference looks first whether there is one left, and counts it then. If the last one goes between the two, the object is used after its end. */
// KIND: reference count that is looked at and then increased
// FAILS: an object is used after its end
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 2 preemptions
// NATIVE: 0 in 1000
// ARGS: USERS=2 ROUNDS=500
// LARGE: 33 500
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIVE 42
struct object {
    atomic_int count;
    int state;
};
static struct object *_Atomic cached;
static int rounds;

static void put(struct object *o) {
    if (atomic_fetch_sub(&o->count, 1) != 1) return;
    atomic_store(&cached, NULL);
    o->state = 0; /* never freed: what is seen does not depend on the allocator */
}

static struct object *get(void) {
    struct object *o = atomic_load(&cached);
    if (!o || atomic_load(&o->count) == 0) return NULL;
    atomic_fetch_add(&o->count, 1);
    return o;
}

static void *use(void *arg) {
    for (int i = 0; i < rounds; i++) {
        struct object *o = get();
        if (!o) continue;
        if (o->state != ALIVE) {
            fprintf(stderr, "an object that is gone\n");
            abort();
        }
        put(o);
    }
    return arg;
}

static void *make(void *arg) {
    for (int i = 0; i < rounds; i++) {
        if (atomic_load(&cached)) continue;
        struct object *o = calloc(1, sizeof *o);
        o->state = ALIVE;
        atomic_store(&o->count, 1);
        atomic_store(&cached, o);
        put(o);
    }
    return arg;
}

int main(int argc, char **argv) {
    int users = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 500;
    pthread_t *t = calloc((size_t)users + 1, sizeof *t);
    for (int i = 0; i < users; i++) pthread_create(&t[i], NULL, use, NULL);
    pthread_create(&t[users], NULL, make, NULL);
    for (int i = 0; i <= users; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
