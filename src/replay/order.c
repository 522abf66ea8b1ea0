/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In which order the sites of a tick are passed. A trace tells it only where the thread has edges there. But every cycle of the program has a
 * tick on it, so of two sites that are passed in the same tick, the same one is always first: whoever has seen both knows it for
 * good. This is made from the list of accesses of a replay: pairs of sites, each with the first one first. */
#include "replay/replay.h"

#include <stdlib.h>

#define NEAR 64u /* sites of a tick that are compared with the next one */

struct pair {
    uint64_t a, b; /* 0: free */
};
struct weft_order {
    struct pair *table;
    size_t n, room; /* a power of two */
};

static struct pair *find(const struct weft_order *o, uint64_t a, uint64_t b) {
    uint64_t key[2] = {a, b};
    size_t i = weft_hash(key, sizeof key) & (o->room - 1);
    while (o->table[i].a && (o->table[i].a != a || o->table[i].b != b)) i = (i + 1) & (o->room - 1);
    return &o->table[i];
}

static void add(struct weft_order *o, uint64_t a, uint64_t b) {
    struct pair *p = find(o, a, b);
    if (p->a) return;
    *p = (struct pair){a, b};
    if (2 * ++o->n < o->room) return;
    struct weft_order more = {.room = 2 * o->room, .n = o->n};
    more.table = weft__alloc(more.room * sizeof *more.table);
    for (size_t i = 0; i < o->room; i++)
        if (o->table[i].a) *find(&more, o->table[i].a, o->table[i].b) = o->table[i];
    free(o->table);
    *o = more;
}

struct weft_order *weft__order_new(const struct weft_accesses *l) {
    struct weft_order *o = weft__alloc(sizeof *o);
    struct lane {
        uint64_t tick, site[NEAR];
        unsigned n;
    } *lane = NULL;
    size_t lanes = 0, cap = 0;
    *o = (struct weft_order){.room = 1024, .table = weft__alloc(1024 * sizeof *o->table)};
    for (uint64_t i = l->next > l->room ? l->next - l->room : 0; i < l->next; i++) {
        const struct weft_access *x = &l->ring[i % l->room];
        if (!x->site) continue;
        lane = weft__grow(lane, &cap, x->slot + 1ul, sizeof *lane);
        while (lanes <= x->slot) lane[lanes++] = (struct lane){0};
        struct lane *k = &lane[x->slot];
        if (k->tick != x->tick) k->n = 0;
        k->tick = x->tick;
        for (unsigned j = 0; j < k->n && j < NEAR; j++)
            if (k->site[j] != x->site) add(o, k->site[j], x->site);
        k->site[k->n++ % NEAR] = x->site;
    }
    free(lane);
    return o;
}

void weft__order_free(struct weft_order *o) {
    if (!o) return;
    free(o->table);
    free(o);
}

int weft__order_of(const struct weft_order *o, uint64_t a, uint64_t b) {
    if (!o || !a || !b || a == b) return 0;
    return find(o, a, b)->a ? -1 : find(o, b, a)->a ? 1 : 0;
}
