/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads append lines to one file: each asks where the file ends and writes there, in two calls. */
// KIND: LEAP FileWriter: not-atomic
// FAILS: lines are missing in the file
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 265 in 1000
// ARGS: THREADS=3 LINES=20
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 24 };

static int file, lines;
static pthread_barrier_t start;

static void append(const char *line) {
    struct stat now;
    if (fstat(file, &now)) abort();
    if (pwrite(file, line, LINE, now.st_size) != LINE) abort();
}

static void *writer(void *arg) {
    int *written = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < lines; i++) {
        char line[LINE + 1];
        snprintf(line, sizeof line, "%-*d\n", LINE - 1, i);
        append(line);
        ++*written;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    lines = argc > 2 ? atoi(argv[2]) : 20;
    char path[] = "/tmp/file-writer.XXXXXX";
    file = mkstemp(path);
    if (file < 0) return 2;
    unlink(path);

    pthread_t *t = calloc((size_t)threads, sizeof *t);
    int *written = calloc((size_t)threads, sizeof *written), sum = 0;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, writer, &written[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        sum += written[i];
    }
    long there = lseek(file, 0, SEEK_END) / LINE;
    if (there != sum) {
        fprintf(stderr, "%d lines were written, %ld are there\n", sum, there);
        return 1;
    }
    return 0;
}
