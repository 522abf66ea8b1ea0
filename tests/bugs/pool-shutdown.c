/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread pool that is shut down: the flag is set without the lock and everybody is woken once. A worker that has
 * looked at the flag and does not wait yet sleeps for ever. */
// KIND: thread pool shutdown
// FAILS: a worker is not woken, and shutdown waits for it
// SHOWS: stuck
// LEAST: 2 threads, all iterations, 1 preemption
// NATIVE: 28 in 100
// ARGS: WORKERS=3 JOBS=8
// LARGE: 33 10
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    struct job *next;
    void (*run)(int);
    int argument;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first, **end;
    volatile int closing;
    int threads, idle;
    volatile int done;
    char status[40];
    pthread_t *workers;
};

static volatile int results[64];

static struct job *next_job(struct pool *p) {
    pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->closing) {
        snprintf(p->status, sizeof p->status, "%d idle, %d jobs done", ++p->idle, p->done);
        pthread_cond_wait(&p->changed, &p->lock);
        p->idle--;
    }
    struct job *j = p->first;
    if (j && (p->first = j->next) == NULL) p->end = &p->first;
    pthread_mutex_unlock(&p->lock);
    return j;
}

static void *worker(void *arg) {
    struct pool *p = arg;
    struct job *j;
    while ((j = next_job(p)) != NULL) {
        j->run(j->argument);
        __atomic_fetch_add(&p->done, 1, __ATOMIC_RELAXED);
        free(j);
    }
    return NULL;
}

static void submit(struct pool *p, void (*run)(int), int argument) {
    struct job *j = malloc(sizeof *j);
    *j = (struct job){NULL, run, argument};
    pthread_mutex_lock(&p->lock);
    *p->end = j;
    p->end = &j->next;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void shut_down(struct pool *p) {
    p->closing = 1;
    pthread_cond_broadcast(&p->changed);
    for (int i = 0; i < p->threads; i++) pthread_join(p->workers[i], NULL);
}

static void work(int number) {
    char text[32];
    for (int i = 0; i < 10; i++) results[number % 64] += snprintf(text, sizeof text, "job %d.%d", number, i);
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    int jobs = argc > 2 ? atoi(argv[2]) : 8;
    for (int round = 0; round < 10; round++) {
        struct pool p = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .threads = threads};
        p.end = &p.first;
        p.workers = calloc((size_t)threads, sizeof *p.workers);
        for (int i = 0; i < threads; i++) pthread_create(&p.workers[i], NULL, worker, &p);
        for (int i = 0; i < jobs; i++) submit(&p, work, i);
        while (p.done < jobs) sched_yield();
        shut_down(&p);
        free(p.workers);
    }
    return 0;
}
