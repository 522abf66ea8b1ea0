/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What of a trace its failure depends on, as weft slice finds it: the file `relevant` in its folder. It is no part of the trace: a replay
 * does not read it. One line says what it is, the next how many instructions were followed and how many of them are relevant, and each of
 * the others has a slot, the first and last tick, and the site of an access (hexadecimal), or 0 for the operations of these ticks; sorted by
 * slot, site and tick. */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "relevant"
#define FIRST "weft relevant 1\n"
#define MOST (256u << 20)

static char *path_of(const char *dir) {
    struct weft_strbuf b = {0};
    weft__strbuf_printf(&b, "%s/%s", dir, NAME);
    return b.s;
}

int weft__relevant_write(const struct weft_relevant *r, const char *dir, struct weft_err *err) {
    struct weft_strbuf b = {0};
    char *path = path_of(dir);
    weft__strbuf_printf(&b, FIRST "%" PRIu64 " %" PRIu64 "\n", r->instructions, r->relevant);
    for (size_t i = 0; i < r->n; i++)
        weft__strbuf_printf(&b, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIx64 "\n", r->ranges[i].slot, r->ranges[i].from, r->ranges[i].to, r->ranges[i].site);
    int e = weft__file_write(path, b.s, b.len, err);
    weft__strbuf_fini(&b);
    free(path);
    return e;
}

int weft__relevant_read(const char *dir, struct weft_relevant *out, struct weft_err *err) {
    char *path = path_of(dir), *text = NULL, *p;
    struct stat st;
    size_t len, cap = 0;
    int used = 0, r = 0;
    *out = (struct weft_relevant){0};
    if (stat(path, &st) < 0) r = 1;
    if (r == 0) r = weft__file_read(path, MOST, &text, &len, err);
    if (r == 0 && (strncmp(text, FIRST, sizeof FIRST - 1) != 0 ||
                   sscanf(text + sizeof FIRST - 1, "%" SCNu64 " %" SCNu64 "%n", &out->instructions, &out->relevant, &used) != 2))
        r = weft__err(err, EBADMSG, "%s: is not what weft slice writes", path);
    for (p = r == 0 ? text + sizeof FIRST - 1 + used + 1 : NULL; p && *p && r == 0; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        struct weft_relevant_range x = {0};
        if (sscanf(p, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNx64, &x.slot, &x.from, &x.to, &x.site) != 4) {
            r = weft__err(err, EBADMSG, "%s: has a line that is none", path);
            break;
        }
        out->ranges = weft__grow(out->ranges, &cap, out->n + 1, sizeof *out->ranges);
        out->ranges[out->n++] = x;
    }
    if (r < 0) weft__relevant_fini(out);
    free(text);
    free(path);
    return r;
}

void weft__relevant_fini(struct weft_relevant *r) {
    free(r->ranges);
    *r = (struct weft_relevant){0};
}

bool weft__relevant_counts(const struct weft_item *i) {
    switch (i->kind) {
    case WEFT_ITEM_INPUT: case WEFT_ITEM_START: case WEFT_ITEM_EXIT: case WEFT_ITEM_CRASH: case WEFT_ITEM_SIGNAL: case WEFT_ITEM_MEMORY: return true;
    default: return weft__item_is_edge(i->kind);
    }
}

bool weft__relevant_has(const struct weft_relevant *s, const struct weft_item *i) {
    uint64_t site = weft__item_is_edge(i->kind) ? i->site : 0;
    if (!weft__relevant_counts(i)) return false;
    if (i->kind == WEFT_ITEM_CRASH) return true;
    size_t lo = 0, hi = s->n; /* the first one of its slot and site */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct weft_relevant_range *r = &s->ranges[mid];
        if (r->slot < i->slot || (r->slot == i->slot && r->site < site))
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < s->n && s->ranges[lo].slot == i->slot && s->ranges[lo].site == site && s->ranges[lo].from <= i->tick; lo++)
        if (i->tick <= s->ranges[lo].to) return true;
    return false;
}
