/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that ends while a detached thread still writes to the log. The log is closed by an exit handler, and the
 * thread then uses a log that is not there. */
// KIND: order violation at exit
// FAILS: the log is used after it was closed: a null pointer
// SHOWS: signal 11
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: rare: none in 1000
// ARGS: THREADS=2 LINES=400
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct log {
    pthread_mutex_t lock;
    size_t lines, size;
    char *text;
};

static struct log *volatile the_log;
static int lines;

static void log_open(void) {
    struct log *l = calloc(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    l->size = 1 << 16;
    l->text = calloc(1, l->size);
    the_log = l;
}

static void log_close(void) {
    struct log *l = the_log;
    the_log = NULL;
    for (size_t i = 0; i < l->size; i += 64) l->text[i] = 0; /* nobody shall read it in a core file */
}

static void log_line(const char *line) {
    pthread_mutex_lock(&the_log->lock);
    size_t n = strlen(line);
    memcpy(the_log->text + the_log->lines % 64 * 64, line, n < 63 ? n : 63);
    the_log->lines++;
    pthread_mutex_unlock(&the_log->lock);
}

static void *chatter(void *arg) {
    for (int i = 0; i < lines; i++) {
        char line[64];
        snprintf(line, sizeof line, "thread %zu says %d", (size_t)arg, i);
        log_line(line);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    lines = argc > 2 ? atoi(argv[2]) : 400;
    log_open();
    atexit(log_close);
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        pthread_create(&t, NULL, chatter, (void *)(size_t)i);
        pthread_detach(t);
    }
    for (int i = 0; i < lines; i++) log_line("main");
    return 0;
}
