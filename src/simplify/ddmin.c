/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Delta debugging (Zeller and Hildebrandt, TSE 2002; figure 3 of LEAN): a set of items that fails and fails no longer when any one of
 * them is left out. First nothing at all is tried, which often is enough here; then parts of the set, all but one of the parts, and
 * so on with smaller parts. Small parts alone are not tried: what fails with so little of many is rare, and goes away part by part.
 *
 * Where a program needs each of a thousand threads, to leave out one after the other takes two thousand runs, for nothing. So if none of up to 64 parts
 * can go, and parts would be smaller still, 64 items, evenly spread, are left out one by one first. If none of them can go, all are taken to be
 * needed: if one in twenty could, it would be seen 27 times of 28. Of up to 64 items what is left is 1-minimal always.
 *
 * The sets of one step are asked about together, so that they can be tried side by side; the first one of them that fails is taken,
 * whichever answer comes first. */
#include "simplify/simplify.h"

#include <stdlib.h>
#include <string.h>

#define ALONE 8u   /* parts; smaller ones are only left out */
#define SAMPLE 64u /* items */

static size_t begin_of(const struct weft_ddmin *d, size_t k) { return d->n * k / d->parts; }
static size_t part_of(const struct weft_ddmin *d, size_t k) { return d->some ? d->parts * k / d->some : d->parts ? (d->from + k) % d->parts : 0; }

void weft__ddmin_set(const struct weft_ddmin *d, size_t k, bool *in, size_t all) {
    memset(in, 0, all);
    k = part_of(d, k);
    for (size_t i = 0; d->parts && i < d->n; i++) {
        bool inside = i >= begin_of(d, k) && i < begin_of(d, k + 1);
        in[d->item[i]] = inside != d->others;
    }
}

/* The set becomes number k of the sets. */
static void take(struct weft_ddmin *d, size_t k) {
    k = part_of(d, k);
    size_t from = begin_of(d, k), to = begin_of(d, k + 1), n = 0;
    d->from = d->others ? k : 0;
    for (size_t i = 0; i < d->n; i++)
        if ((i >= from && i < to) != d->others) d->item[n++] = d->item[i];
    d->n = n;
}

int weft__ddmin(bool *keep, size_t n, size_t parts, weft_first_fn *first, void *ctx, struct weft_err *err) {
    struct weft_ddmin d = {.item = weft__alloc((n + 1) * sizeof *d.item), .n = n};
    size_t which;
    int r = 0;
    for (size_t i = 0; i < n; i++) d.item[i] = i;
    if (n) {
        r = first(ctx, &d, 1, &which, err); /* no parts: the empty set */
        if (r == 0 && which == 0) d.n = 0;
    }
    d.parts = 2;
    while (r == 0 && d.n > 1) {
        if (d.parts > d.n) d.parts = d.n;
        d.others = false;
        which = d.parts;
        if (d.parts <= ALONE) r = first(ctx, &d, d.parts, &which, err);
        if (r < 0) break;
        if (which < d.parts) {
            take(&d, which);
            d.parts = 2;
            continue;
        }
        if (d.parts > 2) { /* of two, the one is all but the other */
            d.others = true;
            r = first(ctx, &d, d.parts, &which, err);
            if (r < 0) break;
            if (which < d.parts) {
                take(&d, which);
                d.parts = d.parts - 1 > 2 ? d.parts - 1 : 2;
                continue;
            }
        }
        if (d.parts >= d.n || 2 * d.parts > parts) break;
        size_t next = 2 * d.parts < d.n ? 2 * d.parts : d.n;
        if (next > SAMPLE) {
            d.parts = d.n;
            d.some = SAMPLE;
            r = first(ctx, &d, SAMPLE, &which, err);
            if (r < 0 || which == SAMPLE) break;
            take(&d, which);
            d.some = 0;
        }
        d.parts = next < d.n ? next : d.n;
        d.from = 0;
    }
    memset(keep, 0, n);
    for (size_t i = 0; i < d.n; i++) keep[d.item[i]] = true;
    free(d.item);
    return r;
}
