/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A server that forks a helper while other threads work. The child has the locks as they were at that moment, and
 * nobody in it who would ever unlock them. */
// KIND: fork in threads: a lock that is held for ever
// FAILS: the child waits for a lock, the parent for the child
// SHOWS: stuck
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 33 in 100
// ARGS: THREADS=2 FORKS=3
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 5000 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[256];
static long log_lines;
static volatile int stop;
static pthread_barrier_t start;

static void log_line(const char *who, long number) {
    pthread_mutex_lock(&log_lock);
    snprintf(log_text, sizeof log_text, "%s: line %ld, the last was %.20s", who, number, log_text);
    log_lines++;
    pthread_mutex_unlock(&log_lock);
}

static void *worker(void *arg) {
    pthread_barrier_wait(&start);
    for (long i = 0; i < LINES && !stop; i++) {
        char work[64];
        for (int k = 0; k < 8; k++) snprintf(work, sizeof work, "request %ld.%d", i, k);
        log_line("worker", i);
    }
    return arg;
}

static int helper(void) {
    log_line("helper", getpid() > 0);
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    int forks = argc > 2 ? atoi(argv[2]) : 3;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, worker, NULL);
    pthread_barrier_wait(&start);
    for (int i = 0; i < forks; i++) {
        pid_t child = fork();
        if (child == 0) _exit(helper());
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status) return 2;
    }
    stop = 1;
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("the end\n");
    return 0;
}
