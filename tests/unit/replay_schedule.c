/* Proves: the schedule of a replay holds each slot's own items in order, a mark for every position that an edge waits
 * for, once, and the ticks where each thread's knowledge ends; small cases by hand, large ones against the obvious way.
 */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

struct view {
    struct weft_trace *t;
    struct weft_schedule s;
    struct weft_sched *head;
    struct weft_sched_slot *slots;
};

static struct view build(struct weft_encoder *e, uint32_t kind, uint32_t code) {
    struct view v;
    struct weft_err err = {0};
    struct weft_trace_end end = make_end(kind, code, &(struct weft_counts){0});
    v.t = open_encoded(e, kind ? &end : NULL);
    if (weft__replay_schedule(v.t, &v.s, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(v.s.control->magic, WEFT_CONTROL_MAGIC);
    assert_int_equal(v.s.control->mode, WEFT_REPLAY);
    assert_int_equal(v.s.control->map_size, v.s.size);
    v.head = (struct weft_sched *)(v.s.map + v.s.control->sched_off);
    v.slots = (struct weft_sched_slot *)(v.head + 1);
    assert_true(v.head->flags_off + v.head->flags * 4 <= v.s.size);
    assert_true(v.head->data_off + v.head->data_len <= v.s.size);
    return v;
}

static void drop(struct view *v, struct weft_encoder *e) {
    weft__schedule_fini(&v->s);
    weft__trace_close(v->t);
    weft__encoder_fini(e);
}

static struct weft_sched_item *items(struct view *v, uint32_t slot) {
    return (struct weft_sched_item *)(v->s.map + v->slots[slot].items_off);
}

static void expect(const struct weft_sched_item *i, uint64_t tick, uint64_t site, uint32_t kind, uint32_t a) {
    assert_int_equal(i->tick, tick);
    assert_int_equal(i->site, site);
    assert_int_equal(i->kind, kind);
    assert_int_equal(i->a, a);
}

static void two_threads(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    make_small(&e);
    struct view v = build(&e, WEFT_END_SIGNAL, 11);
    assert_int_equal(v.head->slots, 3);
    assert_int_equal(v.head->flags, 4);
    assert_int_equal(v.head->end_kind, WEFT_END_SIGNAL);
    assert_int_equal(v.head->end_code, 11);
    assert_int_equal(v.head->end_slot, 1);
    struct weft_sched_item *i = items(&v, 1);
    assert_int_equal(v.slots[1].items, 8);
    expect(&i[0], 1, 0, WEFT_S_INPUT, 0);
    assert_int_equal(i[0].item, WEFT_ITEM_START);
    expect(&i[1], 1, 0, WEFT_S_INPUT, 1);
    assert_int_equal(i[1].item, WEFT_ITEM_MODULE);
    expect(&i[2], 2, 0, WEFT_S_INPUT, 0);
    assert_int_equal(i[2].size, 14);
    assert_memory_equal(v.s.map + i[2].data + 8, "hello\n", 6);
    expect(&i[3], 2, 0, WEFT_S_REACHED, 0);
    expect(&i[4], 5, 0x400100, WEFT_S_DONE, 1);
    expect(&i[5], 250, 0x400300, WEFT_S_WAIT, 2);
    expect(&i[6], 300, 0, WEFT_S_WAIT, 3);
    expect(&i[7], 302, 0, WEFT_S_INPUT, 11);
    assert_int_equal(i[7].item, WEFT_ITEM_CRASH);
    assert_int_equal(v.slots[1].final_tick, 302);
    assert_int_equal(v.slots[1].open_end, 1);
    i = items(&v, 2);
    assert_int_equal(v.slots[2].items, 9);
    expect(&i[1], 1, 0, WEFT_S_WAIT, 0);
    expect(&i[2], 9, 0x400200, WEFT_S_WAIT, 1);
    expect(&i[3], 9, 0x400200, WEFT_S_REACHED, 2); /* after the own item of the tick */
    assert_int_equal(i[3].size, 1);                /* after the first WAIT there */
    expect(&i[4], 10, 0, WEFT_S_INPUT, 1);         /* its parts joined */
    assert_int_equal(i[4].size, 14);
    assert_memory_equal(v.s.map + i[4].data + 8, "hello\n", 6);
    expect(&i[7], 12, 0, WEFT_S_INPUT, 0);
    expect(&i[8], 12, 0, WEFT_S_REACHED, 3);
    assert_int_equal(v.slots[2].final_tick, 12); /* it exited, whatever REACHED says */
    assert_int_equal(v.slots[2].open_end, 0);
    drop(&v, &e);
}

static void equal_marks_share_a_flag(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 3, 0x10, 1, 7, 0x99, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE, 4, 0x20, 1, 7, 0x99, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE_DONE, 4, 0x20, 1, 7, 0x99, 0); /* not the same */
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE, 4, 0x20, 1, 6, 0x99, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE_STEP, 4, 0x20, 1, 7, 0x99, 2); /* nor this */
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_STEP, 4, 0x20, 1, 7, 0x99, 2); /* but these two are */
    struct view v = build(&e, 0, 0);
    assert_int_equal(v.head->flags, 4);
    struct weft_sched_item *i = items(&v, 1);
    assert_int_equal(v.slots[1].items, 5);
    expect(&i[1], 6, 0x99, WEFT_S_REACHED, 0);
    expect(&i[2], 7, 0x99, WEFT_S_REACHED, 1);
    expect(&i[3], 7, 0x99, WEFT_S_REACHED, 2);
    assert_int_equal(i[3].size, 2);
    expect(&i[4], 7, 0x99, WEFT_S_DONE, 3);
    expect(items(&v, 2), 3, 0x10, WEFT_S_WAIT, 1);
    expect(items(&v, 3), 4, 0x20, WEFT_S_WAIT, 1);
    expect(items(&v, 3) + 1, 4, 0x20, WEFT_S_WAIT, 3);
    expect(items(&v, 3) + 2, 4, 0x20, WEFT_S_WAIT, 0);
    expect(items(&v, 3) + 3, 4, 0x20, WEFT_S_WAIT, 2);
    expect(items(&v, 2) + 1, 4, 0x20, WEFT_S_WAIT, 2);
    assert_int_equal(v.head->end_kind, 0);
    assert_int_equal(v.head->end_slot, 0);
    drop(&v, &e);
}

/* What another process wrote stands at its site, in its place among the edges. */
static void memory_has_a_site(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    uint64_t what[2] = {0x7f0000001000, 42};
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 3, 0x555555555010, 2, 7, 0, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_MEMORY, 3, 0x555555555010, what, sizeof what);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 3, 0x555555555010, 2, 8, 0, 0);
    struct view v = build(&e, 0, 0);
    struct weft_sched_item *i = items(&v, 1);
    assert_int_equal(v.slots[1].items, 4);
    expect(&i[1], 3, 0x555555555010, WEFT_S_WAIT, 0);
    assert_int_equal(i[2].kind, WEFT_S_MEMORY);
    assert_int_equal(i[2].tick, 3);
    assert_int_equal(i[2].site, 0x555555555010);
    assert_int_equal(i[2].size, sizeof what);
    assert_memory_equal(v.s.map + i[2].data, what, sizeof what);
    expect(&i[3], 3, 0x555555555010, WEFT_S_WAIT, 1);
    drop(&v, &e);
}

/* A large input that comes again is there once; one that differs anywhere, or is small, has a place of its own. */
static void inputs_that_come_again(void **state) {
    (void)state;
    static uint8_t large[3][5000];
    struct weft_encoder e = {0};
    large[1][3000] = 1; /* where nobody looks before it is compared */
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    for (unsigned i = 0; i < 6; i++) weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 3 + i, 9, large[i % 3], i < 3 ? 5000 : 4999 + i / 4);
    weft__encode_item(&e, 2, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_INPUT, 3, 9, large[2], 5000);
    for (unsigned i = 0; i < 2; i++) weft__encode_item(&e, 2, WEFT_ITEM_INPUT, 4 + i, 9, large[2], 100);
    struct view v = build(&e, 0, 0);
    struct weft_sched_item *i = items(&v, 1), *k = items(&v, 2);
    assert_int_not_equal(i[1].data, i[2].data);
    assert_int_not_equal(i[4].data, i[1].data); /* shorter */
    assert_int_equal(k[1].data, i[6].data);
    assert_int_not_equal(k[2].data, k[3].data);
    for (unsigned n = 0; n < 6; n++) {
        assert_int_equal(i[n + 1].size, n < 3 ? 5000 : 4999 + n / 4);
        assert_memory_equal(v.s.map + i[n + 1].data, large[n % 3], i[n + 1].size);
    }
    assert_memory_equal(v.s.map + k[1].data, large[2], 5000);
    drop(&v, &e);
}

/* An iteration that was left out is met at its site; others are not looked at, and make no stop. */
static void iterations(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    uint64_t site = 0x555555555020;
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_REPEAT, 3, WEFT_REPEAT_COUNTS, &site, 8);
    weft__encode_item(&e, 1, WEFT_ITEM_REPEAT, 5, WEFT_REPEAT_COUNTS | WEFT_REPEAT_LEFT_OUT, &site, 8);
    struct view v = build(&e, 0, 0);
    struct weft_sched_item *i = items(&v, 1);
    assert_int_equal(v.slots[1].items, 2);
    assert_int_equal(i[1].kind, WEFT_S_REPEAT);
    assert_int_equal(i[1].tick, 5);
    assert_int_equal(i[1].site, site);
    drop(&v, &e);
}

/* Where a thread's knowledge ends. */
static void final_ticks(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    uint64_t reached = 1000, result = 0;
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_item(&e, 3, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_item(&e, 4, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_item(&e, 4, WEFT_ITEM_EXIT, 20, 0, NULL, 0);
    weft__encode_item(&e, 4, WEFT_ITEM_START, 21, 1, NULL, 0); /* the slot is used again */
    weft__encode_item(&e, 4, WEFT_ITEM_LOST, 30, 0, NULL, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 5, 0, 2, 500, 0x44, 0); /* beyond what thread 2 has logged: it was cut */
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 6, 0, 9, 3, 0, 0);      /* a thread of which nothing else is known */
    weft__encode_item(&e, 1, WEFT_ITEM_REACHED, 7, 3, &reached, 8);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 7, 231, &result, 8);
    struct view v = build(&e, WEFT_END_EXIT, 3);
    assert_int_equal(v.head->slots, 10);
    assert_int_equal(v.slots[1].final_tick, 7);
    assert_int_equal(v.slots[1].open_end, 1);
    assert_int_equal(v.head->end_slot, 1);
    assert_int_equal(v.slots[2].final_tick, 500);
    assert_int_equal(v.slots[3].final_tick, 1000);
    assert_int_equal(v.slots[4].final_tick, 30);
    assert_int_equal(v.slots[5].items, 0);
    assert_int_equal(v.slots[9].final_tick, 3);
    assert_int_equal(v.slots[9].items, 1);
    expect(items(&v, 2) + 1, 500, 0x44, WEFT_S_REACHED, 0);
    drop(&v, &e);
}

static void empty_trace(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct view v = build(&e, 0, 0);
    assert_int_equal(v.head->flags, 0);
    assert_int_equal(v.s.counts.items, 0);
    drop(&v, &e);
}

struct made {
    uint64_t tick, site, otick, osite;
    uint32_t slot, other, done;
};

static int by_mark(const void *a, const void *b) {
    const struct made *x = a, *y = b;
    if (x->other != y->other) return x->other < y->other ? -1 : 1;
    if (x->otick != y->otick) return x->otick < y->otick ? -1 : 1;
    if (x->osite != y->osite) return x->osite < y->osite ? -1 : 1;
    return (x->done > y->done) - (x->done < y->done);
}

/* Random edges with ticks that collide often: every WAIT's flag is set by exactly the mark that its edge names. */
static void against_the_obvious_way(void **state) {
    (void)state;
    enum { SLOTS = 7, EDGES = 20000 };
    for (uint64_t round = 1; round <= 8; round++) {
        struct weft_encoder e = {0};
        uint64_t s = round * 1234567, tick[SLOTS + 1] = {0};
        struct made *made = calloc(EDGES, sizeof *made);
        size_t own[SLOTS + 1] = {0};
        for (size_t n = 0; n < EDGES; n++) {
            struct made *m = &made[n];
            m->slot = 1 + rnd(&s) % SLOTS;
            m->other = 1 + rnd(&s) % SLOTS;
            m->tick = tick[m->slot] += rnd(&s) % 2;
            m->site = rnd(&s) % 4;
            m->otick = round % 2 ? rnd(&s) % 2000 : n / 5 + rnd(&s) % 3; /* any order; almost sorted */
            m->osite = rnd(&s) % 3;
            m->done = rnd(&s) % 2;
            own[m->slot]++;
            weft__encode_edge(&e, m->slot, m->done ? WEFT_ITEM_EDGE_DONE : WEFT_ITEM_EDGE, m->tick, m->site, m->other,
                              m->otick, m->osite, 0);
        }
        struct view v = build(&e, 0, 0);
        struct made *sorted = malloc(EDGES * sizeof *sorted);
        memcpy(sorted, made, EDGES * sizeof *sorted);
        qsort(sorted, EDGES, sizeof *sorted, by_mark);
        size_t distinct = 0, marks_on[SLOTS + 1] = {0};
        for (size_t n = 0; n < EDGES; n++)
            if (n == 0 || by_mark(&sorted[n - 1], &sorted[n])) distinct++, marks_on[sorted[n].other]++;
        assert_int_equal(v.head->flags, distinct);
        struct weft_sched_item *mark_of = calloc(distinct, sizeof *mark_of);
        uint32_t *slot_of = calloc(distinct, sizeof *slot_of);
        for (uint32_t slot = 1; slot <= SLOTS; slot++) {
            struct weft_sched_item *i = items(&v, slot);
            assert_int_equal(v.slots[slot].items, own[slot] + marks_on[slot]);
            for (uint64_t k = 0; k < v.slots[slot].items; k++) {
                if (k) assert_true(i[k - 1].tick <= i[k].tick);
                if (k && i[k - 1].tick == i[k].tick)
                    assert_false(i[k - 1].kind != WEFT_S_WAIT && i[k].kind == WEFT_S_WAIT);
                if (i[k].kind == WEFT_S_WAIT) continue;
                assert_true(i[k].a < distinct && !slot_of[i[k].a]);
                mark_of[i[k].a] = i[k];
                slot_of[i[k].a] = slot;
            }
        }
        /* own items in stream order, each tied to its mark */
        uint64_t next[SLOTS + 1] = {0};
        for (size_t n = 0; n < EDGES; n++) {
            struct made *m = &made[n];
            struct weft_sched_item *i = items(&v, m->slot);
            while (i[next[m->slot]].kind != WEFT_S_WAIT) next[m->slot]++;
            i += next[m->slot]++;
            assert_int_equal(i->tick, m->tick);
            assert_int_equal(i->site, m->site);
            assert_int_equal(slot_of[i->a], m->other);
            expect(&mark_of[i->a], m->otick, m->osite, m->done ? WEFT_S_DONE : WEFT_S_REACHED, i->a);
        }
        free(slot_of);
        free(mark_of);
        free(sorted);
        free(made);
        drop(&v, &e);
    }
}

static void reset_makes_it_new(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    make_small(&e);
    struct view v = build(&e, 0, 0);
    uint64_t before = weft_hash(v.s.map, v.s.size);
    uint32_t *flags = (uint32_t *)(v.s.map + v.head->flags_off);
    flags[0] = flags[2] = 1;
    v.s.control->outcome = WEFT_OUT_DIVERGED;
    strcpy(v.s.control->message, "something");
    weft__schedule_reset(&v.s);
    assert_int_equal(weft_hash(v.s.map, v.s.size), before);
    drop(&v, &e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads), cmocka_unit_test(equal_marks_share_a_flag), cmocka_unit_test(memory_has_a_site), cmocka_unit_test(inputs_that_come_again),
        cmocka_unit_test(iterations),
        cmocka_unit_test(final_ticks),
        cmocka_unit_test(empty_trace), cmocka_unit_test(against_the_obvious_way),  cmocka_unit_test(reset_makes_it_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
