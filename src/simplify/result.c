/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What came out: the recording in a folder as any other trace has, and in it two files more: `simplified`, JSON, and `simplified.txt`,
 * for people. The folder is replaced in one step, so there is a valid trace in it at any time.
 *
 * Threads and loops are known by source lines: what a thread is called after is where it first accesses memory. */
#include "simplify/simplify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what was removed ---- */

struct group {
    char *name;
    uint64_t before, after;
};
struct groups {
    struct group *list;
    size_t n, cap;
};

static struct group *group_of(struct groups *g, const char *name) {
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->list[i].name, name) == 0) return &g->list[i];
    g->list = weft__grow(g->list, &g->cap, g->n + 1, sizeof *g->list);
    g->list[g->n] = (struct group){.name = weft__strdup(name)};
    return &g->list[g->n++];
}

static void groups_fini(struct groups *g) {
    for (size_t i = 0; i < g->n; i++) free(g->list[i].name);
    free(g->list);
}

#define FIRST 8u
#define NOTHING_YET "that had done nothing yet"
struct sites {
    uint64_t list[FIRST];
    size_t n;
};

/* By thread: the places of its first accesses and loops. */
static struct sites *first_sites(const struct weft_state *s) {
    struct sites *sites = weft__alloc((s->tree.n + 1) * sizeof *sites);
    struct weft_cursor c;
    struct weft_item i;
    struct weft_err err;
    weft__cursor_open(&c, s->t, 0);
    c.skim = true;
    while (weft__cursor_next(&c, &i, &err) > 0) {
        if (i.kind == WEFT_ITEM_REPEAT && i.size >= 8) memcpy(&i.site, i.data, 8);
        if ((!weft__item_is_edge(i.kind) && i.kind != WEFT_ITEM_REPEAT) || !i.site) continue;
        uint32_t t = weft__tree_at(&s->tree, i.slot, i.tick);
        if (t < s->tree.n && sites[t].n < FIRST) sites[t].list[sites[t].n++] = i.site;
    }
    weft__cursor_close(&c);
    return sites;
}

/* The outermost function there that is not of the C++ library, which starts threads and calls what it was given; of the first site that has one.
 * What it begins with, if none has. False: that is not known. */
static bool whose(struct weft_symbols *y, const struct sites *x, struct weft_source *out) {
    struct weft_source from[8];
    bool any = false;
    for (size_t i = 0; i < x->n; i++) {
        size_t n = weft__symbols_sources(y, x->list[i], from, 8);
        if (n && !any) *out = from[n - 1];
        any |= n > 0;
        for (size_t k = n; k-- > 0;)
            if (strncmp(from[k].place, "/usr/", 5) != 0 && *from[k].function) {
                *out = from[k];
                return true;
            }
    }
    return any;
}

/* By thread, new memory: what it is called after. What only the library has done, which starts it, is nothing of its own yet. */
static char **names_of(const struct weft_state *s, struct weft_symbols *y) {
    char **name = weft__alloc((s->tree.n + 1) * sizeof *name);
    struct sites *sites = first_sites(s);
    for (size_t t = 0; t < s->tree.n; t++) {
        struct weft_source from = {0};
        struct weft_strbuf b = {0};
        bool known = whose(y, &sites[t], &from);
        if (known ? strncmp(from.place, "/usr/", 5) == 0 && !s->tree.list[t].ended : !sites[t].n)
            weft__strbuf_puts(&b, NOTHING_YET);
        else if (!known)
            weft__strbuf_puts(&b, "?");
        else if (*from.function)
            weft__strbuf_printf(&b, "%s, %s", from.function, from.place);
        else
            weft__strbuf_puts(&b, from.place);
        name[t] = b.s;
    }
    free(sites);
    return name;
}

static void names_free(char **name, size_t n) {
    for (size_t i = 0; i < n; i++) free(name[i]);
    free(name);
}

/* The thread of the first recording that it is: the only one of its slot. tree->n: a slot was used again, and it may be any of these. */
static size_t same_thread(const struct weft_tree *first, const struct weft_tree *now, size_t t) {
    size_t found = first->n, n = 0;
    for (size_t i = 0; i < now->n; i++) n += i != t && now->list[i].slot == now->list[t].slot;
    for (size_t i = 0; i < first->n; i++)
        if (first->list[i].slot == now->list[t].slot) found = i, n++;
    return n == 1 ? found : first->n;
}

/* Named after what they did in the first recording: little is left of it later. Where that is not known for sure, after what they still do, if
 * a thread of the first recording did so too; else as the first one of their slot. */
static void count_threads(const struct weft_state *first, const struct weft_state *s, struct weft_symbols *y, struct groups *g, bool after) {
    char **then = names_of(first, y), **now = names_of(s, y);
    for (size_t k = 1; k < s->tree.n; k++) {
        if (s->tree.list[k].removed) continue;
        size_t t = same_thread(&first->tree, &s->tree, k), same = 1;
        const char *name = t < first->tree.n ? then[t] : now[k];
        if (t == first->tree.n) {
            while (same < first->tree.n && strcmp(then[same], name) != 0) same++;
            for (size_t i = first->tree.n; i-- > 1 && same == first->tree.n;)
                if (first->tree.list[i].slot == s->tree.list[k].slot) name = then[i];
        }
        struct group *o = group_of(g, name);
        *(after ? &o->after : &o->before) += 1;
    }
    names_free(then, first->tree.n);
    names_free(now, s->tree.n);
}

static void count_iterations(const struct weft_state *s, struct weft_symbols *y, struct groups *g, bool after) {
    for (size_t t = 0; t < s->tree.n; t++)
        for (size_t k = 0; k < s->tree.list[t].npasses && !s->tree.list[t].removed; k++) {
            if (s->tree.list[t].pass[k].skip) continue;
            struct group *o = group_of(g, weft__symbols_line(y, s->tree.list[t].pass[k].site));
            *(after ? &o->after : &o->before) += 1;
        }
}

static void count_all(const struct weft_result *r, struct groups *threads, struct groups *loops) {
    struct weft_err err;
    const struct weft_state *both[] = {r->first, r->search->now};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->t || weft__modules_read(both[i]->t, &err) < 0) continue;
        struct weft_symbols *y = weft__symbols_new(both[i]->t);
        count_threads(r->first, both[i], y, threads, i);
        count_iterations(both[i], y, loops, i);
        weft__symbols_free(y);
    }
}

/* ---- JSON ---- */

static void json_size(struct weft_strbuf *b, const char *name, const struct weft_size *s) {
    weft__strbuf_printf(b,
                        "  \"%s\": {\"threads\": %" PRIu64 ", \"iterations\": %" PRIu64 ", \"most_iterations\": %" PRIu64 ", \"accesses\": %" PRIu64 ", \"events\": %" PRIu64 ", \"switches\": %" PRIu64
                        ", \"preemptive\": %" PRIu64 ", \"bytes\": %" PRIu64 "},\n",
                        name, s->threads, s->iterations, s->most_iterations, s->accesses, s->events, s->switches, s->preemptive, s->bytes);
}

static void json_groups(struct weft_strbuf *b, const char *name, const struct groups *g) {
    weft__strbuf_printf(b, "  \"%s\": [", name);
    for (size_t i = 0; i < g->n; i++) {
        weft__strbuf_puts(b, i ? ",\n    {\"place\": " : "\n    {\"place\": ");
        weft__strbuf_json(b, g->list[i].name);
        weft__strbuf_printf(b, ", \"before\": %" PRIu64 ", \"after\": %" PRIu64 "}", g->list[i].before, g->list[i].after);
    }
    weft__strbuf_puts(b, g->n ? "\n  ],\n" : "],\n");
}

/* Where a turn ends, as a place; threads by slot, as everywhere. */
static void json_order(struct weft_strbuf *b, const struct weft_state *s) {
    weft__strbuf_puts(b, "  \"order_that_passes\": ");
    if (!s) {
        weft__strbuf_puts(b, "null,\n");
        return;
    }
    weft__strbuf_puts(b, "[");
    for (size_t i = 0; i < s->nturns; i++) {
        weft__strbuf_printf(b, "%s{\"thread\": %u", i ? ", " : "", s->tree.list[s->turns[i].thread].slot);
        if (s->turns[i].tick != UINT64_MAX) weft__strbuf_printf(b, ", \"until\": %" PRIu64, s->turns[i].tick);
        weft__strbuf_puts(b, "}");
    }
    weft__strbuf_puts(b, "],\n");
}

static void json_relevant(struct weft_strbuf *b, const struct weft_relevance *x) {
    if (!x->known) {
        weft__strbuf_puts(b, "  \"relevant\": null,\n");
        return;
    }
    weft__strbuf_printf(b,
                        "  \"relevant\": {\"threads\": %" PRIu64 ", \"events\": %" PRIu64 ", \"of_events\": %" PRIu64 ", \"switches\": %" PRIu64
                        ", \"preemptive\": %" PRIu64 ", \"instructions\": %" PRIu64 ", \"of_instructions\": %" PRIu64 "},\n",
                        x->threads, x->events, x->of_events, x->switches, x->preemptive, x->instructions, x->of_instructions);
}

#define TURNS_SHOWN 12u
static void text_order(struct weft_strbuf *b, const struct weft_state *s) {
    if (!s) return;
    weft__strbuf_puts(b, "an order that passes:");
    for (size_t i = 0; i < s->nturns && i < TURNS_SHOWN; i++) {
        char n[WEFT_NUMBUF];
        weft__strbuf_printf(b, "%s thread %u", i ? "," : "", s->tree.list[s->turns[i].thread].slot);
        if (s->turns[i].tick != UINT64_MAX) weft__strbuf_printf(b, " to tick %s", weft__commas(n, s->turns[i].tick));
    }
    weft__strbuf_puts(b, s->nturns > TURNS_SHOWN ? ", ...\n" : "\n");
}

void weft__result_json(const struct weft_result *r, struct weft_strbuf *b) {
    struct groups threads = {0}, loops = {0};
    const struct weft_search *s = r->search;
    count_all(r, &threads, &loops);
    weft__strbuf_puts(b, "{\n  \"origin\": ");
    weft__strbuf_json(b, r->origin);
    weft__strbuf_printf(b, ",\n  \"whole\": %s,\n  \"fails_in_every_order\": %s,\n", r->whole ? "true" : "false", r->any_order ? "true" : "false");
    json_size(b, "before", r->before);
    json_size(b, "steered", &r->first->size);
    json_size(b, "after", &s->now->size);
    json_groups(b, "threads", &threads);
    json_groups(b, "loops", &loops);
    json_order(b, r->order);
    json_relevant(b, &r->relevant);
    weft__strbuf_printf(b, "  \"rounds\": %" PRIu64 ",\n  \"runs\": %" PRIu64 ",\n  \"seconds\": %.3f,\n  \"techniques\": {", s->round, r->runs,
                        (double)r->time_us / 1e6);
    for (int t = 0; t < WEFT_TECHNIQUES; t++) {
        const struct weft_effort *e = &s->effort[t];
        weft__strbuf_printf(b,
                            "%s\n    \"%s\": {\"steps\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"passed\": %" PRIu64 ", \"unresolved\": %" PRIu64
                            ", \"seconds\": %.3f}",
                            t ? "," : "", weft__technique_name[t], e->rounds, e->answers.failed, e->answers.passed, e->answers.unresolved,
                            (double)e->time_us / 1e6);
    }
    weft__strbuf_puts(b, "\n  }\n}\n");
    groups_fini(&threads);
    groups_fini(&loops);
}

/* ---- for people ---- */

static void row(struct weft_strbuf *b, const char *name, uint64_t before, uint64_t after) {
    char x[WEFT_NUMBUF], y[WEFT_NUMBUF];
    weft__strbuf_printf(b, "%-12s %14s %14s", name, weft__commas(x, before), weft__commas(y, after));
    if (after < before) weft__strbuf_printf(b, "  -%.1f %%", 100.0 * (double)(before - after) / (double)before);
    weft__strbuf_puts(b, "\n");
}

static void text_groups(struct weft_strbuf *b, const char *what, const struct groups *g) {
    char x[WEFT_NUMBUF], y[WEFT_NUMBUF];
    for (size_t i = 0; i < g->n; i++) {
        const struct group *k = &g->list[i];
        if (k->before > k->after)
            weft__strbuf_printf(b, "left out: %s of %s %s: %s\n", weft__commas(x, k->before - k->after), weft__commas(y, k->before), what, k->name);
    }
}

void weft__result_text(const struct weft_result *r, struct weft_strbuf *b) {
    struct groups threads = {0}, loops = {0};
    const struct weft_size *x = r->before, *y = &r->search->now->size;
    count_all(r, &threads, &loops);
    weft__strbuf_printf(b, "%-12s %14s %14s\n", "", "before", "after");
    row(b, "threads", x->threads, y->threads);
    row(b, "iterations", r->first->size.iterations, y->iterations);
    row(b, "accesses", x->accesses, y->accesses);
    row(b, "events", x->events, y->events);
    row(b, "switches", x->switches, y->switches);
    row(b, "  preemptive", x->preemptive, y->preemptive);
    row(b, "bytes", x->bytes, y->bytes);
    text_groups(b, "threads", &threads);
    text_groups(b, "iterations", &loops);
    if (r->any_order) weft__strbuf_puts(b, "it passes in no non-preemptive order that was tried\n");
    text_order(b, r->order);
    if (r->relevant.known) {
        char n[WEFT_NUMBUF], m[WEFT_NUMBUF];
        weft__strbuf_printf(b, "relevant: the failure depends on %s of %s events, in %" PRIu64 " of %" PRIu64 " threads\n", weft__commas(n, r->relevant.events),
                            weft__commas(m, r->relevant.of_events), r->relevant.threads, y->threads);
    }
    if (!r->whole) weft__strbuf_puts(b, "it was stopped: more may be left out\n");
    groups_fini(&threads);
    groups_fini(&loops);
}

/* ---- the folder ---- */

static int copy_file(const char *from, const char *to, struct weft_err *err) {
    char buf[65536];
    ssize_t n = 0;
    int r = 0, in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
    if (in >= 0) out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (in < 0 || out < 0) r = -errno;
    while (r == 0 && (n = read(in, buf, sizeof buf)) > 0) r = weft__write_all(out, buf, (size_t)n);
    if (r == 0 && n < 0) r = -errno;
    if (in >= 0) close(in);
    if (out >= 0 && close(out) < 0 && r == 0) r = -errno;
    return r < 0 ? weft__err(err, -r, "%s: %s", to, strerror(-r)) : 0;
}

static int put(const char *dir, const char *name, const struct weft_strbuf *text, struct weft_err *err) {
    struct weft_strbuf path = {0};
    weft__strbuf_printf(&path, "%s/%s", dir, name);
    int r = weft__file_write(path.s, text->s, text->len, err);
    weft__strbuf_fini(&path);
    return r;
}

int weft__result_publish(const char *dir, const struct weft_state *s, const struct weft_strbuf *json, const struct weft_strbuf *text,
                         struct weft_err *err) {
    struct weft_strbuf draft = {0};
    int r = 0;
    weft__strbuf_printf(&draft, "%s.new", dir);
    weft__folder_remove(draft.s);
    if (mkdir(draft.s, 0777) < 0) r = weft__err(err, errno, "%s: cannot make the folder: %s", draft.s, strerror(errno));
    DIR *d = r == 0 ? opendir(s->dir) : NULL;
    if (r == 0 && !d) r = weft__err(err, errno, "%s: %s", s->dir, strerror(errno));
    for (struct dirent *e; r == 0 && (e = readdir(d));) {
        struct weft_strbuf from = {0}, to = {0};
        if (e->d_name[0] == '.') continue;
        weft__strbuf_printf(&from, "%s/%s", s->dir, e->d_name);
        weft__strbuf_printf(&to, "%s/%s", draft.s, e->d_name);
        if (link(from.s, to.s) < 0) r = copy_file(from.s, to.s, err);
        weft__strbuf_fini(&from);
        weft__strbuf_fini(&to);
    }
    if (d) closedir(d);
    if (r == 0) r = put(draft.s, "simplified", json, err);
    if (r == 0) r = put(draft.s, "simplified.txt", text, err);
    if (r == 0 && rename(draft.s, dir) < 0 && renameat2(AT_FDCWD, draft.s, AT_FDCWD, dir, RENAME_EXCHANGE) < 0)
        r = weft__err(err, errno, "%s: %s", dir, strerror(errno));
    weft__folder_remove(draft.s); /* what was there before */
    weft__strbuf_fini(&draft);
    return r;
}
