/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the kernels share: options, threads that start together, random numbers that are always the same, and what is
 * said when a result is wrong.
 *
 *     KERNEL [-t THREADS] [-n SIZE]
 *
 * A kernel holds its result against a sequential check or an invariant: exit status 1 and a message if it is wrong. It
 * prints one line; where the algorithm allows it, that line is the same whatever the threads did. */
#ifndef KERNEL_H
#define KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define MAX_THREADS 64

static int threads = 4;
static long size;
static pthread_barrier_t barrier; /* of all threads that `together` starts */

__attribute__((format(printf, 1, 2))) static _Noreturn void wrong(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

static void options(int argc, char **argv, long usual) {
    size = usual;
    for (int option; (option = getopt(argc, argv, "t:n:")) != -1;) {
        if (option == 't') threads = atoi(optarg);
        else if (option == 'n') size = atol(optarg);
        else exit(2);
    }
    if (threads < 1 || threads > MAX_THREADS || size < 1) {
        fprintf(stderr, "%s: 1 to %d threads, and a size of at least 1\n", argv[0], MAX_THREADS);
        exit(2);
    }
}

UNUSED static void meet(void) {
    pthread_barrier_wait(&barrier);
}

/* Runs work(0) to work(threads - 1), each in a thread. */
UNUSED static void together(void *(*work)(void *)) {
    pthread_t thread[MAX_THREADS];
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        errno = pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
        if (errno) wrong("pthread_create: %s", strerror(errno));
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Where part `me` of n things begins; it ends where the next one begins. */
UNUSED static long part(long n, int me) {
    return n * me / threads;
}

UNUSED static void *room(size_t n, size_t each) {
    void *p = calloc(n, each);
    if (!p) wrong("no memory");
    return p;
}

UNUSED static inline uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    return h ^ (h >> 29);
}

UNUSED static inline uint64_t mix_double(uint64_t h, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return mix(h, bits);
}

/* xorshift; *s must not be 0. */
UNUSED static inline uint64_t rnd(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* In [0, 1). */
UNUSED static inline double rnd_double(uint64_t *s) {
    return (double)(rnd(s) >> 11) * 0x1p-53;
}

#endif
