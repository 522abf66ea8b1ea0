/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writers put records of random length into one buffer. Each of them takes a lock, but it is its own and not the
 * buffer's. The random numbers are seeded by the clock and the kernel, so no two runs have the same input. */
// KIND: LEAP BufferWriter: wrong or no lock, random seed
// FAILS: a record in the buffer is damaged
// SHOWS: exit 3
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 34 in 1000
// ARGS: WRITERS=3 RECORDS=40
// LARGE: 34 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct buffer {
    pthread_mutex_t lock; /* which everybody should take */
    size_t used, size;
    unsigned char *bytes;
};

struct writer {
    pthread_t thread;
    pthread_mutex_t lock;
    unsigned seed;
    unsigned char mark;
};

static struct buffer buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int records;
static pthread_barrier_t start;

/* A record is its length, its mark, and the mark again and again. */
static void append(struct writer *w, size_t length) {
    pthread_mutex_lock(&w->lock);
    unsigned char *at = buffer.bytes + buffer.used;
    at[0] = (unsigned char)length;
    memset(at + 1, w->mark, length);
    buffer.used += length + 1;
    pthread_mutex_unlock(&w->lock);
}

static void *write_records(void *arg) {
    struct writer *w = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < records; i++) append(w, 1 + (size_t)rand_r(&w->seed) % 60);
    return NULL;
}

static int damaged(void) {
    for (size_t i = 0; i < buffer.used;) {
        size_t length = buffer.bytes[i];
        if (length == 0 || i + length >= buffer.used) return 1;
        for (size_t k = 2; k <= length; k++)
            if (buffer.bytes[i + k] != buffer.bytes[i + 1]) return 1;
        i += length + 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    int writers = argc > 1 ? atoi(argv[1]) : 3;
    records = argc > 2 ? atoi(argv[2]) : 40;
    buffer.size = (size_t)writers * (size_t)records * 64;
    buffer.bytes = calloc(1, buffer.size);
    struct writer *w = calloc((size_t)writers, sizeof *w);
    pthread_barrier_init(&start, NULL, (unsigned)writers);
    for (int i = 0; i < writers; i++) {
        if (getrandom(&w[i].seed, sizeof w[i].seed, 0) < 0) return 2;
        w[i].seed ^= (unsigned)time(NULL);
        w[i].mark = (unsigned char)(1 + i % 255);
        pthread_mutex_init(&w[i].lock, NULL);
        pthread_create(&w[i].thread, NULL, write_records, &w[i]);
    }
    for (int i = 0; i < writers; i++) pthread_join(w[i].thread, NULL);
    printf("%zu bytes\n", buffer.used);
    if (damaged()) {
        fprintf(stderr, "a record is damaged\n");
        return 3;
    }
    free(w);
    free(buffer.bytes);
    return 0;
}
