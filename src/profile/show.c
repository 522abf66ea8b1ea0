/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A profile for people: has it seen enough, which regions ran, and which of them beside each other. */
#include "base/base.h"
#include "profile/profile.h"

#include <stdlib.h>

#define SHOWN_RUNS 20u /* the last ones, of many */

static void show_runs(const struct weft_profile *p, struct weft_strbuf *out) {
    char a[WEFT_NUMBUF];
    size_t from = p->runs > SHOWN_RUNS ? p->runs - SHOWN_RUNS : 0, quiet = 0;
    weft__strbuf_printf(out, "runs      %s", weft__commas(a, p->runs));
    for (size_t i = from; i < p->runs; i++)
        weft__strbuf_printf(out, "%s%s", i > from ? ", " : from ? "; pairs that the last of them added: " : "; pairs that each added: ",
                            weft__commas(a, p->added[i]));
    while (quiet < p->runs && !p->added[p->runs - 1 - quiet]) quiet++;
    if (quiet > 1)
        weft__strbuf_printf(out, "\n          the last %s added none", weft__commas(a, quiet));
    else if (p->runs)
        weft__strbuf_puts(out, quiet ? "\n          the last one added none" : "\n          the last one added some: more runs may find more");
    weft__strbuf_puts(out, "\n");
}

void weft__profile_show(const struct weft_profile *p, struct weft_strbuf *out) {
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF];
    size_t entered = 0;
    for (size_t i = 0; i < p->regions; i++) entered += p->region[i].count != 0;
    show_runs(p, out);
    weft__strbuf_printf(out, "regions   %s, of which %s were entered\n", weft__commas(a, p->regions), weft__commas(b, entered));
    weft__strbuf_printf(out, "beside    %s pair%s ran beside each other\n", weft__commas(a, p->pairs), p->pairs == 1 ? "" : "s");
    /* Each pair is told of at both its ends: a sorted list has those where a region comes first together, not the others. */
    size_t *first = weft__alloc((p->regions + 1) * sizeof *first), *at = weft__alloc((p->regions + 1) * sizeof *at);
    for (size_t k = 0; k < p->pairs; k++) {
        first[p->pair[k].a + 1]++;
        if (p->pair[k].a != p->pair[k].b) first[p->pair[k].b + 1]++;
    }
    for (size_t i = 0; i < p->regions; i++) at[i + 1] = first[i + 1] += first[i];
    uint32_t *other = weft__alloc((first[p->regions] + 1) * sizeof *other);
    for (size_t k = 0; k < p->pairs; k++) {
        other[at[p->pair[k].a]++] = p->pair[k].b;
        if (p->pair[k].a != p->pair[k].b) other[at[p->pair[k].b]++] = p->pair[k].a;
    }
    weft__strbuf_puts(out, "\n   entered  region\n");
    for (size_t i = 0; i < p->regions; i++) {
        weft__strbuf_printf(out, "%10s  %s\n", weft__commas(a, p->region[i].count), p->region[i].name);
        for (size_t k = first[i]; k < first[i + 1]; k++)
            weft__strbuf_printf(out, "%10s    beside %s\n", "", other[k] == i ? "itself" : p->region[other[k]].name);
    }
    free(other);
    free(at);
    free(first);
}
