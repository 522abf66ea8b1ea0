/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two workers poll one pipe and read what is there: both are told that there is something, and one has it. */
// KIND: poll and a blocking read
// FAILS: a worker waits for a job that another one has, and does not see the end
// SHOWS: stuck
// LEAST: 3 threads, all iterations, 0 preemptions
// NATIVE: 0 in 40
// ARGS: WORKERS=2 JOBS=100
// LARGE: 8 200
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int queue[2];
static atomic_int left;

static void *work(void *arg) {
    while (left > 0) {
        struct pollfd p = {.fd = queue[0], .events = POLLIN};
        if (poll(&p, 1, 5) != 1) continue;
        int job;
        if (read(queue[0], &job, sizeof job) != sizeof job) abort();
        left--;
    }
    return arg;
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? atoi(argv[1]) : 2, jobs = argc > 2 ? atoi(argv[2]) : 100;
    left = jobs;
    if (pipe(queue)) return 9;
    pthread_t *t = calloc((size_t)workers, sizeof *t);
    for (int i = 0; i < workers; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < jobs; i++)
        if (write(queue[1], &i, sizeof i) != sizeof i) abort();
    for (int i = 0; i < workers; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
