/* Proves: the search finds the threads, iterations and switches that a failure needs and no more, gives the same result however many
 * candidates are judged at a time, and after it was stopped anywhere and begun again; a judge that is simulated says what fails. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simplify/simplify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a run needs to fail: these threads, these iterations, and turns to these ticks in this order. A run with a needed thread but
 * without its parent does not exist. */
#define NEEDS 8
struct world {
    uint32_t threads[NEEDS];
    size_t nthreads;
    struct {
        uint32_t thread;
        uint64_t tick;
    } passes[NEEDS], turns[NEEDS];
    size_t npasses, nturns;
    uint32_t lockstep[2]; /* iterations of these two must be as many; 0: no such threads */
    bool whole;           /* without any of its threads or iterations it fails in every order: such a program is not sound */
    uint64_t together;    /* all turns to this tick are there, or none of them; 0: no such turns */
};

static void count(struct weft_state *s) {
    s->size = (struct weft_size){.events = s->nturns, .switches = s->nturns ? s->nturns - 1 : 0};
    for (size_t i = 0; i < s->nturns; i++) s->size.preemptive += s->turns[i].tick != UINT64_MAX;
    for (size_t i = 0; i < s->tree.n; i++) {
        s->size.threads += !s->tree.list[i].removed;
        for (size_t k = 0; k < s->tree.list[i].npasses && !s->tree.list[i].removed; k++) s->size.iterations += !s->tree.list[i].pass[k].skip;
    }
}

static size_t passes_of(const struct weft_tree_thread *t) {
    size_t n = 0;
    for (size_t k = 0; k < t->npasses; k++) n += !t->pass[k].skip;
    return n;
}

static enum weft_verdict judge(const struct world *w, const struct weft_candidate *c) {
    size_t got = 0;
    for (size_t i = 0; i < w->nthreads; i++)
        if (c->tree.list[w->threads[i]].removed) return WEFT_PASSES;
    for (size_t i = 0; i < w->npasses; i++)
        for (size_t k = 0; k < c->tree.list[w->passes[i].thread].npasses; k++) {
            const struct weft_pass *p = &c->tree.list[w->passes[i].thread].pass[k];
            if (p->tick == w->passes[i].tick && p->skip) return WEFT_PASSES;
        }
    if (w->lockstep[0] && passes_of(&c->tree.list[w->lockstep[0]]) != passes_of(&c->tree.list[w->lockstep[1]])) return WEFT_UNRESOLVED;
    size_t of = 0, there = 0;
    for (size_t i = 0; i < c->tree.n && w->together; i++) of += !c->tree.list[i].removed && i > 0;
    for (size_t i = 0; i < c->nturns && w->together; i++) there += c->turns[i].tick == w->together && c->turns[i].thread > 0;
    if (there && there != of) return WEFT_PASSES;
    for (size_t i = 0; i < c->nturns && got < w->nturns; i++) got += c->turns[i].thread == w->turns[got].thread && c->turns[i].tick == w->turns[got].tick;
    return got == w->nturns ? WEFT_FAILS : WEFT_PASSES;
}

/* ---- a recording is a file with all of the state ---- */

static void save(const struct weft_candidate *c, const char *dir) {
    char path[512];
    assert_int_equal(mkdir(dir, 0777), 0);
    snprintf(path, sizeof path, "%s/state", dir);
    FILE *f = fopen(path, "w");
    fwrite(&c->tree.n, sizeof c->tree.n, 1, f);
    fwrite(c->tree.list, sizeof *c->tree.list, c->tree.n, f);
    for (size_t i = 0; i < c->tree.n; i++) fwrite(c->tree.list[i].pass, sizeof *c->tree.list[i].pass, c->tree.list[i].npasses, f);
    fwrite(&c->nturns, sizeof c->nturns, 1, f);
    fwrite(c->turns, sizeof *c->turns, c->nturns, f);
    fclose(f);
}

static void get(FILE *f, void *p, size_t size, size_t n) { assert_int_equal(fread(p, size, n, f), n); }

static struct weft_state *load(const char *dir, uint64_t id) {
    struct weft_state *s = weft__alloc(sizeof *s);
    char path[512];
    snprintf(path, sizeof path, "%s/state", dir);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    s->id = id;
    get(f, &s->tree.n, sizeof s->tree.n, 1);
    s->tree.list = weft__alloc((s->tree.n + 1) * sizeof *s->tree.list);
    get(f, s->tree.list, sizeof *s->tree.list, s->tree.n);
    for (size_t i = 0; i < s->tree.n; i++) {
        s->tree.list[i].pass = weft__alloc((s->tree.list[i].npasses + 1) * sizeof *s->tree.list[i].pass);
        s->tree.list[i].barrier = NULL;
        get(f, s->tree.list[i].pass, sizeof *s->tree.list[i].pass, s->tree.list[i].npasses);
    }
    get(f, &s->nturns, sizeof s->nturns, 1);
    s->turns = weft__alloc((s->nturns + 1) * sizeof *s->turns);
    get(f, s->turns, sizeof *s->turns, s->nturns);
    fclose(f);
    count(s);
    return s;
}

static int one(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) {
    (void)err;
    *out = (struct weft_judged){.verdict = c->wanted == WEFT_SOUND ? WEFT_FAILS : judge(ctx, c)};
    if (weft__candidate_hash(c) % 7 == 0) usleep(2000); /* some take longer */
    if (((const struct world *)ctx)->whole && !weft__candidate_whole(c)) {
        *out = (struct weft_judged){.verdict = WEFT_PASSES, .unsound = weft__candidate_program(c)};
        return 0;
    }
    if (out->verdict != WEFT_FAILS || c->wanted == WEFT_SOUND) return 0;
    save(c, dir);
    struct weft_state *s = load(dir, 0);
    out->size = s->size;
    if (!weft__size_wanted(c->wanted, &s->size, &c->from->size)) out->verdict = WEFT_PASSES;
    weft__state_free(s);
    return 0;
}

static int open_one(void *ctx, const char *dir, const struct weft_judged *j, struct weft_state **out, struct weft_err *err) {
    (void)ctx, (void)err;
    *out = load(dir, j->key);
    return 0;
}

/* ---- programs ---- */

/* Thread 0, `n` workers, of which the first has `n` children, and each `passes` iterations of a loop, a turn before each. */
static struct weft_state *program(uint32_t n, size_t passes) {
    struct weft_state *s = weft__alloc(sizeof *s);
    s->id = 77;
    s->tree.n = 1 + 2 * (size_t)n;
    s->tree.list = weft__alloc((s->tree.n + 1) * sizeof *s->tree.list);
    s->turns = weft__alloc((s->tree.n * (passes + 1) + 1) * sizeof *s->turns);
    for (uint32_t i = 0; i < s->tree.n; i++) {
        struct weft_tree_thread *t = &s->tree.list[i];
        *t = (struct weft_tree_thread){.slot = i + 1, .level = i == 0 ? 0 : i <= n ? 1 : 2, .parent = i <= n ? 0 : 1, .npasses = i ? passes : 0, .ended = true};
        t->pass = weft__alloc((passes + 1) * sizeof *t->pass);
        for (size_t k = 0; k < t->npasses; k++) t->pass[k] = (struct weft_pass){.tick = 10 * (k + 1), .site = k % 3 == 2 ? 0x200 : 0x100};
    }
    for (size_t k = 0; k <= passes; k++)
        for (uint32_t i = 0; i < s->tree.n; i++)
            s->turns[s->nturns++] = (struct weft_turn){.thread = i, .tick = k == passes ? UINT64_MAX : 10 * (k + 1), .site = k == passes ? UINT64_MAX : 0};
    count(s);
    return s;
}

static bool all_loops(void *ctx, const struct weft_pass *p) {
    (void)ctx;
    return p->site != 0;
}

static char folder[256];

struct outcome {
    struct weft_size size;
    uint64_t id, runs, asked;
    int r;
};

/* stop: after so many verdicts the search is stopped, and begun again. */
struct stopping {
    struct weft_pool pool;
    struct world w;
    uint64_t stop, before; /* known */
};
static int one_of(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) {
    return one(&((struct stopping *)ctx)->w, c, dir, out, err);
}
static void stop_now(void *ctx) {
    struct stopping *x = ctx;
    if (x->stop && x->pool.nknown >= x->before + x->stop) x->pool.until_us = 1;
}

static struct outcome search(const struct world *w, uint32_t n, size_t passes, unsigned jobs, uint64_t stop) {
    struct outcome o;
    struct weft_err err;
    for (bool again = true; again;) {
        struct stopping x = {.w = *w, .stop = stop};
        x.pool = (struct weft_pool){.one = one_of, .open = open_one, .tick = stop_now, .ctx = &x, .work = folder, .jobs = jobs};
        struct weft_search s = {.judge = &x.pool.judge, .now = program(n, passes), .repeats = all_loops, .clock = weft__now_us};
        assert_int_equal(weft__pool_open(&x.pool, 5, &err), 0);
        x.before = x.pool.nknown;
        o.r = weft__search(&s, &err);
        again = o.r == -ETIME;
        if (o.r < 0 && !again) fail_msg("%s", err.text);
        o.size = s.now->size;
        o.id = s.now->id;
        o.runs = x.pool.runs;
        o.asked = 0;
        for (int t = 0; t < WEFT_TECHNIQUES; t++) o.asked += s.effort[t].answers.failed + s.effort[t].answers.passed + s.effort[t].answers.unresolved;
        struct weft_candidate c; /* what there is fails, whenever it was stopped */
        weft__candidate_init(&c, s.now);
        assert_int_equal(judge(w, &c), WEFT_FAILS);
        weft__candidate_fini(&c);
        weft__state_free(s.now);
        weft__pool_close(&x.pool, !again);
    }
    assert_int_not_equal(access(folder, F_OK), 0);
    return o;
}

/* What happens in the turns that are there together does not matter. */
static int relevant(void *ctx, const struct weft_state *s, bool *turns, struct weft_err *err) {
    (void)ctx, (void)err;
    for (size_t i = 0; i < s->nturns; i++) turns[i] = s->turns[i].tick != 30;
    return 0;
}
static int not_known(void *ctx, const struct weft_state *s, bool *turns, struct weft_err *err) {
    (void)ctx, (void)s, (void)turns, (void)err;
    return 1;
}

static void without_what_is_irrelevant(void **state) {
    (void)state;
    struct weft_err err;
    uint64_t switches[3];
    for (int i = 0; i < 3; i++) {
        struct world w = {.threads = {1, 2, 3, 4, 5, 6}, .nthreads = 6, .turns = {{1, 20}, {1, 40}}, .nturns = 2, .together = 30};
        struct weft_pool p = {.one = one, .open = open_one, .ctx = &w, .work = folder, .jobs = 1};
        struct weft_search s = {.judge = &p.judge, .now = program(3, 4), .repeats = all_loops, .clock = weft__now_us};
        s.relevant = i == 1 ? relevant : i == 2 ? not_known : NULL;
        assert_int_equal(weft__pool_open(&p, 1, &err), 0);
        assert_int_equal(weft__search(&s, &err), 0);
        switches[i] = s.now->size.switches;
        assert_int_equal(s.effort[WEFT_BY_SLICE].answers.failed, i == 1);
        weft__state_free(s.now);
        weft__pool_close(&p, true);
    }
    assert_true(switches[1] < switches[0]);
    assert_int_equal(switches[2], switches[0]);
}

static const struct world simple = {.threads = {3, 5},
                                    .nthreads = 2,
                                    .passes = {{3, 40}, {5, 70}},
                                    .npasses = 2,
                                    .turns = {{3, 50}, {5, 80}},
                                    .nturns = 2};

static void finds_the_least(void **state) {
    (void)state;
    struct outcome o = search(&simple, 6, 12, 1, 0);
    assert_int_equal(o.size.threads, 3);
    assert_int_equal(o.size.iterations, 2);
    assert_int_equal(o.size.switches, 1);
    assert_int_equal(o.size.preemptive, 2);
    assert_true(o.runs <= o.asked); /* some come again */
}

/* A child needs its parent. */
static void keeps_ancestors(void **state) {
    (void)state;
    struct world w = {.threads = {9}, .nthreads = 1, .turns = {{9, 20}}, .nturns = 1};
    struct outcome o = search(&w, 6, 3, 1, 0);
    assert_int_equal(o.size.threads, 3);
    assert_int_equal(o.size.iterations, 0);
    assert_int_equal(o.size.switches, 0);
}

/* The main thread creates n threads in a loop and sends each one something again and again, in a loop inside another one that comes to n as
 * well, and was cut short. The n-th of both go together, with the thread, and the loop around stays. */
static bool only_counts(void *ctx, const struct weft_pass *p) {
    (void)ctx;
    return p->site == 0x100 || p->site == 0x200 || p->site == 0x300;
}
static int one_by_one(struct weft_judge *j, const struct weft_question *q, struct weft_answers *a, size_t *which, struct weft_state **out, struct weft_err *err) {
    (void)j, (void)err;
    for (*which = 0; *which < q->n; ++*which) {
        struct weft_candidate c;
        weft__candidate_init(&c, q->from);
        q->make(q->ctx, *which, &c);
        const struct weft_tree_thread *m = &c.tree.list[0];
        bool fails = !c.tree.list[2].removed && !m->pass[1].skip;
        size_t around = 0;
        for (size_t k = 0; k < m->npasses; k++) {
            if (m->pass[k].site == 0x200) around += !m->pass[k].skip;
            if (m->pass[k].site != 0x300) continue;
            uint32_t to = (uint32_t)((m->pass[k].tick - 100) % 10) + 1; /* who gets it: has to be there, and to get it each time */
            fails &= m->pass[k].skip == c.tree.list[to].removed && c.tree.list[to].removed == m->pass[to - 1].skip;
        }
        fails &= around == 3;
        struct weft_state *s = fails ? weft__alloc(sizeof *s) : NULL;
        if (fails) {
            *s = (struct weft_state){.id = 1, .tree = c.tree};
            c.tree = (struct weft_tree){0};
            count(s);
            fails = weft__size_wanted(q->wanted, &s->size, &q->from->size);
        }
        weft__candidate_fini(&c);
        if (fails) {
            a->failed++;
            if (out)
                *out = s;
            else
                weft__state_free(s);
            return 0;
        }
        weft__state_free(s);
        a->passed++;
    }
    return 0;
}
static void side_by_side(void **state) {
    (void)state;
    struct weft_judge judge = {one_by_one};
    struct weft_state *now = weft__alloc(sizeof *now);
    struct weft_err err;
    now->tree.n = 4;
    now->tree.list = weft__alloc(5 * sizeof *now->tree.list);
    for (uint32_t i = 0; i < 4; i++)
        now->tree.list[i] = (struct weft_tree_thread){.slot = i + 1, .level = i > 0, .made_tick = 10 * i, .pass = weft__alloc(20 * sizeof(struct weft_pass))};
    struct weft_tree_thread *m = &now->tree.list[0];
    for (uint64_t i = 0; i < 3; i++) m->pass[m->npasses++] = (struct weft_pass){.tick = 9 + 10 * i, .site = 0x100};
    for (uint64_t i = 0; i < 3; i++) {
        m->pass[m->npasses++] = (struct weft_pass){.tick = 99 + 10 * i, .site = 0x200};
        for (uint64_t k = 0; k < (i == 2 ? 2 : 3); k++) m->pass[m->npasses++] = (struct weft_pass){.tick = 100 + 10 * i + k, .site = 0x300};
    }
    count(now);
    struct weft_search s = {.judge = &judge, .now = now, .repeats = only_counts, .clock = weft__now_us};
    assert_int_equal(weft__search(&s, &err), 0);
    assert_int_equal(s.now->size.threads, 2);
    assert_false(s.now->tree.list[2].removed);
    weft__state_free(s.now);
}

/* ---- orders ---- */

/* Four threads; the second one is stopped in its iteration 1000, and in its iteration 3000. */
static struct weft_state *four(bool plain) {
    struct weft_state *s = weft__alloc(sizeof *s);
    static const struct weft_turn turns[] = {{.thread = 0, .tick = 9, .site = 0x9, .known = 1, .op = 0x10, .op_nth = 4},
                                             {.thread = 1, .tick = 50, .site = 0x51, .known = 1, .pass = 1000, .where = 0x50, .nth = 1},
                                             {.thread = 3, .tick = 20, .site = 0x31, .known = 1, .pass = 2, .where = 0x30, .nth = 1},
                                             {.thread = 2, .tick = 20, .site = 0x21, .known = 1, .pass = 3, .where = 0x20, .nth = 1},
                                             {.thread = 1, .tick = 90, .site = 0x51, .known = 1, .pass = 3000, .where = 0x50, .nth = 2},
                                             {.thread = 2, .tick = UINT64_MAX},
                                             {.thread = 3, .tick = UINT64_MAX},
                                             {.thread = 1, .tick = UINT64_MAX}};
    *s = (struct weft_state){.id = 1, .plain = plain};
    s->tree.n = 4;
    s->tree.list = weft__alloc(5 * sizeof *s->tree.list);
    for (uint32_t i = 0; i < 4; i++) s->tree.list[i] = (struct weft_tree_thread){.slot = i + 1, .level = i > 0};
    s->nturns = sizeof turns / sizeof *turns;
    s->turns = weft__alloc(sizeof turns);
    memcpy(s->turns, turns, sizeof turns);
    return s;
}

static uint64_t iterations_of(const struct weft_turn *t, size_t n) {
    uint64_t at[4] = {0};
    for (size_t i = 0; i < n; i++)
        if (t[i].pass > at[t[i].thread]) at[t[i].thread] = t[i].pass;
    return at[0] + at[1] + at[2] + at[3];
}

static bool (*rule)(const struct weft_candidate *c);
static uint64_t asked; /* iterations of all candidates */
static int by_rule(struct weft_judge *j, const struct weft_question *q, struct weft_answers *a, size_t *which, struct weft_state **out, struct weft_err *err) {
    (void)j, (void)err;
    for (*which = 0; *which < q->n; ++*which) {
        struct weft_candidate c;
        struct weft_state *s = NULL;
        weft__candidate_init(&c, q->from);
        q->make(q->ctx, *which, &c);
        c.wanted = q->wanted;
        asked += iterations_of(c.turns, c.nturns);
        if (rule(&c)) {
            s = weft__alloc(sizeof *s);
            *s = (struct weft_state){.id = q->from->id + 1, .tree = c.tree, .turns = c.turns, .nturns = c.nturns, .plain = c.plain};
            c.tree = (struct weft_tree){0};
            c.turns = NULL;
            count(s);
            s->size.iterations = iterations_of(s->turns, s->nturns);
        }
        weft__candidate_fini(&c);
        if (s && weft__size_wanted(q->wanted, &s->size, &q->from->size)) {
            a->failed++;
            if (out)
                *out = s;
            else
                weft__state_free(s);
            return 0;
        }
        weft__state_free(s);
        a->passed++;
    }
    return 0;
}

static struct weft_state *found_by(struct weft_state *now, bool (*which)(const struct weft_candidate *c)) {
    struct weft_judge judge = {by_rule};
    struct weft_err err;
    rule = which;
    count(now);
    asked = 0;
    now->size.iterations = iterations_of(now->turns, now->nturns);
    struct weft_search s = {.judge = &judge, .now = now, .repeats = all_loops, .clock = weft__now_us};
    assert_int_equal(weft__search(&s, &err), 0);
    return s.now;
}

/* It has to be stopped twice, at that place. */
static bool stopped_twice(const struct weft_candidate *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->nturns; i++) n += c->turns[i].thread == 1 && c->turns[i].where == 0x50;
    return n == 2;
}
static void time_goes_by(void **state) {
    (void)state;
    struct weft_state *s = found_by(four(true), stopped_twice);
    assert_false(s->plain);
    assert_int_equal(s->size.threads, 3); /* somebody comes between */
    assert_true(s->size.iterations <= 5);
    weft__state_free(s);
}

/* Many short turns: none of them is worth it by itself, all of them are. */
static bool has_all(const struct weft_candidate *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->nturns; i++) n += c->turns[i].known;
    return n == 100;
}
static void time_of_many(void **state) {
    (void)state;
    struct weft_state *now = four(true);
    now->turns = weft__resize(now->turns, 100 * sizeof *now->turns);
    now->nturns = 100;
    for (size_t i = 0; i < 100; i++) now->turns[i] = (struct weft_turn){.thread = 1 + i % 2, .known = 1, .pass = (uint32_t)(50 * (i / 2 + 1)), .where = 0x50, .nth = 1};
    struct weft_state *s = found_by(now, has_all);
    assert_true(s->size.iterations <= 100);
    weft__state_free(s);
}

/* Each run takes as long as it has iterations: they go before any turn is left out, and again when half of the turns are gone. */
static bool any_half(const struct weft_candidate *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->nturns; i++) n += c->turns[i].known;
    return n >= 50;
}
static void time_comes_first(void **state) {
    (void)state;
    struct weft_state *now = four(true);
    now->turns = weft__resize(now->turns, 100 * sizeof *now->turns);
    now->nturns = 100;
    for (size_t i = 0; i < 100; i++) now->turns[i] = (struct weft_turn){.thread = 1 + i % 2, .known = 1, .pass = (uint32_t)(50000 * (i / 2 + 1)), .where = 0x50, .nth = 1};
    struct weft_state *s = found_by(now, any_half);
    assert_true(asked < 1000000); /* the first recording has five million */
    weft__state_free(s);
}

/* With fewer ends of turns a run may be a little longer, but nobody goes round and round in it. */
static void what_is_wanted(void **state) {
    (void)state;
    const struct weft_size was = {.threads = 3, .iterations = 100, .preemptive = 4, .switches = 9};
    struct weft_size more = was;
    more.preemptive = more.switches = 20;
    more.iterations = 200;
    assert_true(weft__size_wanted(WEFT_NEAR, &more, &was));
    assert_false(weft__size_wanted(WEFT_FEWER, &more, &was));
    more.iterations = 20000;
    assert_false(weft__size_wanted(WEFT_NEAR, &more, &was));
    assert_true(weft__size_wanted(WEFT_ANY, &more, &was));
    more = was;
    more.threads++;
    assert_false(weft__size_wanted(WEFT_NEAR, &more, &was));
}

/* Of many long turns the ones of a thread that does its work are not to be touched. */
static bool has_its_time(const struct weft_candidate *c) {
    uint32_t n = 0;
    for (size_t i = 0; i < c->nturns; i++)
        if (c->turns[i].thread == 0 && c->turns[i].pass != 20 * ++n) return false;
    return n == 5 && has_all(c);
}
static void time_of_who_waits(void **state) {
    (void)state;
    struct weft_state *now = four(true);
    now->turns = weft__resize(now->turns, 100 * sizeof *now->turns);
    now->nturns = 100;
    for (size_t i = 0; i < 100; i++) {
        uint32_t thread = i % 20 == 19 ? 0 : 1 + i % 2;
        now->turns[i] = (struct weft_turn){.thread = thread, .known = 1, .pass = (uint32_t)((thread ? 5000 : 2) * (i / 2 + 1)), .where = 0x50, .nth = 1};
    }
    struct weft_state *s = found_by(now, has_its_time);
    assert_true(s->size.iterations <= 300);
    weft__state_free(s);
}

static bool as_it_was(const struct weft_candidate *c) {
    bool removed = false;
    for (uint32_t i = 1; i < 4; i++) removed |= c->tree.list[i].removed;
    struct weft_state *was = four(false);
    bool same = c->nturns == was->nturns && memcmp(c->turns, was->turns, c->nturns * sizeof *c->turns) == 0 && !removed;
    weft__state_free(was);
    return same;
}

/* All of it as it was, or the one thread where it first comes to that place, and then the other until it waits. */
static bool as_it_was_or_two(const struct weft_candidate *c) {
    bool same = as_it_was(c);
    for (size_t i = 0; i + 1 < c->nturns; i++)
        same |= c->turns[i].thread == 1 && c->turns[i].known == 2 && c->turns[i].where == 0x50 && c->turns[i + 1].thread == 2 && c->turns[i + 1].tick == UINT64_MAX;
    return same && !c->tree.list[1].removed && !c->tree.list[2].removed;
}
static void order_made_anew(void **state) {
    (void)state;
    struct weft_state *s = found_by(four(false), as_it_was_or_two);
    assert_int_equal(s->size.threads, 3);
    assert_true(s->tree.list[3].removed);
    weft__state_free(s);
}

/* All of it as it was, or two threads that are stopped where neither of them was, but others met. */
static bool as_it_was_or_elsewhere(const struct weft_candidate *c) {
    if (c->wanted == WEFT_SOUND) return true;
    for (size_t i = 0; i + 1 < c->nturns; i++)
        if (c->turns[i].thread == 1 && c->turns[i].known == 2 && c->turns[i].site == 0x77 && c->turns[i].nth == 1 && c->turns[i + 1].thread == 2 && c->turns[i + 1].site == 0x78) return true;
    return as_it_was(c);
}
static void stopped_elsewhere(void **state) {
    (void)state;
    static const uint64_t places[] = {0x75, 0x78, 0x76, 0x77};
    struct weft_judge judge = {by_rule};
    struct weft_err err;
    struct weft_state *now = four(false);
    rule = as_it_was_or_elsewhere;
    count(now);
    now->size.iterations = iterations_of(now->turns, now->nturns);
    struct weft_search s = {.judge = &judge, .now = now, .repeats = all_loops, .clock = weft__now_us, .places = weft__alloc(sizeof places), .nplaces = 4};
    memcpy(s.places, places, sizeof places);
    assert_int_equal(weft__search(&s, &err), 0);
    assert_int_equal(s.now->size.threads, 3);
    assert_true(s.now->tree.list[3].removed);
    weft__state_free(s.now);
}

/* What is not sound is not asked about again with another order. */
static void asks_once(void **state) {
    (void)state;
    struct world w = {.whole = true, .turns = {{1, 20}, {2, 20}}, .nturns = 2};
    struct outcome a = search(&w, 4, 6, 1, 0), b = search(&w, 4, 6, 4, 0);
    assert_int_equal(a.size.threads, 9);
    assert_int_equal(a.size.iterations, 48);
    assert_int_equal(a.id, b.id);
    assert_int_equal(a.asked, b.asked);
    assert_true(a.runs <= 165); /* and 182 if it were */
}

static void nothing_can_go(void **state) {
    (void)state;
    struct world w = {.threads = {1, 2, 3, 4}, .nthreads = 4};
    struct outcome o = search(&w, 2, 0, 1, 0);
    assert_int_equal(o.size.threads, 5);
}

/* Iterations of two threads that wait for each other go only together. */
static void lockstep(void **state) {
    (void)state;
    struct world w = {.threads = {2, 4}, .nthreads = 2, .passes = {{2, 50}, {4, 50}}, .npasses = 2, .lockstep = {2, 4}};
    struct outcome o = search(&w, 4, 10, 1, 0);
    assert_int_equal(o.size.threads, 3);
    assert_int_equal(o.size.iterations, 2);
}

static void same_with_more_jobs(void **state) {
    (void)state;
    struct outcome a = search(&simple, 6, 12, 1, 0), b = search(&simple, 6, 12, 4, 0);
    assert_int_equal(a.id, b.id);
    assert_int_equal(a.asked, b.asked);
}

static void same_after_a_stop(void **state) {
    (void)state;
    struct outcome a = search(&simple, 6, 12, 2, 0);
    for (uint64_t stop = 1; stop < 40; stop = 2 * stop + 1) {
        struct outcome b = search(&simple, 6, 12, 2, stop);
        assert_int_equal(a.id, b.id);
        assert_int_equal(a.asked, b.asked);
    }
}

/* A journal of another search counts for nothing; two at a time in one folder are refused. */
static void another_search(void **state) {
    (void)state;
    struct weft_err err;
    struct world w = simple;
    struct weft_pool p = {.one = one, .open = open_one, .ctx = &w, .work = folder, .jobs = 1}, q = p;
    assert_int_equal(weft__pool_open(&p, 1, &err), 0);
    assert_int_equal(weft__pool_open(&q, 1, &err), -EBUSY);
    weft__pool_close(&q, false);
    struct weft_search s = {.judge = &p.judge, .now = program(3, 2), .repeats = all_loops, .clock = weft__now_us};
    w = (struct world){0};
    assert_int_equal(weft__search(&s, &err), 0);
    weft__state_free(s.now);
    weft__pool_close(&p, false);
    p = (struct weft_pool){.one = one, .open = open_one, .ctx = &w, .work = folder, .jobs = 1};
    assert_int_equal(weft__pool_open(&p, 1, &err), 0);
    assert_true(p.nknown > 0);
    weft__pool_close(&p, false);
    p = (struct weft_pool){.one = one, .open = open_one, .ctx = &w, .work = folder, .jobs = 1};
    assert_int_equal(weft__pool_open(&p, 2, &err), 0);
    assert_int_equal(p.nknown, 0);
    weft__pool_close(&p, true);
}

static int one_dies(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) {
    (void)ctx, (void)c, (void)dir, (void)out, (void)err;
    abort();
}
static int one_errs(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) {
    (void)ctx, (void)c, (void)dir, (void)out;
    return weft__err(err, ENOSPC, "no space");
}

/* A judge that fails is an error, not a verdict. */
static void errors(void **state) {
    (void)state;
    struct weft_err err;
    for (int i = 0; i < 2; i++) {
        struct weft_pool p = {.one = i ? one_errs : one_dies, .open = open_one, .work = folder, .jobs = 2};
        struct weft_search s = {.judge = &p.judge, .now = program(3, 2), .repeats = all_loops, .clock = weft__now_us};
        assert_int_equal(weft__pool_open(&p, 1, &err), 0);
        assert_int_equal(weft__search(&s, &err), i ? -ENOSPC : -EIO);
        weft__state_free(s.now);
        weft__pool_close(&p, true);
    }
}

/* Turns from blocks: each ends where the thread's next one begins; a slot that is used again is another thread. */
static void turns(void **state) {
    (void)state;
    struct weft_tree_thread list[] = {{.slot = 1, .from_tick = 1, .to_tick = 100, .to_site = 0x99, .to_done = true}, /* it was cut off */
                                      {.slot = 2, .from_tick = 1, .to_tick = 20, .ended = true},
                                      {.slot = 2, .from_tick = 30, .to_tick = 50, .ended = true}};
    struct weft_tree tree = {.list = list, .n = 3};
    struct weft_block b[] = {{.slot = 1, .from_tick = 1, .to_tick = 5},
                             {.slot = 2, .from_tick = 1, .to_tick = 10},
                             {.slot = 1, .from_tick = 7, .from_site = 0x70, .to_tick = 9},
                             {.slot = 2, .from_tick = 12, .from_site = 0x12, .to_tick = 30}, /* it starts, and does nothing yet */
                             {.slot = 1, .from_tick = 15, .to_tick = 19},
                             {.slot = 2, .from_tick = 30, .to_tick = 35},
                             {.slot = 1, .from_tick = 20, .to_tick = 90},
                             {.slot = 2, .from_tick = 40, .to_tick = 50}};
    struct weft_blocks blocks = {.list = b, .n = 8};
    static const struct {
        uint32_t thread, done;
        uint64_t tick, site;
    } expected[] = {{0, 0, 7, 0x70}, {1, 0, 12, 0x12}, {0, 0, 15, 0}, {1, 0, UINT64_MAX, 0}, {0, 0, 20, 0}, {2, 0, 40, 0}, {0, 1, 100, 0x99}, {2, 0, UINT64_MAX, 0}};
    struct weft_turn *t;
    assert_int_equal(weft__turns_of(&blocks, &tree, &t), 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(t[i].thread, expected[i].thread);
        assert_int_equal(t[i].done, expected[i].done);
        assert_int_equal(t[i].tick, expected[i].tick);
        assert_int_equal(t[i].site, expected[i].site);
    }
    t[1].thread = 0; /* three in a row become one, which goes as far as the last */
    assert_int_equal(weft__turns_join(t, 8), 6);
    assert_int_equal(t[0].tick, 15);
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(turns),           cmocka_unit_test(finds_the_least),     cmocka_unit_test(keeps_ancestors),
                                       cmocka_unit_test(side_by_side),    cmocka_unit_test(time_goes_by),        cmocka_unit_test(time_of_many),    cmocka_unit_test(time_comes_first), cmocka_unit_test(what_is_wanted),    cmocka_unit_test(time_of_who_waits),   cmocka_unit_test(asks_once),
                                       cmocka_unit_test(order_made_anew), cmocka_unit_test(stopped_elsewhere),
                                       cmocka_unit_test(nothing_can_go),  cmocka_unit_test(lockstep),            cmocka_unit_test(same_with_more_jobs),
                                       cmocka_unit_test(without_what_is_irrelevant),
                                       cmocka_unit_test(same_after_a_stop), cmocka_unit_test(another_search),    cmocka_unit_test(errors)};
    snprintf(folder, sizeof folder, "/tmp/weft-simplify-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
