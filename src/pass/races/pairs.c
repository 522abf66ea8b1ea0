/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From guarded accesses of thread entries to pairs that race.
 *
 * Two accesses race if they may touch the same bytes of an object, one of them writes, each of their threads may be alive
 * while the other makes its access, and no lock is common. Accesses that are alike in all of this are one class, and
 * classes are compared, object by object.
 *
 * A common lock is one of these:
 * - the same absolute address, and not both hold it as readers;
 * - the same distance from the access, if the accesses, where they overlap, begin at the same byte: then the locks are the
 *   same one, whatever object it is. They do if both are aligned to their size, and the sizes are equal. Or if both are
 *   known to be at exact offsets in the same kind of object: two that overlap are in the same one, and what counts is the
 *   offset of the lock in it.
 *
 * Accesses to memory that was not passed on yet (fresh.c) are left out at first. If a pointer is then passed on by a race,
 * what it leads to was published without an order; fresh accesses to that are looked at as well, in another round. Two fresh
 * accesses are never to the same object.
 *
 * For a plan with weak locks (plan/weak.c), pairs that such a lock may keep apart are put aside; of those, only the ones for which none is found are races.
 *
 * Memory that code outside knows is one object here, number 0, and overlaps with every object that is exposed. */
#include "../plan/plan.h"
#include "races.h"

/* For a plan: some 600 MB, and ten seconds; counted, not timed, so that builds can be repeated. */
enum { MAX_ITEMS = 4000000, MAX_PAIRS = 400000000 };

struct item {
    uint32_t object;
    int64_t lo, hi;
    uint8_t exact; /* lo is where the access begins, in the object or its element */
    uint8_t thread, write, atomic, relaxed, aligned, fresh;
    uint32_t held;
    uint64_t alive;
    int64_t size;
    uint32_t access, root, guarded;
    uint32_t regions; /* in which it runs: those with the same number are the same; 0 without weak locks */
};

struct items {
    struct item *item;
    size_t count, room;
    const struct weft_set *published; /* objects whose fresh accesses count */
};

/* The first of a class, and its number. */
struct group {
    const struct item *first;
    uint32_t class;
    uint8_t racy;      /* all of it is marked so */
    uint8_t published; /* what it leads to is */
    uint8_t looked, somewhere; /* for its regions; whether all of it is always in one */
    struct weft_set regions;
};
struct apart { /* groups that conflict */
    size_t a, b;
};
struct aside {
    struct apart *pair;
    size_t count, room;
};

static int has_delta(const struct weft_races *r, uint32_t held) {
    uint32_t n;
    const uint32_t *x = weft__lockset_get(r, held, &n);
    for (uint32_t i = 0; i < n; i++)
        if (r->address[x[i] >> 1].kind == WEFT_ROOT_DELTA) return 1;
    return 0;
}

static void add_item(struct weft_races *r, struct items *is, struct item i);

static int exposed(const struct weft_races *r, uint32_t object) {
    return r->p->object[object].exposed;
}

/* As weft__points_range, for a place that may be none of the solver's locations. */
static int range_at(const struct weft_object *o, int64_t offset, int64_t size, int64_t *lo, int64_t *hi) {
    int64_t end = o->stride ? o->stride : o->size >= 0 ? o->size : WEFT_FAR;
    *lo = 0, *hi = end;
    if (size == WEFT_WHOLE || o->blurred) return end > 0;
    int64_t to = size == WEFT_TO_END || size >= WEFT_FAR ? WEFT_FAR : offset + size;
    if (o->stride) {
        int64_t at = ((offset % end) + end) % end;
        if (to != WEFT_FAR && at + (to - offset) <= end) *lo = at, *hi = at + (to - offset);
        return 1;
    }
    *lo = offset < 0 ? 0 : offset;
    *hi = to < end ? to : end;
    return *lo < *hi;
}

/* Everything that one access may touch. */
static void add_items(struct weft_races *r, struct items *is, struct item i, const struct weft_guarded *g) {
    const struct weft_race_access *a = &r->access[i.access];
    const struct weft_address *at = g->address ? &r->address[g->address] : NULL;
    if (at && at->kind == WEFT_ROOT_OBJECT) { /* known better than by its node, if the object is exposed */
        const struct weft_object *o = &r->p->object[at->base];
        if (o->constant) return;
        if ((!o->escaped && !o->exposed) || !range_at(o, at->offset, a->size, &i.lo, &i.hi)) return;
        i.object = at->base;
        i.exact = !o->blurred && i.hi - i.lo == a->size;
        add_item(r, is, i);
        return;
    }
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, g->node)].pts;
    if (!s->count) add_item(r, is, (i.object = 0, i.lo = 0, i.hi = WEFT_FAR, i.exact = 0, i));
    WEFT_SET_EACH(s, l) {
        const struct weft_location *at = &r->p->location[l];
        const struct weft_object *o = &r->p->object[at->object];
        if (o->kind == WEFT_OBJ_UNKNOWN) {
            add_item(r, is, (i.object = 0, i.lo = 0, i.hi = WEFT_FAR, i.exact = 0, i));
            continue;
        }
        if (o->kind == WEFT_OBJ_FUNCTION || o->kind == WEFT_OBJ_DIFFERENCE || o->constant) continue;
        if (!o->escaped && !o->exposed) continue;
        if (!weft__points_range(r->p, (uint32_t)l, g->offset, a->size, &i.lo, &i.hi)) continue;
        i.object = o->exposed ? 0 : at->object;
        i.exact = at->hi == at->lo + 1 && !o->blurred && !o->exposed && i.hi - i.lo == a->size;
        if (o->exposed) i.lo = 0, i.hi = WEFT_FAR;
        add_item(r, is, i);
    }
}

/* ---- who may run beside whom ----------------------------------------------------------------------------------- */

static uint64_t alive(const struct weft_race_root *root, const struct weft_guarded *g) {
    return (root->alive & ~g->joined) | g->started;
}

static void find_overlaps(struct weft_races *r) {
    uint64_t beside[64] = {0};
    for (uint32_t i = 0; i < r->roots; i++) {
        const struct weft_summary *sum = &r->summary[r->root[i].function];
        for (uint32_t k = 0; k < sum->count; k++) {
            const struct weft_guarded *g = &sum->list[k];
            if (g->access == UINT32_MAX || !r->access[g->access].starts) continue;
            uint64_t now = alive(&r->root[i], g);
            for (unsigned t = WEFT_THREAD_FIRST; t < 64; t++) {
                if (!(r->access[g->access].starts >> t & 1)) continue;
                /* started here, or by a thread that is started here: then anything may be there */
                int here = r->thread[t].call != UINT32_MAX && r->f->call[r->thread[t].call].inst == r->access[g->access].inst;
                beside[t] |= here ? now : ~0ull;
            }
        }
    }
    for (unsigned t = 0; t < 64; t++)
        for (unsigned u = 0; u < 64; u++)
            if (beside[t] >> u & 1) beside[u] |= 1ull << t;
    for (unsigned t = WEFT_THREAD_FIRST; t < WEFT_THREAD_OVERFLOW; t++) {
        r->thread[t].many = beside[t] >> t & 1;
        beside[t] |= 1ull << WEFT_THREAD_MAIN | 1ull << WEFT_THREAD_EXIT | 1ull << WEFT_THREAD_OUTSIDE;
    }
    for (uint32_t i = 0; i < r->roots; i++) {
        unsigned t = r->root[i].thread;
        if (t >= WEFT_THREAD_FIRST && t < WEFT_THREAD_OVERFLOW) r->root[i].alive = beside[t];
    }
}

static int parallel(const struct weft_races *r, const struct item *a, const struct item *b) {
    if (a->thread == b->thread) return r->thread[a->thread].many;
    return ((a->alive >> b->thread & 1) || b->thread == WEFT_THREAD_MAIN) &&
           ((b->alive >> a->thread & 1) || a->thread == WEFT_THREAD_MAIN);
}

/* ---- locks ----------------------------------------------------------------------------------------------------- */

static int common_lock(const struct weft_races *r, const struct item *a, const struct item *b) {
    uint32_t n, m;
    const uint32_t *x = weft__lockset_get(r, a->held, &n), *y = weft__lockset_get(r, b->held, &m);
    int aligned = a->size == b->size && a->aligned && b->aligned;
    int exact = a->exact && b->exact && a->object && a->object == b->object;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++) {
            const struct weft_address *p = &r->address[x[i] >> 1], *q = &r->address[y[j] >> 1];
            if (!(x[i] & 1) && !(y[j] & 1)) continue;
            if (p->kind == WEFT_ROOT_DELTA && q->kind == WEFT_ROOT_DELTA) {
                if (aligned && p == q) return 1;
                if (exact && a->lo + p->offset == b->lo + q->offset) return 1;
            } else if (p == q && weft__address_absolute(r, x[i] >> 1)) {
                return 1;
            }
        }
    return 0;
}

static int race(const struct weft_races *r, const struct item *a, const struct item *b) {
    if ((!a->write && !b->write) || (a->fresh && b->fresh)) return 0;
    if (a->object == b->object && (a->lo >= b->hi || b->lo >= a->hi)) return 0;
    return parallel(r, a, b) && !common_lock(r, a, b);
}

/* ---- classes --------------------------------------------------------------------------------------------------- */

static int compare(const struct item *a, const struct item *b) {
#define BY(x)                                                                                                          \
    if (a->x != b->x) return a->x < b->x ? -1 : 1
    BY(object);
    BY(lo);
    BY(hi);
    BY(exact);
    BY(thread);
    BY(write);
    BY(atomic);
    BY(relaxed);
    BY(fresh);
    BY(aligned);
    BY(size);
    BY(held);
    BY(alive);
    BY(regions);
    return 0;
}

static int order(const void *x, const void *y) {
    const struct item *a = x, *b = y;
    int c = compare(a, b);
    if (c) return c;
    BY(access);
#undef BY
    return 0;
}

static void add_item(struct weft_races *r, struct items *is, struct item i) {
    if (!has_delta(r, i.held)) i.exact = i.aligned = 0, i.size = 0; /* nobody will ask: fewer classes */
    if (r->access[i.access].fresh && !weft__set_has(is->published, i.object)) return;
    if (r->plan && is->count == is->room && is->count >= 1 << 16) { /* the same comes from many roots, and a plan does not ask from where */
        size_t n = 0;
        qsort(is->item, is->count, sizeof *is->item, order);
        for (size_t k = 0; k < is->count; k++)
            if (!n || order(&is->item[k], &is->item[n - 1])) is->item[n++] = is->item[k];
        if ((is->count = n) > MAX_ITEMS) {
            r->gave_up = 1;
            return;
        }
        if (n > is->room / 2) is->item = weft__an_alloc(is->item, is->room *= 2, sizeof *is->item);
    }
    WEFT_GROW(is->item, is->count, is->room);
    is->item[is->count++] = i;
}

static uint32_t class_of(struct weft_races *r, struct group *g, const struct item *end) {
    struct weft_races_result *res = r->result;
    if (g->class) return g->class - 1;
    WEFT_GROW(res->class, res->classes, res->class_room);
    struct weft_race_class c = {g->first->thread, g->first->held, g->first->write, g->first->atomic, NULL, 0, 0};
    for (const struct item *i = g->first; i < end && !compare(i, g->first); i++) {
        if (i > g->first && i[-1].access == i->access) continue;
        WEFT_GROW(c.side, c.sides, c.side_room);
        c.side[c.sides++] = (struct weft_race_side){i->access, i->root, i->guarded};
    }
    res->class[res->classes] = c;
    g->class = ++res->classes;
    return g->class - 1;
}

static void mark(struct weft_races *r, struct group *g, const struct item *end, uint8_t racy) {
    const struct item *i = g->first;
    if (g->racy >= racy) return;
    g->racy = racy;
    for (const struct item *k = i; k < end && !compare(k, i); k++) {
        struct weft_race_access *a = &r->access[k->access];
        if (a->racy < racy) a->racy = racy;
        r->stale |= a->frees;
    }
}

static void publish(struct weft_races *r, struct weft_set *published, uint32_t object, int64_t lo, int64_t hi);
static void publish_node(struct weft_races *r, struct weft_set *published, uint32_t node) {
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, node)].pts;
    WEFT_SET_EACH(s, l) {
        uint32_t to = r->p->location[l].object;
        if (weft__set_add(published, to)) publish(r, published, to, 0, WEFT_FAR);
        if (r->p->object[to].exposed) weft__set_add(published, 0);
    }
}

/* What can be reached from a place may be known to others without an order. */
static void publish(struct weft_races *r, struct weft_set *published, uint32_t object, int64_t lo, int64_t hi) {
    const struct weft_object *o = &r->p->object[object];
    if (o->kind == WEFT_OBJ_UNKNOWN || o->exposed) weft__set_add(published, 0);
    for (uint32_t i = 0; i < o->segments; i++) {
        if (o->segment[i].lo >= ((hi + 7) & ~(int64_t)7) || (lo & ~(int64_t)7) >= o->segment[i].hi) continue; /* words */
        publish_node(r, published, o->segment[i].out);
    }
}

/* The regions in which a group may run. */
static int has_regions(struct weft_races *r, struct group *g) {
    const struct weft_race_access *a = &r->access[g->first->access];
    if (!g->looked) g->somewhere = (uint8_t)weft__regions_of(r->weak->r, a->inst, a->function, &g->regions);
    g->looked = 1;
    return g->somewhere;
}

/* An operation on a lock or the like, and the object itself: its bytes are libc's, and no recording has them. Where the other one is no such
 * operation, it means something else in the same object, of which the analysis does not know where it lies. */
static int is_sync(const struct weft_races *r, const struct item *i) {
    LLVMValueRef inst = r->access[i->access].inst;
    if (!i->atomic || !weft__ir_is_call(inst)) return 0;
    return strncmp(weft__ir_name(weft__ir_callee(inst)), "__", 2); /* __atomic_, __cxa_guard_: of what the program reads itself */
}

/* Puts those apart that can be; the others race. */
static void put_apart(struct weft_races *r, struct group *group, const struct item *end, const struct aside *s) {
    for (size_t k = 0; k < s->count; k++) {
        struct group *a = &group[s->pair[k].a], *b = &group[s->pair[k].b];
        uint8_t racy = a->first->atomic && b->first->atomic ? 1 : 2;
        if (a->racy >= racy && b->racy >= racy) continue;
        if (weft__weak_order(r->weak, &a->regions, &b->regions)) {
            for (const struct item *i = a->first; i < end && !compare(i, a->first); i++) r->access[i->access].weak = 1;
            for (const struct item *i = b->first; i < end && !compare(i, b->first); i++) r->access[i->access].weak = 1;
            continue;
        }
        mark(r, a, end, racy);
        mark(r, b, end, racy);
    }
}

static void note(struct weft_races *r, struct group *group, size_t x, size_t y, const struct item *end, struct weft_set *published, struct aside *aside) {
    struct group *a = &group[x], *b = &group[y];
    const struct item *i = a->first, *j = b->first;
    if (r->plan && a->racy == 2 && b->racy == 2) return; /* it says nothing new */
    if (!race(r, i, j)) return;
    uint8_t racy = i->atomic && j->atomic ? 1 : 2;
    if (r->weak && is_sync(r, i) != is_sync(r, j)) return;
    if (r->weak && has_regions(r, a) && has_regions(r, b) && weft__weak_may(r->weak, &a->regions, &b->regions)) {
        WEFT_GROW(aside->pair, aside->count, aside->room);
        aside->pair[aside->count++] = (struct apart){x, y};
        return;
    }
    mark(r, a, end, racy);
    mark(r, b, end, racy);
    if (r->plan) return;
    if (racy == 2 || i->relaxed || j->relaxed) {
        if (!a->published) publish(r, published, i->object, i->lo, i->hi);
        if (!b->published) publish(r, published, j->object, j->lo, j->hi);
        a->published = b->published = 1;
    }
    if (racy < 2) return;
    struct weft_races_result *res = r->result;
    uint32_t ca = class_of(r, a, end), cb = class_of(r, b, end);
    WEFT_GROW(res->race, res->races, res->race_room);
    res->race[res->races++] = (struct weft_race){i->object ? i->object : j->object, i->lo > j->lo ? i->lo : j->lo,
                                                 i->hi < j->hi ? i->hi : j->hi, ca, cb};
}

/* 1: more was published than was known at the start. */
static int round_of_pairs(struct weft_races *r, struct weft_set *published) {
    struct weft_set more = {0};
    struct items is = {.published = published};
    struct aside aside = {0};
    struct group *group = NULL;
    size_t groups = 0, room = 0, outside = 0, looked = 0;
    uint64_t used = 0;
    for (uint32_t i = 0; i < r->roots; i++)
        used |= 1ull << r->root[i].thread;
    for (uint32_t i = 0; i < r->roots; i++) {
        const struct weft_summary *sum = &r->summary[r->root[i].function];
        for (uint32_t k = 0; k < sum->count && !r->gave_up; k++) {
            const struct weft_guarded *g = &sum->list[k];
            if (g->access == UINT32_MAX || r->access[g->access].starts) continue;
            struct weft_race_access *a = &r->access[g->access];
            a->seen = 1;
            add_items(r, &is,
                      (struct item){.thread = r->root[i].thread,
                                    .write = a->write,
                                    .atomic = a->atomic,
                                    .relaxed = a->relaxed,
                                    .fresh = a->fresh,
                                    .aligned = a->aligned,
                                    .held = g->held,
                                    .alive = alive(&r->root[i], g) & used,
                                    .size = a->size,
                                    .access = g->access,
                                    .root = i,
                                    .guarded = k,
                                    .regions = r->weak ? weft__regions_number(r->weak->r, a->inst, a->function) : 0},
                      g);
        }
    }
    if (r->gave_up) is.count = 0;
    if (is.count) qsort(is.item, is.count, sizeof *is.item, order);
    const struct item *end = is.item + is.count;
    for (size_t i = 0; i < is.count; i++)
        if (!i || compare(&is.item[i], &is.item[i - 1])) {
            WEFT_GROW(group, groups, room);
            group[groups++] = (struct group){.first = &is.item[i]};
            outside += !is.item[i].object;
        }
    for (size_t i = 0; i < groups && !r->gave_up; i++) {
        for (size_t k = i; k < groups && group[k].first->object == group[i].first->object; k++, looked++)
            note(r, group, i, k, end, &more, &aside);
        if (group[i].first->object && exposed(r, group[i].first->object))
            for (size_t k = 0; k < outside; k++, looked++)
                note(r, group, k, i, end, &more, &aside);
        r->gave_up |= r->plan && looked > MAX_PAIRS;
    }
    put_apart(r, group, end, &aside);
    for (size_t i = 0; i < groups; i++) weft__set_fini(&group[i].regions);
    free(group), free(is.item), free(aside.pair);
    int grew = weft__set_union(published, &more, NULL);
    weft__set_fini(&more);
    return grew;
}

static void forget(struct weft_races_result *res) {
    for (uint32_t i = 0; i < res->classes; i++)
        free(res->class[i].side);
    res->classes = 0, res->races = 0;
}

void weft__pairs_find(struct weft_races *r) {
    struct weft_set published = {0};
    r->result = weft__an_alloc(NULL, 1, sizeof *r->result);
    *r->result = (struct weft_races_result){0};
    find_overlaps(r);
    if (r->plan) { /* a pointer that is passed on by a race is ordered, since the race is: but not what takes another way */
        weft__set_add(&published, 0);
        publish_node(r, &published, r->p->io);
        publish_node(r, &published, r->p->thrown);
        round_of_pairs(r, &published);
    } else {
        while (round_of_pairs(r, &published))
            forget(r->result);
    }
    weft__set_fini(&published);
    for (uint32_t i = 0; i < r->accesses; i++) {
        if (r->access[i].starts) continue;
        r->result->accesses++;
        r->result->racy += r->access[i].racy == 2;
        r->result->atomic_only += r->access[i].racy == 1;
    }
}
