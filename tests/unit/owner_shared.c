/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Proves: lines that are only read are shared with the right edges: of each reader after who wrote them, of a writer after
 * each reader; a line that is being closed goes nowhere; and where there is no place for readers, all are asked, or the
 * line is given. One real thread plays all: the others are outside, so nobody has to wait. */
#include "owner_world.h"

#define A 0x10000ul /* lines of a page */
#define B 0x10040ul
#define C 0x10080ul

/* The next read of the line by another thread than its owner shares it. */
static void read_often(uint64_t p) {
    line_heat(LINE_OF(p))->reads = 1;
}
static struct shared *place(uint64_t p) {
    return shared_place(shared_set(LINE_OF(p)), LINE_OF(p) / PAGE_LINES + 1);
}
static void owned_by(struct weft_thread *t, uint64_t p) {
    TABLE[LINE_OF(p)] = (uint16_t)t->slot;
}

/* a writes line A at tick 1 and goes out at tick 2; b reads it at (1, 0x33), and shares it. */
static void shared_by(struct weft_thread *a, struct weft_thread *b) {
    check(a, A, 8, 9);
    tick(a);
    out(a);
    read_often(A);
    assert_int_equal(look(b, A, 8, 0x33), 0);
    assert_int_equal(entry(A), WEFT_SHARED);
    assert_int_equal(entry(B), a->slot);
    assert_int_equal(nedges, 1);
    assert_edge(0, b->slot, 1, 0x33, a->slot, 2, 0, 0);
}

static void readers(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3);
    shared_by(a, b);
    assert_int_equal(look(b, A + 56, 8, 0x34), 1);
    in(a);
    assert_int_equal(look(a, A, 8, 0x35), 0); /* it had no list yet; it is a reader all the same */
    assert_int_equal(look(a, A, 8, 0x35), 1);
    assert_int_equal(nedges, 1);
    assert_int_equal(look(c, A + 60, 4, 0x44), 0);
    assert_int_equal(nedges, 2);
    assert_edge(1, 3, 1, 0x44, 1, 2, 0, 0);
    assert_int_equal(look(c, A, 8, 0x45), 1);
    assert_int_equal(place(A)->readers, 3);
    assert_int_equal(nedges, 2);
}

static void writer_comes_after_readers(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3), *d = thread_new(4);
    shared_by(a, b);
    look(c, A, 8, 0x44);
    tick(b);
    tick(b);
    out(b);
    tick(c);
    out(c);
    check(d, A, 8, 0x55);
    assert_int_equal(entry(A), 4);
    assert_int_equal(d->closing, 0);
    assert_null(place(A));
    assert_int_equal(nedges, 5);
    assert_edge(2, 4, 1, 0x55, 1, 2, 0, 0);
    assert_edge(3, 4, 1, 0x55, 2, 3, 0, 0);
    assert_edge(4, 4, 1, 0x55, 3, 2, 0, 0);
    tick(d);
    out(d);
    in(b);
    assert_int_equal(look(b, A, 8, 0x33), 0); /* no longer in its list */
    assert_int_equal(nedges, 6);
    assert_edge(5, 2, 3, 0x33, 4, 2, 0, 0);
}

static void reader_writes(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    shared_by(a, b);
    check(b, A, 8, 0x34); /* a has not moved: nothing new to come after */
    assert_int_equal(entry(A), 2);
    assert_int_equal(nedges, 1);
    assert_int_equal(reads(b, LINE_OF(A)), 0);
    tick(b);
    out(b);
    in(a);
    read_often(A);
    assert_int_equal(look(a, A, 8, 0x35), 0);
    assert_int_equal(nedges, 2);
    assert_edge(1, 1, 2, 0x35, 2, 2, 0, 0);
}

/* One position stands for all lines of a page: who shares another one comes after it, and new readers after that. */
static void next_line(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3), *d = thread_new(4), *e = thread_new(5);
    shared_by(a, b);
    owned_by(c, B);
    tick(c);
    tick(c);
    out(c);
    read_often(B);
    look(d, B, 8, 0x55);
    assert_int_equal(entry(B), WEFT_SHARED);
    assert_ptr_equal(place(B), place(A));
    assert_int_equal(nedges, 3);
    assert_edge(1, 4, 1, 0x55, 1, 2, 0, 0);
    assert_edge(2, 4, 1, 0x55, 3, 3, 0, 0);
    look(e, A, 8, 0x66);
    assert_int_equal(nedges, 4);
    assert_edge(3, 5, 1, 0x66, 4, 1, 0x55, 2);
    assert_int_equal(look(e, B, 8, 0x67), 1); /* it came along */
    assert_int_equal(look(b, B, 8, 0x35), 0); /* but not for those who were there before */
    assert_int_equal(nedges, 5);
    assert_edge(4, 2, 1, 0x35, 4, 1, 0x55, 2);
    /* Closed one by one; the page's readers are asked for both. */
    out(b);
    out(d);
    out(e);
    check(a, A, 8, 0x77);
    assert_int_equal(entry(A), 1);
    assert_int_equal(entry(B), WEFT_SHARED);
    assert_int_equal(reads(e, LINE_OF(A)), 0);
    assert_int_equal(reads(e, LINE_OF(B)), 1);
    assert_non_null(place(A));
    check(a, B, 8, 0x78);
    assert_null(place(A));
}

/* The one that answers logs nothing: the edges are the waiter's. */
static void next_line_on_request(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3), *d = thread_new(4);
    shared_by(a, b);
    owned_by(c, B);
    tick(c);
    d->want = LINE_OF(B);
    d->wish = WEFT_SHARE;
    d->here = standing(d, 0x55);
    d->state = WEFT_WAITING;
    d->reads = weft__rt_map(WEFT_READS_SIZE);
    c->waiters = d;
    c->tls->limit = 0;
    tick(c);
    assert_int_equal(d->state, WEFT_IN);
    assert_int_equal(d->granted, 2);
    assert_int_equal(entry(B), WEFT_SHARED);
    assert_int_equal(nedges, 3);
    assert_edge(1, 4, 1, 0x55, 1, 2, 0, 0);
    assert_edge(2, 4, 1, 0x55, 3, 3, 0, 0);
    assert_int_equal(place(B)->pos.slot, 4);
    assert_int_equal(place(B)->pos.site, 0x55);
    assert_int_equal(place(B)->pos.step, 2);
    assert_int_equal(reads(d, LINE_OF(B)), 1);
}

/* A page that is read again and again is shared as a whole; what is not the owner's stays as it is. */
static void whole_page(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3);
    check(a, A, 8, 9);
    owned_by(c, B);
    line_heat(LINE_OF(C))->caution = 1; /* was written too soon when it was shared */
    tick(a);
    out(a);
    heat_of_page(LINE_OF(A))->reads = 8;
    look(b, A + 4032, 8, 0x33);
    assert_int_equal(entry(A), WEFT_SHARED);
    assert_int_equal(entry(B), 3);
    assert_int_equal(entry(C), 1);
    assert_int_equal(look(b, A, 8, 0x34), 1);
    assert_int_equal(look(b, A + 192, 8, 0x35), 1);
    assert_int_equal(nedges, 1);
    assert_int_equal(place(A)->lines, ~(line_bit(LINE_OF(B)) | line_bit(LINE_OF(C))));
}

/* Where the address space is full a thread has no list: it reads as a writer does. */
static void no_room_for_a_list(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3);
    shared_by(a, b);
    tick(b);
    out(b);
    c->no_reads = 1;
    assert_int_equal(look(c, A, 8, 0x44), 0);
    assert_null(c->reads);
    assert_int_equal(entry(A), c->slot);
    assert_int_equal(reads(b, LINE_OF(A)), 0);
    assert_int_equal(nedges, 3);
    assert_edge(1, 3, 1, 0x44, 1, 2, 0, 0);
    assert_edge(2, 3, 1, 0x44, 2, 2, 0, 0);
    look(c, A, 8, 0x45);
    assert_int_equal(c->misses, 1);
}

static void more_readers_than_places(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *t[20];
    shared_by(a, b);
    out(b);
    for (uint32_t i = 0; i < 20; i++) {
        t[i] = thread_new(3 + i);
        look(t[i], A, 8, 0x44);
        tick(t[i]);
        out(t[i]);
    }
    assert_int_equal(place(A)->readers, ANYBODY);
    assert_int_equal(nedges, 21);
    struct weft_thread *w = thread_new(30);
    weft__slots = 31;
    check(w, A, 8, 0x55);
    weft__slots = 1;
    assert_int_equal(entry(A), 30);
    assert_int_equal(nedges, 21 + 22);
    for (int i = 0; i < 20; i++)
        assert_int_equal(reads(t[i], LINE_OF(A)), 0);
}

/* Pages that fall on one set: the last one finds no place, and is given. */
static void no_place(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    uint64_t p[WAYS + 1];
    int n = 0;
    for (uint64_t q = A; n < WAYS + 1; q += 4096)
        if (shared_set(LINE_OF(q)) == shared_set(LINE_OF(A))) p[n++] = q;
    for (int i = 0; i < n; i++)
        check(a, p[i], 8, 9);
    tick(a);
    out(a);
    for (int i = 0; i < n; i++) {
        read_often(p[i]);
        b->rng = 1;
        look(b, p[i], 8, 0x33);
        assert_int_equal(entry(p[i]), i < WAYS ? WEFT_SHARED : 2);
    }
    check(b, p[0], 8, 0x34); /* its place is free again */
    tick(b);
    out(b);
    in(a);
    read_often(p[WAYS]);
    look(a, p[WAYS], 8, 0x35);
    assert_int_equal(entry(p[WAYS]), WEFT_SHARED);
}

/* a waits for the readers of A to stop: others take what else it has, and A stays. */
static void closed(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *c = thread_new(3);
    check(a, A, 8, 9);
    tick(a);
    a->here = standing(a, 0x22);
    a->state = WEFT_WAITING;
    a->closing = LINE_OF(A) / PAGE_LINES + 1;
    a->closing_lines = line_bit(LINE_OF(A));
    check(b, B, 8, 0x33);
    assert_int_equal(entry(B), 2); /* with the page, */
    assert_int_equal(entry(C), 2);
    assert_int_equal(entry(A), 1); /* but for this one */
    owned_by(a, B);
    owned_by(a, C);
    heat_of_page(LINE_OF(A))->reads = 8;
    look(b, C, 8, 0x34);
    assert_int_equal(entry(B), WEFT_SHARED);
    assert_int_equal(entry(C), WEFT_SHARED);
    assert_int_equal(entry(A), 1);
    /* Those who ask for A are not answered before it is over. */
    struct weft_thread *ask[2] = {b, c};
    for (int i = 0; i < 2; i++) {
        ask[i]->want = LINE_OF(i ? A : A + 4032);
        ask[i]->state = WEFT_WAITING;
        ask[i]->next = a->waiters;
        a->waiters = ask[i];
    }
    a->state = WEFT_IN;
    serve(a, 0x22, 1);
    assert_int_equal(b->state, WEFT_IN);
    assert_int_equal(c->state, WEFT_WAITING);
    assert_ptr_equal(a->waiters, c);
    a->closing = 0;
    a->tls->limit = 0;
    tick(a);
    assert_int_equal(c->state, WEFT_IN);
    assert_int_equal(c->granted, 1);
    assert_int_equal(entry(A), 3);
}

/* What has been read together, and is written line after line, is closed in larger and larger pieces, with one edge for each; not if it is read again soon. */
static void closed_in_pieces(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    int misses[2] = {0};
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 64; i++) owned_by(a, A + 64u * (unsigned)i);
        if (!a->tls->outside) out(a);
        if (b->tls->outside) in(b);
        memset(heat, 0, sizeof heat);
        heat_of_page(LINE_OF(A))->reads = 8;
        look(b, A, 8, 0x33);
        assert_non_null(place(A));
        assert_int_equal(place(A)->lines, ~0ull);
        out(b);
        in(a);
        for (unsigned i = 0; i < 64; i++) {
            misses[again] += entry(A + 64 * i) != 1;
            check(a, A + 64 * i, 8, 0x34);
            assert_int_equal(entry(A + 64 * i), 1);
            assert_int_equal(reads(b, LINE_OF(A + 64 * i)), 0);
            assert_int_equal(reads(a, LINE_OF(A + 64 * i)), 0);
        }
        assert_null(place(A));
        assert_int_equal(a->closing, 0);
        heat_of_page(LINE_OF(A))->closed -= again ? 0 : SOON; /* long ago */
    }
    assert_in_range(misses[0], 6, 8);
    assert_int_equal(misses[1], 1);
    wish_for(LINE_OF(A), 0);
    assert_int_equal(heat_of_page(LINE_OF(A))->row, 0);
}

/* A reader that is inside is asked, and strikes the line off its list where it answers. */
static void asked_to_stop(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2), *w = thread_new(3);
    shared_by(a, b);
    w->want = LINE_OF(A);
    w->wish = WEFT_DROP;
    w->closing = LINE_OF(A) / PAGE_LINES + 1;
    w->closing_lines = line_bit(LINE_OF(A));
    w->state = WEFT_WAITING;
    b->waiters = w;
    b->tls->limit = 0;
    assert_int_equal(look(b, A, 8, 0x34), 1);
    tick(b);
    assert_int_equal(reads(b, LINE_OF(A)), 0);
    assert_int_equal(w->state, WEFT_IN);
    assert_int_equal(w->granted, 1);
    assert_int_equal(w->grant.slot, 2);
    assert_int_equal(w->grant.tick, 2);
    assert_int_equal(w->grant.site, 0);
}

static void groups_and_straddling(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    shared_by(a, b);
    owned_by(b, B);
    assert_int_equal(look(b, A + 60, 8, 0x34), 0); /* across both, of which one is its own: looked at one by one, and nothing changes */
    assert_int_equal(entry(A), WEFT_SHARED);
    assert_int_equal(entry(B), 2);
    tick(b);
    assert_int_equal(weft__rec_take(b, A, 128, 0, 0), 0);
    assert_int_equal(entry(A), WEFT_SHARED);
    assert_int_equal(nedges, 1);
    assert_int_equal(weft__rec_take(b, A, 128, 0, 1), 0);
    assert_int_equal(entry(A), 2);
    assert_int_equal(reads(b, LINE_OF(A)), 0);
}

/* The next thread of a slot goes on with its list; a forked process begins anew. */
static void lives(void **state) {
    (void)state;
    struct weft_thread *a = thread_new(1), *b = thread_new(2);
    shared_by(a, b);
    tick(b);
    out(b);
    b->tls = calloc(1, sizeof *b->tls);
    b->tls->me = 2;
    b->tls->limit = 0;
    weft__rec_begin(b);
    assert_int_equal(look(b, A, 8, 0x33), 1);
    b->seen = calloc(WEFT_MAX_SLOT + 2, sizeof *b->seen);
    weft__slots = 3;
    weft__rec_forked(b);
    weft__slots = 1;
    assert_int_equal(entry(A), WEFT_NOBODY);
    assert_null(place(A));
    assert_int_equal(look(b, A, 8, 0x33), 0);
    assert_int_equal(entry(A), 2);
    free(b->seen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(readers, world),
        cmocka_unit_test_setup(writer_comes_after_readers, world),
        cmocka_unit_test_setup(reader_writes, world),
        cmocka_unit_test_setup(next_line, world),
        cmocka_unit_test_setup(next_line_on_request, world),
        cmocka_unit_test_setup(whole_page, world),
        cmocka_unit_test_setup(no_room_for_a_list, world),
        cmocka_unit_test_setup(more_readers_than_places, world),
        cmocka_unit_test_setup(no_place, world),
        cmocka_unit_test_setup(closed, world),
        cmocka_unit_test_setup(closed_in_pieces, world),
        cmocka_unit_test_setup(asked_to_stop, world),
        cmocka_unit_test_setup(groups_and_straddling, world),
        cmocka_unit_test_setup(lives, world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
