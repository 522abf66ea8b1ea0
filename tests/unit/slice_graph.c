/* Proves: a read depends on the write that it sees, byte by byte; a write on the access before it if that is another thread's; what leads to a
 * node is marked, and nothing else. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slice/slice.h"

#define A 0x100000000000ull

static weft_node node(struct weft_graph *g) { return weft__graph_add(g, 1, 0); }
static weft_node reads(struct weft_graph *g, uint32_t thread, uint64_t addr, uint64_t size) {
    weft_node n = node(g);
    weft__graph_access(g, n, thread, addr, size, true, false);
    return n;
}
static weft_node writes(struct weft_graph *g, uint32_t thread, uint64_t addr, uint64_t size) {
    weft_node n = node(g);
    weft__graph_access(g, n, thread, addr, size, false, true);
    return n;
}

static void a_read_sees_writes(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node w8 = writes(&g, 1, A, 8), w1 = writes(&g, 1, A + 3, 1), other = writes(&g, 1, A + 8, 8), r = reads(&g, 1, A, 8);
    weft__graph_mark(&g, r);
    assert_true(weft__graph_marked(&g, w8) && weft__graph_marked(&g, w1));
    assert_false(weft__graph_marked(&g, other));
    weft__graph_fini(&g);
}

static void what_was_overwritten_is_not_seen(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node old = writes(&g, 1, A, 4), w = writes(&g, 1, A, 4), r = reads(&g, 1, A, 4);
    weft__graph_mark(&g, r);
    assert_true(weft__graph_marked(&g, w));
    assert_false(weft__graph_marked(&g, old)); /* its own thread's: no order with others */
    weft__graph_fini(&g);
}

/* LEAN's READ -> WRITE and WRITE -> WRITE. */
static void a_write_comes_after_what_another_thread_did(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node w1 = writes(&g, 1, A, 4), r2 = reads(&g, 2, A, 4), w3 = writes(&g, 3, A, 4), w4 = writes(&g, 4, A, 4), r = reads(&g, 4, A, 4);
    weft_node own = reads(&g, 4, A + 64, 4), last = writes(&g, 4, A + 64, 4);
    weft__graph_mark(&g, last);
    assert_false(weft__graph_marked(&g, own));
    weft__graph_mark(&g, r);
    assert_true(weft__graph_marked(&g, w4) && weft__graph_marked(&g, w3) && weft__graph_marked(&g, r2) && weft__graph_marked(&g, w1));
    weft__graph_fini(&g);
}

/* Whichever comes first. */
static void all_readers_come_before(void **state) {
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct weft_graph g = {0};
        writes(&g, 1, A, 4);
        weft_node early = reads(&g, 2, A, 4), a = reads(&g, turn ? 2 : 3, A, 4), b = reads(&g, turn ? 3 : 2, A, 4), own = reads(&g, 4, A, 4);
        weft_node w = writes(&g, 4, A, 4), later = writes(&g, 5, A, 4);
        weft__graph_mark(&g, w);
        assert_true(weft__graph_marked(&g, a) && weft__graph_marked(&g, b));
        assert_false(weft__graph_marked(&g, own) || weft__graph_marked(&g, early) || weft__graph_marked(&g, later));
        weft__graph_fini(&g);
    }
}

static void an_update_is_both(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node w1 = writes(&g, 1, A, 4), r2 = reads(&g, 2, A, 4), update = node(&g);
    weft__graph_access(&g, update, 3, A, 4, true, true);
    weft__graph_mark(&g, update);
    assert_true(weft__graph_marked(&g, w1) && weft__graph_marked(&g, r2));
    weft__graph_fini(&g);
}

static void new_memory_has_no_past(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node w = writes(&g, 1, A, 16);
    weft__graph_forget(&g, A, 16);
    weft_node again = writes(&g, 2, A, 16), r = reads(&g, 3, A + 8, 8);
    weft__graph_mark(&g, r);
    assert_true(weft__graph_marked(&g, again));
    assert_false(weft__graph_marked(&g, w));
    weft__graph_fini(&g);
}

static void a_long_way(void **state) {
    struct weft_graph g = {0};
    (void)state;
    weft_node first = node(&g), beside = node(&g), last = first;
    for (int i = 0; i < 1000000; i++) {
        weft_node n = node(&g);
        weft__graph_dep(&g, n, last);
        last = n;
    }
    weft__graph_dep(&g, beside, last);
    weft__graph_mark(&g, last);
    assert_true(weft__graph_marked(&g, first));
    assert_false(weft__graph_marked(&g, beside));
    weft__graph_fini(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_sees_writes),
        cmocka_unit_test(what_was_overwritten_is_not_seen),
        cmocka_unit_test(a_write_comes_after_what_another_thread_did),
        cmocka_unit_test(all_readers_come_before),
        cmocka_unit_test(an_update_is_both),
        cmocka_unit_test(new_memory_has_no_past),
        cmocka_unit_test(a_long_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
