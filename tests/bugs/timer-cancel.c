/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A timer is cancelled and its owner freed while the timer's thread has already taken it from the list to run it. */
// KIND: timer vs destroy: cancel does not wait for a callback that runs
// FAILS: the callback uses an owner that is gone
// SHOWS: signal 6
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 40
// ARGS: TIMERS=400
// LARGE: 2000
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ALIVE = 0x600d };
struct owner {
    int magic, fired;
};
struct timer {
    struct timer *next;
    void (*fire)(struct owner *);
    struct owner *owner;
};
static struct timer *list;
static int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_timer(struct owner *o) {
    assert(o->magic == ALIVE);
    o->fired++;
}

static void *run_timers(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        struct timer *t = list;
        if (t) list = t->next;
        int end = stop;
        pthread_mutex_unlock(&lock);
        if (t) t->fire(t->owner);
        else if (end) return arg;
    }
}

static void cancel(struct timer *t) {
    pthread_mutex_lock(&lock);
    for (struct timer **p = &list; *p; p = &(*p)->next)
        if (*p == t) {
            *p = t->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
    int timers = argc > 1 ? atoi(argv[1]) : 400;
    pthread_t t;
    pthread_create(&t, NULL, run_timers, NULL);
    for (int i = 0; i < timers; i++) {
        struct owner *o = calloc(1, sizeof *o);
        struct timer *m = calloc(1, sizeof *m);
        o->magic = ALIVE;
        *m = (struct timer){NULL, on_timer, o};
        pthread_mutex_lock(&lock);
        m->next = list;
        list = m;
        pthread_mutex_unlock(&lock);
        for (volatile int k = 0; k < i % 40; k++) continue;
        cancel(m);
        o->magic = 0;
        free(o); /* m is never freed */
    }
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return 0;
}
