/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A list under a reader-writer lock. Who does not find a key releases the lock, takes it for writing and adds the key, without looking again. */
// KIND: reader-writer lock that is upgraded in two steps
// FAILS: a key is in the list twice: assertion
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 15 in 1000
// ARGS: THREADS=3 KEYS=100
// LARGE: 33 10
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    int key;
    struct node *next;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct node *list;
static int keys;

static void add_once(int key) {
    struct node *n;
    pthread_rwlock_rdlock(&lock);
    for (n = list; n && n->key != key; n = n->next) {}
    pthread_rwlock_unlock(&lock);
    if (n) return;
    n = malloc(sizeof *n);
    n->key = key;
    pthread_rwlock_wrlock(&lock);
    n->next = list;
    list = n;
    pthread_rwlock_unlock(&lock);
}

static void *work(void *arg) {
    for (int i = 0; i < keys; i++) add_once(i);
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    keys = argc > 2 ? atoi(argv[2]) : 100;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    for (struct node *a = list; a; a = a->next)
        for (struct node *b = a->next; b; b = b->next) assert(a->key != b->key);
    free(t);
    return 0;
}
