/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LEAP's own form of a trace, as far as edges tell it: for each shared object the threads that accessed it, in order,
 * with run lengths (LEAP, FSE 2010, section 3: access vectors): "2*3 1 2" is three accesses by thread 2, one by thread
 * 1, one by thread 2.
 *
 * LEAP numbers shared variables at compile time and logs every access. weft logs where something passes from one thread
 * to another. So:
 *
 *   access   a position that has an edge, or that an edge waits for to be done. Accesses that the edges did not need
 * are not in the trace, and not here. object   sites that were seen to touch the same word: the two ends of an edge
 * between accesses (EDGE_DONE) name two of them, and such pairs are joined. Like LEAP's, an object is a place in the
 * program, not in memory: the elements of an array are one. Calls into the runtime (locks, threads, streams) have no
 * site and are one object. order    all accesses are put into one order that respects every edge and every thread's
 * clock: an access comes when what it waits for has come. Within a tick a thread's accesses have no known order but
 * that of its own edges. Every recorded trace has such an order; in a damaged one there may be circles, which are
 * broken at the lowest slot. */
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct event {
    uint64_t tick, site;
    uint32_t slot;
    bool edge; /* has one to wait for; otherwise only others wait for this position */
    bool out;  /* has its place in the order */
    /* edges */
    bool done;
    uint32_t other;
    uint64_t other_tick, other_site;
    uint64_t index; /* in the streams */
};

struct site {
    uint64_t addr;
    size_t parent; /* union-find; itself: representative */
};

struct table {
    struct event *events; /* by slot, tick, edges first, in stream order */
    size_t n, cap;
    struct site *sites; /* sorted by address, [0] is address 0 */
    size_t nsites;
    uint32_t top; /* highest slot */
};

static void add(struct table *v, struct event e) {
    v->events = weft__grow(v->events, &v->cap, v->n + 1, sizeof *v->events);
    v->events[v->n++] = e;
    if (e.slot > v->top) v->top = e.slot;
    if (e.other > v->top) v->top = e.other;
}

/* By position; edges before what only others wait for. */
static int by_position(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->tick != y->tick) return x->tick < y->tick ? -1 : 1;
    if (x->site != y->site) return x->site < y->site ? -1 : 1;
    return y->edge - x->edge;
}

static int by_place(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->tick != y->tick) return x->tick < y->tick ? -1 : 1;
    if (x->edge != y->edge) return x->edge ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int load(struct weft_trace *t, struct table *v, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    uint64_t index = 0;
    int r;
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        if (!weft__item_is_edge(i.kind)) continue;
        bool done = i.kind == WEFT_ITEM_EDGE_DONE;
        add(v, (struct event){.tick = i.tick,
                              .site = i.site,
                              .slot = i.slot,
                              .edge = true,
                              .done = done,
                              .other = i.other_slot,
                              .other_tick = i.other_tick,
                              .other_site = i.other_site,
                              .index = index++});
        if (done)
            add(v, (struct event){.tick = i.other_tick, .site = i.other_site, .slot = i.other_slot, .index = index++});
    }
    weft__cursor_close(&c);
    if (r < 0 || v->n == 0) return r;
    /* Of a position that others wait for one event is enough, and none if it has edges of its own. */
    qsort(v->events, v->n, sizeof *v->events, by_position);
    size_t out = 1;
    for (size_t k = 1; k < v->n; k++) {
        const struct event *last = &v->events[out - 1], *e = &v->events[k];
        if (e->edge || last->slot != e->slot || last->tick != e->tick || last->site != e->site) v->events[out++] = *e;
    }
    v->n = out;
    qsort(v->events, v->n, sizeof *v->events, by_place);
    return 0;
}

/* ---- objects ---- */
static int by_addr(const void *a, const void *b) {
    const struct site *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

static size_t find_site(const struct table *v, uint64_t addr) {
    struct site key = {.addr = addr};
    return (size_t)((struct site *)bsearch(&key, v->sites, v->nsites, sizeof key, by_addr) - v->sites);
}

static size_t root(struct site *s, size_t i) {
    while (s[i].parent != i) i = s[i].parent = s[s[i].parent].parent;
    return i;
}

static void find_objects(struct table *v) {
    v->sites = weft__alloc((v->n + 1) * sizeof *v->sites);
    v->nsites = 1; /* address 0 */
    for (size_t i = 0; i < v->n; i++) v->sites[v->nsites++].addr = v->events[i].site;
    qsort(v->sites, v->nsites, sizeof *v->sites, by_addr);
    size_t out = 1;
    for (size_t i = 1; i < v->nsites; i++)
        if (v->sites[i].addr != v->sites[out - 1].addr) v->sites[out++] = v->sites[i];
    v->nsites = out;
    for (size_t i = 0; i < out; i++) v->sites[i].parent = i;
    for (size_t i = 0; i < v->n; i++) {
        const struct event *e = &v->events[i];
        if (!e->done || !e->site || !e->other_site) continue;
        size_t a = root(v->sites, find_site(v, e->site)), b = root(v->sites, find_site(v, e->other_site));
        if (a < b)
            v->sites[b].parent = a;
        else
            v->sites[a].parent = b;
    }
}

/* ---- one order ---- */
struct queue {
    size_t next, end;              /* its events that are still to come; those of one tick may come out of turn */
    uint32_t waiters, next_waiter; /* slots that wait for this one; 0: none */
};

/* Whether what the edge waits for has come. */
static bool satisfied(const struct table *v, const struct queue *q, const struct event *e) {
    const struct queue *o = &q[e->other];
    if (o->next >= o->end || v->events[o->next].tick > e->other_tick) return true;
    if (v->events[o->next].tick < e->other_tick) return false;
    if (!e->done) return true;
    for (size_t i = o->next; i < o->end && v->events[i].tick == e->other_tick; i++)
        if (v->events[i].site == e->other_site && !v->events[i].out) return false;
    return true;
}

/* Brings out what can come of the slot's current tick; true if that was anything. *blocked: the thread it waits for. */
static bool advance(struct table *v, struct queue *q, uint32_t slot, bool force, size_t *order, size_t *out,
                    uint32_t *blocked) {
    struct queue *s = &q[slot];
    uint64_t tick = v->events[s->next].tick;
    bool any = false;
    *blocked = 0;
    for (size_t i = s->next; i < s->end && v->events[i].tick == tick; i++) {
        struct event *e = &v->events[i];
        if (e->out) continue;
        if (e->edge && *blocked) continue; /* its edges come in their order */
        if (e->edge && !force && !satisfied(v, q, e)) {
            *blocked = e->other;
            continue;
        }
        e->out = true;
        order[(*out)++] = i;
        any = true;
        force = false;
    }
    while (s->next < s->end && v->events[s->next].out) s->next++;
    return any;
}

static size_t *one_order(struct table *v) {
    size_t *order = weft__alloc((v->n + 1) * sizeof *order), out = 0;
    struct queue *q = weft__alloc(((size_t)v->top + 1) * sizeof *q);
    uint32_t *run = weft__alloc(((size_t)v->top + 1) * sizeof *run); /* slots to look at: a stack */
    size_t runs = 0;
    for (size_t i = v->n; i-- > 0;) {
        struct queue *s = &q[v->events[i].slot];
        if (!s->end) {
            s->end = i + 1;
            run[runs++] = v->events[i].slot;
        }
        s->next = i;
    }
    while (out < v->n) {
        bool force = !runs;
        if (force) { /* a circle: the lowest slot goes on, and all look again */
            for (uint32_t s = v->top; s >= 1; s--) {
                q[s].waiters = 0;
                if (q[s].next < q[s].end) run[runs++] = s;
            }
        }
        uint32_t s = run[--runs], blocked = 0;
        while (q[s].next < q[s].end) {
            bool any = advance(v, q, s, force, order, &out, &blocked);
            force = false;
            uint32_t waiting = any ? q[s].waiters : 0;
            if (any) q[s].waiters = 0;
            while (waiting) {
                uint32_t w = waiting;
                waiting = q[w].next_waiter;
                run[runs++] = w;
            }
            if (blocked && !any) break;
        }
        if (q[s].next < q[s].end) {
            if (blocked == s) continue; /* waits for itself: a circle of one */
            q[s].next_waiter = q[blocked].waiters;
            q[blocked].waiters = s;
        }
    }
    free(q);
    free(run);
    return order;
}

/* ---- printing ---- */
static void print_vector(FILE *out, const struct table *v, const size_t *events, size_t n) {
    int column = 0;
    for (size_t i = 0; i < n;) {
        uint32_t thread = v->events[events[i]].slot;
        uint64_t run = 0;
        for (; i < n && v->events[events[i]].slot == thread; i++) {
            /* Several edges at one position are one access. */
            const struct event *e = &v->events[events[i]], *last = i ? &v->events[events[i - 1]] : NULL;
            run += !last || last->slot != thread || last->tick != e->tick || last->site != e->site;
        }
        if (column > 110) {
            fputs("\n", out);
            column = 0;
        }
        column += fprintf(out, "%s%u", column ? " " : "  ", thread);
        if (run > 1) column += fprintf(out, "*%" PRIu64, run);
    }
    fputs("\n", out);
}

int weft__trace_vectors(struct weft_trace *t, FILE *out, struct weft_err *err) {
    struct table v = {0};
    struct weft_symbols *symbols = NULL;
    size_t *order = NULL, *start = NULL, *sorted = NULL, *object = NULL;
    int r = load(t, &v, err);
    if (r < 0) goto out;
    symbols = weft__symbols_new(t);
    find_objects(&v);
    order = one_order(&v);
    /* Group by object, order kept. */
    object = weft__alloc((v.n + 1) * sizeof *object);
    start = weft__alloc((v.nsites + 2) * sizeof *start);
    sorted = weft__alloc((v.n + 1) * sizeof *sorted);
    for (size_t i = 0; i < v.n; i++) {
        object[i] = root(v.sites, find_site(&v, v.events[i].site));
        start[object[i] + 2]++;
    }
    for (size_t i = 0; i < v.nsites; i++) start[i + 1] += start[i];
    for (size_t i = 0; i < v.n; i++) sorted[start[object[order[i]] + 1]++] = order[i];
    for (size_t o = 0; o < v.nsites; o++) {
        if (start[o] == start[o + 1]) continue;
        const char *last = NULL;
        fputs("object", out);
        if (o == 0) fputs(" of the runtime: locks, threads, streams", out);
        for (size_t i = o; i < v.nsites && o; i++) {
            const char *line = root(v.sites, i) == o ? weft__symbols_line(symbols, v.sites[i].addr) : NULL;
            if (!line || (last && strcmp(last, line) == 0)) continue;
            fprintf(out, "%s %s", last ? "," : "", line);
            last = line;
        }
        fputs("\n", out);
        print_vector(out, &v, sorted + start[o], start[o + 1] - start[o]);
    }
out:
    free(object);
    free(sorted);
    free(start);
    free(order);
    weft__symbols_free(symbols);
    free(v.sites);
    free(v.events);
    return r;
}
