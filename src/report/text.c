/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report for a terminal: one screen. */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#define FRAMES 6u /* of a stack */
#define BLOCKS 6u /* the last ones */

static void put_code(FILE *out, const char *indent, const struct weft_place *p) {
    if (p->code && *p->code) fprintf(out, "%s| %s\n", indent, p->code);
}

static void put_stack(FILE *out, const struct weft_stack *s, size_t from) {
    for (size_t i = from; i < s->n && i < FRAMES; i++) fprintf(out, "            %s at %s\n", s->frame[i].function, s->frame[i].place);
    if (s->n > FRAMES) fprintf(out, "            ... (%zu frames in all)\n", s->n);
}

static void put_failure(struct weft_report *r, FILE *out) {
    fprintf(out, "%s  %s", r->failed ? "failure " : "end     ", r->status);
    if (r->slot) fprintf(out, " in thread %u", r->slot);
    if (r->stack.n)
        fprintf(out, ", at %s", r->stack.frame[0].place);
    if (r->crashed && r->crash.addr) fprintf(out, ", address 0x%" PRIx64, r->crash.addr);
    fputc('\n', out);
    if (r->stack.n) {
        put_code(out, "          ", &r->stack.frame[0]);
        put_stack(out, &r->stack, 0);
    } else if (r->last.place) {
        fprintf(out, "          the thread's last checked access was at %s\n", r->last.place);
        put_code(out, "          ", &r->last);
    }
}

static void put_race(struct weft_report *r, FILE *out) {
    if (!r->race.kind) {
        if (r->failed && !r->stuck && r->accesses) fprintf(out, "race      none was found among %" PRIu64 " accesses\n", r->looked_at);
        return;
    }
    static const char *const how[] = {[WEFT_RACE_EARLY] = "perhaps: read too early,", [WEFT_RACE_LAST] = "none was found; the last conflict is", [WEFT_RACE_BETWEEN] = "perhaps", [WEFT_RACE_HALVES] = "perhaps", [WEFT_RACE_UNFINISHED] = "perhaps: read too early,"};
    fprintf(out, "race      %s on %s (", r->race.kind < WEFT_RACE_PAIR ? how[r->race.kind] : "likely", r->variable);
    if (r->race.other) fprintf(out, "%u byte%s at 0x%" PRIx64 ", ", r->race.other_size, &"s"[r->race.other_size == 1], r->race.other);
    fprintf(out, "%u byte%s at 0x%" PRIx64 "):\n          %s\n", r->race.size, &"s"[r->race.size == 1], r->race.addr, weft__race_text(r->race.kind));
    if (r->race.elsewhere) fputs("          the failing thread did not touch it: it may have another cause\n", out);
    for (size_t i = 0; i < r->race.n; i++) {
        const struct weft_seen *s = &r->seen[i];
        fprintf(out, "  thread %-3u %s", s->a.slot, weft__access_verb(&s->a));
        if (s->stack.n) fprintf(out, " at %s", s->stack.frame[0].place);
        if (s->bytes) fprintf(out, "; it was %" PRIu64, s->value);
        if (s->bytes && s->value > 0xffff) fprintf(out, " (0x%" PRIx64 ")", s->value);
        fputc('\n', out);
        if (s->stack.n) put_code(out, "          ", &s->stack.frame[0]);
        put_stack(out, &s->stack, 0);
    }
}

static void put_order(struct weft_report *r, FILE *out) {
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF], c[WEFT_NUMBUF], d[WEFT_NUMBUF];
    const struct weft_blocks *k = &r->order;
    fprintf(out, "order     %s event%s of %s thread%s in %s block%s: %s switch%s", weft__commas(a, k->events), &"s"[k->events == 1], weft__commas(b, r->threads),
            &"s"[r->threads == 1], weft__commas(c, k->n), &"s"[k->n == 1], weft__commas(d, k->switches), k->switches == 1 ? "" : "es");
    fprintf(out, ", %s of them preemptive\n", weft__commas(a, k->preemptive));
    if (r->sliced)
        fprintf(out, "          the failure depends on %s of %s events\n", weft__commas(a, r->relevant_events), weft__commas(b, r->relevant_of));
    for (size_t i = k->n > BLOCKS ? k->n - BLOCKS : 0; i < k->n; i++) {
        const struct weft_block *x = &k->list[i];
        fprintf(out, "  thread %-3u tick %s to %s, %s event%s", x->slot, weft__commas(a, x->from_tick), weft__commas(b, x->to_tick), weft__commas(c, x->events),
                x->events == 1 ? "" : "s");
        if (r->sliced && r->order_relevant[i]) fprintf(out, ", %s relevant", weft__commas(d, r->order_relevant[i]));
        if (r->sliced && !r->order_relevant[i]) fputs(", none relevant", out);
        fprintf(out, "%s\n", x->over ? "" : x->preempted ? "; preempted" : "; waits");
    }
}

static void put_lines(FILE *out, const char *before, const char *p) {
    while (p && *p) {
        size_t n = strcspn(p, "\n");
        fprintf(out, "%s%.*s\n", before, (int)n, p);
        p += n + (p[n] == '\n');
    }
}

void weft__report_text(struct weft_report *r, FILE *out) {
    fprintf(out, "trace     %s\n", r->t->dir);
    put_failure(r, out);
    if (r->stuck) {
        fprintf(out, "stuck\n");
        put_lines(out, "  ", r->stuck);
    }
    put_race(r, out);
    put_order(r, out);
    if (r->removed) fprintf(out, "simpler\n");
    put_lines(out, "  ", r->removed);
    put_lines(out, "note      ", r->notes.s);
}
