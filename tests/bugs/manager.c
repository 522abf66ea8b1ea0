/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A manager lends out connections. How many are free is a plain variable: what a client gives back while another one
 * takes is lost, or counted twice. */
// KIND: LEAP Manager: not-atomic
// FAILS: when all is given back, the number of free connections is wrong
// SHOWS: exit 2
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 59 in 1000
// ARGS: CLIENTS=4 REQUESTS=400
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct manager {
    volatile int free;
    volatile int most; /* that were lent at a time */
    int total;
};

static struct manager manager;
static int requests;
static pthread_barrier_t start;

static int borrow(struct manager *m) {
    if (m->free == 0) return 0;
    m->free--;
    if (m->total - m->free > m->most) m->most = m->total - m->free;
    return 1;
}

static void give_back(struct manager *m) {
    m->free++;
}

static void *client(void *arg) {
    unsigned long *work = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < requests; i++) {
        if (!borrow(&manager)) continue;
        char query[32];
        int n = snprintf(query, sizeof query, "select %d", i);
        for (int k = 0; k < n; k++) *work += (unsigned char)query[k];
        give_back(&manager);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int clients = argc > 1 ? atoi(argv[1]) : 4;
    requests = argc > 2 ? atoi(argv[2]) : 400;
    manager.total = manager.free = clients + 2;
    pthread_t *t = calloc((size_t)clients, sizeof *t);
    unsigned long *work = calloc((size_t)clients * 8, sizeof *work);
    pthread_barrier_init(&start, NULL, (unsigned)clients);
    for (int i = 0; i < clients; i++) pthread_create(&t[i], NULL, client, &work[8 * i]);
    for (int i = 0; i < clients; i++) pthread_join(t[i], NULL);
    if (manager.free != manager.total) {
        fprintf(stderr, "%d of %d connections are free\n", manager.free, manager.total);
        return 2;
    }
    return 0;
}
