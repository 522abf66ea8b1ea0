/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A writer thread that sleeps until there is something to write. Whether there is something is looked at before the
 * lock is taken: a signal that comes in between is lost. */
// KIND: lost wake-up
// FAILS: the writer waits for a signal that has been sent already
// SHOWS: stuck
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 20 in 100
// ARGS: WRITERS=2 MESSAGES=1000
// LARGE: 10 10
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

struct writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t some;
    sem_t written; /* the last message is */
    volatile int waiting; /* a message that is not written yet */
    char text[32], state[32];
    long bytes;
};

static int messages;

static void *run(void *arg) {
    struct writer *w = arg;
    for (int i = 0; i < messages; i++) {
        if (w->waiting == 0) {
            snprintf(w->state, sizeof w->state, "idle after %d", i);
            pthread_mutex_lock(&w->lock);
            pthread_cond_wait(&w->some, &w->lock);
            pthread_mutex_unlock(&w->lock);
        }
        char line[48];
        w->bytes += snprintf(line, sizeof line, "%d: %s\n", i, w->text);
        w->waiting = 0;
        sem_post(&w->written);
    }
    return NULL;
}

static void send(struct writer *w, int number) {
    sem_wait(&w->written);
    snprintf(w->text, sizeof w->text, "message %d", number);
    pthread_mutex_lock(&w->lock);
    w->waiting = 1;
    pthread_cond_signal(&w->some);
    pthread_mutex_unlock(&w->lock);
}

int main(int argc, char **argv) {
    int writers = argc > 1 ? atoi(argv[1]) : 2;
    messages = argc > 2 ? atoi(argv[2]) : 1000;
    struct writer *w = calloc((size_t)writers, sizeof *w);
    for (int i = 0; i < writers; i++) {
        pthread_mutex_init(&w[i].lock, NULL);
        pthread_cond_init(&w[i].some, NULL);
        sem_init(&w[i].written, 0, 1);
        pthread_create(&w[i].thread, NULL, run, &w[i]);
    }
    for (int m = 0; m < messages; m++)
        for (int i = 0; i < writers; i++) send(&w[i], m);
    long bytes = 0;
    for (int i = 0; i < writers; i++) {
        pthread_join(w[i].thread, NULL);
        bytes += w[i].bytes;
    }
    printf("%ld bytes\n", bytes);
    free(w);
    return 0;
}
