/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool of random numbers, filled by a thread of its own through a pipe. Who finds the pool empty reads the pipe while
 * it holds the pool's lock, which the filling thread needs before it writes: if the pool is empty too early, both wait
 * for ever. */
// KIND: LEAP RandomNumbers: blocking critical section
// FAILS: a user holds the lock and waits for the filler, which waits for the lock
// SHOWS: stuck
// LEAST: 4 threads, 1 iteration, 1 preemption
// NATIVE: 57 in 100
// ARGS: USERS=2 NUMBERS=20
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 8 };

static struct {
    pthread_mutex_t lock;
    unsigned numbers[BATCH];
    int left;
    int wanted; /* batches that the filler still has to make */
    int pipe[2];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int numbers;
static pthread_barrier_t start;

static void *fill(void *arg) {
    unsigned state = 12345, batch[BATCH];
    pthread_barrier_wait(&start);
    for (;;) {
        for (int i = 0; i < BATCH; i++) batch[i] = state = state * 1664525u + 1013904223u;
        pthread_mutex_lock(&pool.lock);
        int more = pool.wanted-- > 0;
        pthread_mutex_unlock(&pool.lock);
        if (!more) return arg;
        if (write(pool.pipe[1], batch, sizeof batch) != sizeof batch) abort();
    }
}

static unsigned next_number(void) {
    pthread_mutex_lock(&pool.lock);
    if (pool.left == 0) {
        if (read(pool.pipe[0], pool.numbers, sizeof pool.numbers) != sizeof pool.numbers) abort();
        pool.left = BATCH;
    }
    unsigned number = pool.numbers[--pool.left];
    pthread_mutex_unlock(&pool.lock);
    return number;
}

static void *use(void *arg) {
    unsigned *sum = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < numbers; i++) {
        char text[16]; /* what the number is for */
        *sum += (unsigned)snprintf(text, sizeof text, "%08x", next_number());
    }
    return NULL;
}

int main(int argc, char **argv) {
    int users = argc > 1 ? atoi(argv[1]) : 2;
    numbers = argc > 2 ? atoi(argv[2]) : 20;
    if (pipe(pool.pipe)) return 2;
    pool.wanted = (users * numbers + BATCH - 1) / BATCH;
    pthread_t filler, *t = calloc((size_t)users, sizeof *t);
    unsigned *sums = calloc((size_t)users, sizeof *sums);
    pthread_barrier_init(&start, NULL, (unsigned)users + 1);
    pthread_create(&filler, NULL, fill, NULL);
    for (int i = 0; i < users; i++) pthread_create(&t[i], NULL, use, &sums[i]);
    for (int i = 0; i < users; i++) pthread_join(t[i], NULL);
    pthread_join(filler, NULL);
    free(t);
    free(sums);
    return 0;
}
