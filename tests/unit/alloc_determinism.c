/* Proves: with the order of visits to the pools recorded in one run and enforced in another, every thread of a racing
 * workload gets the same addresses, and finds the same dead bytes in them, in both. */
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
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cmocka.h>

#include "../../src/runtime/alloc.h"

enum { THREADS = 8, ROUNDS = 24, STEPS = 6000, PER = ROUNDS * STEPS * 2, VISITS = 400000 };

/* Shared between the parent and the children that run the workload, one after the other. */
static struct {
    uint32_t visits[WEFT_HEAP_POOLS];
    unsigned char order[WEFT_HEAP_POOLS][VISITS];
    uint32_t n[THREADS];
    uint64_t seen[THREADS][PER];
} *first, *second; /* the second run's results are compared with the first's */

static enum { RECORD, ENFORCE, FREE } mode;
static pthread_mutex_t lock[WEFT_HEAP_POOLS];
static uint32_t turn[WEFT_HEAP_POOLS];
static __thread unsigned me;

static void jitter(void) {
    if ((__rdtsc() >> 4) % 61 == 0) sched_yield();
}

void weft__heap_pool_enter(unsigned pool) {
    jitter();
    if (mode == ENFORCE) {
        uint32_t t;
        for (;;) {
            t = __atomic_load_n(&turn[pool], __ATOMIC_ACQUIRE);
            if (t >= first->visits[pool]) {
                fprintf(stderr, "pool %u: more visits than recorded\n", pool);
                abort();
            }
            if (first->order[pool][t] == me) break;
            sched_yield();
        }
        return;
    }
    pthread_mutex_lock(&lock[pool]);
    if (second->visits[pool] >= VISITS) abort();
    second->order[pool][second->visits[pool]++] = (unsigned char)me;
}

void weft__heap_pool_leave(unsigned pool) {
    if (mode == ENFORCE) {
        second->visits[pool]++;
        __atomic_store_n(&turn[pool], turn[pool] + 1, __ATOMIC_RELEASE); /* pairs with the load in enter */
        return;
    }
    pthread_mutex_unlock(&lock[pool]);
    jitter();
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

static struct weft_heap heaps[THREADS];
static pthread_barrier_t barrier;
static uint64_t *boxes[2][THREADS]; /* what each thread allocated in this and in the last round */
static uint64_t seed;

static void note(unsigned t, uint64_t v) {
    if (second->n[t] >= PER) abort();
    second->seen[t][second->n[t]++] = v;
}

static void *run_part(void *arg) {
    unsigned t = (unsigned)(uintptr_t)arg;
    struct weft_heap *h = &heaps[t];
    uint64_t s = seed * 1000003 + t * 7919 + 1;
    me = t;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t *mine = boxes[r & 1][t], *other = boxes[~r & 1][(t + (unsigned)r % 3) % THREADS];
        for (int i = 0; i < STEPS; i++) {
            /* The other's block of the last round: nobody else has it in hand in this one. */
            void *p = (void *)other[i];
            unsigned op = rng(&s) % 64, bits = op < 40 ? 9 : op < 60 ? 14 : op < 63 ? 17 : 20;
            size_t size = rng(&s) & ((1ul << (rng(&s) % bits + 1)) - 1);
            void *q;
            if (op == 7) q = weft__heap_realloc(h, p, size + 1), p = NULL;
            else if (op == 8) q = weft__heap_calloc(h, 1, size);
            else if (op == 9) q = weft__heap_memalign(h, 1ul << (rng(&s) % 18), size);
            else q = weft__heap_malloc(h, size);
            weft__heap_free(h, p);
            uint64_t *w = q;
            note(t, (uint64_t)q);
            note(t, w[0] ^ w[1]);
            w[0] = rng(&s);
            mine[i] = (uint64_t)q;
        }
        if (r % 7 == 5) weft__heap_retire(h);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void workload(void) {
    pthread_t th[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned t = 0; t < THREADS; t++) {
        weft__heap_init(&heaps[t], t + 1);
        boxes[0][t] = calloc(STEPS, 8);
        boxes[1][t] = calloc(STEPS, 8);
    }
    for (int i = 0; i < WEFT_HEAP_POOLS; i++) pthread_mutex_init(&lock[i], NULL);
    for (unsigned t = 0; t < THREADS; t++) pthread_create(&th[t], NULL, run_part, (void *)(uintptr_t)t);
    for (unsigned t = 0; t < THREADS; t++) pthread_join(th[t], NULL);
}

/* In a child, so that each run starts from an untouched heap. */
static void run(int how, void *into) {
    second = into;
    memset(into, 0, sizeof *second);
    mode = how;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        alarm(120);
        workload();
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned long differences(void) {
    unsigned long d = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        if (first->n[t] != second->n[t]) d++;
        for (uint32_t i = 0; i < first->n[t]; i++) d += first->seen[t][i] != second->seen[t][i];
    }
    return d;
}

static void same_addresses(void **state) {
    (void)state;
    size_t size = sizeof *first;
    first = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *again = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)first != MAP_FAILED && again != MAP_FAILED);
    const char *rounds = getenv("WEFT_TEST_ROUNDS");
    unsigned differ = 0;
    for (seed = 1; seed <= (rounds ? (uint64_t)atoi(rounds) : 4); seed++) {
        unsigned long visits = 0;
        run(RECORD, first);
        run(ENFORCE, again);
        assert_int_equal(differences(), 0);
        for (int i = 0; i < WEFT_HEAP_POOLS; i++) {
            visits += first->visits[i];
            assert_int_equal(first->visits[i], second->visits[i]);
        }
        /* And without the order they do differ, or this test would show nothing. */
        run(FREE, again);
        differ += differences() != 0;
        print_message("seed %lu: %lu calls, %lu visits, same; without the order %lu values differ\n",
                      (unsigned long)seed, (unsigned long)THREADS * ROUNDS * STEPS, visits, differences());
    }
    assert_true(differ > 0); /* misses only if all four unordered runs happened to take the recorded order */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
