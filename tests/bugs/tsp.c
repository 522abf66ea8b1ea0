/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The travelling salesman by branch and bound. A tour is compared with the best one without the lock, and taken over
 * under the lock without comparing again: a better tour can be replaced by a worse one. */
// KIND: LEAN Tsp: stale check before the lock
// FAILS: the tour that is found is not the shortest
// SHOWS: exit 1
// LEAST: 4 threads, 1 iteration, 1 preemption
// NATIVE: 8 in 1000
// ARGS: WORKERS=3 CITIES=6
// LARGE: 4 9
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 12 };

struct tour {
    int length, n, city[MAX], visited[MAX];
};

static int distance[MAX][MAX], cities, workers;
static struct tour best;
static char best_text[4 * MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;

static void found(const struct tour *t) {
    if (t->length >= *(volatile int *)&best.length) return;
    char text[4 * MAX] = ""; /* for the log */
    for (int i = 0, n = 0; i < t->n; i++) n += snprintf(text + n, sizeof text - (size_t)n, " %d", t->city[i]);
    pthread_mutex_lock(&lock);
    best = *t;
    memcpy(best_text, text, sizeof text);
    pthread_mutex_unlock(&lock);
}

static void search(struct tour *t, int shortest) {
    int last = t->city[t->n - 1];
    if (t->length >= shortest) return;
    if (t->n == cities) {
        t->length += distance[last][0];
        found(t);
        t->length -= distance[last][0];
        return;
    }
    for (int c = 1; c < cities; c++) {
        if (t->visited[c]) continue;
        t->visited[c] = 1;
        t->city[t->n++] = c;
        t->length += distance[last][c];
        search(t, shortest);
        t->length -= distance[last][c];
        t->n--;
        t->visited[c] = 0;
    }
}

static void *worker(void *arg) {
    int me = (int)(size_t)arg;
    pthread_barrier_wait(&start);
    for (int c = 1 + me; c < cities; c += workers) {
        struct tour t = {.length = distance[0][c], .n = 2, .city = {0, c}};
        t.visited[0] = t.visited[c] = 1;
        search(&t, 1 << 30);
    }
    return NULL;
}

static int solve(int threads) {
    pthread_t t[64];
    workers = threads;
    best.length = 1 << 30;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, worker, (void *)(size_t)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    pthread_barrier_destroy(&start);
    return best.length;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    cities = argc > 2 ? atoi(argv[2]) : 6;
    if (cities > MAX || threads > 64) return 2;
    for (unsigned seed = 1, map = 0; map < 20; map++) {
        for (int i = 0; i < cities; i++)
            for (int j = 0; j < i; j++) distance[i][j] = distance[j][i] = 10 + rand_r(&seed) % 90;
        int length = solve(threads);
        if (solve(1) < length) {
            fprintf(stderr, "the shortest tour of map %u has %d, not %d\n", map, best.length, length);
            return 1;
        }
    }
    return 0;
}
