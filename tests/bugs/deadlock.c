/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Directories with a lock each. To move an entry, the source is locked first and then the target: two moves in opposite
 * directions can wait for each other. */
// KIND: LEAP Deadlock: ABBA
// FAILS: two threads wait for each other's lock
// SHOWS: stuck
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 14 in 100
// ARGS: THREADS=2 MOVES=500
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIRECTORIES = 3 };

struct directory {
    pthread_mutex_t lock;
    int entries;
    char last[32];
};

static struct directory directories[DIRECTORIES];
static int moves;
static pthread_barrier_t start;

static void move(struct directory *from, struct directory *to, int number) {
    pthread_mutex_lock(&from->lock);
    if (from->entries > 0) {
        from->entries--;
        snprintf(from->last, sizeof from->last, "- %d", number);
        pthread_mutex_lock(&to->lock);
        to->entries++;
        snprintf(to->last, sizeof to->last, "+ %d", number);
        pthread_mutex_unlock(&to->lock);
    }
    pthread_mutex_unlock(&from->lock);
}

static void *mover(void *arg) {
    unsigned seed = (unsigned)(size_t)arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < moves; i++) {
        int from = rand_r(&seed) % DIRECTORIES;
        int to = (from + 1 + rand_r(&seed) % (DIRECTORIES - 1)) % DIRECTORIES;
        move(&directories[from], &directories[to], i);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    moves = argc > 2 ? atoi(argv[2]) : 500;
    for (int i = 0; i < DIRECTORIES; i++) {
        pthread_mutex_init(&directories[i].lock, NULL);
        directories[i].entries = 100;
    }
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, mover, (void *)(size_t)(i + 1));
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    int sum = 0;
    for (int i = 0; i < DIRECTORIES; i++) sum += directories[i].entries;
    printf("%d entries\n", sum);
    free(t);
    return 0;
}
