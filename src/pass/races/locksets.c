/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of locks, and of locations that were released. Each set is kept once and has a number, so that states can be
 * compared and stored as numbers. */
#include "races.h"

struct kept {
    uint32_t *item;
    uint32_t count, next;
};

struct table {
    struct kept *kept; /* 0 is the empty one */
    uint32_t count, room, *bucket, buckets;
};

struct weft_lockset_table {
    struct table locks, places;
    struct weft_set *set; /* of `places`, as a set */
    uint32_t sets, set_room;
    struct weft_map without; /* held << 32 | released -> set + 1 */
    struct weft_map of;      /* node + 1 -> released + 1 */
};

static uint32_t hash(const uint32_t *item, uint32_t count) {
    uint64_t h = count;
    for (uint32_t i = 0; i < count; i++)
        h = (h ^ item[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
    return (uint32_t)h;
}

/* Copies the items if the set is new. */
static uint32_t keep(struct table *t, const uint32_t *item, uint32_t count) {
    if (!count) return 0;
    if (t->count >= t->buckets) {
        t->buckets = t->buckets ? 2 * t->buckets : 256;
        t->bucket = weft__an_alloc(t->bucket, t->buckets, sizeof *t->bucket);
        memset(t->bucket, 0, t->buckets * sizeof *t->bucket);
        for (uint32_t i = 1; i < t->count; i++) {
            uint32_t *b = &t->bucket[hash(t->kept[i].item, t->kept[i].count) & (t->buckets - 1)];
            t->kept[i].next = *b;
            *b = i;
        }
    }
    uint32_t *b = &t->bucket[hash(item, count) & (t->buckets - 1)];
    for (uint32_t i = *b; i; i = t->kept[i].next)
        if (t->kept[i].count == count && !memcmp(t->kept[i].item, item, count * sizeof *item)) return i;
    if (!t->count) t->count = 1;
    while (t->count >= t->room) t->kept = weft__an_alloc(t->kept, t->room = t->room ? 2 * t->room : 64, sizeof *t->kept);
    struct kept k = {weft__an_alloc(NULL, count, sizeof *item), count, *b};
    memcpy(k.item, item, count * sizeof *item);
    t->kept[t->count] = k;
    return *b = t->count++;
}

static void drop(struct table *t) {
    for (uint32_t i = 1; i < t->count; i++)
        free(t->kept[i].item);
    free(t->kept), free(t->bucket);
}

void weft__lockset_init(struct weft_races *r) {
    r->sets = weft__an_alloc(NULL, 1, sizeof *r->sets);
    *r->sets = (struct weft_lockset_table){.locks.count = 1, .places.count = 1};
}

void weft__lockset_fini(struct weft_races *r) {
    drop(&r->sets->locks), drop(&r->sets->places);
    for (uint32_t i = 0; i < r->sets->sets; i++)
        weft__set_fini(&r->sets->set[i]);
    free(r->sets->set);
    weft__map_fini(&r->sets->without);
    weft__map_fini(&r->sets->of);
    free(r->sets);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

const uint32_t *weft__lockset_get(const struct weft_races *r, uint32_t set, uint32_t *count) {
    *count = set ? r->sets->locks.kept[set].count : 0;
    return set ? r->sets->locks.kept[set].item : NULL;
}

/* A lock that is there twice is held in the stronger way. */
uint32_t weft__lockset_make(struct weft_races *r, uint32_t *lock, uint32_t count) {
    uint32_t n = 0;
    if (count) qsort(lock, count, sizeof *lock, by_number);
    for (uint32_t i = 0; i < count; i++)
        if (n && lock[n - 1] >> 1 == lock[i] >> 1)
            lock[n - 1] = lock[i];
        else
            lock[n++] = lock[i];
    return keep(&r->sets->locks, lock, n);
}

uint32_t weft__lockset_either(struct weft_races *r, uint32_t a, uint32_t b) {
    if (!a || a == b) return b;
    if (!b) return a;
    uint32_t n, m;
    const uint32_t *x = weft__lockset_get(r, a, &n), *y = weft__lockset_get(r, b, &m);
    uint32_t *lock = weft__an_alloc(NULL, n + m, sizeof *lock);
    memcpy(lock, x, n * sizeof *lock);
    memcpy(lock + n, y, m * sizeof *lock);
    uint32_t set = weft__lockset_make(r, lock, n + m);
    free(lock);
    return set;
}

uint32_t weft__lockset_add(struct weft_races *r, uint32_t set, uint32_t lock) {
    return weft__lockset_either(r, set, keep(&r->sets->locks, &lock, 1));
}

uint32_t weft__lockset_both(struct weft_races *r, uint32_t a, uint32_t b) {
    if (!a || !b || a == b) return a == b ? a : 0;
    uint32_t n, m, count = 0;
    const uint32_t *x = weft__lockset_get(r, a, &n), *y = weft__lockset_get(r, b, &m);
    uint32_t *lock = weft__an_alloc(NULL, n, sizeof *lock);
    for (uint32_t i = 0, j = 0; i < n && j < m;) {
        if (x[i] >> 1 < y[j] >> 1)
            i++;
        else if (x[i] >> 1 > y[j] >> 1)
            j++;
        else
            lock[count++] = x[i] & y[j], i++, j++; /* shared, if it is so in one of them */
    }
    uint32_t set = weft__lockset_make(r, lock, count);
    free(lock);
    return set;
}

/* ---- what was released ---- */

static uint32_t keep_places(struct weft_races *r, const struct weft_set *s) {
    uint32_t *item = weft__an_alloc(NULL, weft__set_size(s) + 1, sizeof *item), count = 0;
    WEFT_SET_EACH(s, l) item[count++] = (uint32_t)l;
    uint32_t id = keep(&r->sets->places, item, count);
    free(item);
    return id;
}

static const struct weft_set *places(struct weft_races *r, uint32_t released) {
    struct weft_lockset_table *t = r->sets;
    while (t->sets <= released) {
        WEFT_GROW(t->set, t->sets, t->set_room);
        t->set[t->sets] = (struct weft_set){0};
        for (uint32_t i = 0; t->sets && i < t->places.kept[t->sets].count; i++)
            weft__set_add(&t->set[t->sets], t->places.kept[t->sets].item[i]);
        t->sets++;
    }
    return &t->set[released];
}

uint32_t weft__released_of(struct weft_races *r, uint32_t node) {
    uint32_t *known = weft__map_at(&r->sets->of, (uint64_t)node + 1);
    if (*known) return *known == UINT32_MAX ? WEFT_ALL : *known - 1;
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, node)].pts;
    uint32_t id = !node || !s->count || weft__set_has(s, r->p->loc_unknown) ? WEFT_ALL : keep_places(r, s);
    *weft__map_at(&r->sets->of, (uint64_t)node + 1) = id == WEFT_ALL ? UINT32_MAX : id + 1;
    return id;
}

uint32_t weft__released_either(struct weft_races *r, uint32_t a, uint32_t b) {
    if (a == WEFT_ALL || b == WEFT_ALL) return WEFT_ALL;
    if (!a || !b || a == b) return a ? a : b;
    struct weft_set s = {0};
    weft__set_union(&s, places(r, a), NULL);
    weft__set_union(&s, places(r, b), NULL);
    uint32_t id = keep_places(r, &s);
    weft__set_fini(&s);
    return id;
}

uint32_t weft__lockset_without(struct weft_races *r, uint32_t set, uint32_t released) {
    if (!set || !released) return set;
    if (released == WEFT_ALL) return 0;
    uint64_t key = (uint64_t)set << 32 | released;
    uint32_t *known = weft__map_find(&r->sets->without, key);
    if (known) return *known - 1;
    uint32_t n, count = 0;
    const uint32_t *x = weft__lockset_get(r, set, &n);
    uint32_t *lock = weft__an_alloc(NULL, n, sizeof *lock);
    for (uint32_t i = 0; i < n; i++)
        if (!weft__address_meets(r, x[i] >> 1, places(r, released))) lock[count++] = x[i];
    uint32_t id = weft__lockset_make(r, lock, count);
    free(lock);
    *weft__map_at(&r->sets->without, key) = id + 1;
    return id;
}
