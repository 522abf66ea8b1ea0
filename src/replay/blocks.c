/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The edges of a trace are a partial order. People, and stages that count context switches, want one sequence: blocks, each a
 * thread and how far it runs. This makes one with few switches, always the same for the same trace.
 *
 * The rule. A thread runs until it stands at an edge whose other end has not been passed. Then the thread that it waits for runs, or,
 * if that one cannot go on, the one that it waits for in turn. When a thread is at its end, the one that ran before it and can go on
 * does; else the one with the lowest number. So blocks are as long as the order allows, but it is a greedy rule: another choice at an
 * earlier switch may give fewer. Of traces with at most SMALL items in which it preempts a thread, an order with fewer preemptions is looked
 * for (fewest.c), and taken if there is one.
 *
 * A switch is *preemptive* if the thread that stops could have gone on without the edge: it stands before an access to memory (the
 * edge has a site). Before an operation of the runtime (site 0: a lock, a join, a call of libc) or at its end, it is not: what it does
 * there may wait by itself. A trace does not tell whether a lock was taken at that moment.
 *
 * Within a tick, sites are passed in an order that the trace tells only where the thread has edges there. A position in the tick in
 * which a thread stands counts as passed if it is one of these, or is known to come before where it stands (order.c); where that is not
 * known, if it lies at a lower address (there is no way back within a tick, and code is mostly laid out as it runs), or if nobody could go
 * on otherwise.
 *
 * Memory does not grow with the trace, if that is not small, but for the blocks: each slot has a cursor. */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 20000u
#define PREEMPTIVE 24u /* in the order that is looked for, at most */

struct lane {
    struct weft_cursor c;
    struct weft_item next; /* the item that it stands at */
    bool open, over;
    uint64_t *sites;       /* of its edges in the tick of `next` that are behind it */
    size_t nsites, cap;
    size_t ran;            /* number of its last block */
    uint64_t done;         /* items */
};

struct build {
    struct weft_trace *t;
    const struct weft_order *order;
    struct weft_blocks *out;
    struct lane *lanes; /* by slot */
    uint32_t top;
    weft_event_fn *event;
    void *ctx;
};

static int advance(struct lane *l, struct weft_err *err) {
    uint64_t tick = l->next.tick;
    int r = weft__cursor_next(&l->c, &l->next, err);
    if (r < 0) return r;
    l->over = r == 0;
    if (l->over || l->next.tick != tick) l->nsites = 0;
    return 0;
}

/* Whether the lane has passed the position that the edge waits for. 1: yes; 0: no; -1: the trace does not tell. */
static int passed(const struct weft_order *order, const struct lane *o, const struct weft_item *e) {
    if (!o->open || o->over || o->next.tick > e->other_tick) return 1;
    if (o->next.tick < e->other_tick) return 0;
    size_t met = 0;
    for (size_t i = 0; i < o->nsites; i++) met += o->sites[i] == e->other_site;
    bool here = weft__item_is_edge(o->next.kind) && o->next.site == e->other_site;
    if (here) /* it stands at the very position */
        return e->kind == WEFT_ITEM_EDGE || (e->kind == WEFT_ITEM_EDGE_STEP && met >= e->op);
    if (met) return 1;
    if (!e->other_site && e->kind != WEFT_ITEM_EDGE_DONE) return 1; /* the tick itself: reached by whoever is in it */
    if (!weft__item_is_edge(o->next.kind)) return -1;
    int first = weft__order_of(order, e->other_site, o->next.site);
    return first ? first < 0 : e->other_site < o->next.site ? 1 : -1;
}

/* Whether the slot's thread can go on: as passed. It is not at its end. */
static int ready(const struct build *b, uint32_t slot) {
    const struct weft_item *e = &b->lanes[slot].next;
    if (!weft__item_is_edge(e->kind) || e->other_slot == slot || e->other_slot > b->top) return 1;
    return passed(b->order, &b->lanes[e->other_slot], e);
}

static bool has_more(const struct build *b, uint32_t slot) { return b->lanes[slot].open && !b->lanes[slot].over; }

/* Lets the lane go on as far as it can, until so many items are done. Gives how many it did now. */
static int64_t run(struct build *b, uint32_t slot, bool guess, uint64_t to, struct weft_err *err) {
    struct lane *l = &b->lanes[slot];
    struct weft_block *k = NULL;
    int64_t n = 0;
    while (!l->over && l->done < to) {
        bool edge = weft__item_is_edge(l->next.kind);
        int can = ready(b, slot);
        if (can == 0 || (can < 0 && !guess)) break;
        guess &= can > 0; /* one only */
        struct weft_blocks *o = b->out;
        if (!n && o->n && o->list[o->n - 1].slot == slot) /* it goes on */
            k = &o->list[o->n - 1];
        else if (!n) {
            o->list = weft__grow(o->list, &o->cap, o->n + 1, sizeof *o->list);
            k = &o->list[o->n++];
            *k = (struct weft_block){.slot = slot, .from_tick = l->next.tick, .from_site = edge ? l->next.site : 0, .first = o->events};
        }
        if (b->event) b->event(b->ctx, &l->next, b->out->n - 1);
        if (edge) {
            l->sites = weft__grow(l->sites, &l->cap, l->nsites + 1, sizeof *l->sites);
            l->sites[l->nsites++] = l->next.site;
        }
        k->to_tick = l->next.tick;
        k->to_site = edge ? l->next.site : 0;
        k->events++;
        b->out->events++;
        l->done++;
        n++;
        int r = advance(l, err);
        if (r < 0) return r;
    }
    if (n) {
        k->over = l->over;
        k->preempted = !l->over && l->next.site != 0;
        l->ran = b->out->n;
    }
    return n;
}

/* Who goes on after this one; 0: nobody for sure. */
static uint32_t choose(const struct build *b, uint32_t slot) {
    uint32_t best = 0;
    for (uint32_t hops = 0; hops <= b->top && has_more(b, slot); hops++) {
        if (ready(b, slot) == 1) return slot;
        slot = b->lanes[slot].next.other_slot;
    }
    for (uint32_t s = 1; s <= b->top; s++)
        if (has_more(b, s) && ready(b, s) == 1 && (!best || b->lanes[s].ran > b->lanes[best].ran)) best = s;
    return best;
}

/* Nobody can go on by what is known for sure: one that may. */
static uint32_t doubtful(const struct build *b) {
    for (uint32_t s = 1; s <= b->top; s++)
        if (has_more(b, s) && ready(b, s) < 0) return s;
    return 0;
}

static int go(struct build *b, struct weft_err *err) {
    uint32_t slot = 1;
    for (;;) {
        uint32_t s = choose(b, slot);
        bool guess = !s;
        if (!s) s = doubtful(b);
        if (!s) break;
        int64_t n = run(b, s, guess, UINT64_MAX, err);
        if (n < 0) return (int)n;
        if (!n) break;
        slot = s;
    }
    for (uint32_t s = 1; s <= b->top; s++) b->out->left += has_more(b, s);
    return 0;
}

static int open_lanes(struct build *b, struct weft_err *err) {
    int r = 0;
    b->lanes = weft__alloc(((size_t)b->top + 1) * sizeof *b->lanes);
    for (uint32_t s = 1; s <= b->top && r == 0; s++) {
        if (b->t->index_slot[s] == b->t->index_slot[s + 1]) continue;
        weft__cursor_open(&b->lanes[s].c, b->t, s);
        b->lanes[s].c.skim = true;
        b->lanes[s].open = true;
        r = advance(&b->lanes[s], err);
    }
    return r;
}

static void close_lanes(struct build *b) {
    for (uint32_t s = 1; s <= b->top; s++) {
        if (b->lanes[s].open) weft__cursor_close(&b->lanes[s].c);
        free(b->lanes[s].sites);
    }
    free(b->lanes);
}

/* As the greedy rule says, or as it is given. */
static int make(struct build *b, const struct weft_stretch *runs, size_t n, struct weft_err *err) {
    *b->out = (struct weft_blocks){0};
    int r = open_lanes(b, err);
    for (size_t i = 0; i < n && r == 0; i++) {
        int64_t did = run(b, runs[i].lane, false, runs[i].to, err);
        if (did < 0) r = (int)did;
    }
    if (r == 0) r = go(b, err); /* nothing is left to do, if there were runs */
    close_lanes(b);
    for (size_t i = 0; i + 1 < b->out->n; i++) b->out->preemptive += b->out->list[i].preempted;
    b->out->switches = b->out->n ? b->out->n - 1 : 0;
    if (r < 0) weft__blocks_fini(b->out);
    return r;
}

/* ---- an order with fewer preemptions ---- */

struct items {
    struct weft_item *list;
    size_t n, cap;
};

/* The number of items that the other one must have done, so that the edge's position is passed for sure. */
static uint32_t needed(const struct weft_order *order, const struct items *o, const struct weft_item *e) {
    struct lane l = {.open = true};
    size_t low = 0, high = o->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (o->list[mid].tick < e->other_tick)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < o->n; low++) {
        l.next = o->list[low];
        if (passed(order, &l, e) == 1) break;
        if (!weft__item_is_edge(l.next.kind)) continue;
        l.sites = weft__grow(l.sites, &l.cap, l.nsites + 1, sizeof *l.sites);
        l.sites[l.nsites++] = l.next.site;
    }
    free(l.sites);
    return (uint32_t)low;
}

static int fewest(const struct build *b, uint64_t most, struct weft_stretch **out, size_t *n, struct weft_err *err) {
    struct items *items = weft__alloc(((size_t)b->top + 1) * sizeof *items);
    struct weft_lane *lanes = weft__alloc(((size_t)b->top + 1) * sizeof *lanes);
    int r = 0;
    for (uint32_t s = 1; s <= b->top && r >= 0; s++) {
        struct weft_cursor c;
        struct weft_item i;
        struct items *x = &items[s];
        weft__cursor_open(&c, b->t, s);
        c.skim = true;
        while ((r = weft__cursor_next(&c, &i, err)) > 0) {
            x->list = weft__grow(x->list, &x->cap, x->n + 1, sizeof *x->list);
            x->list[x->n++] = i;
        }
        weft__cursor_close(&c);
    }
    for (uint32_t s = 1; s <= b->top && r >= 0; s++) {
        lanes[s] = (struct weft_lane){weft__alloc((items[s].n + 1) * sizeof *lanes[s].list), (uint32_t)items[s].n};
        for (size_t i = 0; i < items[s].n; i++) {
            const struct weft_item *e = &items[s].list[i];
            lanes[s].list[i].operation = e->kind == WEFT_ITEM_INPUT;
            if (!weft__item_is_edge(e->kind)) continue;
            bool other = e->other_slot != s && e->other_slot <= b->top && items[e->other_slot].n;
            lanes[s].list[i] = (struct weft_lane_step){e->other_slot, other ? needed(b->order, &items[e->other_slot], e) : 0, !e->site};
        }
    }
    if (r >= 0) *n = weft__fewest(lanes, (size_t)b->top + 1, most, out);
    for (uint32_t s = 1; s <= b->top; s++) {
        free(items[s].list);
        free(lanes[s].list);
    }
    free(items);
    free(lanes);
    return r < 0 ? r : 0;
}

int weft__blocks_make(struct weft_trace *t, const struct weft_order *order, struct weft_blocks *out, weft_event_fn *event, void *ctx,
                      struct weft_err *err) {
    struct weft_blocks greedy;
    struct build b = {.t = t, .order = order, .out = &greedy};
    struct weft_stretch *runs = NULL;
    size_t n = 0;
    int r = weft__trace_index(t, err);
    if (r < 0) return r;
    b.top = t->index_top;
    if ((r = make(&b, NULL, 0, err)) < 0) return r;
    bool search = greedy.events <= SMALL && greedy.preemptive && !greedy.left;
    if (search) r = fewest(&b, greedy.preemptive - 1 < PREEMPTIVE ? greedy.preemptive - 1 : PREEMPTIVE, &runs, &n, err);
    if (r == 0 && !n && !event)
        *out = greedy;
    else {
        weft__blocks_fini(&greedy);
        b = (struct build){.t = t, .order = order, .out = out, .top = b.top, .event = event, .ctx = ctx};
        if (r == 0) r = make(&b, runs, n, err);
    }
    free(runs);
    return r;
}

void weft__blocks_fini(struct weft_blocks *b) {
    free(b->list);
    *b = (struct weft_blocks){0};
}
