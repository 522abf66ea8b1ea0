/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A hundred clients take numbered places. A place is looked for and then claimed, each under the lock. Whoever finds it
 * claimed meanwhile goes to the overflow, and there, after such bad luck, nobody checks again. So two threads must lose
 * the same race first, and then race with each other. */
// KIND: two-stage bug of 100 threads
// FAILS: two clients have the same place in the overflow
// SHOWS: exit 1
// LEAST: 4 threads, 1 iteration, 3 preemptions
// NATIVE: rare: none in 10000
// ARGS: CLIENTS=100
// LARGE: 100
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct places {
    pthread_mutex_t lock;
    int *client, n; /* 0: free */
};

static struct places places = {.lock = PTHREAD_MUTEX_INITIALIZER}, overflow = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find(struct places *p) {
    pthread_mutex_lock(&p->lock);
    int i = 0;
    while (i < p->n && p->client[i]) i++;
    pthread_mutex_unlock(&p->lock);
    return i;
}

static int claim(struct places *p, int place, int client) {
    pthread_mutex_lock(&p->lock);
    int before = p->client[place];
    if (!before) p->client[place] = client;
    pthread_mutex_unlock(&p->lock);
    return before;
}

static void *arrive(void *arg) {
    int me = (int)(size_t)arg;
    if (claim(&places, find(&places), me) == 0) return NULL;
    int other = claim(&overflow, find(&overflow), me);
    if (other) {
        fprintf(stderr, "clients %d and %d have the same place\n", other, me);
        exit(1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int clients = argc > 1 ? atoi(argv[1]) : 100;
    places.n = overflow.n = clients;
    places.client = calloc((size_t)clients + 1, sizeof(int));
    overflow.client = calloc((size_t)clients + 1, sizeof(int));
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    for (int i = 0; i < clients; i++) pthread_create(&t[i], NULL, arrive, (void *)(size_t)(i + 1));
    for (int i = 0; i < clients; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
