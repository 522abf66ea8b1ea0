/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A hundred threads enter their names in a registry and look at the latest one: first how many there are, then the
 * entry. One of them, once, takes out the latest entry. */
// KIND: two-stage bug of 100 threads, crash
// FAILS: the entry that is looked at was taken out meanwhile: a null pointer
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: rare: none in 10000
// ARGS: THREADS=100
// LARGE: 100
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
    char text[24];
};

static struct {
    pthread_mutex_t lock;
    struct name **names;
    int n;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void enter(int number) {
    struct name *name = calloc(1, sizeof *name);
    snprintf(name->text, sizeof name->text, "thread-%d", number);
    pthread_mutex_lock(&registry.lock);
    registry.names[registry.n++] = name;
    pthread_mutex_unlock(&registry.lock);
}

static int number_of_names(void) {
    pthread_mutex_lock(&registry.lock);
    int n = registry.n;
    pthread_mutex_unlock(&registry.lock);
    return n;
}

static struct name *get_name(int i) {
    pthread_mutex_lock(&registry.lock);
    struct name *name = registry.names[i];
    pthread_mutex_unlock(&registry.lock);
    return name;
}

static void leave(void) {
    pthread_mutex_lock(&registry.lock);
    struct name *name = registry.names[--registry.n];
    registry.names[registry.n] = NULL;
    pthread_mutex_unlock(&registry.lock);
    free(name);
}

static void *run(void *arg) {
    int me = (int)(size_t)arg;
    enter(me);
    if (me == 50) leave();
    int n = number_of_names();
    if (n == 0) return NULL;
    struct name *latest = get_name(n - 1);
    return latest->text[0] == 't' ? NULL : arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 100;
    registry.names = calloc((size_t)threads, sizeof *registry.names);
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, run, (void *)(size_t)(i + 1));
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
