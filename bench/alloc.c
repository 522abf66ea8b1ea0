/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The heap against glibc's malloc: nanoseconds per malloc and free, medians of interleaved rounds.
 *
 *     clang-19 -O2 -mgeneral-regs-only -fno-builtin -c src/runtime/alloc.c -o alloc.o
 *     clang-19 -O2 -fno-builtin -pthread bench/alloc.c alloc.o -o bench-alloc && ./bench-alloc [rounds]
 *
 * The hooks are plain mutexes, as in native mode; what recording adds is not measured here. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../src/runtime/alloc.h"

static pthread_mutex_t lock[WEFT_HEAP_POOLS];
static unsigned long visits;

void weft__heap_pool_enter(unsigned pool) {
    pthread_mutex_lock(&lock[pool]);
    __atomic_fetch_add(&visits, 1, __ATOMIC_RELAXED);
}
void weft__heap_pool_leave(unsigned pool) {
    pthread_mutex_unlock(&lock[pool]);
}
void weft__heap_bad(const char *message) {
    fprintf(stderr, "%s\n", message);
    abort();
}
void weft__heap_copy(void *dst, const void *src, size_t n) {
    memcpy(dst, src, n);
}
void weft__heap_zero(void *p, size_t n) {
    memset(p, 0, n);
}
void weft__heap_release(void *p, size_t n) {
    madvise(p, n, MADV_DONTNEED);
}

static struct weft_heap heaps[9];
static __thread struct weft_heap *own; /* as a wrapper would find it */

__attribute__((noinline)) static void *weft_malloc(size_t n) {
    return weft__heap_malloc(own, n);
}
__attribute__((noinline)) static void weft_free(void *p) {
    weft__heap_free(own, p);
}
__attribute__((noinline)) static void *weft_realloc(void *p, size_t n) {
    return weft__heap_realloc(own, p, n);
}

static uint64_t rng(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static uint16_t sizes[65536]; /* drawn beforehand: mostly under 256, up to 4096 */
static void *slots[1 << 20];

/* Each workload once for each allocator, so that the calls are direct. Returns how many pairs it did. */
#define WORKLOADS(name, MALLOC, FREE, REALLOC)                                                                         \
    static long name##_pair(void) { /* the same block again and again */                                              \
        for (int i = 0; i < 4000000; i++) {                                                                            \
            void *p = MALLOC(64);                                                                                      \
            __asm__ volatile("" ::"r"(p) : "memory");                                                                  \
            FREE(p);                                                                                                   \
        }                                                                                                              \
        return 4000000;                                                                                                \
    }                                                                                                                  \
    static long name##_sizes(void) { /* one block, sizes all over */                                                  \
        for (int i = 0; i < 4000000; i++) {                                                                            \
            void *p = MALLOC(sizes[i & 65535]);                                                                        \
            __asm__ volatile("" ::"r"(p) : "memory");                                                                  \
            FREE(p);                                                                                                   \
        }                                                                                                              \
        return 4000000;                                                                                                \
    }                                                                                                                  \
    static long name##_stack(void) { /* 100 blocks, freed in reverse */                                               \
        for (int i = 0; i < 40000; i++) {                                                                              \
            for (int k = 0; k < 100; k++) *(char *)(slots[k] = MALLOC(48)) = 1;                                        \
            for (int k = 100; k-- > 0;) FREE(slots[k]);                                                                \
        }                                                                                                              \
        return 4000000;                                                                                                \
    }                                                                                                                  \
    static long name##_set(int bits) { /* replace random ones of 2^bits blocks of random size */                       \
        uint64_t s = 88172645463325252ull;                                                                             \
        uint32_t mask = (1u << bits) - 1;                                                                              \
        for (uint32_t i = 0; i <= mask; i++) *(char *)(slots[i] = MALLOC(sizes[i & 65535])) = 1;                       \
        for (int i = 0; i < 2000000; i++) {                                                                            \
            uint64_t r = rng(&s);                                                                                      \
            uint32_t k = (uint32_t)(r >> 20) & mask;                                                                   \
            FREE(slots[k]);                                                                                            \
            *(char *)(slots[k] = MALLOC(sizes[r & 65535])) = 1;                                                        \
        }                                                                                                              \
        for (uint32_t i = 0; i <= mask; i++) FREE(slots[i]);                                                           \
        return 2000000 + (long)mask + 1;                                                                               \
    }                                                                                                                  \
    static long name##_set10(void) {                                                                                   \
        return name##_set(10);                                                                                         \
    }                                                                                                                  \
    static long name##_set16(void) {                                                                                   \
        return name##_set(16);                                                                                         \
    }                                                                                                                  \
    static long name##_set20(void) {                                                                                   \
        return name##_set(20);                                                                                         \
    }                                                                                                                  \
    static long name##_grow(void) { /* a million small ones, then all freed in order: lists and trees */               \
        for (int i = 0; i < 1000000; i++) *(char *)(slots[i] = MALLOC(32)) = 1;                                        \
        for (int i = 0; i < 1000000; i++) FREE(slots[i]);                                                              \
        return 1000000;                                                                                                \
    }                                                                                                                  \
    static long name##_buffers(void) { /* 100 KB each, first page touched */                                          \
        for (int i = 0; i < 200000; i++) {                                                                             \
            char *p = MALLOC(100000);                                                                                  \
            *p = 1;                                                                                                    \
            FREE(p);                                                                                                   \
        }                                                                                                              \
        return 200000;                                                                                                 \
    }                                                                                                                  \
    static long name##_huge(void) { /* 4 MB each, all touched */                                                      \
        for (int i = 0; i < 100; i++) {                                                                                \
            char *p = MALLOC(4000000);                                                                                 \
            for (int k = 0; k < 4000000; k += 4096) p[k] = 1;                                                          \
            FREE(p);                                                                                                   \
        }                                                                                                              \
        return 100;                                                                                                    \
    }                                                                                                                  \
    static long name##_vector(void) { /* a vector that doubles, to 1 MB */                                           \
        for (int i = 0; i < 300; i++) {                                                                                \
            char *p = NULL;                                                                                            \
            for (size_t n = 16; n <= 1 << 20; n *= 2) *(p = REALLOC(p, n)) = 1;                                        \
            FREE(p);                                                                                                   \
        }                                                                                                              \
        return 300 * 17;                                                                                               \
    }                                                                                                                  \
    static void *name##_take(void *arg) {                                                                              \
        own = &heaps[2];                                                                                               \
        for (long i = 0; i < 2000000; i++) {                                                                           \
            while (__atomic_load_n(&ring[i & 1023], __ATOMIC_ACQUIRE) == NULL) sched_yield();                          \
            FREE(ring[i & 1023]);                                                                                      \
            __atomic_store_n(&ring[i & 1023], NULL, __ATOMIC_RELEASE);                                                 \
        }                                                                                                              \
        return arg;                                                                                                    \
    }                                                                                                                  \
    static long name##_pass(void) { /* one thread allocates, one frees */                                             \
        pthread_t t;                                                                                                   \
        pthread_create(&t, NULL, name##_take, NULL);                                                                   \
        for (long i = 0; i < 2000000; i++) {                                                                           \
            void *p = MALLOC(64);                                                                                      \
            *(char *)p = 1;                                                                                            \
            while (__atomic_load_n(&ring[i & 1023], __ATOMIC_ACQUIRE)) sched_yield();                                  \
            __atomic_store_n(&ring[i & 1023], p, __ATOMIC_RELEASE);                                                    \
        }                                                                                                              \
        pthread_join(t, NULL);                                                                                         \
        return 2000000;                                                                                                \
    }

static void *ring[1024];
WORKLOADS(weft, weft_malloc, weft_free, weft_realloc)
WORKLOADS(libc, malloc, free, realloc)

static const struct {
    const char *name;
    long (*weft)(void), (*libc)(void);
} work[] = {
#define W(n, text) {text, weft_##n, libc_##n}
    W(pair, "one block"),
    W(sizes, "one block, sizes vary"),
    W(stack, "100 blocks, last first"),
    W(set10, "1,024 blocks at random"),
    W(set16, "65,536 blocks at random"),
    W(set20, "1,048,576 blocks at random"),
    W(grow, "a million, then freed"),
    W(buffers, "100 KB"),
    W(huge, "4 MB, touched"),
    W(vector, "realloc to 1 MB (a step)"),
    W(pass, "producer and consumer"),
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int cmp(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    enum { MAX = 99 };
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MAX) rounds = 9;
    uint64_t s = 1;
    for (int i = 0; i < 65536; i++) {
        unsigned r = rng(&s) % 100;
        sizes[i] = (uint16_t)(rng(&s) % (r < 80 ? 256 : r < 95 ? 1024 : 4096));
    }
    for (int i = 0; i < WEFT_HEAP_POOLS; i++) pthread_mutex_init(&lock[i], NULL);
    for (unsigned i = 1; i < 9; i++) weft__heap_init(&heaps[i], i);
    own = &heaps[1];
    printf("%-28s %10s %10s %7s %10s\n", "ns per malloc and free", "weft", "glibc", "ratio", "visits");
    for (size_t w = 0; w < sizeof work / sizeof *work; w++) {
        double a[MAX], b[MAX];
        visits = 0;
        for (int r = 0; r < rounds; r++) {
            double t0 = now();
            long n = work[w].weft();
            double t1 = now();
            work[w].libc();
            double t2 = now();
            a[r] = (t1 - t0) / (double)n;
            b[r] = (t2 - t1) / (double)n;
        }
        qsort(a, (size_t)rounds, sizeof *a, cmp);
        qsort(b, (size_t)rounds, sizeof *b, cmp);
        double x = a[rounds / 2], y = b[rounds / 2];
        printf("%-28s %10.1f %10.1f %7.2f %10lu\n", work[w].name, x, y, x / y, visits / (unsigned long)rounds);
        fflush(stdout);
    }
    return 0;
}
