/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LEAP's own form of a trace, as far as edges tell it: for each shared object, which threads had it, one after the other,
 * and how long each of them (LEAP, FSE 2010, section 3: access vectors, with the run lengths of its implementation).
 *
 * LEAP numbers shared variables at compile time and logs every access. weft logs where an object changes hands. So:
 *
 *   object   a set of sites that were seen to touch the same word: the two ends of an edge between accesses (EDGE_DONE)
 *            name two of them, and such pairs are joined. An edge that only says "reached" tells the site of the taking
 *            thread alone. Calls into the runtime (locks, threads, streams) have no site and are one object together.
 *   run      a thread and its ticks, from where it took the object to where it let go for the next thread: "2:45-77". The
 *            run length is in ticks, where LEAP's is in accesses. "1:-120": had it from some time before; "1:130-": and
 *            kept it.
 *   order    all edges are put into one order that respects every edge and every thread's own order: a thread's edge
 *            comes when the other thread has none left before the tick that it waits for. Any such order gives the same
 *            sequence of runs where edges tie them; a recorded trace always has one. In a damaged trace there may be
 *            circles: they are broken at the lowest slot. */
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    uint64_t tick, site, other_tick, other_site;
    uint32_t slot, other;
    uint32_t object; /* index into sites of the object's representative */
    bool done;
};

struct site {
    uint64_t addr;
    size_t parent; /* union-find; itself: representative */
};

struct table {
    struct edge *edges;
    size_t n, cap;
    struct site *sites; /* sorted by address, [0] is address 0 */
    size_t nsites;
};

static int load(struct weft_trace *t, struct table *v, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    int r;
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        if (i.kind != WEFT_ITEM_EDGE && i.kind != WEFT_ITEM_EDGE_DONE && i.kind != WEFT_ITEM_EDGE_STEP) continue;
        v->edges = weft__grow(v->edges, &v->cap, v->n + 1, sizeof *v->edges);
        v->edges[v->n++] = (struct edge){.tick = i.tick,
                                         .site = i.site,
                                         .other_tick = i.other_tick,
                                         .other_site = i.other_site,
                                         .slot = i.slot,
                                         .other = i.other_slot,
                                         .done = i.kind == WEFT_ITEM_EDGE_DONE};
    }
    weft__cursor_close(&c);
    return r;
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
    size_t cap = 0;
    v->sites = weft__grow(NULL, &cap, v->n * 2 + 1, sizeof *v->sites);
    v->sites[v->nsites++] = (struct site){0};
    for (size_t i = 0; i < v->n; i++) {
        v->sites[v->nsites++] = (struct site){.addr = v->edges[i].site};
        if (v->edges[i].done) v->sites[v->nsites++] = (struct site){.addr = v->edges[i].other_site};
    }
    qsort(v->sites, v->nsites, sizeof *v->sites, by_addr);
    size_t out = 1;
    for (size_t i = 1; i < v->nsites; i++)
        if (v->sites[i].addr != v->sites[out - 1].addr) v->sites[out++] = v->sites[i];
    v->nsites = out;
    for (size_t i = 0; i < out; i++) v->sites[i].parent = i;
    for (size_t i = 0; i < v->n; i++) {
        const struct edge *e = &v->edges[i];
        if (!e->done || !e->site || !e->other_site) continue;
        size_t a = root(v->sites, find_site(v, e->site)), b = root(v->sites, find_site(v, e->other_site));
        if (a < b)
            v->sites[b].parent = a;
        else
            v->sites[a].parent = b;
    }
    for (size_t i = 0; i < v->n; i++) v->edges[i].object = (uint32_t)root(v->sites, find_site(v, v->edges[i].site));
}

/* ---- one order ---- */
struct queue {
    size_t *list; /* indices of a slot's edges, stream order */
    size_t n, cap, next;
    uint32_t waiters, next_waiter; /* slots that wait for this one; 0: none */
};

/* Whether the slot's next edge may come: the other thread has no edge left before the tick waited for. */
static bool ready(const struct table *v, const struct queue *q, uint32_t slot) {
    const struct edge *e = &v->edges[q[slot].list[q[slot].next]];
    const struct queue *o = &q[e->other];
    return e->other == slot || o->next >= o->n || v->edges[o->list[o->next]].tick >= e->other_tick;
}

static size_t *one_order(const struct table *v, uint32_t top) {
    size_t *order = weft__alloc((v->n + 1) * sizeof *order), out = 0;
    struct queue *q = weft__alloc(((size_t)top + 1) * sizeof *q);
    uint32_t *run = weft__alloc(((size_t)top + 1) * sizeof *run); /* slots to look at: a stack */
    size_t runs = 0;
    for (size_t i = 0; i < v->n; i++) {
        struct queue *s = &q[v->edges[i].slot];
        s->list = weft__grow(s->list, &s->cap, s->n + 1, sizeof *s->list);
        s->list[s->n++] = i;
    }
    for (uint32_t s = top; s >= 1; s--)
        if (q[s].n) run[runs++] = s;
    uint32_t low = 1; /* no slot below has edges left */
    for (bool force = false; out < v->n; force = false) {
        uint32_t s;
        if (runs) {
            s = run[--runs];
        } else { /* a circle: the lowest slot goes on */
            while (q[low].next >= q[low].n) low++;
            s = low;
            force = true;
        }
        while (q[s].next < q[s].n) {
            if (!force && !ready(v, q, s)) {
                struct queue *o = &q[v->edges[q[s].list[q[s].next]].other];
                q[s].next_waiter = o->waiters;
                o->waiters = s;
                break;
            }
            order[out++] = q[s].list[q[s].next++];
            if (force) { /* as if nobody waited: all look again */
                runs = 0;
                for (uint32_t k = top; k >= 1; k--) {
                    q[k].waiters = 0;
                    if (q[k].next < q[k].n) run[runs++] = k;
                }
                break;
            }
            uint32_t waiting = q[s].waiters;
            q[s].waiters = 0;
            while (waiting) {
                uint32_t w = waiting;
                waiting = q[w].next_waiter;
                if (ready(v, q, w)) {
                    run[runs++] = w;
                } else {
                    q[w].next_waiter = q[s].waiters;
                    q[s].waiters = w;
                }
            }
        }
    }
    for (uint32_t s = 0; s <= top; s++) free(q[s].list);
    free(q);
    free(run);
    return order;
}

/* ---- printing ---- */
struct run {
    uint32_t thread;
    bool has_from, has_to;
    uint64_t from, to;
};

static void print_run(FILE *out, const struct run *r, int *column) {
    if (*column > 100) {
        fputs("\n", out);
        *column = 0;
    }
    *column += fprintf(out, "%s%u:", *column ? " " : "  ", r->thread);
    if (r->has_from) *column += fprintf(out, "%" PRIu64, r->from);
    *column += fprintf(out, "-");
    if (r->has_to) *column += fprintf(out, "%" PRIu64, r->to);
}

static void print_object(FILE *out, const struct table *v, const size_t *edges, size_t n) {
    struct run now = {0};
    int column = 0;
    for (size_t i = 0; i < n; i++) {
        const struct edge *e = &v->edges[edges[i]];
        if (now.thread != e->other) { /* the edge tells of a run that no edge began */
            if (now.thread) print_run(out, &now, &column);
            now = (struct run){.thread = e->other};
        }
        now.has_to = true;
        now.to = e->other_tick;
        print_run(out, &now, &column);
        now = (struct run){.thread = e->slot, .has_from = true, .from = e->tick};
    }
    print_run(out, &now, &column);
    fputs("\n", out);
}

int weft__trace_vectors(struct weft_trace *t, FILE *out, struct weft_err *err) {
    struct table v = {0};
    struct weft_module *m = NULL;
    struct weft_symbols *symbols = NULL;
    size_t nm = 0, *order = NULL, *start = NULL, *sorted = NULL;
    int r = load(t, &v, err);
    if (r == 0) r = weft__modules_read(t, &m, &nm, err);
    if (r < 0) goto out;
    symbols = weft__symbols_new(m, nm, t->cwd);
    find_objects(&v);
    uint32_t top = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (v.edges[i].slot > top) top = v.edges[i].slot;
        if (v.edges[i].other > top) top = v.edges[i].other;
    }
    order = one_order(&v, top);
    /* Group by object, order kept. */
    start = weft__alloc((v.nsites + 2) * sizeof *start);
    sorted = weft__alloc((v.n + 1) * sizeof *sorted);
    for (size_t i = 0; i < v.n; i++) start[v.edges[i].object + 2]++;
    for (size_t i = 0; i < v.nsites; i++) start[i + 1] += start[i];
    for (size_t i = 0; i < v.n; i++) sorted[start[v.edges[order[i]].object + 1]++] = order[i];
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
        print_object(out, &v, sorted + start[o], start[o + 1] - start[o]);
    }
out:
    free(sorted);
    free(start);
    free(order);
    weft__symbols_free(symbols);
    weft__modules_free(m, nm);
    free(v.sites);
    free(v.edges);
    return r;
}
