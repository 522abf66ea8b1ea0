/* Proves: failures are the same if they happen at the same place in the same way, whatever their numbers are, and no others. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simplify/simplify.h"

#include <string.h>

static struct weft_failure of(struct weft_ending e, const char *errors) {
    struct weft_failure f;
    weft__failure_of(&e, errors, strlen(errors), NULL, &f);
    return f;
}

static bool same(struct weft_ending a, const char *x, struct weft_ending b, const char *y) {
    struct weft_failure f = of(a, x), g = of(b, y);
    assert_int_equal(weft__failure_same(&f, &g), weft__failure_same(&g, &f));
    return weft__failure_same(&f, &g);
}

static void crashes(void **state) {
    (void)state;
    struct weft_ending a = {.kind = WEFT_END_SIGNAL, .code = 11, .ip = 0x550055556000, .addr = 8, .frames = 2, .frame = {1, 2}}, b = a;
    assert_true(same(a, "", b, "some text"));
    b.addr = 16; /* the null page still */
    assert_true(same(a, "", b, ""));
    b.addr = 0x100000001000;
    assert_false(same(a, "", b, ""));
    b.addr = 0x4141414141414141;
    assert_false(same(a, "", b, ""));
    b = a;
    b.ip++;
    assert_false(same(a, "", b, ""));
    b = a;
    b.code = 7;
    assert_false(same(a, "", b, ""));
    b = a;
    b.frame[1] = 3;
    assert_false(same(a, "", b, ""));
    b = a;
    b.ip = 0; /* it was sent */
    assert_false(same(a, "", b, ""));
}

static void deep_frames_do_not_count(void **state) {
    (void)state;
    struct weft_ending a = {.kind = WEFT_END_SIGNAL, .code = 6, .frames = 6, .frame = {1, 2, 3, 4, 5, 6}}, b = a;
    b.frame[4] = 9;
    b.frames = 5;
    assert_true(same(a, "x", b, "x"));
}

static void messages(void **state) {
    (void)state;
    struct weft_ending e = {.kind = WEFT_END_EXIT, .code = 1};
    assert_true(same(e, "starts\nsum is 4990, not 5000\n", e, "sum is 12, not 20\n"));
    assert_true(same(e, "off by -3", e, "off by 7"));
    assert_true(same(e, "at 0x1f3a\n\n", e, "at 0x7\n"));
    assert_false(same(e, "sum is 4990", e, "product is 4990"));
    assert_false(same(e, "thread_a is wrong", e, "thread_b is wrong"));
    assert_string_equal(of(e, "a\nx1 = 23, y=-4.5 (0xab)\n").line, "x1 = #, y=-#.# (#)");
    assert_string_equal(of(e, "").line, "");
}

static void waits(void **state) {
    (void)state;
    struct weft_ending a = {.kind = WEFT_END_STUCK, .message = "3@0x1000 5@0x2000+ "}, b = {.kind = WEFT_END_STUCK, .message = "3@0x1000 5@0x2000 "};
    assert_true(same(a, "", b, "")); /* that is for the judge */
    assert_string_equal(of(a, "").line, "3@0x1000 5@0x2000 ");
    assert_int_equal(of(a, "").signalled, 2);
    assert_int_equal(of(b, "").signalled, 0);
}

static void addresses(void **state) {
    (void)state;
    assert_int_equal(weft__address_class(0), WEFT_ADDRESS_NULL);
    assert_int_equal(weft__address_class(0xfff), WEFT_ADDRESS_NULL);
    assert_int_equal(weft__address_class(0x100000000010), WEFT_ADDRESS_HEAP);
    assert_int_equal(weft__address_class(WEFT_PLACE_PROGRAM + 4096), WEFT_ADDRESS_CODE);
    assert_int_equal(weft__address_class(WEFT_PLACE_BRK + 4096), WEFT_ADDRESS_HEAP);
    assert_int_equal(weft__address_class(WEFT_STACKS_BASE + 4096), WEFT_ADDRESS_STACK);
    assert_int_equal(weft__address_class(WEFT_PLACE_STACK - 8), WEFT_ADDRESS_STACK);
    assert_int_equal(weft__address_class(WEFT_PLACE_LOW + 8), WEFT_ADDRESS_CODE);
    assert_int_equal(weft__address_class(0xdeadbeefdeadbeef), WEFT_ADDRESS_WILD);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crashes), cmocka_unit_test(deep_frames_do_not_count), cmocka_unit_test(messages), cmocka_unit_test(waits),
                                       cmocka_unit_test(addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
