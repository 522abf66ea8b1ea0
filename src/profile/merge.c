/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adds profiles up, and writes them down as profile.h says. */
#include "base/base.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

static int less_or_more(const void *a, const void *b) {
    const struct weft_profile_pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

void weft__profile_sort(struct weft_profile_pair *list, size_t n) {
    if (n) qsort(list, n, sizeof *list, less_or_more);
}

static uint64_t sum(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

/* All regions of both; where those of each are now is left in at[0] and at[1]. */
static void merge_regions(struct weft_profile *into, const struct weft_profile *from, uint32_t *at[2]) {
    size_t i = 0, k = 0, n = 0;
    struct weft_profile_region *all = weft__alloc((into->regions + from->regions) * sizeof *all);
    for (; i < into->regions || k < from->regions; n++) {
        int c = i == into->regions ? 1 : k == from->regions ? -1 : strcmp(into->region[i].name, from->region[k].name);
        all[n] = c <= 0 ? into->region[i] : (struct weft_profile_region){weft__strdup(from->region[k].name), 0};
        if (c >= 0) all[n].count = sum(all[n].count, from->region[k].count);
        if (c <= 0) at[0][i++] = (uint32_t)n;
        if (c >= 0) at[1][k++] = (uint32_t)n;
    }
    free(into->region);
    into->region = all;
    into->regions = n;
}

/* How many are new. Indices keep their order, so each list stays sorted and its pairs stay the right way round. */
static size_t merge_pairs(struct weft_profile *into, const struct weft_profile *from, uint32_t *const at[2]) {
    size_t n = 0, had = into->pairs, all = had + from->pairs;
    struct weft_profile_pair *list = weft__alloc(all * sizeof *list);
    for (size_t i = 0; i < all; i++) {
        struct weft_profile_pair x = i < had ? into->pair[i] : from->pair[i - had];
        uint32_t *now = at[i >= had];
        list[i] = (struct weft_profile_pair){now[x.a], now[x.b]};
    }
    weft__profile_sort(list, all);
    for (size_t i = 0; i < all; i++)
        if (!n || less_or_more(&list[n - 1], &list[i])) list[n++] = list[i];
    free(into->pair);
    into->pair = list;
    into->pairs = n;
    return n - had;
}

void weft__profile_merge(struct weft_profile *into, const struct weft_profile *from) {
    uint32_t *at[2] = {weft__alloc(into->regions * sizeof **at), weft__alloc(from->regions * sizeof **at)};
    merge_regions(into, from, at);
    size_t fresh = merge_pairs(into, from, at), runs = into->runs + from->runs;
    free(at[0]);
    free(at[1]);
    into->added = weft__resize(into->added, runs * sizeof *into->added);
    for (size_t i = from->runs; i > 0; i--) {
        uint64_t n = from->added[i - 1] < fresh ? from->added[i - 1] : fresh;
        into->added[into->runs + i - 1] = n;
        fresh -= n;
    }
    into->runs = runs;
}

void weft__profile_text(const struct weft_profile *p, struct weft_strbuf *out) {
    weft__strbuf_printf(out, "weft-profile 1\nruns %zu\n", p->runs);
    for (size_t i = 0; i < p->runs; i++) weft__strbuf_printf(out, "added %llu\n", (unsigned long long)p->added[i]);
    for (size_t i = 0; i < p->regions; i++)
        weft__strbuf_printf(out, "region %llu %s\n", (unsigned long long)p->region[i].count, p->region[i].name);
    for (size_t i = 0; i < p->pairs; i++)
        weft__strbuf_printf(out, "beside %s\t%s\n", p->region[p->pair[i].a].name, p->region[p->pair[i].b].name);
}
