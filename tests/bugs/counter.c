/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Worker threads count what they did in a variable that is neither atomic nor locked, and each for itself. The two
 * counts must agree. */
// KIND: non-atomic counter
// FAILS: the common count is less than the sum of the others
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 153 in 1000
// ARGS: THREADS=3 REQUESTS=1000
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
    pthread_t thread;
    unsigned handled, seed;
    char reply[64];
};

static volatile unsigned handled;
static int requests;
static pthread_barrier_t start;

static void handle(struct worker *w) {
    unsigned number = (unsigned)rand_r(&w->seed);
    for (int i = 0; i < 32; i++) w->reply[i] = "0123456789abcdef"[number >> i % 8 * 4 & 15];
    handled++;
    w->handled++;
}

static void *run(void *arg) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < requests; i++) handle(arg);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    requests = argc > 2 ? atoi(argv[2]) : 1000;
    struct worker *w = calloc((size_t)threads, sizeof *w);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        w[i].seed = (unsigned)i;
        pthread_create(&w[i].thread, NULL, run, &w[i]);
    }
    unsigned sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        sum += w[i].handled;
    }
    if (handled != sum) {
        fprintf(stderr, "%u requests were handled, %u were counted\n", sum, handled);
        return 1;
    }
    free(w);
    return 0;
}
