/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A bounded buffer with one condition variable for both "not empty" and "not full", and pthread_cond_signal where it
 * should be pthread_cond_broadcast: the signal of a consumer can wake another consumer instead of the producer. */
// KIND: LEAP BoundedBuffer: notify instead of notifyAll
// FAILS: everybody waits
// SHOWS: stuck
// LEAST: all threads, 2 iterations, 0 preemptions
// NATIVE: 82 in 100
// ARGS: CONSUMERS=2 ITEMS=10
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1, END = -1 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int items[SIZE], n;
} buffer = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int consumers, items;

static void put(int item) {
    pthread_mutex_lock(&buffer.lock);
    while (buffer.n == SIZE) pthread_cond_wait(&buffer.changed, &buffer.lock);
    buffer.items[buffer.n++] = item;
    pthread_cond_signal(&buffer.changed);
    pthread_mutex_unlock(&buffer.lock);
}

static int get(void) {
    pthread_mutex_lock(&buffer.lock);
    while (buffer.n == 0) pthread_cond_wait(&buffer.changed, &buffer.lock);
    int item = buffer.items[--buffer.n];
    pthread_cond_signal(&buffer.changed);
    pthread_mutex_unlock(&buffer.lock);
    return item;
}

static void *produce(void *arg) {
    for (int i = 0; i < items * consumers; i++) put(i);
    for (int i = 0; i < consumers; i++) put(END);
    return arg;
}

static void *consume(void *arg) {
    long *sum = arg;
    for (int item = get(); item != END; item = get()) {
        char text[16];
        *sum += snprintf(text, sizeof text, "item %d", item);
    }
    return NULL;
}

int main(int argc, char **argv) {
    consumers = argc > 1 ? atoi(argv[1]) : 2;
    items = argc > 2 ? atoi(argv[2]) : 10;
    pthread_t producer, *t = calloc((size_t)consumers, sizeof *t);
    long *sums = calloc((size_t)consumers, sizeof *sums), sum = 0;
    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < consumers; i++) pthread_create(&t[i], NULL, consume, &sums[i]);
    pthread_join(producer, NULL);
    for (int i = 0; i < consumers; i++) {
        pthread_join(t[i], NULL);
        sum += sums[i];
    }
    printf("%ld\n", sum);
    return 0;
}
