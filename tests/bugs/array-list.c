/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A list whose every operation is under its lock. The callers ask for its length and then for an element: two
 * operations, between which another thread may remove that element. */
// KIND: LEAN ArrayList: not-atomic, 450 threads
// FAILS: an index is out of range
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 37 in 1000
// ARGS: THREADS=4 ROUNDS=200
// LARGE: 450 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct list {
    pthread_mutex_t lock;
    int *items, length, room;
};

static struct list list = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int rounds;
static pthread_barrier_t start;

static int list_length(struct list *l) {
    pthread_mutex_lock(&l->lock);
    int n = l->length;
    pthread_mutex_unlock(&l->lock);
    return n;
}

static void list_add(struct list *l, int item) {
    pthread_mutex_lock(&l->lock);
    if (l->length == l->room) {
        l->room = l->room ? 2 * l->room : 8;
        l->items = realloc(l->items, (size_t)l->room * sizeof *l->items);
    }
    l->items[l->length++] = item;
    pthread_mutex_unlock(&l->lock);
}

static int list_remove(struct list *l, int index) {
    pthread_mutex_lock(&l->lock);
    if (index < 0 || index >= l->length) {
        fprintf(stderr, "index %d is out of range: length %d\n", index, l->length);
        abort();
    }
    int item = l->items[index];
    l->length--;
    for (int i = index; i < l->length; i++) l->items[i] = l->items[i + 1];
    pthread_mutex_unlock(&l->lock);
    return item;
}

static void *user(void *arg) {
    long *sum = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < rounds; i++) {
        list_add(&list, i);
        int n = list_length(&list);
        if (n > 0) *sum += list_remove(&list, n - 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    rounds = argc > 2 ? atoi(argv[2]) : 200;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    long *sums = calloc((size_t)threads, sizeof *sums);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, user, &sums[i]);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("%d left\n", list_length(&list));
    return 0;
}
