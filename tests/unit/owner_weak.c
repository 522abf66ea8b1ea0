/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: who changes the side of a weak lock comes after all that were on the other one, and who joins a side after who
 * changed it to that; a thread knows what it has and what it has lost, and has all of it when it comes back from a miss. One real
 * thread plays all: the others are outside, so nobody has to wait. */
#include "owner_world.h"

#define A 0x10000ul
#define SIDE(w, s) (1ull << ((w) * WEFT_WEAK_SIDES + (s)))

/* As instrumented code does it: 1 if it came to the runtime. */
static int region(struct weft_thread *t, uint64_t sides, uint64_t site) {
    t->tls->region = sides;
    if (!(t->tls->region & t->tls->weak)) return 0;
    weft__rec_weak(t, site);
    return 1;
}
static uint16_t owner(uint32_t w) {
    return TABLE[WEAK_LINE(w)];
}
static void on(struct weft_thread *t, uint64_t sides) {
    assert_int_equal(t->sides, sides);
    assert_int_equal(t->tls->weak, ~sides);
}

static void sides_exclude_each_other(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    assert_int_equal(region(a, SIDE(3, 0), 0x11), 1);
    on(a, SIDE(3, 0));
    assert_int_equal(region(a, 0, 0x12), 0);
    assert_int_equal(region(a, SIDE(3, 0), 0x13), 0); /* nobody wanted it meanwhile */
    tick(a);
    out(a);
    assert_int_equal(nedges, 0);
    region(b, SIDE(3, 1), 0x22);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x22, 1, 2, 0, 0);
    on(a, 0);
    on(b, SIDE(3, 1));
    assert_int_equal(owner(3), 2);
    assert_int_equal(weak_side[3], 3 * WEFT_WEAK_SIDES + 1 + 1);
    tick(b);
    out(b);
    in(a);
    assert_int_equal(region(a, SIDE(3, 0), 0x14), 1);
    assert_int_equal(nedges, 2);
    assert_edge(1, 1, 2, 0x14, 2, 2, 0, 0);
    on(a, SIDE(3, 0));
    on(b, 0);
}

static void one_side_is_for_many(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3), *d = thread_new(4);
    region(a, SIDE(0, 0), 0x11);
    tick(a);
    out(a);
    region(b, SIDE(0, 0), 0x22); /* joins */
    assert_int_equal(owner(0), WEFT_SHARED);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x22, 1, 2, 0, 0);
    on(a, SIDE(0, 0));
    on(b, SIDE(0, 0));
    region(c, SIDE(0, 0), 0x33); /* after who chose the side, not after who joined it */
    assert_int_equal(nedges, 2);
    assert_edge(1, 3, 1, 0x33, 1, 2, 0, 0);
    in(a);
    assert_int_equal(region(a, SIDE(0, 0), 0x12), 0);
    /* The other side: after all of them. */
    tick(a);
    tick(b);
    tick(b);
    out(a);
    out(b);
    out(c);
    region(d, SIDE(0, 1), 0x44);
    assert_int_equal(nedges, 5);
    assert_edge(2, 4, 1, 0x44, 1, 3, 0, 0);
    assert_edge(3, 4, 1, 0x44, 2, 3, 0, 0);
    assert_edge(4, 4, 1, 0x44, 3, 1, 0, 0);
    on(a, 0);
    on(b, 0);
    on(c, 0);
    on(d, SIDE(0, 1));
    assert_int_equal(owner(0), 4);
    /* Who joins that comes after who changed it, and so after all. */
    tick(d);
    out(d);
    in(b);
    region(b, SIDE(0, 1), 0x23);
    assert_int_equal(nedges, 6);
    assert_edge(5, 2, 3, 0x23, 4, 2, 0, 0);
    assert_int_equal(owner(0), WEFT_SHARED);
}

/* A reader that wants another side stops those who are left. */
static void changes_sides(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    region(a, SIDE(0, 0), 0x11);
    out(a);
    region(b, SIDE(0, 0), 0x22);
    tick(b);
    region(b, SIDE(0, 7), 0x23);
    on(a, 0);
    on(b, SIDE(0, 7));
    assert_int_equal(owner(0), 2);
    region(b, SIDE(0, 0), 0x24); /* back: it is alone */
    on(b, SIDE(0, 0));
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x22, 1, 1, 0, 0);
}

static void locks_are_apart(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    region(a, SIDE(0, 1) | SIDE(7, 7), 0x11);
    on(a, SIDE(0, 1) | SIDE(7, 7));
    out(a);
    region(b, SIDE(7, 0), 0x22);
    on(a, SIDE(0, 1));
    on(b, SIDE(7, 0));
    assert_int_equal(owner(0), 1);
    assert_int_equal(owner(7), 2);
    out(b);
    in(a);
    assert_int_equal(region(a, SIDE(0, 1), 0x12), 0);
    assert_int_equal(region(a, SIDE(0, 1) | SIDE(7, 7), 0x13), 1);
    on(a, SIDE(0, 1) | SIDE(7, 7));
}

/* Back from a miss, or from taking a range, t has its weak locks, whatever became of them. */
static void miss_in_a_region(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    region(a, SIDE(0, 0), 0x11);
    out(a);
    region(b, SIDE(0, 1), 0x22);
    tick(b);
    out(b);
    in(a);
    check(a, A, 8, 0x12);
    on(a, SIDE(0, 0));
    assert_int_equal(nedges, 2);
    assert_edge(1, 1, 1, 0x12, 2, 2, 0, 0);
    out(a);
    in(b);
    region(b, SIDE(0, 1), 0x23);
    out(b);
    in(a);
    weft__rec_miss(a, A, 4096 | WEFT_ACC_WRITE, 0x13);
    on(a, SIDE(0, 0));
    on(b, 0);
}

/* The words of a thread that has ended are not written; the slot's next one has no sides. */
static void ended(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    region(a, SIDE(0, 0), 0x11);
    tick(a);
    weft__rec_end(a);
    assert_int_equal(a->sides, 0);
    memset(a->tls, 0, sizeof *a->tls);
    region(b, SIDE(0, 1), 0x22);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x22, 1, 2, 0, 0);
    assert_int_equal(a->tls->weak, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sides_exclude_each_other, world),
        cmocka_unit_test_setup(one_side_is_for_many, world),
        cmocka_unit_test_setup(changes_sides, world),
        cmocka_unit_test_setup(locks_are_apart, world),
        cmocka_unit_test_setup(miss_in_a_region, world),
        cmocka_unit_test_setup(ended, world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
