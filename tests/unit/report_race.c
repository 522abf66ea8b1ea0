/* Proves: of a list of accesses, those that are to blame are found: races by vector clocks over locks and threads, accesses that come
 * between two of another thread's, the place that the failing thread touched last; and what is ordered is no race. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"

#include <string.h>

enum { R = 4, W = 4 | WEFT_ACC_WRITE, AR = 4 | WEFT_ACC_ATOMIC, AW = 4 | WEFT_ACC_ATOMIC | WEFT_ACC_WRITE };
#define S WEFT_ACCESS_SYNC

static struct weft_access list[64];
static uint64_t n;
static void add(uint32_t slot, uint32_t what, uint64_t addr) {
    list[n] = (struct weft_access){.addr = addr, .site = 0x1000 + n, .tick = n, .slot = slot, .what = what};
    n++;
}
static struct weft_race find(uint32_t slot) {
    struct weft_race r;
    weft__race_find(list, n, slot, true, &r);
    n = 0;
    return r;
}

static void lost_update(void **state) {
    (void)state;
    add(2, R, 0x100);
    add(3, R, 0x100);
    add(3, W, 0x100);
    add(2, W, 0x100);
    add(1, R, 0x100);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_LOST);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.index[0], 0);
    assert_int_equal(r.index[1], 2);
    assert_int_equal(r.index[2], 3);
    assert_int_equal(r.addr, 0x100);
    assert_int_equal(r.size, 4);
}

/* The same under a lock: nothing but the last pair. */
static void locked(void **state) {
    (void)state;
    for (uint32_t s = 2; s <= 3; s++) {
        add(s, S | WEFT_ACCESS_LOCK, 0x900);
        add(s, R, 0x100);
        add(s, W, 0x100);
        add(s, S | WEFT_ACCESS_UNLOCK, 0x900);
    }
    struct weft_race r = find(3);
    assert_int_equal(r.kind, WEFT_RACE_LAST);
    assert_int_equal(r.n, 2);
}

/* A thread's end and its join order it; without them it is a race. */
static void joined(void **state) {
    (void)state;
    add(2, W, 0x100);
    add(2, S, 0x902);
    add(1, S, 0x902);
    add(1, R, 0x100);
    assert_int_equal(find(1).kind, WEFT_RACE_LAST);
    add(2, W, 0x100);
    add(1, R, 0x100);
    assert_int_equal(find(1).kind, WEFT_RACE_PAIR);
}

/* Atomics are no race; but what comes between a load and a store is told. */
static void atomics(void **state) {
    (void)state;
    add(2, AR, 0x100);
    add(3, AW, 0x100);
    add(2, AW, 0x100);
    struct weft_race r = find(2);
    assert_int_equal(r.kind, WEFT_RACE_BETWEEN);
    assert_int_equal(r.n, 3);
    add(2, AW, 0x200); /* one publishes by an atomic: what it wrote before is ordered */
    add(2, W, 0x100);
    add(2, AW, 0x200);
    add(3, AR, 0x200);
    add(3, R, 0x100);
    assert_int_equal(find(3).kind, WEFT_RACE_LAST);
}

/* The place that was touched last counts; and bytes, not words. */
static void nearest(void **state) {
    (void)state;
    add(2, W, 0x100);
    add(2, W, 0x200);
    add(2, 1 | WEFT_ACC_WRITE, 0x301);
    add(1, R, 0x100);
    add(1, R, 0x200);
    add(1, 1, 0x300);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_PAIR);
    assert_int_equal(r.addr, 0x200);
    add(2, 64 | WEFT_ACC_WRITE, 0x100); /* a range */
    add(1, R, 0x120);
    r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_PAIR);
    assert_int_equal(r.addr, 0x120);
    assert_int_equal(r.size, 4);
}

/* What others do at a place when the failing thread has been there for the last time is not why it fails. */
static void afterwards(void **state) {
    (void)state;
    add(2, AR, 0x100);
    add(3, AW, 0x100);
    add(2, AW, 0x100);
    add(4, AR, 0x100);
    add(3, AW, 0x100);
    add(4, AR, 0x100);
    struct weft_race r = find(2);
    assert_int_equal(r.kind, WEFT_RACE_BETWEEN);
    assert_int_equal(r.index[0], 0);
    assert_int_equal(r.index[1], 1);
    assert_int_equal(r.index[2], 2);
}

/* A queue under a lock, which two others work on, and which the failing thread clears at last; before that it said that they are to stop. */
static void took_part(void **state) {
    (void)state;
    static const uint32_t turn[] = {2, 3, 2};
    add(2, AR, 0x200);
    for (int i = 0; i < 3; i++) {
        add(turn[i], S | WEFT_ACCESS_LOCK, 0x900);
        add(turn[i], R, 0x100);
        add(turn[i], W, 0x100);
        add(turn[i], S | WEFT_ACCESS_UNLOCK, 0x900);
    }
    add(1, AW, 0x200);
    add(2, AR, 0x200);
    add(2, S, 0x902);
    add(1, S, 0x902);
    add(1, AR, 0x200);
    add(1, R, 0x100);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_BETWEEN);
    assert_int_equal(r.addr, 0x200);
    assert_int_equal(r.index[0], 0);
    assert_int_equal(r.index[1], 13);
    assert_int_equal(r.index[2], 14);
}

/* Memory that was allocated anew has no past. */
static void fresh(void **state) {
    (void)state;
    add(2, 48 | WEFT_ACC_WRITE, 0x100);
    add(3, 48 | WEFT_ACCESS_FRESH, 0x100);
    add(3, W, 0x104);
    assert_int_equal(find(3).kind, WEFT_RACE_NONE);
    add(3, 48 | WEFT_ACCESS_FRESH, 0x100);
    add(2, W, 0x104);
    add(3, W, 0x104);
    assert_int_equal(find(3).kind, WEFT_RACE_PAIR);
}

/* Of several writes that came between, the first. */
static void first_of_several(void **state) {
    (void)state;
    add(2, R, 0x100);
    add(3, W, 0x100);
    add(3, R, 0x100);
    add(3, W, 0x100);
    add(2, R, 0x100);
    struct weft_race r = find(2);
    assert_int_equal(r.kind, WEFT_RACE_TORN);
    assert_int_equal(r.index[0], 0);
    assert_int_equal(r.index[1], 1);
    assert_int_equal(r.index[2], 4);
}

/* The failing thread has only what others made of it. */
static void elsewhere(void **state) {
    (void)state;
    add(2, R, 0x100);
    add(3, W, 0x100);
    add(3, W, 0x200);
    add(3, S, 0x902);
    add(1, S, 0x902);
    add(1, R, 0x200);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_PAIR);
    assert_true(r.elsewhere);
    assert_int_equal(r.addr, 0x100);
}

/* What had to be so is nobody's fault: an array that a thread filled between its start and its end. */
static void forced(void **state) {
    (void)state;
    add(1, W, 0x100);
    add(1, S, 0x902);
    add(2, S, 0x902);
    add(2, W, 0x100);
    add(2, S, 0x902);
    add(1, S, 0x902);
    add(1, R, 0x100);
    assert_int_equal(find(1).kind, WEFT_RACE_LAST);
}

/* Without a race: not what was written before the thread began, if there is anything that could have come in another order. */
static void last_in_another_order(void **state) {
    (void)state;
    add(1, W, 0x100);
    add(1, W, 0x104);
    add(1, S, 0x800); /* starts both */
    add(2, S, 0x800);
    add(3, S, 0x800);
    for (uint32_t s = 2; s <= 3; s++) {
        add(s, S | WEFT_ACCESS_LOCK, 0x900);
        add(s, s == 2 ? W : R, 0x100);
        if (s == 3) add(s, R, 0x104);
        add(s, S | WEFT_ACCESS_UNLOCK, 0x900);
    }
    struct weft_race r = find(3);
    assert_int_equal(r.kind, WEFT_RACE_LAST);
    assert_int_equal(r.addr, 0x100);
    assert_int_equal(r.index[0], 6);
    assert_int_equal(r.index[1], 9);
}

/* What another thread was to write first, and had not: its write is in no pair. */
static void too_early(void **state) {
    (void)state;
    add(1, W, 0x100);
    add(1, S, 0x800); /* starts the other */
    add(2, S, 0x800);
    add(2, R, 0x20000);
    add(2, R, 0x100);
    struct weft_race r = find(2);
    assert_int_equal(r.kind, WEFT_RACE_EARLY);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.addr, 0x20000);
    assert_int_equal(r.size, 4);
    assert_int_equal(r.index[0], 3);
}

/* A pointer that was not there yet, whatever else was raced on before. */
static void null_first(void **state) {
    (void)state;
    add(2, W, 0x10000);
    add(1, R, 0x10000);
    add(2, W, 0x20000);
    add(1, 8, 0x20008);
    add(1, R, 0x18);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_EARLY);
    assert_int_equal(r.addr, 0x20008);
}

/* Two places that a thread writes in turn, and one that came between; not what is written first and announced then. */
static void halves(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        add(2, AW, 0x10000);
        if (i < 2) add(2, AW, 0x20000);
        add(3, AR, 0x10000);
        if (i == 2) add(3, AR, 0x20000);
    }
    struct weft_race r = find(3);
    assert_int_equal(r.kind, WEFT_RACE_HALVES);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.index[0], 6);
    assert_int_equal(r.index[1], 7);
    assert_int_equal(r.index[2], 8);
    assert_int_equal(r.addr, 0x20000);
    assert_int_equal(r.other, 0x10000);

    add(3, AR, 0x10000); /* before the first write; the other after it; never written before, but close by */
    add(2, AW, 0x10000);
    add(2, AW, 0x10008);
    add(3, AR, 0x10008);
    r = find(3);
    assert_int_equal(r.kind, WEFT_RACE_HALVES);
    assert_int_equal(r.index[0], 0);
    assert_int_equal(r.index[1], 2);
    assert_int_equal(r.index[2], 3);

    for (int i = 0; i < 3; i++) {
        add(2, AW, 0x10000);
        add(2, AW, 0x20000);
        add(3, AR, 0x20000);
        add(3, AR, 0x10000);
    }
    assert_int_not_equal(find(3).kind, WEFT_RACE_HALVES);
}

/* A thread makes something, shows it, and has not filled it in when it is used. */
static void unfinished(void **state) {
    (void)state;
    add(2, 16 | WEFT_ACCESS_FRESH, 0x30000);
    add(2, W, 0x30000);
    add(2, 8 | WEFT_ACC_WRITE, 0x20000);
    add(1, 8, 0x20000);
    add(1, 8, 0x30008);
    add(1, R, 0x18);
    struct weft_race r = find(1);
    assert_int_equal(r.kind, WEFT_RACE_UNFINISHED);
    assert_int_equal(r.index[0], 2);
    assert_int_equal(r.index[1], 3);
    assert_int_equal(r.index[2], 4);
    assert_int_equal(r.addr, 0x30008);
}

static void nothing(void **state) {
    (void)state;
    assert_int_equal(find(1).kind, WEFT_RACE_NONE);
    add(1, W, 0x100);
    add(2, R, 0x200);
    add(1, R, 0x100);
    assert_int_equal(find(1).kind, WEFT_RACE_NONE);
    add(2, R, 0x100);
    add(1, R | WEFT_ACC_WRITE, 0x300);
    assert_int_equal(find(1).kind, WEFT_RACE_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_update), cmocka_unit_test(locked),  cmocka_unit_test(joined),
        cmocka_unit_test(atomics),     cmocka_unit_test(nearest), cmocka_unit_test(last_in_another_order), cmocka_unit_test(too_early), cmocka_unit_test(null_first), cmocka_unit_test(halves), cmocka_unit_test(unfinished), cmocka_unit_test(nothing),
        cmocka_unit_test(first_of_several), cmocka_unit_test(fresh), cmocka_unit_test(elsewhere),   cmocka_unit_test(forced), cmocka_unit_test(afterwards), cmocka_unit_test(took_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
