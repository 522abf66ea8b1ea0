/* Proves: blocks hold every event once, in an order that all edges allow, switch only where an edge forces it, and tell preemptive
 * switches from others; small cases by hand, large ones against the edges themselves. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/trace_make.h"

static struct weft_blocks build(struct weft_encoder *e, weft_event_fn *event, void *ctx) {
    struct weft_blocks b;
    struct weft_err err = {0};
    struct weft_trace *t = open_encoded(e, NULL);
    if (weft__blocks_make(t, NULL, &b, event, ctx, &err) < 0) fail_msg("%s", err.text);
    weft__trace_close(t);
    weft__encoder_fini(e);
    assert_int_equal(b.left, 0);
    return b;
}

static void expect(const struct weft_block *b, uint32_t slot, uint64_t from, uint64_t to, uint64_t events, bool preempted) {
    assert_int_equal(b->slot, slot);
    assert_int_equal(b->from_tick, from);
    assert_int_equal(b->to_tick, to);
    assert_int_equal(b->events, events);
    assert_int_equal(b->preempted, preempted);
}

static void start_two(struct weft_encoder *e) {
    weft__encode_item(e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_edge(e, 2, WEFT_ITEM_EDGE, 1, 0, 1, 2, 0, 0);
}

/* Nothing but the start orders them: the main thread first, then the other. */
static void free_threads(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    start_two(&e);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 50, 0, "12345678", 8);
    weft__encode_item(&e, 2, WEFT_ITEM_EXIT, 60, 0, NULL, 0);
    struct weft_blocks b = build(&e, NULL, NULL);
    assert_int_equal(b.n, 2);
    expect(&b.list[0], 1, 1, 50, 2, false);
    expect(&b.list[1], 2, 1, 60, 3, false);
    assert_int_equal(b.switches, 1);
    assert_int_equal(b.preemptive, 0);
    weft__blocks_fini(&b);
}

/* An access that comes after the other thread's is a preemption; a call into the runtime is none. */
static void kinds_of_switches(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    start_two(&e);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 20, 0x100, 2, 7, 0x200, 0); /* access */
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 9, 0, 1, 30, 0, 0);              /* a lock, say */
    weft__encode_item(&e, 2, WEFT_ITEM_EXIT, 10, 0, NULL, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 40, 0, 2, 10, 0, 0); /* join */
    struct weft_blocks b = build(&e, NULL, NULL);
    assert_int_equal(b.n, 5);
    expect(&b.list[0], 1, 1, 1, 1, true);
    expect(&b.list[1], 2, 1, 1, 2, false);
    expect(&b.list[2], 1, 20, 20, 1, false);
    expect(&b.list[3], 2, 9, 10, 2, false);
    expect(&b.list[4], 1, 40, 40, 1, false);
    assert_int_equal(b.switches, 4);
    assert_int_equal(b.preemptive, 1);
    weft__blocks_fini(&b);
}

/* Whoever is waited for, and not the lowest number, goes on. */
static void who_is_waited_for(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    for (uint32_t s = 1; s <= 4; s++) weft__encode_item(&e, s, WEFT_ITEM_START, 1, s > 1, NULL, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 5, 0, 4, 3, 0, 0);
    weft__encode_edge(&e, 4, WEFT_ITEM_EDGE, 2, 0, 3, 9, 0, 0);
    weft__encode_item(&e, 3, WEFT_ITEM_EXIT, 10, 0, NULL, 0);
    weft__encode_item(&e, 4, WEFT_ITEM_EXIT, 10, 0, NULL, 0);
    struct weft_blocks b = build(&e, NULL, NULL);
    static const uint32_t order[] = {1, 4, 3, 4, 1, 2};
    assert_int_equal(b.n, 6);
    for (size_t i = 0; i < 6; i++) assert_int_equal(b.list[i].slot, order[i]);
    weft__blocks_fini(&b);
}

/* Within a tick: steps of a position, and a site whose place the trace does not tell. */
static void within_a_tick(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    start_two(&e);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 5, 0x200, 1, 3, 0, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_STEP, 8, 0x100, 2, 5, 0x200, 1); /* after the first edge there */
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 5, 0x200, 1, 9, 0, 0);          /* the second */
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 12, 0x110, 2, 5, 0x300, 0);     /* some other site */
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 5, 0x210, 1, 13, 0, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 20, 0, "12345678", 8);
    struct weft_blocks b = build(&e, NULL, NULL);
    assert_int_equal(b.events, 9);
    weft__blocks_fini(&b);
}

/* A site at a lower address that comes later in the tick: an access list tells, in whatever tick both were seen. */
static void order_of_sites(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct weft_accesses *l = weft__alloc(sizeof *l + 4 * sizeof *l->ring);
    struct weft_blocks b;
    struct weft_err err = {0};
    static const uint32_t slots[] = {3, 2, 1, 3};
    l->room = 4;
    l->ring[l->next++] = (struct weft_access){.slot = 2, .tick = 70, .site = 0x200};
    l->ring[l->next++] = (struct weft_access){.slot = 1, .tick = 70, .site = 0x100}; /* somebody else */
    l->ring[l->next++] = (struct weft_access){.slot = 2, .tick = 70, .site = 0x100};
    l->ring[l->next++] = (struct weft_access){.slot = 2, .tick = 71, .site = 0x200};
    struct weft_order *o = weft__order_new(l);
    assert_int_equal(weft__order_of(o, 0x200, 0x100), -1);
    assert_int_equal(weft__order_of(o, 0x100, 0x200), 1);
    assert_int_equal(weft__order_of(o, 0x100, 0x300), 0);
    for (uint32_t s = 1; s <= 3; s++) weft__encode_item(&e, s, WEFT_ITEM_START, 1, s > 1, NULL, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 8, 0x400, 2, 5, 0x100, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 10, 0, "12345678", 8);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 5, 0x200, 3, 20, 0, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_EXIT, 6, 0, NULL, 0);
    weft__encode_edge(&e, 3, WEFT_ITEM_EDGE, 30, 0x500, 1, 9, 0, 0);
    struct weft_trace *t = open_encoded(&e, NULL);
    assert_int_equal(weft__blocks_make(t, o, &b, NULL, NULL, &err), 0);
    assert_int_equal(b.n, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(b.list[i].slot, slots[i]);
    weft__blocks_fini(&b);
    weft__trace_close(t);
    weft__encoder_fini(&e);
    weft__order_free(o);
    free(l);
}

/* By the greedy rule 1 goes on as far as it can, and is stopped twice. It may as well stop before it creates anybody. */
static void fewer_preemptions(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    static const uint32_t slots[] = {1, 2, 3, 1};
    for (uint32_t s = 1; s <= 3; s++) weft__encode_item(&e, s, WEFT_ITEM_START, 1, s > 1, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 2, 0, "12345678", 8);
    for (uint32_t s = 2; s <= 3; s++) {
        weft__encode_edge(&e, s, WEFT_ITEM_EDGE, 1, 0, 1, 2, 0, 0);
        weft__encode_edge(&e, 1, WEFT_ITEM_EDGE_DONE, 10 * s, 0x100, s, 5, 0x200, 0);
        weft__encode_item(&e, s, WEFT_ITEM_EXIT, 10, 0, NULL, 0);
    }
    struct weft_blocks b = build(&e, NULL, NULL);
    assert_int_equal(b.preemptive, 0);
    assert_int_equal(b.n, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(b.list[i].slot, slots[i]);
    weft__blocks_fini(&b);
}

/* How far a thread had come when the process ended: of the sites of its last tick, to the one that comes last, not to the highest. */
static void last_site(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct weft_accesses *l = weft__alloc(sizeof *l + 2 * sizeof *l->ring);
    struct weft_tree tree;
    struct weft_err err = {0};
    static const char created[12] = {0, 0, 0, 0, 0, 0, 0, 0, 2};
    l->room = 2;
    l->ring[l->next++] = (struct weft_access){.slot = 2, .tick = 5, .site = 0x200};
    l->ring[l->next++] = (struct weft_access){.slot = 2, .tick = 5, .site = 0x100};
    struct weft_order *o = weft__order_new(l);
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 2, WEFT_OP_THREAD_CREATE, created, sizeof created);
    weft__encode_item(&e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 5, 0x200, 1, 3, 0, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 8, 0x400, 2, 5, 0x100, 0);
    struct weft_trace *t = open_encoded(&e, NULL);
    if (weft__tree_make(t, o, &tree, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(tree.n, 2);
    assert_int_equal(tree.list[1].to_tick, 5);
    assert_int_equal(tree.list[1].to_site, 0x100);
    weft__tree_fini(&tree);
    weft__trace_close(t);
    weft__encoder_fini(&e);
    weft__order_free(o);
    free(l);
}

/* Edges that no recording has: of a thread to itself, to one that is not there, in a cycle. Whoever is in the cycle is left. */
static void strange(void **state) {
    (void)state;
    struct weft_encoder e = {0};
    struct weft_blocks b;
    struct weft_err err = {0};
    start_two(&e);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 5, 0x100, 1, 9, 0, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 6, 0x100, 77, 9, 0, 0);
    weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 7, 0x100, 2, 20, 0x200, 0);
    weft__encode_edge(&e, 2, WEFT_ITEM_EDGE, 10, 0x200, 1, 20, 0x100, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_EXIT, 30, 0, NULL, 0);
    struct weft_trace *t = open_encoded(&e, NULL);
    assert_int_equal(weft__blocks_make(t, NULL, &b, NULL, NULL, &err), 0);
    assert_int_equal(b.left, 2);
    assert_int_equal(b.events, 5);
    weft__blocks_fini(&b);
    weft__trace_close(t);
    weft__encoder_fini(&e);
}

/* Random runs of N threads, one event after the other, edges to what was last done by another: every order that comes out has each
 * edge's other end before it. */
enum { THREADS = 7, EVENTS = 5000 };
struct seen {
    uint64_t tick[THREADS + 1];
    uint64_t n;
};
static void see(void *ctx, const struct weft_item *i, size_t block) {
    struct seen *s = ctx;
    (void)block;
    assert_true(i->tick >= s->tick[i->slot]);
    if (weft__item_is_edge(i->kind)) assert_true(s->tick[i->other_slot] + 1 >= i->other_tick);
    s->tick[i->slot] = i->tick;
    s->n++;
}
static void random_runs(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct weft_encoder e = {0};
        struct seen s = {0};
        uint64_t x = seed * 77777, clock[THREADS + 1] = {0}, switches = 0;
        uint32_t last = 1;
        for (uint32_t t = 1; t <= THREADS; t++) weft__encode_item(&e, t, WEFT_ITEM_START, ++clock[t], t > 1, NULL, 0);
        for (int i = 0; i < EVENTS; i++) {
            uint32_t t = 1 + (uint32_t)(rnd(&x) % THREADS);
            clock[t]++;
            if (t != last && rnd(&x) % 3)
                weft__encode_edge(&e, t, WEFT_ITEM_EDGE, clock[t], 0x10 * t, last, clock[last], 0, 0);
            else
                weft__encode_item(&e, t, WEFT_ITEM_INPUT, clock[t], 0, "12345678", 8);
            switches += t != last;
            last = t;
        }
        struct weft_blocks b = build(&e, see, &s);
        assert_int_equal(s.n, EVENTS + THREADS);
        assert_int_equal(b.events, s.n);
        assert_true(b.switches < switches);
        uint64_t n = 0;
        for (size_t i = 0; i < b.n; i++) {
            assert_int_equal(b.list[i].first, n);
            n += b.list[i].events;
        }
        weft__blocks_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_threads),  cmocka_unit_test(kinds_of_switches), cmocka_unit_test(who_is_waited_for),
        cmocka_unit_test(within_a_tick), cmocka_unit_test(order_of_sites),    cmocka_unit_test(fewer_preemptions),
        cmocka_unit_test(last_site),     cmocka_unit_test(strange),           cmocka_unit_test(random_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
