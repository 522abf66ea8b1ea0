/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: lines and pages change hands with the right edges, lines that are quarrelled over are split into words and
 * joined again, and groups are taken whole. One real thread plays all: the others are outside, so nobody has to wait.
 */
#include "owner_world.h"

#define A 0x10000ul /* lines of a page */
#define B 0x10040ul
#define FAR 0x20000ul

static void first_owner_gets_the_page(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    check(b, B, 8, 9);
    assert_int_equal(entry(A), 2);
    assert_int_equal(entry(A + 4032), 2);
    assert_int_equal(entry(A + 4096), WEFT_NOBODY);
    assert_int_equal(entry(A - 1), WEFT_NOBODY);
    check(a, FAR, 8, 9);
    assert_int_equal(nedges, 0);
}

static void taken_from_outside(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    check(a, A, 8, 9);
    tick(a);
    tick(a);
    out(a);
    assert_int_equal(a->tls->limit, 0);
    check(b, A, 8, 0x33);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x33, 1, 3, 0, 0);
    assert_int_equal(entry(A), 2);
    assert_int_equal(entry(B), 2); /* the page came along */
    check(b, B, 8, 0x44);
    assert_int_equal(nedges, 1);
    in(a);
    assert_int_equal(a->tls->limit, WEFT_NEVER);
    assert_int_equal(a->state, WEFT_IN);
}

/* After a few hand-overs of the page its lines go one by one. */
static void pages_come_apart(void **state) {
    (void)state;
    struct weft_thread *t[2] = {thread_new(1), thread_new(2)};
    check(t[0], A, 8, 9);
    out(t[0]);
    for (int i = 0; i < PAGE_QUARREL; i++) {
        struct weft_thread *x = t[(i + 1) & 1];
        if (x->tls->outside) in(x);
        t[0]->rng = t[1]->rng = 1;
        tick(x);
        check(x, A, 8, 9);
        assert_int_equal(entry(A), x->slot);
        assert_int_equal(entry(B), x->slot);
        tick(x);
        out(x);
    }
    struct weft_thread *owner = weft__threads[entry(A)], *other = owner == t[0] ? t[1] : t[0];
    in(other);
    tick(other);
    other->rng = 1;
    check(other, A, 8, 9);
    assert_int_equal(entry(A), other->slot);
    assert_int_equal(entry(B), owner->slot);
}

/* Then who walks through it gets more and more of what comes next, if that is the other one's. */
static void walks_through(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    int misses = 0;
    for (unsigned i = 0; i < 64; i++) TABLE[LINE_OF(A) + i] = i < 40 ? 1 : 3;
    out(a);
    for (unsigned i = 0; i < 32; i++) {
        heat_of_page(LINE_OF(A))->heat = PAGE_QUARREL;
        heat_of_page(LINE_OF(A))->when = (uint32_t)(weft__tsc() >> 10);
        b->rng = 1;
        misses += entry(A + 64 * i) != 2;
        check(b, A + 64 * i, 8, 9);
    }
    assert_int_equal(misses, 6); /* 1 1 2 4 8 16 */
    assert_int_equal(entry(A + 64 * 32), 1);
    /* But not what the other one was given in its sleep, nor what is behind it. */
    a->state = WEFT_WAITING;
    a->keeps = LINE_OF(A) + 36;
    b->rng = 1;
    heat_of_page(LINE_OF(A))->when = (uint32_t)(weft__tsc() >> 10);
    check(b, A + 64 * 32, 8, 9);
    assert_int_equal(entry(A + 64 * 34), 2);
    assert_int_equal(entry(A + 64 * 35), 1);
    assert_int_equal(entry(A + 64 * 36), 1);
    for (unsigned i = 32; i < 40; i++) TABLE[LINE_OF(A) + i] = 1;
    a->state = WEFT_OUT;
    a->keeps = 0;
    b->rng = 1;
    heat_of_page(LINE_OF(A))->when = (uint32_t)(weft__tsc() >> 10);
    check(b, A + 64 * 32, 8, 9);
    assert_int_equal(entry(A + 64 * 39), 2);
    assert_int_equal(entry(A + 64 * 40), 3);
}

/* a owns line A and goes out at tick 2; b takes it as chance will have it: b splits it and accesses word 0. */
static void split_by(struct weft_thread *a, struct weft_thread *b) {
    check(a, A, 8, 9);
    tick(a);
    out(a);
    b->rng = 0;
    check(b, A, 8, 0x33);
    b->rng = 1;
    assert_int_equal(entry(A), WEFT_SPLIT);
    assert_int_equal(b->nheld, 1);
    assert_int_equal(nedges, 1);
    assert_edge(0, 2, 1, 0x33, 1, 2, 0, 0);
    in(a);
}

static void split_words(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    assert_int_equal(b->tls->limit, 0);
    assert_int_equal(stripes[(LINE_OF(A) << 3)].lock, 1);
    tick(b);
    assert_int_equal(stripes[(LINE_OF(A) << 3)].lock, 0);
    assert_int_equal(b->nheld, 0);
    assert_int_equal(b->tls->limit, WEFT_NEVER);
    check(a, A + 8, 8, 0x44); /* another word: comes after the split, where b stood with one edge behind it */
    assert_int_equal(nedges, 2);
    assert_edge(1, 1, 2, 0x44, 2, 1, 0x33, 1);
    check(a, A, 8, 0x55); /* b's word: after b's access */
    assert_int_equal(nedges, 3);
    assert_edge(2, 1, 2, 0x55, 2, 1, 0x33, WEFT_DONE);
    assert_int_equal(a->nheld, 1);
    tick(a);
    check(a, A, 8, 0x55);     /* its own */
    check(a, A + 6, 4, 0x66); /* across two words */
    assert_int_equal(a->nheld, 2);
    assert_int_equal(nedges, 3);
    tick(a);
}

static void straddling_words(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    tick(b);
    check(b, B, 8, 0x35); /* the page's other lines came along */
    assert_int_equal(entry(B), 2);
    check(b, A + 60, 8, 0x36); /* one word of A, and B whole */
    assert_int_equal(b->nheld, 1);
    tick(b);
    out(b);
    TABLE[LINE_OF(B)] = WEFT_SPLIT;
    check(a, A + 60, 8, 0x77);
    assert_int_equal(a->nheld, 2);
    assert_true(a->held[0] < a->held[1]);
    assert_edge(1, 1, 2, 0x77, 2, 2, 0x36, WEFT_DONE);
    assert_int_equal(nedges, 2); /* word 0 of B was never accessed as a word */
    tick(a);
}

#define FIRST_EPISODE (16 * EPISODE)
static void calm_lines_are_joined(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    tick(b);
    check(a, A + 8, 8, 0x44);
    tick(a);
    int n = 0;
    while (entry(A) == WEFT_SPLIT && n < 100 * EPISODE) {
        check(b, A, 8, 0x33);
        tick(b);
        n++;
    }
    assert_int_equal(entry(A), 2);
    assert_in_range(n, FIRST_EPISODE - 5, FIRST_EPISODE);
    /* b owns all words now, so it comes after a's access of word 1. */
    assert_int_equal(nedges, 3);
    assert_edge(2, 2, b->tls->clock - 1, 0x33, 1, 2, 0x44, WEFT_DONE);
}

/* When a process has had some, episodes of what is not asked for again and again are short. */
static void later_episodes(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    first_episodes = LONG_FIRST;
    split_by(a, b);
    int n = 0;
    for (; entry(A) == WEFT_SPLIT && n < 2 * EPISODE; n++) {
        tick(b);
        check(b, A, 8, 0x33);
    }
    assert_in_range(n, EPISODE - 5, EPISODE);
}

/* Threads that use different words of a line keep it split; if they use the same, it is joined. */
static void false_sharing(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    tick(b);
    for (int i = 0; i < 5 * FIRST_EPISODE; i++) {
        check(a, A + 8, 8, 0x44);
        tick(a);
        check(b, A, 8, 0x33);
        tick(b);
        assert_int_equal(entry(A), WEFT_SPLIT);
    }
    int n = 0;
    for (; entry(A) == WEFT_SPLIT && n < 4 * FIRST_EPISODE; n++) {
        struct weft_thread *x = n % 2 ? a : b;
        check(x, A, 8, 0x33);
        tick(x);
    }
    assert_int_not_equal(entry(A), WEFT_SPLIT);
    assert_in_range(n, FIRST_EPISODE / 8, 2 * FIRST_EPISODE);
}

/* Who quarrels and is asked keeps what it has for some ticks; then it answers those who spin, or the longest sleeper. Those who are left wait for whoever
 * has the line now. */
static void tenures(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3), *d = thread_new(4);
    struct weft_thread *ask[3] = {b, c, d};
    check(a, A, 8, 9);
    for (int i = 0; i < 3; i++) { /* d asked last, b first; b and c sleep */
        ask[i]->want = LINE_OF(A);
        ask[i]->state = WEFT_WAITING;
        ask[i]->next = a->waiters;
        ask[i]->served = i < 2 ? WEFT_ASLEEP : WEFT_ASKED;
        a->waiters = ask[i];
    }
    a->quarrels = HOT;
    a->tls->limit = 0;
    tick(a);
    assert_ptr_equal(a->waiters, d);
    assert_int_equal(a->tls->limit, a->tls->clock + HOLD_TICKS);
    struct weft_thread *order[4] = {a, d, b, c};
    for (int i = 1; i < 4; i++) {
        struct weft_thread *has = order[i - 1], *next = order[i];
        assert_int_equal(entry(A), has->slot);
        assert_int_equal(next->state, WEFT_WAITING);
        has->tenure = 1; /* over */
        weft__rec_tick(has);
        int slept = next != d;
        assert_int_equal(next->state, slept ? WEFT_WAITING : WEFT_IN);
        assert_int_equal(next->served, slept ? WEFT_WOKEN : WEFT_ANSWERED);
        assert_int_equal(next->keeps, slept ? LINE_OF(A) + 1 : 0);
        assert_int_equal(next->granted, 1);
        assert_int_equal(entry(A), next->slot);
        next->state = WEFT_IN; /* it runs */
        next->keeps = 0;
        assert_null(has->waiters);
        assert_int_equal(has->tls->limit, WEFT_NEVER);
        assert_int_equal(next->waiters != NULL, i < 3);
        assert_int_equal(next->tls->limit, i < 3 ? 0 : WEFT_NEVER);
    }
}

/* Who asked for what it has got meanwhile, with its page, gets no answer but that it may look again; it is not asked itself. */
static void asked_for_its_own(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    check(a, A, 8, 9);
    out(a);
    check(b, B, 8, 9);
    in(a);
    assert_int_equal(entry(A), 2);
    b->want = LINE_OF(A);
    b->state = WEFT_WAITING;
    a->waiters = b;
    a->tls->limit = 0;
    tick(a);
    assert_int_equal(b->state, WEFT_IN);
    assert_int_equal(b->granted, 0);
    assert_int_equal(entry(A), 2);
}

static void taking_joins(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    tick(b);
    tick(a);
    out(b);
    assert_int_equal(weft__rec_take(a, A, 128, 0, 1), 0);
    assert_int_equal(entry(A), 1);
    assert_int_equal(entry(B), 1);
    /* After b's access of word 0, after its split (one edge for the other words), and after where it went out. */
    assert_edge(1, 1, 3, 0, 2, 1, 0x33, WEFT_DONE);
    struct weft_pos *last = &edges[nedges - 1].to;
    assert_int_equal(last->tick, 2);
    assert_int_equal(last->site, 0);
    assert_int_equal(weft__rec_take(a, A, 0, 0, 1), 0);
}

/* Of what is taken from threads that are outside, again and again, less and less is split. */
static void fewer_episodes(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    uint64_t splits[2];
    tick(b);
    out(b);
    a->rng = 88172645463325252ull;
    for (int i = 0; i < 2; i++) {
        a->splits = 0;
        for (int k = 0; k < FIRST_TAKES; k++) {
            TABLE[LINE_OF(A)] = 2;
            tick(a);
            check(a, A, 8, 9);
        }
        splits[i] = a->splits;
    }
    assert_in_range(splits[0], FIRST_TAKES / 1024 * EPISODES / 2, FIRST_TAKES / 1024 * EPISODES * 2);
    assert_in_range(splits[1], 1, FIRST_TAKES / 1024 * EPISODES / 4);
}

/* What those outside have is taken at once: who asked waits for the next tick, and nothing taken is lost again. (That a
 * thread which waits on the way through a group asks for the whole again is shown by the model: group-outside.) */
static void group_while_asked(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3);
    for (unsigned i = 0; i < HEAT; i++) page_heat[i].heat = PAGE_QUARREL;
    TABLE[LINE_OF(A)] = 1;
    TABLE[LINE_OF(B)] = 3;
    tick(c);
    out(c);
    tick(a);
    /* b has asked a for line A, as acquire() does it. */
    b->want = LINE_OF(A);
    b->here = standing(b, 0x55);
    b->state = WEFT_WAITING;
    a->waiters = b;
    a->tls->limit = 0;
    for (unsigned i = 0; i < HEAT; i++) page_heat[i].when = 0;
    heat_of_page(LINE_OF(A))->when = (uint32_t)(weft__tsc() >> 10); /* just now */
    assert_int_equal(weft__rec_take(a, A, 128, 0, 1), 0);
    assert_int_equal(entry(A), 1);
    assert_int_equal(entry(B), 1);
    assert_int_equal(nedges, 1);
    assert_edge(0, 1, 2, 0, 3, 2, 0, 0);
    assert_int_equal(b->state, WEFT_WAITING);
    heat_of_page(LINE_OF(A))->when = (uint32_t)(weft__tsc() >> 10);
    tick(a);
    assert_int_equal(entry(A), 2);
    assert_int_equal(entry(B), 1);
    assert_int_equal(b->state, WEFT_IN);
    assert_int_equal(b->served, WEFT_ANSWERED);
    assert_int_equal(b->granted, 1);
    assert_int_equal(b->grant.slot, 1);
    assert_int_equal(b->grant.tick, 3);
    assert_int_equal(b->grant.step, 0);
}

/* An access that is larger than words can be: its lines are taken. */
static void large_access(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    split_by(a, b);
    tick(b);
    out(b);
    check(a, A + 4, 256, 0x77);
    for (int i = 0; i < 5; i++)
        assert_int_equal(entry(A + 64u * (unsigned)i), 1);
    assert_int_equal(a->nheld, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_owner_gets_the_page, world),
        cmocka_unit_test_setup(taken_from_outside, world),
        cmocka_unit_test_setup(pages_come_apart, world),
        cmocka_unit_test_setup(walks_through, world),
        cmocka_unit_test_setup(split_words, world),
        cmocka_unit_test_setup(straddling_words, world),
        cmocka_unit_test_setup(calm_lines_are_joined, world),
        cmocka_unit_test_setup(later_episodes, world),
        cmocka_unit_test_setup(false_sharing, world),
        cmocka_unit_test_setup(tenures, world),
        cmocka_unit_test_setup(asked_for_its_own, world),
        cmocka_unit_test_setup(taking_joins, world),
        cmocka_unit_test_setup(large_access, world),
        cmocka_unit_test_setup(fewer_episodes, world),
        cmocka_unit_test_setup(group_while_asked, world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
