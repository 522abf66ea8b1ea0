/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two thread-specific values: a buffer for the log and a session that says good-bye in the log when its thread ends.
 * Destructors run in the order of the keys, and each key is made by whoever needs it first. */
// KIND: TLS destructor order
// FAILS: a session writes to a log buffer that was destroyed before
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 0 preemptions
// NATIVE: 238 in 1000
// ARGS: THREADS=4 REQUESTS=3
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIVE = 0x10c };

struct buffer {
    int state;
    char text[240];
    size_t used;
};

static pthread_key_t log_key, session_key;
static pthread_once_t log_once = PTHREAD_ONCE_INIT, session_once = PTHREAD_ONCE_INIT;
static int requests;
static pthread_barrier_t start;

static void log_end(void *value) {
    struct buffer *b = value;
    b->state = 0; /* kept for the next thread */
}

static void log_line(struct buffer *b, const char *line) {
    if (b->state != ALIVE) {
        fprintf(stderr, "the log buffer is gone: %s\n", line);
        abort();
    }
    size_t n = strlen(line);
    if (b->used + n > sizeof b->text) b->used = 0;
    memcpy(b->text + b->used, line, n);
    b->used += n;
}

static void log_make(void) {
    pthread_key_create(&log_key, log_end);
}

static struct buffer *get_log(void) {
    pthread_once(&log_once, log_make);
    struct buffer *b = pthread_getspecific(log_key);
    if (!b) {
        b = calloc(1, sizeof *b);
        b->state = ALIVE;
        pthread_setspecific(log_key, b);
    }
    return b;
}

struct session {
    struct buffer *log;
    int number;
};

static void session_end(void *value) {
    struct session *s = value;
    log_line(s->log, "good-bye\n");
    free(s);
}

static void session_make(void) {
    pthread_key_create(&session_key, session_end);
}

static void *client(void *arg) {
    int number = (int)(size_t)arg;
    pthread_barrier_wait(&start);
    if (number % 4 == 3) log_line(get_log(), "monitor\n"); /* which has no session */
    else {
        pthread_once(&session_once, session_make);
        struct session *s = calloc(1, sizeof *s);
        s->number = number;
        s->log = get_log();
        pthread_setspecific(session_key, s);
        for (int i = 0; i < requests; i++) log_line(s->log, "request\n");
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    requests = argc > 2 ? atoi(argv[2]) : 3;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, client, (void *)(size_t)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
