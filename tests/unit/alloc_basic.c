/* Proves: the heap's blocks are aligned, never overlap, keep their data through realloc, are zero from calloc, and what
 * the program must not free is reported; a shadow model agrees over millions of random calls; running out is NULL. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
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

static int inside;               /* which pool's hooks we are between; 0: none */
static unsigned long visits;     /* of all pools */
static jmp_buf bad_jump;
static int bad_expected;
static char bad_message[128];

void weft__heap_pool_enter(unsigned pool) {
    if (inside || pool < 1 || pool >= WEFT_HEAP_POOLS) abort();
    inside = (int)pool;
    visits++;
}
void weft__heap_pool_leave(unsigned pool) {
    if (inside != (int)pool) abort();
    inside = 0;
}
void weft__heap_bad(const char *message) {
    if (!bad_expected || inside) {
        fprintf(stderr, "unexpected: %s\n", message);
        abort();
    }
    snprintf(bad_message, sizeof bad_message, "%s", message);
    longjmp(bad_jump, 1);
}
void weft__heap_own(void *p) { (void)p; }
void weft__heap_copy(void *dst, const void *src, size_t n) {
    if (inside) abort();
    memcpy(dst, src, n);
}
void weft__heap_zero(void *p, size_t n) {
    if (inside) abort();
    memset(p, 0, n);
}
void weft__heap_release(void *p, size_t n) {
    if (inside || (uintptr_t)p % 65536 || n % 65536) abort();
    madvise(p, n, MADV_DONTNEED);
}

#define EXPECT_BAD(message, call)                                                                                      \
    do {                                                                                                               \
        bad_expected = 1;                                                                                              \
        if (!setjmp(bad_jump)) {                                                                                       \
            call;                                                                                                      \
            fail_msg("not reported: %s", message);                                                                     \
        }                                                                                                              \
        bad_expected = 0;                                                                                              \
        assert_string_equal(bad_message, message);                                                                     \
    } while (0)

static struct weft_heap heaps[8];
static unsigned next_slot = 1;

static struct weft_heap *new_heap(struct weft_heap *h) {
    weft__heap_init(h, next_slot++);
    return h;
}

static uint64_t rng(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

/* Mostly small, now and then anything up to 8 MiB. */
static size_t random_size(uint64_t *s) {
    uint64_t r = rng(s);
    unsigned bits = r % 100 < 70 ? 8 : r % 100 < 90 ? 12 : r % 100 < 97 ? 16 : r % 1000 < 995 ? 19 : 23;
    return rng(s) & ((1ul << (rng(s) % bits + 1)) - 1);
}

/* ---- */

static void every_size(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    for (size_t size = 0; size < 600000; size += size < 5000 ? 1 : 37) {
        char *p = weft__heap_malloc(h, size), *start;
        size_t usable = weft__heap_usable_size(p), n;
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(usable >= size && usable <= (size < 64 ? 64 : size + size / 4 + 65536 * (size > 262144)));
        assert_true(weft__heap_extent(p, (void **)&start, &n) && start == p && n == usable);
        assert_true(weft__heap_extent(p + usable - 1, (void **)&start, &n) && start == p && n == usable);
        memset(p, 0x5a, usable);
        weft__heap_free(h, p);
        assert_false(weft__heap_extent(p, (void **)&start, &n));
    }
    char *a = weft__heap_malloc(h, 0), *b = weft__heap_malloc(h, 0);
    assert_true(a && b && a != b);
    assert_int_equal(weft__heap_usable_size(NULL), 0);
    weft__heap_free(h, NULL);
}

static void impossible_sizes(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    unsigned long before = visits;
    assert_null(weft__heap_malloc(h, SIZE_MAX));
    assert_null(weft__heap_malloc(h, SIZE_MAX - 65535));
    assert_null(weft__heap_malloc(h, (size_t)PTRDIFF_MAX + 1));
    assert_null(weft__heap_malloc(h, PTRDIFF_MAX));
    assert_null(weft__heap_calloc(h, SIZE_MAX / 2, 3));
    assert_null(weft__heap_calloc(h, 1ul << 33, 1ul << 33));
    assert_null(weft__heap_memalign(h, 64, SIZE_MAX - 10));
    assert_null(weft__heap_memalign(h, 1ul << 63, 1));
    assert_null(weft__heap_memalign(h, 48, 100));
    assert_null(weft__heap_memalign(h, 0, 100));
    char *p = weft__heap_malloc(h, 100), *q = weft__heap_malloc(h, 1 << 20);
    assert_null(weft__heap_realloc(h, p, SIZE_MAX - 5));
    assert_null(weft__heap_realloc(h, q, SIZE_MAX - 5));
    assert_true(weft__heap_usable_size(p) >= 100);
    assert_null(weft__heap_realloc(h, p, 0)); /* frees */
    EXPECT_BAD("free(): double free detected in tcache 2", weft__heap_free(h, p));
    assert_true(visits - before < 16);
}

static void alignments(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    static const size_t sizes[] = {0, 1, 17, 100, 1000, 5000, 40000, 262144, 262145, 1000000, 5000000};
    for (size_t align = 1; align <= 64ul << 20; align *= 2)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            char *p[3];
            for (int k = 0; k < 3; k++) {
                p[k] = weft__heap_memalign(h, align, sizes[i]);
                assert_non_null(p[k]);
                assert_int_equal((uintptr_t)p[k] % align, 0);
                assert_true(weft__heap_usable_size(p[k]) >= sizes[i]);
                memset(p[k], k, sizes[i] < 4096 ? sizes[i] : 4096);
            }
            for (int k = 0; k < 3; k++) weft__heap_free(h, p[k]);
        }
}

static void calloc_is_zero(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    static const size_t sizes[] = {1, 16, 100, 1000, 5000, 40000, 200000, 300000, 3000000, 20000000};
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            char *p[20];
            for (int k = 0; k < 20; k++) {
                p[k] = weft__heap_calloc(h, 1, sizes[i]);
                assert_non_null(p[k]);
                assert_true(p[k][0] == 0 && !memcmp(p[k], p[k] + 1, sizes[i] - 1));
                memset(p[k], 0xff, weft__heap_usable_size(p[k]));
                if (sizes[i] > 1000000 && k > 2) {
                    weft__heap_free(h, p[k]);
                    p[k] = NULL;
                }
            }
            for (int k = 0; k < 20; k++) weft__heap_free(h, p[k]);
        }
}

static void bad_frees(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]), *g = new_heap(&heaps[1]);
    static char foreign[64];
    char local[64];
    static const size_t sizes[] = {1, 24, 100, 1000, 16384, 40000, 262144, 400000, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = weft__heap_malloc(h, sizes[i]);
        for (size_t off = 1; off < weft__heap_usable_size(p); off += off < 200 ? 1 : 4096 + 16)
            EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, p + off));
        weft__heap_free(g, p); /* by another thread: fine */
        EXPECT_BAD("free(): double free detected in tcache 2", weft__heap_free(h, p));
        EXPECT_BAD("free(): double free detected in tcache 2", weft__heap_free(g, p));
        EXPECT_BAD("realloc(): invalid pointer", weft__heap_realloc(g, p, 10));
    }
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, foreign));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, local + 1));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)1));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)16));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)-1));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)-16));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)WEFT_HEAP_BASE));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)WEFT_HEAP_END));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)(WEFT_HEAP_END - 16)));
    EXPECT_BAD("free(): invalid pointer", weft__heap_free(h, (void *)(WEFT_HEAP_BASE + 60000 * WEFT_HEAP_STRIDE)));
    /* While it waits in a pool, too. */
    enum { N = 20000 };
    char **p = malloc(N * sizeof *p);
    for (int i = 0; i < N; i++) p[i] = weft__heap_malloc(h, 48);
    for (int i = 0; i < N; i++) weft__heap_free(g, p[i]);
    int twice = 0;
    for (int i = 0; i < N; i += 97) {
        bad_expected = 1;
        if (!setjmp(bad_jump)) {
            weft__heap_free(h, p[i]);
            fail();
        }
        bad_expected = 0;
        twice += !strcmp(bad_message, "free(): double free detected in tcache 2");
    }
    assert_true(twice > 0); /* the others were in spans that went back to the kernel: invalid */
    free(p);
}

static void extents_of_anything(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    void *start;
    size_t n;
    uint64_t s = 42;
    for (int i = 0; i < 64; i++) weft__heap_malloc(h, random_size(&s));
    for (int i = 0; i < 3000000; i++) {
        uint64_t p = rng(&s);
        if (i & 1) p &= (1ul << 47) - 1;
        if (i & 2) p = WEFT_HEAP_BASE + p % (10 * WEFT_HEAP_STRIDE);
        if ((i & 15) == 6) p = (uint64_t)h->top - 40000000 + p % 80000000;
        if (weft__heap_extent((void *)p, &start, &n)) assert_true((uint64_t)start <= p && p < (uint64_t)start + n);
    }
}

static void realloc_in_place(void **state) {
    (void)state;
    struct weft_heap *h = new_heap(&heaps[0]);
    /* The last run of a heap grows where it is; so does one with free units behind it. */
    char *p = weft__heap_malloc(h, 1 << 20), *q;
    p[0] = 7;
    for (size_t n = 1 << 20; n < 100 << 20; n += 1 << 20) assert_ptr_equal(weft__heap_realloc(h, p, n), p);
    q = weft__heap_malloc(h, 20 << 20);
    char *fence = weft__heap_malloc(h, 20 << 20);
    weft__heap_free(h, q);
    assert_ptr_equal(weft__heap_realloc(h, p, 110 << 20), p);
    assert_ptr_not_equal(weft__heap_realloc(h, p, 200 << 20), p);
    weft__heap_free(h, fence);
    /* Shrinking gives the rest back. */
    p = weft__heap_malloc(h, 64 << 20);
    memset(p, 1, 64 << 20);
    assert_ptr_equal(weft__heap_realloc(h, p, 1 << 20), p);
    assert_int_equal(weft__heap_usable_size(p), 1 << 20);
    unsigned char in[16384];
    assert_int_equal(mincore(p + (1 << 20), 63 << 20, in), 0);
    for (int i = 0; i < 63 << 8; i++) assert_int_equal(in[i] & 1, 0);
    /* Two that grow in turns: not quadratic. */
    size_t copied = 0;
    char *r[2] = {weft__heap_malloc(h, 300000), weft__heap_malloc(h, 300000)};
    for (size_t n = 300000; n < 64 << 20; n += 100000)
        for (int k = 0; k < 2; k++) {
            char *old = r[k];
            r[k] = weft__heap_realloc(h, old, n);
            copied += r[k] == old ? 0 : n;
        }
    assert_true(copied < 1ul << 30);
}

/* ---- against a model */

struct shadow {
    unsigned char *p;
    size_t size;
    unsigned char fill;
};

static void check_fill(const struct shadow *b) {
    size_t n = b->size;
    if (n && (b->p[0] != b->fill || memcmp(b->p, b->p + 1, n - 1)))
        fail_msg("%p of %zu bytes changed", (void *)b->p, n);
}

static int by_address(const void *a, const void *b) {
    const struct shadow *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

static void no_overlap(const struct shadow *all, size_t n) {
    struct shadow *s = malloc(n * sizeof *s);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].p) s[m++] = all[i];
    qsort(s, m, sizeof *s, by_address);
    for (size_t i = 0; i + 1 < m; i++) assert_true(s[i].p + weft__heap_usable_size(s[i].p) <= s[i + 1].p);
    free(s);
}

static void fuzz(uint64_t seed, int steps) {
    enum { BLOCKS = 3000, HEAPS = 3 };
    struct shadow *b = calloc(BLOCKS, sizeof *b);
    uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
    struct weft_heap *h[HEAPS];
    for (int i = 0; i < HEAPS; i++) h[i] = new_heap(&heaps[i]);
    for (int step = 0; step < steps; step++) {
        struct shadow *x = &b[rng(&s) % BLOCKS];
        struct weft_heap *own = h[rng(&s) % HEAPS];
        unsigned op = rng(&s) % 16;
        if (!x->p) {
            size_t align = op < 2 ? 1ul << (rng(&s) % 18) : 1;
            x->size = random_size(&s);
            x->fill = (unsigned char)rng(&s);
            if (op >= 2 && op < 4) {
                x->p = weft__heap_calloc(own, 1, x->size);
                if (x->size) assert_true(x->p[0] == 0 && !memcmp(x->p, x->p + 1, x->size - 1));
            } else if (align > 1) {
                x->p = weft__heap_memalign(own, align, x->size);
                assert_int_equal((uintptr_t)x->p % align, 0);
            } else x->p = weft__heap_malloc(own, x->size);
            assert_non_null(x->p);
            assert_int_equal((uintptr_t)x->p % 16, 0);
            assert_true(weft__heap_usable_size(x->p) >= x->size);
            memset(x->p, x->fill, x->size);
        } else if (op < 4) {
            check_fill(x);
            size_t size = random_size(&s) + 1, keep = size < x->size ? size : x->size;
            x->p = weft__heap_realloc(own, x->p, size);
            assert_non_null(x->p);
            x->size = keep;
            check_fill(x);
            x->size = size;
            memset(x->p, x->fill, size);
        } else if (op < 6) {
            void *start;
            size_t n;
            assert_true(weft__heap_extent(x->p + (x->size ? rng(&s) % x->size : 0), &start, &n));
            assert_true(start == x->p && n == weft__heap_usable_size(x->p));
        } else {
            check_fill(x);
            weft__heap_free(own, x->p);
            x->p = NULL;
        }
        if (step % 100000 == 0) no_overlap(b, BLOCKS);
        if (step % 50000 == 77) weft__heap_retire(own);
    }
    no_overlap(b, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        if (b[i].p) {
            check_fill(&b[i]);
            weft__heap_free(h[0], b[i].p);
        }
    free(b);
}

static void shadow_model(void **state) {
    (void)state;
    const char *rounds = getenv("WEFT_TEST_ROUNDS"); /* for a long run by hand */
    for (int i = 1; i <= (rounds ? atoi(rounds) : 4); i++) fuzz((uint64_t)i, 300000);
}

static size_t rss(void) {
    unsigned long size, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
    fclose(f);
    return resident * 4096;
}

/* ---- in a child each, with pools of its own */

#define CHECK(c)                                                                                                       \
    do {                                                                                                               \
        if (!(c)) {                                                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);                                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static void in_child(void (*f)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        f();
        fflush(NULL);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static char *many[(64 << 20) / 16];

static void thousand_heaps_child(void) {
    enum { N = 1000 };
    struct weft_heap *h = calloc(N, sizeof *h);
    static char *p[N][8];
    size_t before = rss();
    for (unsigned i = 0; i < N; i++) {
        weft__heap_init(&h[i], 1000 + i * 64);
        for (int k = 0; k < 8; k++) memset(p[i][k] = weft__heap_malloc(&h[i], 16u << k), (int)i, 16u << k);
    }
    /* No two start in the same line of the owner table, nor within 64 KiB of each other in it. */
    static unsigned char used[65536];
    for (unsigned i = 0; i < N; i++) {
        uint32_t low = (uint32_t)(uintptr_t)p[i][0] >> 16;
        CHECK(used[low] == 0);
        used[low] = 1;
    }
    for (unsigned i = 0; i < N; i++)
        for (int k = 0; k < 8; k++) {
            CHECK((unsigned char)p[i][k][0] == (i & 255));
            weft__heap_free(&h[(i * 7) % N], p[i][k]);
        }
    for (unsigned i = 0; i < N; i++) weft__heap_retire(&h[i]);
    printf("1000 heaps: %zu KiB each\n", (rss() - before) / N / 1024);
    CHECK((rss() - before) / N < 256 * 1024);
    free(h);
}

static void thousand_heaps(void **state) {
    (void)state;
    in_child(thousand_heaps_child);
}

static void out_of_memory_child(void) {
    unsigned long pages;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    struct rlimit lim = {pages * 4096 + (200ul << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &lim);
    struct weft_heap *h = new_heap(&heaps[0]);
    CHECK(!weft__heap_malloc(h, 1ul << 30));
    CHECK(!weft__heap_malloc(h, 300ul << 20));
    for (int round = 0; round < 3; round++) {
        size_t n = 0, size = round == 0 ? 100 : round == 1 ? 50000 : 2000000;
        while (n < sizeof many / sizeof *many && (many[n] = weft__heap_malloc(h, size))) memset(many[n], 1, 64), n++;
        CHECK(n * size > 120ul << 20);
        CHECK(!weft__heap_malloc(h, 10ul << 20));
        CHECK(!weft__heap_calloc(h, 10, 1ul << 20));
        CHECK(!weft__heap_memalign(h, 1ul << 20, 10ul << 20));
        CHECK(!weft__heap_realloc(h, many[0], 190ul << 20));
        CHECK(many[0][0] == 1);
        while (n) weft__heap_free(h, many[--n]);
    }
    /* A thread that finds no memory for lists can still free. */
    struct weft_heap *g = new_heap(&heaps[1]);
    size_t n = 0;
    while (n < sizeof many / sizeof *many && (many[n] = weft__heap_malloc(h, 1000))) n++;
    CHECK(!weft__heap_malloc(g, 10));
    while (n) weft__heap_free(g, many[--n]);
    CHECK(weft__heap_malloc(h, 1000));
}

static void out_of_memory(void **state) {
    (void)state;
    in_child(out_of_memory_child);
}

/* Memory that was freed goes back to the kernel and is found again for other sizes. */
static void memory_comes_back_child(void) {
    struct weft_heap *h = new_heap(&heaps[0]);
    size_t before = rss(), peak = 0;
    for (size_t size = 16; size <= 4ul << 20; size *= 2) {
        size_t n = (64ul << 20) / size;
        for (size_t i = 0; i < n; i++) memset(many[i] = weft__heap_malloc(h, size), 1, size);
        if (rss() > peak) peak = rss();
        for (size_t i = 0; i < n; i++) weft__heap_free(h, many[i]);
    }
    size_t after = rss();
    weft__heap_retire(h);
    printf("19 sizes of 64 MiB each: peak %zu MiB, afterwards %zu MiB, thread ended %zu MiB\n", (peak - before) >> 20,
           (after - before) >> 20, (rss() - before) >> 20);
    CHECK(peak - before < 144ul << 20); /* the test's own table: 32 MiB */
    CHECK(after - before < 80ul << 20);
    CHECK(rss() - before < 64ul << 20);
    /* More than the heap's own range. */
    for (int i = 0; i < 6; i++) {
        CHECK(many[i] = weft__heap_malloc(h, 500ul << 20));
        many[i][0] = many[i][499ul << 20] = 1;
    }
    for (int i = 0; i < 6; i++) weft__heap_free(h, many[i]);
    enum { M = 20000 };
    for (int i = 0; i < M; i++) CHECK(many[i] = weft__heap_malloc(h, 100000));
    for (int i = 0; i < M; i++) weft__heap_free(h, many[i]);
    weft__heap_init(&heaps[1], 65534);
    for (int i = 0; i < M; i++) CHECK(many[i] = weft__heap_malloc(&heaps[1], 100000));
    for (int i = 0; i < M; i++) weft__heap_free(&heaps[1], many[i]);
}

static void memory_comes_back(void **state) {
    (void)state;
    in_child(memory_comes_back_child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_memory), /* these four first: they need empty pools */
        cmocka_unit_test(thousand_heaps),
        cmocka_unit_test(memory_comes_back),
        cmocka_unit_test(realloc_in_place),
        cmocka_unit_test(every_size),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(alignments),
        cmocka_unit_test(calloc_is_zero),
        cmocka_unit_test(bad_frees),
        cmocka_unit_test(extents_of_anything),
        cmocka_unit_test(shadow_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
