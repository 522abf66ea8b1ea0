/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A database that forks to save itself: the child has a copy of everything at one moment. But that moment is not
 * chosen: another thread may be in the middle of a change. */
// KIND: fork in threads: a half-done change
// FAILS: the copy that the child saves does not add up
// SHOWS: exit 3
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 5 in 1000
// ARGS: THREADS=1 SAVES=4
// LARGE: 10 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 32 };

static struct row {
    char name[16];
    long amount;
} rows[ROWS];
static volatile long total; /* of all amounts */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static pthread_barrier_t start;

static void *change(void *arg) {
    unsigned seed = (unsigned)(size_t)arg + 1;
    pthread_barrier_wait(&start);
    while (!stop) {
        struct row *r = &rows[rand_r(&seed) % ROWS];
        long amount = rand_r(&seed) % 100;
        pthread_mutex_lock(&lock);
        r->amount += amount;
        snprintf(r->name, sizeof r->name, "row %ld", (long)(r - rows));
        total += amount;
        pthread_mutex_unlock(&lock);
        usleep(10);
    }
    return NULL;
}

static int save(void) {
    long sum = 0;
    for (int i = 0; i < ROWS; i++) sum += rows[i].amount;
    return sum == total ? 0 : 1;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    int saves = argc > 2 ? atoi(argv[2]) : 4;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, change, (void *)(size_t)i);
    pthread_barrier_wait(&start);
    for (int i = 0; i < saves; i++) {
        pid_t child = fork();
        if (child == 0) _exit(save());
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WEXITSTATUS(status)) {
            fprintf(stderr, "save %d does not add up\n", i);
            exit(3);
        }
    }
    stop = 1;
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    return 0;
}
