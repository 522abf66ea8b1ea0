/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A web log with the date of each request. localtime returns the address of a structure that all threads share, inside
 * the C library, and nobody has thought of that. (LEAP missed a bug of this kind, Tomcat 4036.) */
// KIND: hidden state of a library, LEAP's Tomcat 4036
// FAILS: a line has the date of another request
// SHOWS: exit 1
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 39 in 1000
// ARGS: THREADS=3 REQUESTS=300
// LARGE: 33 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct log {
    pthread_t thread;
    int year; /* of all its requests */
    char line[64];
};

static int requests;
static pthread_barrier_t start;

static int format(char *line, size_t size, time_t when, int number) {
    struct tm *tm = localtime(&when);
    int n = snprintf(line, size, "%02d:%02d", tm->tm_hour, tm->tm_min);
    n += snprintf(line + n, size - (size_t)n, " request %d on %02d.%02d.", number, tm->tm_mday, tm->tm_mon + 1);
    snprintf(line + n, size - (size_t)n, "%04d", tm->tm_year + 1900);
    return n; /* where the year is */
}

static void *serve(void *arg) {
    struct log *l = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < requests; i++) {
        time_t when = (time_t)(l->year - 1970) * 31556952 + 15000000 + 60 * i;
        int n = format(l->line, sizeof l->line, when, i);
        if (atoi(l->line + n) != l->year) {
            fprintf(stderr, "a request of %d: %s\n", l->year, l->line);
            exit(1);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    requests = argc > 2 ? atoi(argv[2]) : 300;
    struct log *l = calloc((size_t)threads, sizeof *l);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        l[i].year = 1980 + i % 50;
        pthread_create(&l[i].thread, NULL, serve, &l[i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(l[i].thread, NULL);
    free(l);
    return 0;
}
