/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A merge sort that sorts its halves in threads while there are scratch buffers left. The number of free buffers is
 * read and decremented without a lock, so two threads can merge in the same one. That harms only if one of them is stopped while it merges. */
// KIND: LEAP MergeSort: not-atomic
// FAILS: the result is not sorted, or what was never a buffer is used as one
// SHOWS: exit 1 or signal 11
// LEAST: all threads, 1 iteration, 2 preemptions
// NATIVE: 85 in 1000
// ARGS: THREADS=8 ELEMENTS=4096
// LARGE: 33 1024
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    int *a, n, depth;
};

static int **scratch;
static volatile int free_buffers;
static int size, room;

static int *take_buffer(void) {
    if (free_buffers <= 0) return malloc((size_t)size * sizeof(int));
    int *b = scratch[free_buffers - 1];
    free_buffers--;
    return b;
}

static void give_buffer(int *b) {
    if (free_buffers == room) return;
    scratch[free_buffers] = b;
    free_buffers++;
}

static void merge(int *a, int n) {
    int *b = take_buffer(), i = 0, j = n / 2, k = 0;
    while (i < n / 2 && j < n) b[k++] = a[i] <= a[j] ? a[i++] : a[j++];
    while (i < n / 2) b[k++] = a[i++];
    while (j < n) b[k++] = a[j++];
    memcpy(a, b, (size_t)n * sizeof *a);
    give_buffer(b);
}

static void *sort(void *arg) {
    struct part *p = arg;
    if (p->n < 2) return NULL;
    struct part left = {p->a, p->n / 2, p->depth - 1}, right = {p->a + p->n / 2, p->n - p->n / 2, p->depth - 1};
    pthread_t t;
    int forked = p->depth > 0 && pthread_create(&t, NULL, sort, &left) == 0;
    if (!forked) sort(&left);
    sort(&right);
    if (forked) pthread_join(t, NULL);
    merge(p->a, p->n);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    size = argc > 2 ? atoi(argv[2]) : 4096;
    int depth = 0;
    while (1 << depth < threads) depth++;
    free_buffers = 2 * threads;
    room = 2 * free_buffers;
    scratch = calloc((size_t)room, sizeof *scratch);
    for (int i = 0; i < room; i++) scratch[i] = malloc((size_t)size * sizeof(int));
    int *a = malloc((size_t)size * sizeof *a);
    unsigned seed = 7;
    for (int i = 0; i < size; i++) a[i] = rand_r(&seed) % 1000;

    sort(&(struct part){a, size, depth});
    for (int i = 0; i + 1 < size; i++) {
        if (a[i] <= a[i + 1]) continue;
        fprintf(stderr, "not sorted at %d: %d before %d\n", i, a[i], a[i + 1]);
        return 1;
    }
    return 0;
}
