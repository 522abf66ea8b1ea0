/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Weak locks (Chimera, sections 2.3 and 4): which regions take which, so that accesses of two regions that conflict need no checks.
 *
 * Chimera's locks exclude each other and themselves; there a lock is shared by a clique of functions of which no two were ever seen at the
 * same time. Phases of a parallel program are the common case, and every phase runs in all threads at once. So a weak lock here has sides: regions on different
 * sides exclude each other, those on one side do not. A clique is a lock with one region on each side.
 *
 * Regions that were seen beside each other must not be on different sides, or the program would lose its parallelism. Those that conflict
 * must be, and so must not be seen beside each other; accesses of one region that conflict with others of the same region, in another thread, are
 * checked as ever. Locks are filled greedily, in the order of the pairs: a region joins the side where those are that were seen beside it, else one
 * with which it has no conflict, else it opens one; where it would have to be on two, the next lock is tried.
 *
 * Without a profile (-weft-granularity=region, for tests) no two regions count as seen beside each other.
 *
 * A profile that has not seen everything costs time, not exactness: then threads wait for each other at the ticks (owner.c). */
#include "plan.h"
#include "../../profile/profile.h"

void weft__weak_init(struct weft_weak *w, struct weft_regions *r, const struct weft_profile *profile) {
    *w = (struct weft_weak){.r = r, .profile = profile};
}

void weft__weak_fini(struct weft_weak *w) {
    for (unsigned i = 0; i < WEFT_LOCKS_MOST; i++)
        for (unsigned s = 0; s < WEFT_SIDES_MOST; s++) weft__set_fini(&w->lock[i].side[s]);
    weft__map_fini(&w->race);
}

/* CODE of two functions counts as beside each other: a thread is in it for one access at a time, and to take a lock from each other for each would cost
 * far more than checks. Regions that never ran are of no interest, and need not be kept apart. */
static int beside(const struct weft_weak *w, uint32_t a, uint32_t b) {
    const struct weft_region *x = &w->r->region[a], *y = &w->r->region[b];
    if (!w->profile) return a == b;
    if (a == b || (x->kind == WEFT_REGION_CODE && y->kind == WEFT_REGION_CODE)) return 1;
    if (!weft__profile_knows(w->profile, x->name) || !weft__profile_knows(w->profile, y->name)) return 1;
    if (!weft__profile_count(w->profile, x->name) && !weft__profile_count(w->profile, y->name)) return 1;
    return weft__profile_beside(w->profile, x->name, y->name);
}

static uint64_t pair(uint64_t a, uint64_t b) {
    return (a < b ? a << 32 | b : b << 32 | a) + 1;
}

int weft__weak_may(struct weft_weak *w, const struct weft_set *a, const struct weft_set *b) {
    WEFT_SET_EACH(a, x)
        WEFT_SET_EACH(b, y)
            if (beside(w, (uint32_t)x, (uint32_t)y)) return 0;
    WEFT_SET_EACH(a, x)
        WEFT_SET_EACH(b, y) *weft__map_at(&w->race, pair(x, y)) = 1;
    return 1;
}

static int side_of(const struct weft_weak_lock *l, uint32_t x) {
    for (unsigned s = 0; s < l->sides; s++)
        if (weft__set_has(&l->side[s], x)) return (int)s;
    return -1;
}

/* The side on which x can be; -1: none. */
static int fitting(const struct weft_weak *w, const struct weft_weak_lock *l, uint32_t x) {
    int must = -1, may = -1;
    for (unsigned s = 0; s < l->sides; s++) {
        int near = 0, conflicts = 0;
        WEFT_SET_EACH(&l->side[s], y) {
            near |= beside(w, x, (uint32_t)y);
            conflicts |= weft__map_find(&w->race, pair(x, y)) != NULL;
        }
        if (near && (must >= 0 || conflicts)) return -1;
        if (near) must = (int)s;
        if (!conflicts && may < 0) may = (int)s;
    }
    if (must >= 0) return must;
    return may >= 0 ? may : l->sides < WEFT_SIDES_MOST ? (int)l->sides : -1;
}

/* Puts x on its side; -1: it has none. *added: it was not on it before. */
static int put(const struct weft_weak *w, struct weft_weak_lock *l, uint32_t x, int *added) {
    int s = side_of(l, x);
    *added = s < 0;
    if (s < 0) s = fitting(w, l, x);
    if (s < 0) return -1;
    weft__set_add(&l->side[s], x);
    if ((unsigned)s == l->sides) l->sides++;
    return s;
}

static int keeps_apart(struct weft_weak *w, struct weft_weak_lock *l, uint32_t x, uint32_t y) {
    int new_x, new_y, n = (int)l->sides, s = put(w, l, x, &new_x), t = put(w, l, y, &new_y);
    if (s >= 0 && t >= 0 && s != t) return 1;
    if (s >= 0 && new_x) weft__set_remove(&l->side[s], x);
    if (t >= 0 && new_y) weft__set_remove(&l->side[t], y);
    l->sides = (unsigned)n;
    return 0;
}

int weft__weak_order(struct weft_weak *w, const struct weft_set *a, const struct weft_set *b) {
    WEFT_SET_EACH(a, x)
        WEFT_SET_EACH(b, y) {
            unsigned k = 0;
            while (k < w->locks && !keeps_apart(w, &w->lock[k], (uint32_t)x, (uint32_t)y)) k++;
            if (k < w->locks) continue;
            if (w->locks == WEFT_LOCKS_MOST) return 0;
            w->locks++;
            WEFT_CHECK(keeps_apart(w, &w->lock[k], (uint32_t)x, (uint32_t)y));
        }
    return 1;
}

void weft__weak_end(struct weft_weak *w) {
    for (unsigned i = 0; i < w->locks; i++)
        for (unsigned s = 0; s < w->lock[i].sides; s++)
            WEFT_SET_EACH(&w->lock[i].side[s], x) w->r->region[x].sides |= 1ull << (i * WEFT_SIDES_MOST + s);
    w->r->weak = w->locks != 0;
}
