/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* At shutdown the workers are told to stop, and the log is freed before they have. */
// KIND: shutdown order: what threads still use is freed after they were told to stop
// FAILS: a worker writes to a log that is gone: a null pointer
// SHOWS: signal 11 or signal 6
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 240 in 1000
// ARGS: WORKERS=3
// LARGE: 33
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct record {
    char *line;
    unsigned written;
} *record;
static volatile int stop;

static void *work(void *arg) {
    unsigned n = 0;
    while (!stop) {
        if (++n % 64) continue;
        memset(record->line, 'a' + n % 26, 16);
        record->written += 16;
    }
    *(unsigned *)arg = n;
    return NULL;
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t *t = calloc((size_t)workers, sizeof *t);
    unsigned *counts = calloc((size_t)workers, sizeof *counts);
    record = calloc(1, sizeof *record);
    record->line = malloc(256);
    for (int i = 0; i < workers; i++) pthread_create(&t[i], NULL, work, &counts[i]);
    usleep(1000);
    stop = 1;
    free(record->line);
    record->line = NULL;
    for (int i = 0; i < workers; i++) pthread_join(t[i], NULL);
    printf("%u bytes\n", record->written);
    free(record);
    free(counts);
    free(t);
    return 0;
}
