/* Proves: delta debugging finds a 1-minimal set, also where not every subset can be judged, takes the first set of a step, and asks
 * about few sets when few items matter, or all do. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simplify/simplify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000
struct world {
    size_t n;
    bool needed[MOST];     /* all of these, or it passes */
    size_t pair[MOST];     /* these two both or none of them: else it is unresolved; 0: alone */
    size_t asked, stop_at; /* 0: never */
};

static bool fails(const struct world *w, const bool *in) {
    for (size_t i = 0; i < w->n; i++) {
        if (w->needed[i] && !in[i]) return false;
        if (w->pair[i] && in[i] != in[w->pair[i]]) return false;
    }
    return true;
}

static int first(void *ctx, const struct weft_ddmin *d, size_t n, size_t *which, struct weft_err *err) {
    struct world *w = ctx;
    bool in[MOST];
    for (*which = 0; *which < n; (*which)++) {
        if (w->stop_at && w->asked >= w->stop_at) return weft__err(err, EINTR, "stopped");
        w->asked++;
        weft__ddmin_set(d, *which, in, w->n);
        if (fails(w, in)) break;
    }
    return 0;
}

static void is_minimal(const struct world *w, bool *keep) {
    assert_true(fails(w, keep));
    for (size_t i = 0; i < w->n; i++) {
        if (!keep[i]) continue;
        keep[i] = false;
        assert_false(fails(w, keep));
        keep[i] = true;
    }
}

static size_t minimise(struct world *w, bool *keep) {
    struct weft_err err;
    size_t n = 0;
    memset(keep, 1, w->n);
    assert_int_equal(weft__ddmin(keep, w->n, SIZE_MAX, first, w, &err), 0);
    is_minimal(w, keep);
    for (size_t i = 0; i < w->n; i++) n += keep[i];
    return n;
}

static void small(void **state) {
    (void)state;
    bool keep[MOST];
    struct world none = {.n = 0}, all = {.n = 3, .needed = {true, true, true}}, nothing = {.n = 100}, two = {.n = 8, .needed = {[2] = true, [7] = true}};
    assert_int_equal(minimise(&none, keep), 0);
    assert_int_equal(none.asked, 0);
    assert_int_equal(minimise(&all, keep), 3);
    assert_int_equal(minimise(&nothing, keep), 0);
    assert_int_equal(nothing.asked, 1);
    assert_int_equal(minimise(&two, keep), 2);
    assert_true(keep[2] && keep[7]);
}

static void many(void **state) {
    (void)state;
    bool keep[MOST];
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        struct world w = {.n = 1 + (size_t)round};
        size_t needed = 0, wanted = (size_t)round % 7;
        for (size_t k = 0; k < wanted; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            w.needed[(seed >> 33) % w.n] = true;
        }
        for (size_t i = 0; i < w.n; i++) needed += w.needed[i];
        assert_int_equal(minimise(&w, keep), needed);
        assert_true(w.asked <= 1 + 16 * (needed + 1) * 10); /* not the square of n */
    }
}

/* Of a thousand items that are all needed few are asked about; of those of which one in ten can go, these go. */
static void all_needed(void **state) {
    (void)state;
    bool keep[MOST];
    struct weft_err err;
    for (size_t n = 1; n <= MOST; n += 37) {
        struct world w = {.n = n};
        memset(w.needed, 1, n);
        memset(keep, 1, n);
        assert_int_equal(weft__ddmin(keep, n, SIZE_MAX, first, &w, &err), 0);
        assert_true(fails(&w, keep));
        assert_true(w.asked < 300);
    }
    struct world w = {.n = MOST};
    for (size_t i = 0; i < MOST; i++) w.needed[i] = i % 10 != 7;
    assert_int_equal(minimise(&w, keep), MOST - MOST / 10);
    assert_true(w.asked < 6 * MOST);
}

/* What was asked about is not asked about again as soon as something else goes away. */
static void every_other(void **state) {
    (void)state;
    bool keep[MOST];
    struct world w = {.n = 256};
    for (size_t i = 0; i < w.n; i++) w.needed[i] = i % 2;
    assert_int_equal(minimise(&w, keep), w.n / 2);
    assert_true(w.asked < 5 * w.n);
}

/* Items that go only together: sets that tear them apart are no use. What is left is minimal still. */
static void pairs(void **state) {
    (void)state;
    bool keep[MOST];
    for (size_t n = 4; n < 60; n++) {
        struct world w = {.n = n};
        for (size_t i = 1; i + 1 < n; i += 2) {
            w.pair[i] = i + 1;
            w.pair[i + 1] = i;
        }
        w.needed[n / 2] = true;
        minimise(&w, keep);
        assert_true(keep[n / 2]);
    }
}

/* Stopped in the middle: what is left fails. */
static void stopped(void **state) {
    (void)state;
    bool keep[MOST];
    struct weft_err err;
    for (size_t stop = 1; stop < 20; stop++) {
        struct world w = {.n = 64, .needed = {[5] = true, [40] = true}, .stop_at = stop};
        memset(keep, 1, w.n);
        if (weft__ddmin(keep, w.n, SIZE_MAX, first, &w, &err) < 0) assert_int_equal(err.code, EINTR);
        assert_true(fails(&w, keep));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small), cmocka_unit_test(many), cmocka_unit_test(all_needed), cmocka_unit_test(every_other), cmocka_unit_test(pairs), cmocka_unit_test(stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
