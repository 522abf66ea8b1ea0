/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A hash table that grows under a lock, and is read without one: the number of slots and the slots can be those of two tables, and entries
 * move to other chains meanwhile. */
// KIND: hash table that is read while it grows
// FAILS: an entry that is there is not found: null pointer
// SHOWS: signal 11
// LEAST: 3 threads, 8 iterations, 1 preemption
// NATIVE: 0 in 1000
// ARGS: THREADS=3 ENTRIES=300
// LARGE: 34 10
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int key, value;
    struct entry *next;
};

static struct entry *volatile *volatile slots;
static volatile int nslots = 4;
static int count, entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void grow(void) {
    int n = 2 * nslots;
    struct entry **s = calloc((size_t)n, sizeof *s);
    for (int i = 0; i < nslots; i++)
        for (struct entry *e = slots[i], *next; e; e = next) {
            next = e->next;
            e->next = s[e->key % n];
            s[e->key % n] = e;
        }
    nslots = n;
    slots = (struct entry *volatile *)s; /* the former ones are never freed: somebody may still look at them */
}

static void set(int key) {
    struct entry *e = malloc(sizeof *e);
    pthread_mutex_lock(&lock);
    if (++count > 2 * nslots) grow();
    *e = (struct entry){key, 7 * key, slots[key % nslots]};
    slots[key % nslots] = e;
    pthread_mutex_unlock(&lock);
}

static struct entry *get(int key) {
    for (struct entry *e = slots[key % nslots]; e; e = e->next)
        if (e->key == key) return e;
    return NULL;
}

static void *work(void *arg) {
    int first = (int)(long)arg * entries;
    for (int i = 0; i < entries; i++) {
        set(first + i);
        if (get(first + i)->value != 7 * (first + i)) abort();
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    entries = argc > 2 ? atoi(argv[2]) : 300;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    slots = calloc((size_t)nslots, sizeof *slots);
    for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
