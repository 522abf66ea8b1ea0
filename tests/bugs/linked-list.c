/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A list of jobs to which several threads append. The pointer to its end is read and written without a lock, so a job
 * can be hung behind one that is no longer the last. */
// KIND: LEAP LinkedList: not-atomic (LEAN: 450 threads)
// FAILS: jobs that were appended are not in the list
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 206 in 1000
// ARGS: THREADS=4 JOBS=50
// LARGE: 450 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    struct job *next;
    int owner, number;
    char title[24];
};

struct list {
    struct job head, *last;
};

struct source {
    pthread_t thread;
    int id, appended;
};

static struct list list = {.last = &list.head};
static int jobs;
static pthread_barrier_t start;

static void append(struct list *l, struct job *j) {
    struct job *last = l->last;
    snprintf(j->title, sizeof j->title, "%d.%d after %d", j->owner, j->number, last->number);
    last->next = j;
    l->last = j;
}

static void *produce(void *arg) {
    struct source *s = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < jobs; i++) {
        struct job *j = calloc(1, sizeof *j);
        j->owner = s->id;
        j->number = i;
        append(&list, j);
        s->appended++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    jobs = argc > 2 ? atoi(argv[2]) : 50;
    struct source *s = calloc((size_t)threads, sizeof *s);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        s[i].id = i;
        pthread_create(&s[i].thread, NULL, produce, &s[i]);
    }
    int appended = 0, found = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(s[i].thread, NULL);
        appended += s[i].appended;
    }
    for (struct job *j = list.head.next; j; j = j->next) found++;
    if (found != appended) {
        fprintf(stderr, "%d jobs were appended, %d are there\n", appended, found);
        return 1;
    }
    return 0;
}
