/* Proves: blocks that one thread allocates and another frees do not make the heap grow, whatever their sizes; threads
 * that come and go do not either; and many threads that pass blocks around never see each other's data. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/runtime/alloc.h"

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
void weft__heap_own(void *p) { (void)p; }
void weft__heap_copy(void *dst, const void *src, size_t n) {
    memcpy(dst, src, n);
}
void weft__heap_zero(void *p, size_t n) {
    memset(p, 0, n);
}
void weft__heap_release(void *p, size_t n) {
    madvise(p, n, MADV_DONTNEED);
}

static uint64_t rng(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static long peak_kib(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss;
}

/* Each in a child: pools are empty, peaks are its own. */
static void in_child(void (*f)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        alarm(300);
        for (int i = 0; i < WEFT_HEAP_POOLS; i++) pthread_mutex_init(&lock[i], NULL);
        f();
        fflush(NULL);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(c)                                                                                                       \
    do {                                                                                                               \
        if (!(c)) {                                                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);                                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* ---- producer and consumer */

enum { RING = 1024 };
static void *volatile ring[RING];
static volatile unsigned long head, tail;
static unsigned long blocks;
static size_t fixed_size;
static struct weft_heap heap[65];

static size_t size_for(uint64_t *s) {
    if (fixed_size) return fixed_size;
    unsigned r = rng(s) % 1000;
    return rng(s) % (r < 900 ? 300 : r < 990 ? 5000 : r < 999 ? 60000 : 600000);
}

static void *produce(void *arg) {
    uint64_t s = 12345;
    (void)arg;
    for (unsigned long i = 0; i < blocks; i++) {
        size_t n = size_for(&s);
        uint64_t *p = weft__heap_malloc(&heap[1], n + 8);
        CHECK(p);
        p[0] = i;
        if (n > 64) memset((char *)p + 8, 1, n);
        while (__atomic_load_n(&head, __ATOMIC_ACQUIRE) + RING <= i) sched_yield();
        ring[i % RING] = p;
        __atomic_store_n(&tail, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    for (unsigned long i = 0; i < blocks; i++) {
        while (__atomic_load_n(&tail, __ATOMIC_ACQUIRE) <= i) sched_yield();
        uint64_t *p = ring[i % RING];
        CHECK(p[0] == i);
        __atomic_store_n(&head, i + 1, __ATOMIC_RELEASE);
        weft__heap_free(&heap[2], p);
    }
    return NULL;
}

static void pair(const char *what, long bound_kib) {
    pthread_t a, b;
    long before = peak_kib();
    weft__heap_init(&heap[1], 1);
    weft__heap_init(&heap[2], 2);
    pthread_create(&a, NULL, produce, NULL);
    pthread_create(&b, NULL, consume, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s: %lu blocks, peak %ld KiB, %lu visits\n", what, blocks, peak_kib() - before, visits);
    CHECK(peak_kib() - before < bound_kib);
    CHECK(visits < (fixed_size > WEFT_HEAP_CLASS_MAX ? 3 * blocks : blocks / 20)); /* a run: two visits each */
}

static void pair_small(void) {
    blocks = 10000000;
    fixed_size = 40;
    pair("producer and consumer, 48 bytes", 2048);
}
static void pair_mixed(void) {
    blocks = 2000000;
    pair("producer and consumer, mixed sizes up to 600 KB", 48 << 10);
}
static void pair_large(void) {
    blocks = 20000;
    fixed_size = 1000000;
    pair("producer and consumer, 1 MB", (RING + 64) << 10);
}

static void producer_consumer(void **state) {
    (void)state;
    in_child(pair_small);
    in_child(pair_mixed);
    in_child(pair_large);
}

/* ---- threads come and go: each frees what its predecessor allocated */

static void *inherited[3000];

static void *generation(void *arg) {
    struct weft_heap *h = arg;
    uint64_t s = (uint64_t)(uintptr_t)h + visits;
    for (int i = 0; i < 3000; i++) {
        weft__heap_free(h, inherited[i]);
        size_t n = rng(&s) % 2000 + 1;
        CHECK(inherited[i] = weft__heap_malloc(h, n));
        memset(inherited[i], 1, n);
    }
    weft__heap_retire(h);
    return NULL;
}

static void generations_child(void) {
    static struct weft_heap all[500];
    long before = 0;
    for (unsigned i = 0; i < 2000; i++) {
        pthread_t t;
        if (i < 500) weft__heap_init(&all[i], i + 1); /* later ones use the slots again */
        pthread_create(&t, NULL, generation, &all[i % 500]);
        pthread_join(t, NULL);
        if (i == 499) before = peak_kib();
    }
    printf("2000 threads on 500 slots: peak %ld KiB after the first 500, %ld at the end\n", before, peak_kib());
    CHECK(before < 256 << 10);
    CHECK(peak_kib() - before < 32 << 10);
}

static void generations(void **state) {
    (void)state;
    in_child(generations_child);
}

/* ---- stress: a table of blocks that all threads exchange */

enum { SHARED = 4096, WORKERS = 16 };
static void *table[SHARED];
static unsigned long per_worker;

static void *worker(void *arg) {
    unsigned me = (unsigned)(uintptr_t)arg;
    struct weft_heap *h = &heap[me];
    uint64_t s = me * 77777 + 1;
    for (unsigned long i = 0; i < per_worker; i++) {
        size_t n = size_for(&s) + 16;
        uint64_t *p;
        unsigned op = rng(&s) % 16;
        if (op == 0) {
            p = weft__heap_calloc(h, 1, n);
            CHECK(p);
            for (size_t k = 0; k < n / 8; k++) CHECK(!p[k]);
        } else if (op == 1) p = weft__heap_memalign(h, 64, n);
        else p = weft__heap_malloc(h, n);
        CHECK(p);
        uint64_t mark = rng(&s);
        for (size_t k = 0; k < n / 8; k++) p[k] = mark;
        p[0] = n;
        p = __atomic_exchange_n(&table[rng(&s) % SHARED], p, __ATOMIC_ACQ_REL);
        if (!p) continue;
        size_t had = p[0];
        for (size_t k = 2; k < had / 8; k++) CHECK(p[k] == p[1]);
        if (op == 2) {
            p = weft__heap_realloc(h, p, n);
            CHECK(p && p[0] == had);
            for (size_t k = 2; k < (had < n ? had : n) / 8; k++) CHECK(p[k] == p[1]);
        }
        if (op == 3) {
            void *start;
            size_t size;
            CHECK(weft__heap_extent((char *)p + rng(&s) % had, &start, &size) && start == p && size >= had);
            weft__heap_extent((char *)p + rng(&s) % (16 << 20), &start, &size); /* anyone's: it must not crash */
        }
        weft__heap_free(h, p);
        if (rng(&s) % 50000 == 0) weft__heap_retire(h);
    }
    return NULL;
}

static void stress_child(void) {
    pthread_t t[WORKERS + 1];
    const char *rounds = getenv("WEFT_TEST_ROUNDS");
    per_worker = 200000ul * (rounds ? (unsigned long)atoi(rounds) : 1);
    for (unsigned i = 1; i <= WORKERS; i++) {
        weft__heap_init(&heap[i], i);
        pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)i);
    }
    for (unsigned i = 1; i <= WORKERS; i++) pthread_join(t[i], NULL);
    printf("%d threads, %lu blocks: peak %ld KiB, %lu visits\n", WORKERS, per_worker * WORKERS, peak_kib(), visits);
}

static void stress(void **state) {
    (void)state;
    in_child(stress_child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(producer_consumer),
        cmocka_unit_test(generations),
        cmocka_unit_test(stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
