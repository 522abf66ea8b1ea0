/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: with real threads, what a check lets through is not disturbed: increments under one check are never lost, on
 * lines, words and across lines; a group is owned as a whole while it is used; and what is shared does not change while it
 * is read. */
#include "owner_world.h"
#include <pthread.h>
#include <time.h>

#define MILLISECONDS 250 /* per case; as many rounds as fit */
static _Alignas(4096) unsigned char memory[4096];
static pthread_barrier_t barrier;

struct job {
    struct weft_thread *t;
    void (*fn)(struct weft_thread *t, unsigned round);
    unsigned rounds;
};
static uint64_t rounds; /* of all threads */

static int64_t milliseconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void *run(void *arg) {
    struct job *j = arg;
    pthread_barrier_wait(&barrier);
    int64_t end = milliseconds() + MILLISECONDS;
    do {
        for (int i = 0; i < 64; i++)
            j->fn(j->t, j->rounds++); /* an even number */
    } while (milliseconds() < end);
    tick(j->t);
    out(j->t);
    return NULL;
}

static void run_all(int n, void (*fn)(struct weft_thread *, unsigned)) {
    pthread_t th[4];
    struct job jobs[4];
    memset(memory, 0, sizeof memory);
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job){thread_new((uint32_t)i + 1), fn, 0};
        jobs[i].t->rng = 0x9e3779b97f4a7c15ull * (unsigned)(i + 1);
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&th[i], NULL, run, &jobs[i]), 0);
    rounds = 0;
    for (int i = 0; i < n; i++) {
        assert_int_equal(pthread_join(th[i], NULL), 0);
        rounds += jobs[i].rounds;
    }
    pthread_barrier_destroy(&barrier);
}

static void add(struct weft_thread *t, unsigned char *p, uint64_t site) {
    uint64_t v;
    check(t, (uint64_t)(uintptr_t)p, 8, site);
    memcpy(&v, p, 8);
    v++;
    memcpy(p, &v, 8);
}
static uint64_t value(unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static void one_word(struct weft_thread *t, unsigned round) {
    (void)round;
    tick(t);
    add(t, memory, 1);
}
static void words(struct weft_thread *t, unsigned round) {
    tick(t);
    add(t, memory + 8 * (round & 7), 1);
    add(t, memory + 64, 2);
    if (round % 64 == 0) {
        tick(t);
        out(t);
        in(t);
    }
}
static void across(struct weft_thread *t, unsigned round) {
    tick(t);
    add(t, memory + 60, 1);
    if (round & 1) add(t, memory + 124, 2);
}
/* Two numbers in two lines that are equal whenever somebody holds both. */
static int unequal;
static void group(struct weft_thread *t, unsigned round) {
    uint64_t a = (uint64_t)(uintptr_t)memory, b = a + 64;
    tick(t);
    /* A thread that is inside has no order in which it takes lines. */
    if (round & 1)
        while (weft__rec_take(t, a, 8, 0, 1) | weft__rec_take(t, b, 8, 0, 1)) {
        }
    else
        while (weft__rec_take(t, b, 8, 0, 1) | weft__rec_take(t, a, 8, 0, 1)) {
        }
    volatile uint64_t *x = (uint64_t *)(void *)memory, *y = x + 8;
    if (*x != *y) __atomic_store_n(&unequal, 1, __ATOMIC_RELAXED);
    *x += 1;
    *y += 1;
}

/* Two numbers in a line that is read much more than written: equal whenever somebody may read them. */
static uint64_t listed;
static void read_much(struct weft_thread *t, unsigned round) {
    volatile uint64_t *x = (uint64_t *)(void *)memory;
    uint64_t p = (uint64_t)(uintptr_t)memory;
    tick(t);
    if (t->slot == 1 && round % 32 == 0) {
        check(t, p, 64, 1);
        x[0] += 1;
        x[7] += 1;
        return;
    }
    struct heat *h = line_heat(LINE_OF(p));
    if (h->caution || h->reads < 2) h->caution = 0, h->reads = 2; /* as if it had not just been written */
    t->rng = 1;
    if (look(t, p, 64, 2)) __atomic_fetch_add(&listed, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 16; i++)
        if (x[0] != x[7]) __atomic_store_n(&unequal, 1, __ATOMIC_RELAXED);
    if (round % 256 == 0) {
        tick(t);
        out(t);
        in(t);
    }
}

static void counters(void **state) {
    (void)state;
    run_all(2, one_word);
    assert_int_equal(value(memory), rounds);
    run_all(4, one_word);
    assert_int_equal(value(memory), rounds);
}
static void counters_in_words(void **state) {
    (void)state;
    run_all(3, words);
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += value(memory + 8 * i);
    assert_int_equal(sum, rounds);
    assert_int_equal(value(memory + 64), rounds);
}
static void counters_across_lines(void **state) {
    (void)state;
    run_all(3, across);
    assert_int_equal(value(memory + 60), rounds);
    assert_int_equal(value(memory + 124), rounds / 2);
}
static void groups(void **state) {
    (void)state;
    run_all(2, group);
    assert_int_equal(unequal, 0);
    assert_int_equal(value(memory), rounds);
    run_all(4, group);
    assert_int_equal(unequal, 0);
    assert_int_equal(value(memory), rounds);
    assert_int_equal(value(memory + 64), rounds);
}

static void reading(void **state) {
    (void)state;
    unequal = 0;
    for (int n = 2; n <= 4; n++) {
        listed = 0;
        run_all(n, read_much);
        assert_int_equal(unequal, 0);
        assert_int_equal(value(memory), value(memory + 56));
        assert_true(listed > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(counters, world),
        cmocka_unit_test_setup(counters_in_words, world),
        cmocka_unit_test_setup(counters_across_lines, world),
        cmocka_unit_test_setup(groups, world),
        cmocka_unit_test_setup(reading, world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
