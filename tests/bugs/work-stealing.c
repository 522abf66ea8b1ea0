/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A deque of jobs: its owner takes them from the bottom, thieves from the top, and nobody claims a job before it is read. Two can take the same
 * one. */
// KIND: work-stealing deque without a claim
// FAILS: a job is done twice
// SHOWS: signal 6
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 1000
// ARGS: THIEVES=4 STEALS=40
// LARGE: 33 40
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { JOBS = 400, THIEVES = 100 };

static volatile long top, bottom;
static int jobs[JOBS];
static volatile int done[JOBS];
static int steals;

static int pop(void) {
    long b = bottom - 1;
    bottom = b;
    if (top > b) {
        bottom = top;
        return -1;
    }
    return jobs[b];
}

static int steal(void) {
    long t = top;
    if (t >= bottom) return -1;
    int job = jobs[t];
    top = t + 1;
    return job;
}

static void run(int job) {
    assert(!done[job]);
    done[job] = 1;
}

static void *thief(void *arg) {
    for (int i = 0; i < steals; i++) {
        int job = steal();
        if (job >= 0) run(job);
    }
    return arg;
}

int main(int argc, char **argv) {
    int thieves = argc > 1 ? atoi(argv[1]) : 4;
    steals = argc > 2 ? atoi(argv[2]) : 40;
    pthread_t t[THIEVES];
    if (thieves > THIEVES) return 2;
    for (int i = 0; i < JOBS; i++) jobs[i] = i;
    bottom = JOBS;
    for (int i = 0; i < thieves; i++) pthread_create(&t[i], NULL, thief, NULL);
    for (int job; (job = pop()) >= 0;) run(job);
    for (int i = 0; i < thieves; i++) pthread_join(t[i], NULL);
    return 0;
}
