/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: an edge is logged if and only if what the thread has seen of the other one does not imply it, and steps count
 * the edges of a position. */
#include "owner_world.h"

static void edge(struct weft_thread *t, uint64_t site, uint32_t slot, uint64_t otick, uint64_t osite, uint32_t step) {
    struct weft_pos p = {otick, osite, slot, step};
    weft__rec_edge(t, site, &p);
}

static void none_to_itself_or_nobody(void **state) {
    (void)state;
    struct weft_thread *t = thread_new(1);
    edge(t, 7, 1, 5, 0, 0);
    edge(t, 7, 0, 5, 0, 0);
    assert_int_equal(nedges, 0);
    assert_int_equal(t->at_step, 0);
}

static void seen_ticks(void **state) {
    (void)state;
    struct weft_thread *t = thread_new(1);
    edge(t, 7, 2, 5, 0x10, 0);
    assert_int_equal(nedges, 1);
    assert_edge(0, 1, 1, 7, 2, 5, 0x10, 0);
    edge(t, 7, 2, 5, 0x10, 0);         /* the same */
    edge(t, 7, 2, 4, 0x99, WEFT_DONE); /* done with an earlier tick */
    edge(t, 7, 2, 5, 0, 0);            /* the tick has begun */
    assert_int_equal(nedges, 1);
    edge(t, 7, 2, 6, 0, 0);
    assert_int_equal(nedges, 2);
    edge(t, 7, 3, 5, 0x10, 0); /* another thread */
    assert_int_equal(nedges, 3);
}

/* Within a tick nobody knows the order of sites: both are logged. */
static void seen_sites(void **state) {
    (void)state;
    struct weft_thread *t = thread_new(1);
    edge(t, 7, 2, 5, 0x20, 0);
    edge(t, 7, 2, 5, 0x10, 0);
    edge(t, 7, 2, 5, 0x20, 0);
    assert_int_equal(nedges, 3);
    edge(t, 7, 2, 5, 0, 1); /* not only begun */
    assert_int_equal(nedges, 4);
}

static void seen_steps(void **state) {
    (void)state;
    struct weft_thread *t = thread_new(1);
    edge(t, 7, 2, 5, 0x10, 1);
    edge(t, 7, 2, 5, 0x10, 0);
    edge(t, 7, 2, 5, 0x10, 1);
    assert_int_equal(nedges, 1);
    edge(t, 7, 2, 5, 0x10, 2);
    edge(t, 7, 2, 5, 0x10, WEFT_DONE);
    assert_int_equal(nedges, 3);
    edge(t, 7, 2, 5, 0x10, 3);
    edge(t, 7, 2, 5, 0x10, WEFT_DONE);
    assert_int_equal(nedges, 3);
}

static void steps_of_a_position(void **state) {
    (void)state;
    struct weft_thread *t = thread_new(1);
    assert_int_equal(standing(t, 7).step, 0);
    edge(t, 7, 2, 5, 0, 0);
    edge(t, 7, 3, 5, 0, 0);
    edge(t, 7, 3, 5, 0, 0); /* not logged: does not count */
    struct weft_pos p = standing(t, 7);
    assert_int_equal(p.step, 2);
    assert_int_equal(p.slot, 1);
    assert_int_equal(p.tick, 1);
    assert_int_equal(p.site, 7);
    assert_int_equal(standing(t, 8).step, 0); /* another site */
    t->tls->clock++;
    assert_int_equal(standing(t, 7).step, 0); /* another tick */
    edge(t, 7, 2, 6, 0, 0);
    assert_int_equal(standing(t, 7).step, 1);
}

static void objects_are_chains(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    int o, other;
    weft__rec_order(a, &o);
    a->tls->clock++;
    weft__rec_order(a, &o);
    assert_int_equal(nedges, 0);
    weft__rec_order(b, &other);
    assert_int_equal(nedges, 0);
    weft__rec_order(b, &o);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0, 1, 2, 0, WEFT_DONE);
    a->tls->clock++;
    weft__rec_order(a, &o);
    assert_int_equal(nedges, 2);
    assert_edge(1, 1, 3, 0, 2, 1, 0, WEFT_DONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(none_to_itself_or_nobody, world),
        cmocka_unit_test_setup(seen_ticks, world),
        cmocka_unit_test_setup(seen_sites, world),
        cmocka_unit_test_setup(seen_steps, world),
        cmocka_unit_test_setup(steps_of_a_position, world),
        cmocka_unit_test_setup(objects_are_chains, world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
