/* Proves: access vectors list the threads of each object in an order that respects the edges, with run lengths. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

#include <stdio.h>

static void expect(struct weft_encoder *e, const char *want) {
    struct weft_trace *t = open_encoded(e, NULL);
    struct weft_err err;
    char *got;
    size_t n;
    FILE *f = open_memstream(&got, &n);
    assert_int_equal(weft__trace_vectors(t, f, &err), 0);
    fclose(f);
    assert_string_equal(got, want);
    free(got);
    weft__trace_close(t);
    weft__encoder_fini(e);
}

static void nothing(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    expect(&e, "");
}

/* x is touched at sites 0x10 and 0x20, y at 0x30; each access waits for the one before it. */
static void two_objects(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 5, 0x20, 1, 3, 0x10, 0); /* x: 1 then 2 */
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 6, 0x10, 2, 5, 0x20, 0); /* x: 2 then 1 */
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 7, 0x20, 1, 6, 0x10, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 8, 0x20, 1, 6, 0x10, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE_DONE, 1, 0x30, 2, 8, 0x30, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE, 2, 0, 1, 6, 0, 0);
    expect(&e, "object of the runtime: locks, threads, streams\n  3\n"
               "object 0x10, 0x20\n  1 2 1 2*2\n"
               "object 0x30\n  2 3\n");
}

/* Within a tick the order of sites is not known: A is waited for by thread 2, and B of the same tick waits for it. */
static void within_a_tick(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 4, 0x11, 2, 9, 0x11, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 9, 0x11, 1, 4, 0x10, 0);
    expect(&e, "object 0x10, 0x11\n  1 2 1\n");
}

static void circles_end(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 1, 0x10, 2, 1, 0x10, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 1, 0x10, 1, 1, 0x10, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE_DONE, 1, 0x10, 3, 2, 0x10, 0);
    struct weft_trace *t = open_encoded(&e, NULL);
    struct weft_err err;
    FILE *f = fopen("/dev/null", "w");
    assert_int_equal(weft__trace_vectors(t, f, &err), 0);
    fclose(f);
    weft__trace_close(t);
    weft__encoder_fini(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(two_objects),
        cmocka_unit_test(within_a_tick),
        cmocka_unit_test(circles_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
