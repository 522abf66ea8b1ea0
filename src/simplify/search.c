/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is left out, in rounds, as long as threads, iterations or switches go away:
 *
 *   threads      level by level of the thread tree, delta debugging over the threads of a level; descendants go along (LEAN's
 *                algorithms 1 and 2)
 *   iterations   for each thread and loop, delta debugging over the iterations (algorithm 4). Before that, what is cheap and takes most
 *                away: all of them; the n-th one of all loops of a thread that go side by side; the n-th one of every thread (they
 *                wait for each other: a barrier, a queue); of different loops in different threads, too, that come to as many (one
 *                sends, one receives); all of a thread
 *   switches     changes of turns (order.c). What of these is cheap comes first of all, and so do threads in large pieces. If none of
 *                these can go, each thread by itself is asked about last: a program that counts its threads answers no every time
 *
 * At last, with what is left:
 *
 *   slice        all turns in which nothing happens that the failure depends on are left out at once; if it still fails, switches again
 *
 * Each delta debugging asks about candidates from one recording; the last one that failed is the next recording. */
#include "simplify/simplify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const weft__technique_name[WEFT_TECHNIQUES] = {"threads", "iterations", "switches", "slice"};

void weft__tell(struct weft_search *s) {
    if (s->progress) s->progress(s);
}

void weft__adopt(struct weft_search *s, struct weft_state *with) {
    if (!with) return;
    weft__state_free(s->now);
    s->now = with;
    weft__tell(s);
}

int weft__ask(struct weft_search *s, const struct weft_question *q, size_t *which, struct weft_state **out, struct weft_err *err) {
    struct weft_effort *e = &s->effort[s->technique];
    uint64_t begun = s->clock();
    e->rounds++;
    int r = s->judge->first(s->judge, q, &e->answers, which, out, err);
    e->time_us += s->clock() - begun;
    return r;
}

/* ---- delta debugging over parts of s->now ---- */

struct items {
    struct weft_search *s;
    size_t n;
    struct item {
        uint32_t thread;
        size_t pass;  /* SIZE_MAX: the thread */
        size_t group; /* what delta debugging knows it as */
    } *list;
    size_t count, cap;
    const struct weft_ddmin *d;
    bool *in;
    struct weft_state *best; /* NULL: none */
};

static void add(struct items *it, uint32_t thread, size_t pass, size_t group) {
    it->list = weft__grow(it->list, &it->cap, it->count + 1, sizeof *it->list);
    it->list[it->count++] = (struct item){thread, pass, group};
    if (group >= it->n) it->n = group + 1;
}

static void make_without(void *ctx, size_t k, struct weft_candidate *c) {
    struct items *it = ctx;
    weft__ddmin_set(it->d, k, it->in, it->n);
    for (size_t i = 0; i < it->count; i++) {
        if (it->in[it->list[i].group]) continue;
        struct weft_tree_thread *t = &c->tree.list[it->list[i].thread];
        if (it->list[i].pass == SIZE_MAX)
            t->removed = true;
        else
            t->pass[it->list[i].pass].skip = 1;
    }
    weft__candidate_close(c);
}

static int first_of(void *ctx, const struct weft_ddmin *d, size_t n, size_t *which, struct weft_err *err) {
    struct items *it = ctx;
    struct weft_state *found = NULL;
    it->d = d;
    int r = weft__ask(it->s, &(struct weft_question){.from = it->s->now, .n = n, .make = make_without, .ctx = it}, which, &found, err);
    if (r == 0 && *which < n) {
        weft__state_free(it->best);
        it->best = found;
    }
    return r;
}

/* parts: no smaller ones; 0: only all of them at once. Frees the items. *gone: something went away. */
static int without(struct items *it, size_t parts, bool *gone, struct weft_err *err) {
    bool *keep = weft__alloc(it->n + 1);
    int r = 0;
    size_t which;
    memset(keep, 1, it->n);
    it->in = weft__alloc(it->n + 1);
    if (it->n && !parts) r = first_of(it, &(struct weft_ddmin){0}, 1, &which, err);
    if (it->n && parts) r = weft__ddmin(keep, it->n, parts, first_of, it, err);
    if (it->best) *gone = true;
    weft__adopt(it->s, it->best);
    free(keep);
    free(it->in);
    free(it->list);
    return r;
}

/* ---- threads ---- */

static int by_threads(struct weft_search *s, size_t parts, bool *gone, struct weft_err *err) {
    s->technique = WEFT_BY_THREADS;
    weft__tell(s);
    for (uint32_t level = 1;; level++) {
        struct items it = {.s = s};
        bool deeper = false;
        for (uint32_t i = 1; i < s->now->tree.n; i++) {
            const struct weft_tree_thread *t = &s->now->tree.list[i];
            deeper |= t->level > level && !t->removed;
            if (t->level == level && !t->removed && !t->unborn) add(&it, i, SIZE_MAX, it.count);
        }
        int r = without(&it, parts, gone, err);
        if (r < 0 || !deeper) return r;
    }
}

/* ---- iterations ---- */

struct loop { /* of a thread */
    const struct weft_pass *first;
    size_t count;    /* iterations that are not left out, and may be */
    size_t row;      /* the longest row of them: until a loop around it goes on */
    bool whole_rows; /* all are that long, but the last one may have been cut short */
    size_t inside;   /* of which loop, + 1; 0: none */
    size_t now, number;
};

/* A function that calls itself comes to a loop of its own in every frame. */
static bool same_loop(const struct weft_pass *a, const struct weft_pass *b) { return a->site == b->site && a->frame == b->frame; }

/* In the order in which the thread first came to them; *of: by iteration, its loop, or SIZE_MAX. Both are new memory. */
static size_t loops_in(struct weft_search *s, const struct weft_tree_thread *t, struct loop **out, size_t **of) {
    struct loop *l = NULL;
    size_t n = 0, cap = 0;
    *of = weft__alloc((t->npasses + 1) * sizeof **of);
    for (size_t k = 0; k < t->npasses; k++) {
        size_t i = 0;
        (*of)[k] = SIZE_MAX;
        if (t->pass[k].skip || !s->repeats(s->ctx, &t->pass[k])) continue;
        while (i < n && !same_loop(l[i].first, &t->pass[k])) i++;
        if (i == n) {
            l = weft__grow(l, &cap, n + 1, sizeof *l);
            l[n++] = (struct loop){.first = &t->pass[k], .whole_rows = true};
        }
        /* One that began before goes on: it is around those that began later. */
        for (size_t j = i + 1; j < n; j++) {
            if (l[j].now) l[j].inside = i + 1;
            if (l[j].now && l[j].row && l[j].now != l[j].row) l[j].whole_rows = false;
            if (l[j].now > l[j].row) l[j].row = l[j].now;
            l[j].now = 0;
        }
        l[i].count++;
        l[i].now++;
        (*of)[k] = i;
    }
    for (size_t i = 0; i < n; i++) {
        if (l[i].row && l[i].now > l[i].row) l[i].whole_rows = false;
        if (!l[i].row) l[i].row = l[i].now;
    }
    *out = l;
    return n;
}

/* The children that the thread created in the k-th iteration, as far as the ticks tell. */
static void add_children(struct items *it, uint32_t thread, size_t k, size_t group) {
    const struct weft_tree *tree = &it->s->now->tree;
    const struct weft_tree_thread *t = &tree->list[thread];
    uint64_t to = UINT64_MAX;
    for (size_t j = k + 1; j < t->npasses && to == UINT64_MAX; j++)
        if (same_loop(&t->pass[j], &t->pass[k])) to = t->pass[j].tick;
    for (uint32_t i = 1; i < tree->n; i++) {
        const struct weft_tree_thread *o = &tree->list[i];
        if (o->parent == thread && !o->removed && o->made_tick >= t->pass[k].tick && o->made_tick < to) add(it, i, SIZE_MAX, group);
    }
}

/* Whether it is one of those that count to n, and not around another one. */
static bool counts_to(const struct loop *l, size_t loops, size_t i, size_t n) {
    bool yes = l[i].whole_rows && l[i].row == n;
    for (size_t j = 0; j < loops && yes; j++) yes = l[j].inside != i + 1 || !l[j].whole_rows || l[j].row != n;
    return yes;
}

/* Loops over the same things: one creates the threads, others send them work and join them. The n-th iteration of all these goes away, and
 * the thread that it created with it. Loops are taken to be such if one counts to n, and the others do so too, maybe again and again. */
static int side_by_side(struct weft_search *s, uint32_t thread, size_t parts, bool *gone, struct weft_err *err) {
    size_t last = 1;
    for (;;) {
        int r = 0;
        if (thread >= s->now->tree.n || s->now->tree.list[thread].removed) return 0;
        const struct weft_tree_thread *t = &s->now->tree.list[thread];
        struct items it = {.s = s};
        struct loop *l;
        size_t n = SIZE_MAX, loops = 0, *of, all = loops_in(s, t, &l, &of);
        for (size_t i = 0; i < all; i++)
            if (l[i].count > last && l[i].count < n) n = l[i].count;
        for (size_t k = 0; k < t->npasses && n != SIZE_MAX; k++) {
            struct loop *x = of[k] == SIZE_MAX ? NULL : &l[of[k]];
            if (!x || !counts_to(l, all, of[k], n)) continue;
            loops += x->number == 0;
            add(&it, thread, k, x->number % n);
            if (x->count == n) add_children(&it, thread, k, x->number % n);
            x->number++;
        }
        free(l);
        free(of);
        last = n;
        if (loops > 1)
            r = without(&it, parts, gone, err);
        else
            free(it.list);
        if (r < 0 || n == SIZE_MAX) return r;
    }
}

/* Iterations of a thread that are not left out yet; of one loop, or of all (NULL). By number, if `together`; otherwise each by itself. */
static void add_passes(struct items *it, uint32_t thread, const struct weft_pass *loop, bool together) {
    struct weft_search *s = it->s;
    const struct weft_tree_thread *t = &s->now->tree.list[thread];
    size_t number = 0;
    if (t->removed) return;
    for (size_t k = 0; k < t->npasses; k++) {
        if (t->pass[k].skip || (loop && !same_loop(loop, &t->pass[k])) || !s->repeats(s->ctx, &t->pass[k])) continue;
        add(it, thread, k, together ? number++ : it->count);
    }
}

/* The loop whose first iteration in this thread comes first after those in `done`; all threads if thread is UINT32_MAX. */
static bool next_loop(struct weft_search *s, uint32_t thread, const struct weft_pass *done, size_t n, struct weft_pass *out) {
    for (uint32_t i = 0; i < s->now->tree.n; i++) {
        const struct weft_tree_thread *t = &s->now->tree.list[i];
        if (t->removed || (thread != UINT32_MAX && i != thread)) continue;
        for (size_t k = 0; k < t->npasses; k++) {
            bool was = t->pass[k].skip || !s->repeats(s->ctx, &t->pass[k]);
            for (size_t j = 0; j < n && !was; j++) was = same_loop(&done[j], &t->pass[k]);
            if (was) continue;
            *out = t->pass[k];
            return true;
        }
    }
    return false;
}

static int loops_of(struct weft_search *s, uint32_t thread, size_t parts, bool *gone, struct weft_err *err) {
    struct weft_pass *done = NULL, loop;
    size_t n = 0, cap = 0;
    int r = 0;
    while (r == 0 && next_loop(s, thread, done, n, &loop)) {
        struct items it = {.s = s};
        done = weft__grow(done, &cap, n + 1, sizeof *done);
        done[n++] = loop;
        for (uint32_t i = 0; i < s->now->tree.n; i++)
            if (thread == UINT32_MAX || i == thread) add_passes(&it, i, &loop, thread == UINT32_MAX);
        r = without(&it, parts, gone, err);
    }
    free(done);
    return r;
}

/* Loops of several threads that come to n, or, cut short by the failure, to one less: the k-th iteration of all of them goes away. */
static int in_step(struct weft_search *s, size_t parts, bool *gone, struct weft_err *err) {
    for (size_t n = SIZE_MAX;;) {
        struct items it = {.s = s};
        size_t most = 1, sites = 0;
        uint32_t threads = 0;
        for (int found = 0; found < 2; found++) /* first how many, then which */
            for (uint32_t i = 0; i < s->now->tree.n; i++) {
                const struct weft_tree_thread *t = &s->now->tree.list[i];
                struct loop *l;
                size_t *of, all = t->removed ? 0 : loops_in(s, t, &l, &of);
                if (t->removed) continue;
                for (size_t k = 0; k < all && !found; k++)
                    if (l[k].count < n && l[k].count > most) most = l[k].count;
                size_t before = it.count;
                for (size_t k = 0; k < t->npasses && found; k++) {
                    struct loop *x = of[k] == SIZE_MAX ? NULL : &l[of[k]];
                    if (!x || x->count > most || x->count + 1 < most) continue;
                    sites += it.count == 0 || x->first->site != s->now->tree.list[it.list[0].thread].pass[it.list[0].pass].site;
                    add(&it, i, k, x->number++);
                }
                threads += it.count > before;
                free(l);
                free(of);
            }
        n = most;
        int r = 0;
        if (n > 1 && threads > 1 && sites > 1)
            r = without(&it, parts, gone, err);
        else
            free(it.list);
        if (r < 0 || n == 1) return r;
    }
}

static int by_iterations(struct weft_search *s, size_t parts, bool *gone, struct weft_err *err) {
    struct items all = {.s = s};
    s->technique = WEFT_BY_ITERATIONS;
    weft__tell(s);
    for (uint32_t i = 0; i < s->now->tree.n; i++) add_passes(&all, i, NULL, false);
    if (!all.count) return 0;
    int r = without(&all, 0, gone, err);
    for (uint32_t i = 0; r == 0 && i < s->now->tree.n; i++)
        if (!s->now->tree.list[i].removed) r = side_by_side(s, i, parts, gone, err);
    if (r == 0) r = loops_of(s, UINT32_MAX, parts, gone, err);
    if (r == 0) r = in_step(s, parts, gone, err);
    for (uint32_t i = 0; r == 0 && i < s->now->tree.n; i++) {
        struct items own = {.s = s};
        add_passes(&own, i, NULL, false);
        r = without(&own, 0, gone, err);
        if (r == 0) r = loops_of(s, i, parts, gone, err);
    }
    return r;
}

/* ---- what the failure does not depend on ---- */

static void make_relevant(void *ctx, size_t k, struct weft_candidate *c) {
    const bool *relevant = ctx;
    size_t n = 0;
    (void)k;
    for (size_t i = 0; i < c->nturns; i++)
        if (relevant[i]) c->turns[n++] = c->turns[i];
    c->nturns = n;
    weft__candidate_close(c);
}

static int by_slice(struct weft_search *s, bool *changed, struct weft_err *err) {
    struct weft_state *found = NULL;
    size_t which, left = 0;
    *changed = false;
    if (!s->relevant) return 0;
    s->technique = WEFT_BY_SLICE;
    weft__tell(s);
    bool *relevant = weft__alloc(s->now->nturns + 1);
    uint64_t begun = s->clock();
    int r = s->relevant(s->ctx, s->now, relevant, err);
    s->effort[WEFT_BY_SLICE].time_us += s->clock() - begun;
    for (size_t i = 0; i < s->now->nturns; i++) left += relevant[i];
    if (r == 0 && left < s->now->nturns)
        r = weft__ask(s, &(struct weft_question){.from = s->now, .n = 1, .make = make_relevant, .ctx = relevant, .wanted = WEFT_FEWER}, &which, &found, err);
    *changed = found != NULL;
    weft__adopt(s, found);
    free(relevant);
    return r < 0 ? r : 0;
}

static void make_detailed(void *ctx, size_t k, struct weft_candidate *c) {
    (void)ctx;
    (void)k;
    c->plain = false;
    weft__candidate_close(c);
}

/* The same run once more, with its iterations. */
static int in_detail(struct weft_search *s, struct weft_err *err) {
    struct weft_state *found = NULL;
    size_t which;
    if (!s->now->plain) return 0;
    int r = weft__ask(s, &(struct weft_question){.from = s->now, .n = 1, .make = make_detailed, .wanted = WEFT_ANY}, &which, &found, err);
    weft__adopt(s, found);
    return r;
}

int weft__search(struct weft_search *s, struct weft_err *err) {
    bool gone = true, hopeless = false;
    int r = 0;
    weft__places_find(s);
    while (r == 0 && gone) {
        gone = false;
        if (!s->round++) {
            if (s->now->plain) r = weft__by_halves(s, err); /* each run takes long: what makes the others shorter */
            if (r == 0 && s->now->plain) r = weft__by_time(s, err);
            if (r == 0) r = by_threads(s, WEFT_COARSE, &gone, err);
            if (r == 0) r = weft__by_order(s, err);
            if (r == 0) r = weft__by_time(s, err);
            if (r == 0) r = weft__by_pairs(s, true, &gone, err);
            hopeless = !gone; /* it seems that all threads are needed: each by itself is asked about last */
        } else
            r = weft__by_pairs(s, true, &gone, err);
        if (r == 0 && !hopeless) r = by_threads(s, SIZE_MAX, &gone, err);
        if (r == 0) r = in_detail(s, err);
        if (r == 0) r = by_iterations(s, WEFT_COARSE, &gone, err); /* what can go in one way only is not asked about one by one in the others */
        if (r == 0) r = by_iterations(s, SIZE_MAX, &gone, err);
        struct weft_size was = s->now->size, before;
        do { /* with fewer switches, time may go that was needed before; a bit of it is no reason to ask about everything once more */
            before = s->now->size;
            if (r == 0) r = weft__by_time(s, err);
            if (r == 0) r = weft__by_switches(s, err);
        } while (r == 0 && s->now->size.iterations < before.iterations - before.iterations / 8);
        gone |= weft__size_fewer(&s->now->size, &was); /* with another order, other threads may be needed */
        if (r == 0 && hopeless && !gone) r = by_threads(s, SIZE_MAX, &gone, err);
        if (r == 0 && !gone) r = weft__by_pairs(s, false, &gone, err);
        if (r == 0 && !gone) r = weft__by_places(s, &gone, err); /* the last resort */
    }
    bool changed = r == 0;
    while (r == 0 && changed) {
        r = by_slice(s, &changed, err);
        if (r == 0 && changed) r = weft__by_switches(s, err);
    }
    free(s->places);
    s->places = NULL;
    return r;
}
