/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A vector of blocks. To allocate, a free block is looked for and then marked as used. Each of the two steps is under
 * the lock, but the lock is released between them. */
// KIND: LEAP AllocationVector: weak-reality, two stage access
// FAILS: one block is given to two threads
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 91 in 1000
// ARGS: THREADS=3 ROUNDS=200
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct vector {
    pthread_mutex_t lock;
    int blocks;
    int *owner; /* 0: free */
};

static struct vector vector = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int rounds;
static pthread_barrier_t start;

static int find_free(struct vector *v) {
    int found = -1;
    pthread_mutex_lock(&v->lock);
    for (int i = 0; i < v->blocks && found < 0; i++)
        if (v->owner[i] == 0) found = i;
    pthread_mutex_unlock(&v->lock);
    return found;
}

static int mark(struct vector *v, int block, int who) {
    pthread_mutex_lock(&v->lock);
    int before = v->owner[block];
    v->owner[block] = who;
    pthread_mutex_unlock(&v->lock);
    return before;
}

static void *user(void *arg) {
    int me = (int)(size_t)arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        int block = find_free(&vector);
        if (block < 0) continue;
        char label[32];
        snprintf(label, sizeof label, "block %d, round %d", block, i);
        int before = mark(&vector, block, me);
        if (before != 0) {
            fprintf(stderr, "block %d of thread %d was given to thread %d\n", block, before, me);
            exit(1);
        }
        mark(&vector, block, 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 200;
    vector.blocks = threads + 1;
    vector.owner = calloc((size_t)vector.blocks, sizeof(int));
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, user, (void *)(size_t)(i + 1));
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    free(vector.owner);
    return 0;
}
