/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the test programs share: arguments, hashing, and starting threads together.
 *
 * A program is called as PROGRAM [THREADS [ROUNDS|xN]]. Each thread folds all that it saw into a hash; the program
 * prints the hash of all of them, so that a single different value in a replay shows in the output. With -DSAFE the
 * sections between ENTER and LEAVE are under one mutex: the race-free twin, whose output still depends on the order in
 * which the threads got the mutex. */
#ifndef COMMON_H
#define COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define NOINLINE __attribute__((noinline))
#define MAX_THREADS 256

static int threads;
static long rounds; /* per thread */

#ifdef SAFE
static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
#define ENTER() pthread_mutex_lock(&big_lock)
#define LEAVE() pthread_mutex_unlock(&big_lock)
#else
#define ENTER() ((void)0)
#define LEAVE() ((void)0)
#endif

/* Without a second argument the work in all stays about the same however many threads there are; xN: N times that. */
UNUSED static void args(int argc, char **argv, int default_threads, long default_rounds) {
    threads = argc > 1 ? atoi(argv[1]) : default_threads;
    if (threads < 1) threads = 1;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    int own = argc > 2 && argv[2][0] != 'x';
    rounds = own ? atol(argv[2]) : default_rounds;
    if (!own && threads > default_threads) rounds = rounds * default_threads / threads;
    if (!own && argc > 2) rounds *= atol(argv[2] + 1);
    if (rounds < 1) rounds = 1;
}

UNUSED static inline uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    return h ^ (h >> 29);
}

UNUSED static uint64_t mix_bytes(uint64_t h, const void *data, size_t n) {
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < n; i++) h = mix(h, p[i]);
    return h;
}

/* xorshift: the same numbers in every run. */
UNUSED static inline uint32_t rnd(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (uint32_t)(*s >> 16);
}
UNUSED static inline uint64_t seed_of(int me) { return 0x2545f4914f6cdd1dull * (uint64_t)(me + 1); }

typedef uint64_t (*work_fn)(int me);
struct starter {
    work_fn work;
    int me;
    uint64_t saw;
};
static pthread_barrier_t starting_line;

UNUSED static void *start_one(void *p) {
    struct starter *s = (struct starter *)p;
    pthread_barrier_wait(&starting_line);
    s->saw = s->work(s->me);
    return NULL;
}

/* Runs work(0..threads-1) on threads of their own and gives the hash of their results. */
UNUSED static uint64_t together(work_fn work) {
    static struct starter s[MAX_THREADS];
    static pthread_t t[MAX_THREADS];
    uint64_t h = 0;
    pthread_barrier_init(&starting_line, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        s[i].work = work;
        s[i].me = i;
        int e = pthread_create(&t[i], NULL, start_one, &s[i]);
        if (e) {
            fprintf(stderr, "pthread_create: %s\n", strerror(e));
            exit(3);
        }
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < threads; i++) h = mix(h, s[i].saw);
    pthread_barrier_destroy(&starting_line);
    return h;
}

UNUSED static int finish(uint64_t h) {
    printf("%016llx\n", (unsigned long long)h);
    return 0;
}

#endif
