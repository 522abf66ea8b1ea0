/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The twin of linked-list.c that cannot be made smaller: the number of jobs that must be there is known beforehand, so
 * a run without one of the threads or one of the jobs fails in every order, for another reason. */
// KIND: twin of linked-list that cannot shrink
// FAILS: jobs that were appended are not in the list
// SHOWS: signal 6
// LEAST: all threads, all iterations, 1 preemption
// NATIVE: 63 in 1000
// ARGS: THREADS=4 JOBS=50
// LARGE: 33 10
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct job {
    struct job *next;
    int number;
};

static struct job head, *volatile last = &head;
static int threads, jobs;
static pthread_barrier_t start;

static void append(struct job *j) {
    struct job *before = last;
    before->next = j;
    last = j;
}

static void *produce(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < jobs; i++) {
        struct job *j = calloc(1, sizeof *j);
        j->number = i;
        append(j);
    }
    return arg;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 4;
    jobs = argc > 2 ? atoi(argv[2]) : 50;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, produce, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    int found = 0;
    for (struct job *j = head.next; j; j = j->next) found++;
    assert(found == threads * jobs);
    free(t);
    return 0;
}
