/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A queue of jobs. Who waits for one looks with `if`, not `while`: by the time that it has the lock again, another thread has taken the job. */
// KIND: condition variable, predicate not looked at again
// FAILS: a job is taken that is not there: null pointer
// SHOWS: signal 11
// LEAST: 3 threads, 1 iteration, 0 preemptions
// NATIVE: 541 in 1000
// ARGS: THREADS=3 JOBS=100
// LARGE: 33 10
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int **queue;
static int head, tail, over;
static long sum;

static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        if (head == tail && !over) pthread_cond_wait(&ready, &lock);
        if (head == tail && over) break;
        int *job = queue[head++];
        sum += *job;
        pthread_mutex_unlock(&lock);
        free(job);
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3, jobs = argc > 2 ? atoi(argv[2]) : 100;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    queue = calloc((size_t)jobs + (size_t)threads, sizeof *queue);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < jobs; i++) {
        int *job = malloc(sizeof *job);
        *job = i;
        pthread_mutex_lock(&lock);
        queue[tail++] = job;
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(queue);
    free(t);
    return 0;
}
