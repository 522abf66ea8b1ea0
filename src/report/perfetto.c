/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A trace in the Chrome trace event format, which Perfetto and chrome://tracing open: a track for each thread, a slice for each block, an
 * instant for each event, and arrows for edges. A trace has no times: a microsecond stands for an event of the sequence (blocks.c). */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

struct past {
    uint64_t tick, at;
};
struct lane {
    struct past *past; /* its events so far */
    size_t n, cap;
};
struct writing {
    FILE *out;
    struct weft_symbols *symbols;
    struct lane *lanes;
    size_t nlanes;
    uint64_t at, flows;
};

static const char *place(struct writing *w, uint64_t site) { return site ? weft__symbols_line(w->symbols, site) : ""; }

static struct lane *lane_of(struct writing *w, uint32_t slot) {
    size_t had = w->nlanes;
    if (slot >= had) {
        w->lanes = weft__grow(w->lanes, &w->nlanes, (size_t)slot + 1, sizeof *w->lanes);
        for (size_t i = had; i < w->nlanes; i++) w->lanes[i] = (struct lane){0};
    }
    return &w->lanes[slot];
}

/* Where in the sequence a thread was at that tick: its last event up to there. */
static bool where(const struct lane *l, uint64_t tick, uint64_t *at) {
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->past[mid].tick <= tick)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo) *at = l->past[lo - 1].at;
    return lo;
}

static void put_event(void *ctx, const struct weft_item *i, size_t block) {
    struct writing *w = ctx;
    char buf[64];
    struct weft_strbuf text = {0};
    uint64_t from;
    (void)block;
    if (weft__item_is_edge(i->kind)) {
        weft__strbuf_json(&text, place(w, i->site));
        fprintf(w->out, ",\n{\"name\":\"edge\",\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ".5,\"args\":{\"tick\":%" PRIu64 ",\"at\":%s,\"after thread\":%u,\"after tick\":%" PRIu64 "}}",
                i->slot, w->at, i->tick, text.s, i->other_slot, i->other_tick);
        if (i->other_slot != i->slot && where(lane_of(w, i->other_slot), i->other_tick, &from)) {
            uint64_t id = ++w->flows;
            fprintf(w->out, ",\n{\"name\":\"edge\",\"cat\":\"edge\",\"ph\":\"s\",\"id\":%" PRIu64 ",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ".5}", id, i->other_slot, from);
            fprintf(w->out, ",\n{\"name\":\"edge\",\"cat\":\"edge\",\"ph\":\"f\",\"bp\":\"e\",\"id\":%" PRIu64 ",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ".5}", id, i->slot, w->at);
        }
    } else {
        weft__strbuf_json(&text, weft__event_name(i, buf, sizeof buf));
        fprintf(w->out, ",\n{\"name\":%s,\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ".5,\"args\":{\"tick\":%" PRIu64 "}}", text.s, i->slot, w->at, i->tick);
    }
    weft__strbuf_fini(&text);
    struct lane *l = lane_of(w, i->slot);
    l->past = weft__grow(l->past, &l->cap, l->n + 1, sizeof *l->past);
    l->past[l->n++] = (struct past){i->tick, w->at++};
}

int weft__report_perfetto(struct weft_trace *t, FILE *out, struct weft_err *err) {
    struct writing w = {.out = out};
    struct weft_blocks blocks = {0};
    struct weft_strbuf name = {0};
    int r = weft__modules_read(t, err);
    if (r < 0) return r;
    w.symbols = weft__symbols_new(t);
    weft__strbuf_json(&name, t->program);
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":%s}}", name.s);
    r = weft__blocks_make(t, NULL, &blocks, put_event, &w, err);
    for (size_t s = 1; r == 0 && s < w.nlanes; s++)
        if (w.lanes[s].n) fprintf(out, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"args\":{\"name\":\"thread %zu\"}}", s, s);
    for (size_t i = 0; r == 0 && i < blocks.n; i++) {
        const struct weft_block *b = &blocks.list[i];
        fprintf(out, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64 ",\"args\":{\"from tick\":%" PRIu64 ",\"to tick\":%" PRIu64 ",\"events\":%" PRIu64 "}}",
                b->over ? "to its end" : b->preempted ? "preempted" : "until it waits", b->slot, b->first, b->events, b->from_tick, b->to_tick, b->events);
    }
    fputs("\n]}\n", out);
    for (size_t s = 0; s < w.nlanes; s++) free(w.lanes[s].past);
    free(w.lanes);
    weft__strbuf_fini(&name);
    weft__blocks_fini(&blocks);
    weft__symbols_free(w.symbols);
    return r;
}
