/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Points-to analysis: inclusion-based (Andersen 1994), field-sensitive by byte offset, flow- and context-insensitive.
 *
 * Nodes are values and pieces of memory; each has a set of locations that it may hold the address of. Edges say that
 * one set includes another; constraints attached to a node add edges when locations arrive (load, store, pointer
 * arithmetic, calls). The solution is found in waves (Pereira and Berlin 2009): cycles of edges reachable from what
 * changed are merged, sets are passed on in topological order, only differences, and then the constraints look at what
 * is new.
 *
 * Locations are byte ranges of objects. Arithmetic with a constant keeps them exact; an index into an array inside an
 * object gives the range of that array (if the bounds are declared and it is not the last thing in the object, where C
 * programs put arrays of variable length); arithmetic that is not understood gives the whole object, never another one.
 * An object that is an array, or was allocated as n * size, is folded: offsets are taken modulo the size of an element.
 * Limits on the number of locations and segments per object keep it finite; beyond them an object loses its fields, not
 * its correctness.
 *
 * The unknown location stands for memory of code outside and for all exposed objects; it is not expanded, on the
 * contrary: it takes the place of locations in exposed variables wherever it is met, which is what keeps sets small in
 * programs that pass things to libraries. Invariants: whoever loads from it gets it; what is stored to it is exposed;
 * an exposed object contains it, and all that an exposed object contains is exposed (weft__build_exposed). Constants
 * and functions keep their identity when they are exposed.
 *
 * A program that is too much for it (MAX_WORK) has everything exposed, which ends it quickly, with nothing left out but
 * locals.
 *
 * An access outside of its object is a memory error and is ignored here; plan ALL is for programs that have them. */
#include "analysis.h"

enum { MAX_INSIDE = 160, MAX_OUTSIDE = 64, MAX_SEGMENTS = 96 /* per object */, MAX_SET = 256 };
#ifndef MAX_WORK
#define MAX_WORK 100000000u /* some ten seconds; counted, not timed, so that builds can be repeated */
#endif

/* ---- objects and locations ------------------------------------------------------------------------------------- */

uint32_t weft__points_new_object(struct weft_points *p, enum weft_object_kind kind, LLVMValueRef value, int64_t size) {
    WEFT_GROW(p->object, p->objects, p->object_room);
    p->object[p->objects] = (struct weft_object){.value = value, .kind = (uint8_t)kind, .size = size};
    return p->objects++;
}

static int is_memory(const struct weft_object *o) {
    return o->kind != WEFT_OBJ_UNKNOWN && o->kind != WEFT_OBJ_FUNCTION && o->kind != WEFT_OBJ_DIFFERENCE;
}

/* Puts an offset range into the normal form of the object: whole is [-FAR, FAR). */
static void normalise(const struct weft_object *o, int64_t *lo, int64_t *hi) {
    if (o->kind == WEFT_OBJ_UNKNOWN || o->kind == WEFT_OBJ_FUNCTION) {
        *lo = 0, *hi = 1;
        return;
    }
    if (o->kind == WEFT_OBJ_DIFFERENCE) *lo = 0, *hi = 1;
    if (*lo <= -WEFT_FAR || (*lo >= WEFT_FAR && *hi >= WEFT_FAR)) {
        *lo = -WEFT_FAR, *hi = WEFT_FAR;
        return;
    }
    if (o->blurred) {
        *lo = -WEFT_FAR, *hi = WEFT_FAR;
        return;
    }
    if (*hi > WEFT_FAR) *hi = WEFT_FAR;
    if (o->stride) {
        int64_t s = o->stride, n = *hi - *lo, r = ((*lo % s) + s) % s;
        if (n > 1 && r + n > s)
            *lo = -WEFT_FAR, *hi = WEFT_FAR;
        else
            *lo = r, *hi = r + n;
    } else if (*hi - *lo > 1) {
        if (*lo <= 0 && o->size >= 0 && *hi >= o->size)
            *lo = -WEFT_FAR, *hi = WEFT_FAR;
        else if (*hi - *lo > 4096 && *hi < WEFT_FAR && o->size < 0)
            *hi = WEFT_FAR;
    }
}

static uint32_t bucket_of(const struct weft_points *p, uint32_t object, int64_t lo, int64_t hi) {
    uint64_t h = ((uint64_t)object * 0x9e3779b97f4a7c15u ^ (uint64_t)lo) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 29) ^ (uint64_t)hi) * 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32) & (p->buckets - 1);
}

static uint32_t find_location(const struct weft_points *p, uint32_t object, int64_t lo, int64_t hi) {
    for (uint32_t l = p->bucket[bucket_of(p, object, lo, hi)]; l; l = p->location[l].next)
        if (p->location[l].object == object && p->location[l].lo == lo && p->location[l].hi == hi) return l;
    return 0;
}

/* Does the unknown location stand for it? */
static int is_unknown(const struct weft_object *o) {
    return o->kind == WEFT_OBJ_UNKNOWN || (o->exposed && !o->constant && is_memory(o));
}

static uint32_t new_location(struct weft_points *p, uint32_t object, int64_t lo, int64_t hi) {
    WEFT_GROW(p->location, p->locations, p->location_room);
    if (p->locations >= p->buckets) {
        p->buckets = p->buckets ? 2 * p->buckets : 4096;
        p->bucket = weft__an_alloc(p->bucket, p->buckets, sizeof *p->bucket);
        memset(p->bucket, 0, p->buckets * sizeof *p->bucket);
        for (uint32_t l = 1; l < p->locations; l++) {
            uint32_t *b = &p->bucket[bucket_of(p, p->location[l].object, p->location[l].lo, p->location[l].hi)];
            p->location[l].next = *b;
            *b = l;
        }
    }
    uint32_t *b = &p->bucket[bucket_of(p, object, lo, hi)];
    p->location[p->locations] = (struct weft_location){object, *b, p->object[object].location, lo, hi};
    p->object[object].location = p->locations;
    if (lo == -WEFT_FAR && hi == WEFT_FAR) p->object[object].whole = p->locations;
    if (p->object[object].exposed)
        weft__set_add(is_unknown(&p->object[object]) ? &p->absorbed : &p->implied, p->locations);
    return *b = p->locations++;
}

static void blur_object(struct weft_points *p, uint32_t object);

uint32_t weft__points_location(struct weft_points *p, uint32_t object, int64_t lo, int64_t hi) {
    struct weft_object *o = &p->object[object];
    normalise(o, &lo, &hi);
    uint32_t l = p->buckets ? find_location(p, object, lo, hi) : 0;
    if (l) return l;
    if (lo != -WEFT_FAR || hi != WEFT_FAR) {
        int out = hi <= 0 || (o->size >= 0 && !o->stride && lo >= o->size);
        if (!out && o->inside >= MAX_INSIDE) blur_object(p, object);
        if (out ? o->outside >= MAX_OUTSIDE : o->inside >= MAX_INSIDE)
            return weft__points_location(p, object, -WEFT_FAR, WEFT_FAR);
        out ? o->outside++ : o->inside++;
    }
    return new_location(p, object, lo, hi);
}

static uint32_t shifted(struct weft_points *p, uint32_t location, const struct weft_gep *g) {
    struct weft_location l = p->location[location];
    const struct weft_object *o = &p->object[l.object];
    if (is_unknown(o)) return p->loc_unknown;
    if (o->kind == WEFT_OBJ_FUNCTION || o->kind == WEFT_OBJ_DIFFERENCE || (l.lo == -WEFT_FAR && l.hi == WEFT_FAR))
        return location;
    if (g->step && !(o->stride && g->step % o->stride == 0))
        return weft__points_location(p, l.object, -WEFT_FAR, WEFT_FAR);
    int64_t lo = l.lo + g->fixed, hi = l.hi >= WEFT_FAR ? WEFT_FAR : l.hi + g->fixed;
    if (l.hi - l.lo > 1) {
        /* The optimiser splits a[i + c] into &a[i] and + c, so i alone may be outside of the array: keep what was
         * there. */
        if (l.lo < lo) lo = l.lo;
        if (l.hi > hi) hi = l.hi;
    }
    for (int i = 0; i < 2 && g->part[i].stride; i++) {
        int64_t stride = g->part[i].stride, extent = g->part[i].extent;
        if (o->stride && stride % o->stride == 0) continue;
        /* An array that ends the object may be longer than declared. The element size of an allocation is guessed, that
         * of a variable is not. */
        int64_t end = o->stride ? o->stride : o->size;
        int64_t at = o->stride ? ((lo % end) + end) % end : lo;
        if (g->part[i].array && (!o->stride || o->kind == WEFT_OBJ_HEAP) && (end < 0 || at + extent > end - 8))
            hi = WEFT_FAR;
        else if (hi < WEFT_FAR)
            hi += extent - stride;
    }
    return weft__points_location(p, l.object, lo, hi);
}

int weft__points_range(const struct weft_points *p, uint32_t location, int64_t offset, int64_t size, int64_t *lo,
                       int64_t *hi) {
    const struct weft_location *l = &p->location[location];
    const struct weft_object *o = &p->object[l->object];
    int64_t end = o->stride ? o->stride : o->size >= 0 ? o->size : WEFT_FAR;
    if (!is_memory(o) || end == 0 || size == 0) return 0;
    if (size == WEFT_WHOLE || (l->lo == -WEFT_FAR && l->hi == WEFT_FAR)) {
        *lo = 0, *hi = end;
        return 1;
    }
    *lo = l->lo + offset;
    *hi = size == WEFT_TO_END || l->hi >= WEFT_FAR || size >= WEFT_FAR ? WEFT_FAR : l->hi - 1 + offset + size;
    if (o->stride) {
        int64_t s = o->stride, n = *hi - *lo;
        *lo = ((*lo % s) + s) % s;
        if (*hi == WEFT_FAR || *lo + n > s)
            *lo = 0, *hi = s;
        else
            *hi = *lo + n;
        return 1;
    }
    if (*lo < 0) *lo = 0;
    if (*hi > end) *hi = end;
    return *lo < *hi;
}

static void merge(struct weft_points *p, uint32_t a, uint32_t b);

static void collapse(struct weft_points *p, uint32_t object) {
    struct weft_object *o = &p->object[object];
    uint32_t all = weft__points_new_node(p);
    o->collapsed = 1;
    for (uint32_t i = 0; i < o->segments; i++) {
        merge(p, all, o->segment[i].in);
        merge(p, all, o->segment[i].out);
    }
    o->segments = 0;
    WEFT_GROW(o->segment, o->segments, o->segment_room);
    o->segment[o->segments++] = (struct weft_segment){0, WEFT_FAR, all, all};
}

uint32_t weft__points_contents(struct weft_points *p, uint32_t object, int64_t lo, int64_t hi, int store) {
    struct weft_object *o = &p->object[object];
    if (!is_memory(o)) return 0;
    if (o->stride && o->stride % 8) lo = 0, hi = WEFT_FAR; /* words of different elements overlap differently */
    lo &= ~(int64_t)7;
    hi = (hi + 7) & ~(int64_t)7;
    if (o->size >= 0 && !o->stride && hi > o->size) hi = (o->size + 7) & ~(int64_t)7;
    for (uint32_t i = 0; i < o->segments; i++)
        if (o->collapsed || (o->segment[i].lo == lo && o->segment[i].hi == hi))
            return store ? o->segment[i].in : o->segment[i].out;
    if (o->segments == MAX_SEGMENTS) {
        collapse(p, object);
        return p->object[object].segment[0].in;
    }
    struct weft_segment s = {.lo = lo, .hi = hi, .in = weft__points_new_node(p)};
    s.out = hi - lo == 8 || (o->stride && o->stride % 8) ? s.in : weft__points_new_node(p);
    weft__points_copy(p, s.in, s.out);
    o = &p->object[object];
    for (uint32_t i = 0; i < o->segments; i++)
        if (o->segment[i].lo < hi && lo < o->segment[i].hi) {
            weft__points_copy(p, s.in, o->segment[i].out);
            weft__points_copy(p, o->segment[i].in, s.out);
        }
    WEFT_GROW(o->segment, o->segments, o->segment_room);
    o->segment[o->segments++] = s;
    return store ? s.in : s.out;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

uint32_t weft__points_find(struct weft_points *p, uint32_t n) {
    while (p->node[n].rep != n) {
        p->node[n].rep = p->node[p->node[n].rep].rep;
        n = p->node[n].rep;
    }
    return n;
}

uint32_t weft__points_new_node(struct weft_points *p) {
    WEFT_GROW(p->node, p->nodes, p->node_room);
    p->node[p->nodes] = (struct weft_node){.rep = p->nodes};
    return p->nodes++;
}

static void activate(struct weft_points *p, uint32_t n) {
    if (p->node[n].active) return;
    p->node[n].active = 1;
    WEFT_GROW(p->active, p->actives, p->active_room);
    p->active[p->actives++] = n;
}

static void suspend(struct weft_points *p, uint32_t n) {
    if (p->node[n].pending) return;
    p->node[n].pending = 1;
    WEFT_GROW(p->pending, p->pendings, p->pending_room);
    p->pending[p->pendings++] = n;
}

void weft__points_add(struct weft_points *p, uint32_t n, uint32_t location) {
    n = weft__points_find(p, n);
    WEFT_CHECK(n != 0 && location != 0);
    if (weft__set_add(&p->node[n].pts, location)) {
        weft__set_add(&p->node[n].fresh, location);
        activate(p, n);
    }
}

void weft__points_copy(struct weft_points *p, uint32_t from, uint32_t to) {
    from = weft__points_find(p, from), to = weft__points_find(p, to);
    if (from == to || from == 0) return;
    WEFT_CHECK(to != 0);
    uint32_t *there = weft__map_at(&p->edge, (uint64_t)from << 32 | to);
    if (*there) return;
    *there = 1;
    struct weft_node *f = &p->node[from];
    WEFT_GROW(f->succ, f->succs, f->succ_room);
    f->succ[f->succs++] = to;
    if (f->pts.count && weft__set_union(&p->node[to].pts, &f->pts, &p->node[to].fresh)) activate(p, to);
}

void weft__points_constrain(struct weft_points *p, uint32_t n, struct weft_constraint c) {
    n = weft__points_find(p, n);
    if (n == 0) return;
    struct weft_node *node = &p->node[n];
    WEFT_GROW(p->constraint, p->constraints, p->constraint_room);
    c.next = node->constraint;
    p->constraint[p->constraints] = c;
    node->constraint = p->constraints++;
    if (node->pts.count) { /* all constraints look again; that changes nothing for those who had seen it */
        weft__set_union(&node->pend, &node->pts, NULL);
        suspend(p, n);
    }
}

void weft__points_load(struct weft_points *p, uint32_t pointer, int64_t offset, int64_t size, uint32_t to) {
    weft__points_constrain(p, pointer, (struct weft_constraint){WEFT_C_LOAD, 0, to, offset, size});
}

void weft__points_store(struct weft_points *p, uint32_t pointer, int64_t offset, int64_t size, uint32_t from) {
    if (from) weft__points_constrain(p, pointer, (struct weft_constraint){WEFT_C_STORE, 0, from, offset, size});
}

void weft__points_shift(struct weft_points *p, uint32_t from, struct weft_gep gep, uint32_t to) {
    if (!gep.fixed && !gep.part[0].stride && !gep.step) {
        weft__points_copy(p, from, to);
        return;
    }
    WEFT_GROW(p->gep, p->geps, p->gep_room);
    p->gep[p->geps] = gep;
    weft__points_constrain(p, from, (struct weft_constraint){WEFT_C_GEP, 0, to, p->geps++, 0});
}

void weft__points_blur(struct weft_points *p, uint32_t from, uint32_t to) {
    if (from) weft__points_shift(p, from, WEFT_ANYWHERE, to);
}

void weft__points_expose(struct weft_points *p, uint32_t node) {
    weft__points_copy(p, node, p->exposed);
}

/* b goes into a. Everything is passed on again; merging is rare. */
static void merge(struct weft_points *p, uint32_t a, uint32_t b) {
    a = weft__points_find(p, a), b = weft__points_find(p, b);
    if (a == b) return;
    WEFT_CHECK(a != 0 && b != 0);
    struct weft_node *x = &p->node[a], *y = &p->node[b];
    y->rep = a;
    for (uint32_t i = 0; i < y->succs; i++) {
        WEFT_GROW(x->succ, x->succs, x->succ_room);
        x->succ[x->succs++] = y->succ[i];
    }
    if (y->constraint) {
        uint32_t c = y->constraint;
        while (p->constraint[c].next)
            c = p->constraint[c].next;
        p->constraint[c].next = x->constraint;
        x->constraint = y->constraint;
    }
    weft__set_union(&x->pts, &y->pts, NULL);
    weft__set_union(&x->fresh, &x->pts, NULL);
    free(y->succ);
    weft__set_fini(&y->pts);
    weft__set_fini(&y->fresh);
    weft__set_fini(&y->pend);
    y->succ = NULL, y->succs = y->succ_room = 0, y->constraint = 0;
    if (x->fresh.count) activate(p, a);
}

/* ---- constraints ----------------------------------------------------------------------------------------------- */

static void apply(struct weft_points *p, struct weft_constraint c, const struct weft_set *locations) {
    p->work += locations->count;
    if (c.kind == WEFT_C_GEP) {
        struct weft_gep g = p->gep[c.offset];
        struct weft_set moved = {0};
        WEFT_SET_EACH(locations, l)
        weft__set_add(&moved, shifted(p, (uint32_t)l, &g));
        uint32_t to = weft__points_find(p, c.other);
        if (weft__set_union(&p->node[to].pts, &moved, &p->node[to].fresh)) activate(p, to);
        weft__set_fini(&moved);
        return;
    }
    WEFT_SET_EACH(locations, l) {
        uint32_t object = p->location[l].object;
        int unknown = is_unknown(&p->object[object]);
        int64_t lo, hi;
        switch (c.kind) {
        case WEFT_C_LOAD:
            if (unknown)
                weft__points_add(p, c.other, p->loc_unknown);
            else if (weft__points_range(p, (uint32_t)l, c.offset, c.size, &lo, &hi))
                weft__points_copy(p, weft__points_contents(p, object, lo, hi, 0), c.other);
            break;
        case WEFT_C_STORE:
            if (unknown)
                weft__points_copy(p, c.other, p->exposed);
            else if (!p->object[object].constant && weft__points_range(p, (uint32_t)l, c.offset, c.size, &lo, &hi))
                weft__points_copy(p, c.other, weft__points_contents(p, object, lo, hi, 1));
            break;
        case WEFT_C_CALL:
            weft__build_target(p, c.other, object);
            break;
        case WEFT_C_CALLBACK:
            weft__build_callback(p, &p->callback[c.other], object);
            break;
        case WEFT_C_KEY: /* who knows the key gets at what is kept under it */
            p->object[object].key = 1;
            if (p->object[object].exposed)
                weft__points_copy(p, weft__points_contents(p, p->own, 0, WEFT_FAR, 0), p->exposed);
            break;
        case WEFT_C_UNDO:
            if (p->object[object].kind == WEFT_OBJ_DIFFERENCE) {
                p->undone = 1;
                weft__points_copy(p, p->differences, c.other);
            }
            break;
        case WEFT_C_EXPOSE:
            if (!p->object[object].exposed) {
                weft__build_exposed(p, object);
                p->object[object].exposed = 1;
                struct weft_set *into = is_unknown(&p->object[object]) ? &p->absorbed : &p->implied;
                for (uint32_t k = p->object[object].location; k; k = p->location[k].sibling)
                    if (k != p->loc_unknown) weft__set_add(into, k);
            }
            break;
        }
    }
}

/* ---- waves ----------------------------------------------------------------------------------------------------- */

/* Scratch of the depth-first search, indexed by node; a stamp tells whether an entry is of this wave. */
struct wave {
    uint32_t *stamp, *index, *low, *next, *stack, *path, *order;
    uint8_t *open;
    uint32_t room, now, counter, top, depth, ordered;
};

static void wave_room(struct wave *w, uint32_t nodes) {
    if (nodes <= w->room) return;
    uint32_t old = w->room, room = nodes + nodes / 2;
    w->stamp = weft__an_alloc(w->stamp, room, sizeof *w->stamp);
    memset(w->stamp + old, 0, (room - old) * sizeof *w->stamp);
    w->index = weft__an_alloc(w->index, room, sizeof *w->index);
    w->low = weft__an_alloc(w->low, room, sizeof *w->low);
    w->next = weft__an_alloc(w->next, room, sizeof *w->next);
    w->stack = weft__an_alloc(w->stack, room, sizeof *w->stack);
    w->path = weft__an_alloc(w->path, room, sizeof *w->path);
    w->order = weft__an_alloc(w->order, room, sizeof *w->order);
    w->open = weft__an_alloc(w->open, room, 1);
    w->room = room;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Successors by their representatives, each once. */
static void tidy(struct weft_points *p, uint32_t n) {
    struct weft_node *node = &p->node[n];
    int stale = 0;
    for (uint32_t i = 0; i < node->succs; i++) {
        uint32_t s = weft__points_find(p, node->succ[i]);
        stale |= s != node->succ[i];
        node->succ[i] = s;
    }
    if (!stale) return;
    qsort(node->succ, node->succs, sizeof *node->succ, by_number);
    uint32_t w = 0;
    for (uint32_t i = 0; i < node->succs; i++)
        if (node->succ[i] != n && (!w || node->succ[w - 1] != node->succ[i])) node->succ[w++] = node->succ[i];
    node->succs = w;
}

static void enter(struct weft_points *p, struct wave *w, uint32_t n) {
    tidy(p, n);
    w->stamp[n] = w->now;
    w->index[n] = w->low[n] = ++w->counter;
    w->next[n] = 0;
    w->open[n] = 1;
    w->stack[w->top++] = n;
    w->path[w->depth++] = n;
}

static void search(struct weft_points *p, struct wave *w, uint32_t root) {
    enter(p, w, root);
    while (w->depth) {
        uint32_t v = w->path[w->depth - 1];
        if (w->next[v] < p->node[v].succs) {
            uint32_t s = p->node[v].succ[w->next[v]++];
            if (w->stamp[s] != w->now)
                enter(p, w, s);
            else if (w->open[s] && w->index[s] < w->low[v])
                w->low[v] = w->index[s];
            continue;
        }
        w->depth--;
        if (w->depth && w->low[v] < w->low[w->path[w->depth - 1]]) w->low[w->path[w->depth - 1]] = w->low[v];
        if (w->low[v] != w->index[v]) continue;
        uint32_t m;
        do {
            m = w->stack[--w->top];
            w->open[m] = 0;
            w->order[w->ordered++] = m;
        } while (m != v);
        w->low[v] = 0; /* marks the end of a component in `order` */
    }
}

/* Gives up the parts of an object. */
static void blur_object(struct weft_points *p, uint32_t object) {
    struct weft_object *o = &p->object[object];
    if (o->blurred || !is_memory(o)) return;
    uint32_t whole = weft__points_location(p, object, -WEFT_FAR, WEFT_FAR);
    o->blurred = 1;
    for (uint32_t k = o->location; k; k = p->location[k].sibling)
        if (k != whole) weft__set_add(&p->blurred, k);
    if (!o->collapsed) collapse(p, object);
}

/* A set this large holds what is passed around everywhere; whatever it holds several parts of, it will store to and
 * load from at all offsets, so nothing is gained by telling them apart in any other set. */
static void coarsen(struct weft_points *p, uint32_t n) {
    uint32_t last = UINT32_MAX, *list = NULL; /* locations of an object are often neighbours; that is enough */
    size_t count = 0, room = 0;
    WEFT_SET_EACH(&p->node[n].pts, l) {
        uint32_t o = p->location[l].object;
        if (o == last && !p->object[o].blurred && !is_unknown(&p->object[o])) {
            WEFT_GROW(list, count, room);
            list[count++] = o;
        }
        last = o;
    }
    for (size_t i = 0; i < count; i++) /* merges nodes, this one possibly too */
        blur_object(p, list[i]);
    free(list);
}

/* Takes out of a node what says nothing new: locations in exposed objects, and parts of an object that is there as a
 * whole. */
static void absorb(struct weft_points *p, struct weft_node *n) {
    if (weft__set_meets(&n->fresh, &p->absorbed)) {
        weft__set_minus(&n->fresh, &p->absorbed);
        weft__set_minus(&n->pts, &p->absorbed);
        if (weft__set_add(&n->pts, p->loc_unknown)) weft__set_add(&n->fresh, p->loc_unknown);
    }
    if (weft__set_has(&n->pts, p->loc_unknown) && weft__set_meets(&n->pts, &p->implied)) {
        weft__set_minus(&n->fresh, &p->implied);
        weft__set_minus(&n->pts, &p->implied);
    }
    if (weft__set_meets(&n->fresh, &p->blurred)) {
        struct weft_set add = {0};
        WEFT_SET_EACH(&n->fresh, l)
        if (p->object[p->location[l].object].blurred) weft__set_add(&add, p->object[p->location[l].object].whole);
        weft__set_minus(&n->fresh, &p->blurred);
        weft__set_minus(&n->pts, &p->blurred);
        weft__set_union(&n->pts, &add, &n->fresh);
        weft__set_fini(&add);
    }
}

static void wave(struct weft_points *p, struct wave *w) {
    wave_room(w, p->nodes);
    w->now++;
    w->counter = w->top = w->depth = w->ordered = 0;
    uint32_t actives = p->actives;
    for (uint32_t i = 0; i < actives; i++) {
        uint32_t n = weft__points_find(p, p->active[i]);
        if (w->stamp[n] != w->now) search(p, w, n);
    }
    /* Components are in reverse topological order; each ends with the member whose low is 0. */
    uint32_t first = 0, comps = 0;
    for (uint32_t i = 0; i < w->ordered; i++) {
        uint32_t n = w->order[i];
        if (w->low[n] != 0) continue;
        for (uint32_t k = first; k < i; k++)
            merge(p, n, w->order[k]);
        first = i + 1;
        w->order[comps++] = n;
    }
    p->actives = 0;
    enum { MAX_COARSE = 64 };
    uint32_t coarse[MAX_COARSE], coarses = 0;
    for (uint32_t i = comps; i-- > 0;) {
        uint32_t n = w->order[i];
        struct weft_node *node = &p->node[n];
        WEFT_CHECK(node->rep == n);
        node->active = 0;
        absorb(p, node);
        if (node->pts.count > node->limit && weft__set_size(&node->pts) > MAX_SET) {
            p->node[n].limit = 2 * node->pts.count;
            coarse[coarses++ % MAX_COARSE] = n;
        }
        if (!node->fresh.count) continue;
        struct weft_set fresh = node->fresh;
        node->fresh = (struct weft_set){0};
        p->work += (uint64_t)node->succs * fresh.count;
        for (uint32_t k = 0; k < node->succs; k++) {
            uint32_t s = weft__points_find(p, node->succ[k]);
            if (s != n) weft__set_union(&p->node[s].pts, &fresh, &p->node[s].fresh);
        }
        if (node->constraint) {
            weft__set_union(&node->pend, &fresh, NULL);
            suspend(p, n);
        }
        weft__set_fini(&fresh);
    }
    for (uint32_t i = 0; i < coarses && i < MAX_COARSE; i++) /* not while we walk the nodes */
        coarsen(p, coarse[i]);
}

void weft__points_solve(struct weft_points *p) {
    struct wave w = {0};
    for (;;) {
        while (p->actives || p->pendings) {
            wave(p, &w);
            uint32_t *list = p->pending, count = p->pendings;
            p->pending = NULL, p->pendings = p->pending_room = 0;
            for (uint32_t i = 0; i < count; i++)
                p->node[list[i]].pending = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint32_t n = list[i];
                if (p->node[n].rep != n) continue; /* merged: all of it is fresh in the other node */
                struct weft_set todo = p->node[n].pend;
                p->node[n].pend = (struct weft_set){0};
                for (uint32_t c = p->node[n].constraint; c && todo.count; c = p->constraint[c].next)
                    apply(p, p->constraint[c], &todo);
                weft__set_fini(&todo);
            }
            free(list);
            if (p->work > MAX_WORK && !p->gave_up) {
                p->gave_up = 1;
                for (uint32_t o = 0; o < p->objects; o++)
                    if (p->object[o].kind != WEFT_OBJ_UNKNOWN && p->object[o].kind != WEFT_OBJ_DIFFERENCE)
                        weft__points_add(p, p->exposed, weft__points_location(p, o, 0, 1));
            }
        }
        /* An integer made into a pointer that came from nowhere we know: it may be anything that is not private. */
        int again = 0;
        for (uint32_t i = 0; i < p->inttoptrs; i++) {
            uint32_t n = weft__points_find(p, p->inttoptr[i]);
            if (n && !p->node[n].pts.count) {
                weft__points_add(p, n, p->loc_unknown);
                again = 1;
            }
        }
        if (!again) break;
    }
    free(w.stamp), free(w.index), free(w.low), free(w.next), free(w.stack), free(w.path), free(w.order), free(w.open);
}
