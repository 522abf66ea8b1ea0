/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Statements that use a view are compiled in several sessions. The view's descriptor is in a cache that all sessions
 * share, and the compiler keeps in it, for a while, which columns the statement refers to. */
// KIND: LEAN Derby 2861: shared descriptor, 10 sessions, 10 statements
// FAILS: the columns were cleared by another session: a null pointer
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 91 in 1000
// ARGS: SESSIONS=3 STATEMENTS=20
// LARGE: 10 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct columns {
    int n, number[8];
};

struct view {
    const char *name;
    struct columns *volatile referenced; /* by the statement that is compiled */
};

static struct view view = {.name = "ORDERS_OF_TODAY"};
static int statements;
static pthread_barrier_t start;

static int bind(struct view *v, struct columns *c, char *plan, size_t size) {
    v->referenced = c;
    int used = snprintf(plan, size, "scan %s:", v->name);
    for (int i = 0; i < v->referenced->n; i++)
        used += snprintf(plan + used, size - (size_t)used, " %d", v->referenced->number[i]);
    v->referenced = NULL;
    return used;
}

static void *session(void *arg) {
    unsigned long *total = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < statements; i++) {
        struct columns c = {.n = 1 + i % 8, .number = {1, 2, 3, 4, 5, 6, 7, 8}};
        char plan[80];
        *total += (unsigned long)bind(&view, &c, plan, sizeof plan);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int sessions = argc > 1 ? atoi(argv[1]) : 3;
    statements = argc > 2 ? atoi(argv[2]) : 20;
    pthread_t *t = calloc((size_t)sessions, sizeof *t);
    unsigned long *total = calloc((size_t)sessions * 8, sizeof *total);
    pthread_barrier_init(&start, NULL, (unsigned)sessions);
    for (int i = 0; i < sessions; i++) pthread_create(&t[i], NULL, session, &total[8 * i]);
    for (int i = 0; i < sessions; i++) pthread_join(t[i], NULL);
    printf("%lu\n", total[0]);
    return 0;
}
