/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The threads of a trace as a tree: who created whom. A slot may have had several threads, one after the other: the k-th START of a slot
 * with a certain parent's slot is the k-th creation in that slot's stream that names it. */
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define EXIT_GROUP 231 /* the system call */

struct made { /* a creation */
    uint32_t creator; /* index of the thread, as they were found */
    uint32_t slot, creator_slot;
    uint64_t tick;
};

struct find {
    const struct weft_order *order;
    struct weft_tree_thread *list; /* as they are found: by slot */
    uint32_t *parent_slot;
    size_t n, cap, pcap;
    struct made *made;
    size_t nmade, mcap;
    struct weft_pass *pass;
    size_t npasses, passcap;
    struct weft_removed_barrier *gone;
    size_t ngone;
};

static bool is_met(uint32_t kind) {
    return kind != WEFT_ITEM_NOTE && kind != WEFT_ITEM_REACHED && kind != WEFT_ITEM_LOST && kind != WEFT_ITEM_REPEAT && kind != WEFT_ITEM_LOOP;
}

/* The first loops of a thread are told apart by their frames; of functions that call themselves very deeply, the further ones only by site. */
static void rank_loops(struct weft_pass *pass, size_t npasses) {
    struct weft_pass *loop = NULL;
    uint32_t n = 0;
    size_t cap = 0;
    for (size_t k = 0; k < npasses; k++) {
        struct weft_pass *p = &pass[k];
        if (k && p->site == p[-1].site && p->frame == p[-1].frame) {
            p->rank = p[-1].rank;
            continue;
        }
        for (p->rank = 0; p->rank < n && (loop[p->rank].site != p->site || loop[p->rank].frame != p->frame);) p->rank++;
        if (p->rank == n && n >= WEFT_LOOPS_OWN) {
            p->frame = 0;
            for (p->rank = 0; p->rank < n && (loop[p->rank].site != p->site || loop[p->rank].frame);) p->rank++;
        }
        if (p->rank < n) continue;
        loop = weft__grow(loop, &cap, n + 1, sizeof *loop);
        loop[n++] = *p;
    }
    free(loop);
}

static void finish_passes(struct find *f) {
    if (!f->n || !f->npasses) return;
    struct weft_tree_thread *t = &f->list[f->n - 1];
    t->pass = weft__alloc(f->npasses * sizeof *t->pass);
    memcpy(t->pass, f->pass, f->npasses * sizeof *t->pass);
    t->npasses = f->npasses;
    f->npasses = 0;
    rank_loops(t->pass, t->npasses);
}

/* The thread is known to have come here. Sites of a tick are passed in an order that the trace does not tell: where it is not known either,
 * mostly upwards. */
static void came_to(const struct find *f, struct weft_tree_thread *t, uint64_t tick, uint64_t site, bool done) {
    int first = tick == t->to_tick ? weft__order_of(f->order, site, t->to_site) : 0;
    if (tick < t->to_tick || (tick == t->to_tick && (first ? first < 0 : site < t->to_site))) return;
    t->to_done = done || (tick == t->to_tick && site == t->to_site && t->to_done);
    t->to_tick = tick;
    t->to_site = site;
}

static void came_to_barrier(struct weft_tree_thread *t, uint64_t object, uint64_t rounds) {
    size_t k = 0;
    while (k < t->nbarriers && t->barrier[k].object != object) k++;
    if (k == t->nbarriers) {
        t->barrier = weft__resize(t->barrier, ++t->nbarriers * sizeof *t->barrier);
        t->barrier[k] = (struct weft_removed_barrier){object, 0};
    }
    t->barrier[k].rounds += rounds;
}

static struct weft_tree_thread *last_of(struct find *f, uint64_t slot) {
    for (size_t k = f->n; k-- > 0;)
        if (f->list[k].slot == slot) return &f->list[k];
    return NULL;
}

static void item(struct find *f, const struct weft_item *i) {
    uint64_t value[2];
    int64_t error = 0;
    if (i->kind == WEFT_ITEM_START) {
        finish_passes(f);
        f->list = weft__grow(f->list, &f->cap, f->n + 1, sizeof *f->list);
        f->parent_slot = weft__grow(f->parent_slot, &f->pcap, f->n + 1, sizeof *f->parent_slot);
        f->list[f->n] = (struct weft_tree_thread){.slot = i->slot, .from_tick = i->tick, .removed = i->op && i->size >= 8};
        if (i->size >= 8) memcpy(&f->list[f->n].value, i->data, 8);
        for (size_t at = 8; at + sizeof(struct weft_removed_barrier) <= i->size; at += sizeof(struct weft_removed_barrier)) {
            struct weft_removed_barrier b;
            memcpy(&b, i->data + at, sizeof b);
            if (i->op)
                came_to_barrier(&f->list[f->n], b.object, b.rounds);
            else {
                f->gone = weft__resize(f->gone, (f->ngone + 1) * sizeof *f->gone);
                f->gone[f->ngone++] = b;
            }
        }
        f->parent_slot[f->n++] = (uint32_t)i->op;
    }
    if (!f->n || f->list[f->n - 1].slot != i->slot) return;
    struct weft_tree_thread *t = &f->list[f->n - 1];
    bool edge = weft__item_is_edge(i->kind);
    came_to(f, t, i->tick, edge ? i->site : 0, !edge && is_met(i->kind));
    t->ended |= i->kind == WEFT_ITEM_EXIT || i->kind == WEFT_ITEM_CRASH || (i->kind == WEFT_ITEM_INPUT && i->op == EXIT_GROUP);
    t->events += is_met(i->kind);
    uint64_t times = 1;
    if (i->kind == WEFT_ITEM_REPEAT && i->size == 16) memcpy(&times, i->data + 8, 8);
    for (uint64_t n = 0; i->kind == WEFT_ITEM_REPEAT && i->size >= 8 && n < times && n < UINT32_MAX; n++) {
        f->pass = weft__grow(f->pass, &f->passcap, f->npasses + 1, sizeof *f->pass);
        struct weft_pass *p = &f->pass[f->npasses++];
        *p = (struct weft_pass){.tick = i->tick + n, .skip = (i->op & WEFT_REPEAT_LEFT_OUT) != 0, .flags = (uint32_t)i->op & 0xff & ~WEFT_REPEAT_LEFT_OUT,
                                .frame = (uint32_t)i->op >> WEFT_REPEAT_FRAME_SHIFT};
        memcpy(&p->site, i->data, 8);
    }
    if (i->kind != WEFT_ITEM_INPUT || i->size < 8) return;
    memcpy(&error, i->data, 8);
    if (i->op == WEFT_OP_THREAD_CREATE && i->size == 12) {
        uint32_t slot;
        memcpy(&slot, i->data + 8, 4);
        if (error) { /* the one before failed after all */
            if (f->nmade) f->nmade--;
        } else if (slot) {
            f->made = weft__grow(f->made, &f->mcap, f->nmade + 1, sizeof *f->made);
            f->made[f->nmade++] = (struct made){(uint32_t)f->n - 1, slot, i->slot, i->tick};
        }
    }
    if (i->op == WEFT_OP_BARRIER_WAIT && i->size == 16) {
        memcpy(value, i->data + 8, 8);
        came_to_barrier(t, value[0], 1);
    }
    if (i->op == WEFT_OP_THREAD_JOIN && i->size == 8 + sizeof value) {
        memcpy(value, i->data + 8, sizeof value);
        if (last_of(f, value[1])) last_of(f, value[1])->value = value[0];
    }
}

/* What other threads tell: values by joins, and how far it had come when the process ended. */
static int second_walk(struct weft_trace *t, struct find *f, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    int r;
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        uint64_t value[2], tick;
        if (i.kind == WEFT_ITEM_REACHED && i.size == 8) {
            struct weft_tree_thread *o = last_of(f, i.op);
            memcpy(&tick, i.data, 8);
            if (o && !o->ended) came_to(f, o, tick, 0, false);
        }
        if (weft__item_is_edge(i.kind)) {
            struct weft_tree_thread *o = last_of(f, i.other_slot);
            if (o && !o->ended) came_to(f, o, i.other_tick, i.other_site, i.kind == WEFT_ITEM_EDGE_DONE);
        }
        if (i.kind != WEFT_ITEM_INPUT || i.op != WEFT_OP_THREAD_JOIN || i.size != 8 + sizeof value) continue;
        memcpy(value, i.data + 8, sizeof value);
        for (size_t k = 0; k < f->n; k++)
            if (f->list[k].slot == value[1] && !f->list[k].removed) f->list[k].value = value[0];
    }
    weft__cursor_close(&c);
    return r;
}

/* Threads that were created, and had not begun when all was over. */
static void add_unborn(struct find *f) {
    size_t began = f->n;
    for (size_t m = 0; m < f->nmade; m++) {
        const struct made *x = &f->made[m];
        size_t creations = 0, starts = 0;
        uint64_t from = 0;
        for (size_t k = 0; k <= m; k++) creations += f->made[k].slot == x->slot && f->made[k].creator_slot == x->creator_slot;
        for (size_t k = 0; k < began; k++) {
            starts += f->list[k].slot == x->slot && f->parent_slot[k] == x->creator_slot;
            if (f->list[k].slot == x->slot && f->list[k].to_tick > from) from = f->list[k].to_tick;
        }
        if (creations <= starts) continue;
        f->list = weft__grow(f->list, &f->cap, f->n + 1, sizeof *f->list);
        f->parent_slot = weft__grow(f->parent_slot, &f->pcap, f->n + 1, sizeof *f->parent_slot);
        f->list[f->n] = (struct weft_tree_thread){.slot = x->slot, .from_tick = from + 1, .to_tick = from + 1, .unborn = true};
        f->parent_slot[f->n++] = x->creator_slot;
    }
}

/* Found index of the parent of the k-th thread; also when that created it. */
static uint32_t parent_of(const struct find *f, size_t k) {
    size_t nth = 0;
    for (size_t i = 0; i < k; i++) nth += f->list[i].slot == f->list[k].slot && f->parent_slot[i] == f->parent_slot[k];
    for (size_t i = 0; i < f->nmade; i++)
        if (f->made[i].slot == f->list[k].slot && f->made[i].creator_slot == f->parent_slot[k] && !nth--) {
            f->list[k].made_tick = f->made[i].tick;
            return f->made[i].creator;
        }
    return NONE;
}

/* Parents first. */
static int order(struct find *f, struct weft_tree *out, struct weft_trace *t, struct weft_err *err) {
    uint32_t *parent = weft__alloc((f->n + 1) * sizeof *parent), *number = weft__alloc((f->n + 1) * sizeof *number);
    size_t left = f->n, was;
    int r = 0;
    for (size_t k = 0; k < f->n; k++) parent[k] = f->parent_slot[k] ? parent_of(f, k) : NONE, number[k] = NONE;
    out->list = weft__alloc((f->n + 1) * sizeof *out->list);
    do {
        was = left;
        for (size_t k = 0; k < f->n; k++) {
            if (number[k] != NONE || (f->parent_slot[k] && (parent[k] == NONE || number[parent[k]] == NONE))) continue;
            if (!f->parent_slot[k] && out->n) continue; /* a second main thread: a child process's */
            struct weft_tree_thread *x = &out->list[out->n];
            *x = f->list[k];
            f->list[k].pass = NULL;
            f->list[k].barrier = NULL;
            x->parent = f->parent_slot[k] ? number[parent[k]] : 0;
            x->level = f->parent_slot[k] ? out->list[x->parent].level + 1 : 0;
            number[k] = (uint32_t)out->n++;
            left--;
        }
    } while (left && left < was);
    if (left || !out->n) r = weft__err(err, EBADMSG, "%s: a thread starts that nobody created", t->dir);
    free(parent);
    free(number);
    return r;
}

int weft__tree_make(struct weft_trace *t, const struct weft_order *sites, struct weft_tree *out, struct weft_err *err) {
    struct find f = {.order = sites};
    *out = (struct weft_tree){0};
    int r = weft__trace_index(t, err);
    for (uint32_t s = 1; r == 0 && s <= t->index_top; s++) {
        struct weft_cursor c;
        struct weft_item i;
        if (t->index_slot[s] == t->index_slot[s + 1]) continue;
        weft__cursor_open(&c, t, s);
        while ((r = weft__cursor_next(&c, &i, err)) > 0) item(&f, &i);
        weft__cursor_close(&c);
        finish_passes(&f);
    }
    if (r == 0) r = second_walk(t, &f, err);
    if (r == 0) add_unborn(&f);
    if (r == 0) r = order(&f, out, t, err);
    for (size_t k = 0; k < f.n; k++) {
        free(f.list[k].pass);
        free(f.list[k].barrier);
    }
    out->gone = f.gone;
    out->ngone = f.ngone;
    free(f.list);
    free(f.parent_slot);
    free(f.made);
    free(f.pass);
    if (r < 0) weft__tree_fini(out);
    return r;
}

void weft__tree_fini(struct weft_tree *t) {
    for (size_t i = 0; i < t->n; i++) {
        free(t->list[i].pass);
        free(t->list[i].barrier);
    }
    free(t->list);
    free(t->gone);
    *t = (struct weft_tree){0};
}

uint32_t weft__tree_at(const struct weft_tree *t, uint32_t slot, uint64_t tick) {
    uint32_t best = NONE;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->list[i].slot == slot && (best == NONE || (t->list[i].from_tick <= tick && t->list[i].from_tick > t->list[best].from_tick))) best = i;
    return best;
}
