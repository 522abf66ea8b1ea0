/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A recording as the search sees it: its thread tree, the iterations that its threads passed, and its order as turns. And candidates:
 * copies of these in which more is left out. */
#include "simplify/simplify.h"

#include <stdlib.h>
#include <string.h>

static void copy_tree(const struct weft_tree *from, struct weft_tree *to) {
    *to = (struct weft_tree){.list = weft__alloc((from->n + 1) * sizeof *to->list), .n = from->n};
    memcpy(to->list, from->list, from->n * sizeof *to->list);
    to->gone = weft__alloc((from->ngone + 1) * sizeof *to->gone);
    to->ngone = from->ngone;
    if (to->ngone) memcpy(to->gone, from->gone, to->ngone * sizeof *to->gone);
    for (size_t i = 0; i < to->n; i++) {
        to->list[i].pass = weft__alloc((to->list[i].npasses + 1) * sizeof *to->list[i].pass);
        if (to->list[i].npasses) memcpy(to->list[i].pass, from->list[i].pass, to->list[i].npasses * sizeof *to->list[i].pass);
        to->list[i].barrier = weft__alloc((to->list[i].nbarriers + 1) * sizeof *to->list[i].barrier);
        if (to->list[i].nbarriers) memcpy(to->list[i].barrier, from->list[i].barrier, to->list[i].nbarriers * sizeof *to->list[i].barrier);
    }
}

/* Threads that were removed do nothing: they do not count. Nor do those that had not begun: where a program makes a thread for what nobody is free to
 * do, the next one comes in place of each that is removed. */
static void measure(struct weft_state *s, const struct weft_blocks *b) {
    const struct weft_block *last = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const struct weft_block *o = &b->list[i];
        uint32_t t = weft__tree_at(&s->tree, o->slot, o->from_tick);
        if (t < s->tree.n && s->tree.list[t].removed && o->to_tick <= s->tree.list[t].to_tick) continue;
        if (last && last->slot != o->slot) {
            s->size.switches++;
            s->size.preemptive += last->preempted;
        }
        last = o;
    }
    for (size_t i = 0; i < s->tree.n; i++) {
        const struct weft_tree_thread *t = &s->tree.list[i];
        s->size.ticks += t->to_tick - t->from_tick;
        if (t->removed) continue;
        s->size.threads += !t->unborn;
        s->size.events += t->events;
        for (size_t k = 0, same = 0; k < t->npasses; k++) {
            if (k && t->pass[k].site != t->pass[k - 1].site) same = 0;
            same += !t->pass[k].skip;
            s->size.iterations += !t->pass[k].skip;
            if (i && same > s->size.most_iterations) s->size.most_iterations = same;
        }
    }
}

int weft__state_new(struct weft_trace *t, const struct weft_order *order, uint64_t id, struct weft_state **out, struct weft_err *err) {
    struct weft_state *s = weft__alloc(sizeof *s);
    struct weft_blocks b = {0};
    struct weft_counts counts;
    *s = (struct weft_state){.id = id, .t = t, .dir = weft__strdup(t->dir)};
    int r = weft__trace_check(t, &counts, err);
    if (r == 0) r = weft__tree_make(t, order, &s->tree, err);
    if (r == 0) r = weft__blocks_make(t, order, &b, NULL, NULL, err);
    if (r == 0) {
        s->nturns = weft__turns_of(&b, &s->tree, &s->turns);
        s->size.bytes = counts.stream_bytes;
        measure(s, &b);
        *out = s;
    } else
        weft__state_free(s);
    weft__blocks_fini(&b);
    return r;
}

void weft__state_free(struct weft_state *s) {
    if (!s) return;
    weft__trace_close(s->t);
    weft__tree_fini(&s->tree);
    free(s->turns);
    free(s->dir);
    free(s);
}

void weft__candidate_init(struct weft_candidate *c, const struct weft_state *from) {
    *c = (struct weft_candidate){.from = from, .nturns = from->nturns, .plain = from->plain};
    copy_tree(&from->tree, &c->tree);
    c->turns = weft__alloc((from->nturns + 1) * sizeof *c->turns);
    if (from->nturns) memcpy(c->turns, from->turns, from->nturns * sizeof *c->turns);
}

void weft__candidate_close(struct weft_candidate *c) {
    size_t n = 0;
    for (size_t i = 1; i < c->tree.n; i++) c->tree.list[i].removed |= c->tree.list[c->tree.list[i].parent].removed;
    for (size_t i = 0; i < c->nturns; i++) {
        struct weft_turn *t = &c->turns[i];
        const struct weft_tree_thread *x = &c->tree.list[t->thread], *was = &c->from->tree.list[t->thread];
        if (x->removed) continue;
        /* In an iteration that is left out now: it ends where that would have begun. */
        if (t->known && t->pass && t->pass <= x->npasses && x->pass[t->pass - 1].skip && !was->pass[t->pass - 1].skip) t->site = t->op = t->op_nth = t->where = t->nth = t->after = 0;
        c->turns[n++] = *t;
    }
    c->nturns = weft__turns_join(c->turns, n);
}

void weft__candidate_fini(struct weft_candidate *c) {
    weft__tree_fini(&c->tree);
    free(c->turns);
    *c = (struct weft_candidate){0};
}

uint64_t weft__candidate_hash(const struct weft_candidate *c) {
    uint64_t h = weft_hash(&c->from->id, sizeof c->from->id);
    h = weft_hash_more(h, &(uint64_t){c->plain}, 8);
    h = weft_hash_more(h, &(uint64_t){c->wanted}, 8);
    for (size_t i = 0; i < c->tree.n; i++) {
        const struct weft_tree_thread *t = &c->tree.list[i];
        h = weft_hash_more(h, &(uint64_t){t->removed}, 8);
        for (size_t k = 0; k < t->npasses; k++)
            if (t->pass[k].skip) h = weft_hash_more(h, &(uint64_t){k}, 8);
    }
    for (size_t i = 0; i < c->nturns; i++) h = weft_hash_more(h, &c->turns[i], sizeof c->turns[i]);
    return weft_hash(&h, sizeof h);
}

uint64_t weft__candidate_program(const struct weft_candidate *c) {
    uint64_t h = weft_hash(&(uint64_t){c->tree.n}, 8);
    for (size_t i = 0; i < c->tree.n; i++) {
        const struct weft_tree_thread *t = &c->tree.list[i];
        h = weft_hash_more(h, &(uint64_t){(uint64_t)t->parent << 1 | t->removed}, 8);
        for (size_t k = 0; k < t->npasses; k++) h = weft_hash_more(h, &(uint64_t){t->pass[k].site << 1 | t->pass[k].skip}, 8);
    }
    return weft_hash(&h, sizeof h) | 1;
}

bool weft__candidate_whole(const struct weft_candidate *c) {
    for (size_t i = 0; i < c->tree.n; i++) {
        const struct weft_tree_thread *t = &c->tree.list[i], *was = &c->from->tree.list[i];
        if (t->removed != was->removed) return false;
        for (size_t k = 0; k < t->npasses; k++)
            if (t->pass[k].skip != was->pass[k].skip) return false;
    }
    return true;
}

bool weft__size_fewer(const struct weft_size *a, const struct weft_size *b) {
    if (a->threads > b->threads || a->iterations > b->iterations) return false;
    return a->preemptive != b->preemptive ? a->preemptive < b->preemptive : a->switches < b->switches;
}
bool weft__size_wanted(enum weft_wanted wanted, const struct weft_size *a, const struct weft_size *b) {
    if (wanted == WEFT_ANY) return true;
    if (wanted == WEFT_FEWER) return weft__size_fewer(a, b);
    if (wanted == WEFT_NEAR) return a->threads <= b->threads && a->iterations <= 2 * b->iterations + 64;
    if (wanted == WEFT_LESS_THREADS) return a->threads < b->threads;
    return a->threads != b->threads ? a->threads < b->threads : a->iterations < b->iterations;
}
