/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts that all forms of a report have in common: places in the source, with the line itself if the file is still there, and names. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INLINED 16
#define SOURCE_MAX (8u << 20)

/* The line of "file:12", without its indentation. */
static char *code_of(const struct weft_trace *t, const char *place) {
    const char *colon = strrchr(place, ':');
    struct weft_strbuf path = {0};
    struct weft_err err;
    struct stat st;
    char *text = NULL, *out = NULL;
    size_t len;
    if (!colon) return NULL;
    if (place[0] != '/') weft__strbuf_printf(&path, "%s/", t->cwd);
    weft__strbuf_add(&path, place, (size_t)(colon - place));
    weft__strbuf_add(&path, "", 1);
    if (stat(path.s, &st) == 0 && S_ISREG(st.st_mode) && weft__file_read(path.s, SOURCE_MAX, &text, &len, &err) == 0) {
        char *p = text;
        for (long line = strtol(colon + 1, NULL, 10); p && line > 1; line--) p = (p = strchr(p, '\n')) ? p + 1 : NULL;
        if (p && *p) {
            p += strspn(p, " \t");
            size_t n = strcspn(p, "\r\n");
            struct weft_strbuf b = {0};
            weft__strbuf_add(&b, p, n < 200 ? n : 200);
            weft__strbuf_add(&b, "", 1);
            out = b.s;
        }
    }
    free(text);
    weft__strbuf_fini(&path);
    return out;
}

static void fill(struct weft_report *r, struct weft_place *out, const struct weft_source *s, const char *function) {
    *out = (struct weft_place){.function = weft__strdup(*s->function ? s->function : function && *function ? function : "?"),
                               .place = weft__strdup(s->place),
                               .code = code_of(r->t, s->place)};
}

void weft__place_of(struct weft_report *r, uint64_t pc, struct weft_place *out) {
    struct weft_source s[INLINED];
    size_t n = weft__symbols_sources(r->symbols, pc, s, INLINED), i = 0;
    while (i < n && s[i].system) i++;
    fill(r, out, &s[i < n ? i : 0], NULL);
}

/* With what was inlined; but headers of the system's tell nobody anything. */
void weft__stack_add(struct weft_report *r, struct weft_stack *k, uint64_t pc, const char *function) {
    struct weft_source s[INLINED];
    size_t n = weft__symbols_sources(r->symbols, pc, s, INLINED);
    for (size_t i = 0; i < n; i++) {
        if (s[i].system) continue;
        k->frame = weft__resize(k->frame, (k->n + 1) * sizeof *k->frame);
        fill(r, &k->frame[k->n++], &s[i], function);
    }
}

const char *weft__access_verb(const struct weft_access *a) {
    bool write = a->what & WEFT_ACC_WRITE;
    if (a->what & WEFT_ACC_ORDERED) return write ? "writes (atomic)" : "reads (atomic)";
    if (!(a->what & WEFT_ACC_ATOMIC)) return write ? "writes" : "reads";
    switch ((a->what & WEFT_ACC_OP) >> WEFT_ACC_OP_SHIFT) {
    case WEFT_AT_LOAD: return "reads (atomic)";
    case WEFT_AT_STORE: return "writes (atomic)";
    default: return write ? "updates (atomic)" : "reads (atomic)";
    }
}

const char *weft__event_name(const struct weft_item *i, char *buf, size_t n) {
    const char *name;
    switch (i->kind) {
    case WEFT_ITEM_INPUT: return weft__op_text(i->op, buf, n);
    case WEFT_ITEM_CRASH:
    case WEFT_ITEM_SIGNAL:
        name = i->op <= 64 ? sigabbrev_np((int)i->op) : NULL;
        snprintf(buf, n, "%s SIG%s", i->kind == WEFT_ITEM_CRASH ? "crash" : "signal", name ? name : "?");
        return buf;
    default: return weft__item_is_edge(i->kind) ? "edge" : weft__item_name(i->kind);
    }
}

static void place_fini(struct weft_place *p) {
    free(p->function);
    free(p->place);
    free(p->code);
}
static void stack_fini(struct weft_stack *s) {
    for (size_t i = 0; i < s->n; i++) place_fini(&s->frame[i]);
    free(s->frame);
    *s = (struct weft_stack){0};
}

int weft__report_order(struct weft_report *r, struct weft_err *err) {
    struct weft_blocks *o = &r->order;
    struct weft_tree tree;
    int e = weft__tree_make(r->t, NULL, &tree, err);
    if (e < 0) return e;
    r->threads = r->counts.threads;
    for (size_t i = 0; i < tree.n; i++) r->threads -= tree.list[i].removed;
    o->list = weft__alloc((r->blocks.n + 1) * sizeof *o->list);
    r->order_relevant = weft__alloc((r->blocks.n + 1) * sizeof *r->order_relevant);
    for (size_t i = 0; i < r->blocks.n; i++) {
        const struct weft_block *b = &r->blocks.list[i];
        struct weft_block *last = o->n ? &o->list[o->n - 1] : NULL;
        uint32_t t = weft__tree_at(&tree, b->slot, b->from_tick);
        if (t < tree.n && tree.list[t].removed && b->to_tick <= tree.list[t].to_tick) continue;
        o->events += b->events;
        if (last && last->slot == b->slot) { /* one that was removed came between */
            last->events += b->events;
            last->to_tick = b->to_tick;
            last->preempted = b->preempted;
            last->over = b->over;
        } else {
            o->switches += last != NULL;
            o->preemptive += last && last->preempted;
            o->list[o->n++] = *b;
        }
        if (r->sliced) r->order_relevant[o->n - 1] += r->relevant_in[i];
    }
    weft__tree_fini(&tree);
    return 0;
}

void weft__report_forget_race(struct weft_report *r) {
    for (size_t i = 0; i < WEFT_RACE_ACCESSES; i++) {
        stack_fini(&r->seen[i].stack);
        r->seen[i] = (struct weft_seen){0};
    }
    free(r->variable);
    r->variable = NULL;
    r->race = (struct weft_race){0};
}

void weft__report_fini(struct weft_report *r) {
    weft__blocks_fini(&r->blocks);
    free(r->order.list);
    free(r->order_relevant);
    weft__symbols_free(r->symbols);
    free(r->status);
    free(r->stuck);
    weft__report_forget_race(r);
    place_fini(&r->last);
    stack_fini(&r->stack);
    weft__strbuf_fini(&r->notes);
    weft__relevant_fini(&r->relevant);
    free(r->relevant_in);
    free(r->simplified);
    free(r->removed);
}
