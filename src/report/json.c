/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as JSON; weft-report(1) tells what each field means. */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000u /* the last ones */

static void put_place(struct weft_strbuf *b, const struct weft_place *p) {
    weft__strbuf_puts(b, "{\"function\": ");
    weft__strbuf_json(b, p->function);
    weft__strbuf_puts(b, ", \"place\": ");
    weft__strbuf_json(b, p->place);
    if (p->code) {
        weft__strbuf_puts(b, ", \"code\": ");
        weft__strbuf_json(b, p->code);
    }
    weft__strbuf_puts(b, "}");
}

static void put_stack(struct weft_strbuf *b, const struct weft_stack *s) {
    weft__strbuf_puts(b, "[");
    for (size_t i = 0; i < s->n; i++) {
        if (i) weft__strbuf_puts(b, ", ");
        put_place(b, &s->frame[i]);
    }
    weft__strbuf_puts(b, "]");
}

/* Those that begin with `prefix`. */
static void put_lines(struct weft_strbuf *b, const char *p, const char *prefix) {
    bool any = false;
    weft__strbuf_puts(b, "[");
    while (p && *p) {
        size_t n = strcspn(p, "\n");
        if (strncmp(p, prefix, strlen(prefix)) == 0) {
            struct weft_strbuf line = {0};
            weft__strbuf_add(&line, p, n);
            weft__strbuf_add(&line, "", 1);
            if (any) weft__strbuf_puts(b, ", ");
            weft__strbuf_json(b, line.s);
            weft__strbuf_fini(&line);
            any = true;
        }
        p += n + (p[n] == '\n');
    }
    weft__strbuf_puts(b, "]");
}

static void put_failure(struct weft_strbuf *b, const struct weft_report *r) {
    const struct weft_trace *t = r->t;
    const char *kind = !t->has_end ? "cut" : t->end.kind == WEFT_END_SIGNAL ? "signal" : t->end.kind == WEFT_END_STUCK ? "stuck" : "exit";
    weft__strbuf_printf(b, "{\"failed\": %s, \"kind\": \"%s\"", r->failed ? "true" : "false", kind);
    if (t->has_end && t->end.kind != WEFT_END_STUCK) weft__strbuf_printf(b, ", \"code\": %u", t->end.code);
    if (r->slot) weft__strbuf_printf(b, ", \"thread\": %u", r->slot);
    if (r->crashed) weft__strbuf_printf(b, ", \"address\": \"0x%" PRIx64 "\"", r->crash.addr);
    weft__strbuf_puts(b, ", \"stack\": ");
    put_stack(b, &r->stack);
    if (r->last.place) {
        weft__strbuf_puts(b, ", \"last_access\": ");
        put_place(b, &r->last);
    }
    weft__strbuf_puts(b, "}");
}

static void put_race(struct weft_strbuf *b, const struct weft_report *r) {
    static const char *const names[] = {[WEFT_RACE_EARLY] = "early", [WEFT_RACE_LAST] = "last", [WEFT_RACE_BETWEEN] = "between", [WEFT_RACE_HALVES] = "halves", [WEFT_RACE_UNFINISHED] = "unfinished", [WEFT_RACE_PAIR] = "race", [WEFT_RACE_TORN] = "race-between", [WEFT_RACE_LOST] = "lost-update"};
    if (!r->race.kind) {
        weft__strbuf_puts(b, "null");
        return;
    }
    weft__strbuf_printf(b, "{\"likely\": %s, \"elsewhere\": %s, \"kind\": \"%s\", \"text\": ", r->race.kind >= WEFT_RACE_PAIR ? "true" : "false", r->race.elsewhere ? "true" : "false", names[r->race.kind]);
    weft__strbuf_json(b, weft__race_text(r->race.kind));
    weft__strbuf_puts(b, ", \"variable\": ");
    weft__strbuf_json(b, r->variable);
    weft__strbuf_printf(b, ", \"address\": \"0x%" PRIx64 "\", \"size\": %u, \"accesses\": [", r->race.addr, r->race.size);
    for (size_t i = 0; i < r->race.n; i++) {
        const struct weft_seen *s = &r->seen[i];
        weft__strbuf_printf(b, "%s\n    {\"thread\": %u, \"tick\": %" PRIu64 ", \"access\": \"%s\"", i ? "," : "", s->a.slot, s->a.tick, weft__access_verb(&s->a));
        if (s->bytes) weft__strbuf_printf(b, ", \"before\": \"%" PRIu64 "\"", s->value);
        weft__strbuf_puts(b, ", \"stack\": ");
        put_stack(b, &s->stack);
        weft__strbuf_puts(b, "}");
    }
    weft__strbuf_puts(b, "]}");
}

static void put_order(struct weft_strbuf *b, const struct weft_report *r) {
    const struct weft_blocks *k = &r->order;
    weft__strbuf_printf(b, "{\"events\": %" PRIu64 ", \"blocks\": %zu, \"switches\": %" PRIu64 ", \"preemptive\": %" PRIu64, k->events, k->n,
                        k->switches, k->preemptive);
    if (r->sliced) weft__strbuf_printf(b, ", \"relevant\": %" PRIu64 ", \"relevant_of\": %" PRIu64, r->relevant_events, r->relevant_of);
    weft__strbuf_puts(b, ", \"last\": [");
    for (size_t i = k->n > BLOCKS ? k->n - BLOCKS : 0, any = 0; i < k->n; i++, any = 1) {
        const struct weft_block *x = &k->list[i];
        weft__strbuf_printf(b, "%s\n    {\"thread\": %u, \"from\": %" PRIu64 ", \"to\": %" PRIu64 ", \"events\": %" PRIu64 ", \"ends\": \"%s\"", any ? "," : "",
                            x->slot, x->from_tick, x->to_tick, x->events, x->over ? "over" : x->preempted ? "preempted" : "waits");
        if (r->sliced) weft__strbuf_printf(b, ", \"relevant\": %" PRIu64, r->order_relevant[i]);
        weft__strbuf_puts(b, "}");
    }
    weft__strbuf_puts(b, "]}");
}

void weft__report_json(struct weft_report *r, FILE *out) {
    struct weft_strbuf b = {0};
    weft__strbuf_puts(&b, "{\n  \"trace\": ");
    weft__strbuf_json(&b, r->t->dir);
    weft__strbuf_puts(&b, ",\n  \"program\": ");
    weft__strbuf_json(&b, r->t->program);
    weft__strbuf_puts(&b, ",\n  \"argv\": [");
    for (char **a = r->t->argv; *a; a++) {
        if (a != r->t->argv) weft__strbuf_puts(&b, ", ");
        weft__strbuf_json(&b, *a);
    }
    weft__strbuf_puts(&b, "],\n  \"status\": ");
    weft__strbuf_json(&b, r->status);
    weft__strbuf_printf(&b, ",\n  \"threads\": %" PRIu64 ",\n  \"edges\": %" PRIu64 ",\n  \"inputs\": %" PRIu64 ",\n  \"failure\": ", r->counts.threads,
                        r->counts.edges, r->counts.inputs);
    put_failure(&b, r);
    weft__strbuf_puts(&b, ",\n  \"deadlocks\": ");
    put_lines(&b, r->stuck, "deadlock: ");
    weft__strbuf_puts(&b, ",\n  \"stuck\": ");
    put_lines(&b, r->stuck, "");
    weft__strbuf_puts(&b, ",\n  \"race\": ");
    put_race(&b, r);
    weft__strbuf_printf(&b, ",\n  \"accesses\": %" PRIu64 ",\n  \"accesses_looked_at\": %" PRIu64 ",\n  \"order\": ", r->accesses, r->looked_at);
    put_order(&b, r);
    weft__strbuf_puts(&b, ",\n  \"notes\": ");
    put_lines(&b, r->notes.s, "");
    weft__strbuf_printf(&b, ",\n  \"simplified\": %s", r->simplified ? r->simplified : "null");
    weft__strbuf_puts(&b, "\n}\n");
    fputs(b.s, out);
    weft__strbuf_fini(&b);
}
