/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pairs of lines that may race: for a terminal, as JSON, and as SARIF 2.1.0 for editors and code-review tools. */
#include "races/races.h"

#include <stdlib.h>
#include <string.h>

static const char *does(uint8_t what) {
    static const char *const names[] = {"touched", "read", "written", "read and written", "freed", "read and freed",
                                        "written and freed", "read, written and freed"};
    return names[what & 7];
}

static void put_end(const struct weft_race_pair *p, int i, FILE *out) {
    const struct weft_race_end *e = p->end[i];
    fprintf(out, "    %s at %s:%u, in %s; thread %s; %s%s\n", does(p->does[i]), e->file, e->line, e->function, e->thread,
            *e->locks ? "with " : "no lock", e->locks);
    if (!*e->calls) return;
    fputs("      called from ", out);
    for (const char *s = e->calls; *s;) {
        const char *end = strchr(s, '>');
        int n = end ? (int)(end - s) : (int)strlen(s);
        const char *at = memchr(s, '@', (size_t)n);
        if (at)
            fprintf(out, "%.*s (%.*s)", (int)(at - s), s, (int)(s + n - at - 1), at + 1);
        else
            fprintf(out, "%.*s", n, s);
        s += n + (end != NULL);
        if (*s) fputs(", ", out);
    }
    fputc('\n', out);
}

void weft__answer_text(const struct weft_answer *a, size_t most, FILE *out) {
    char n[WEFT_NUMBUF], m[WEFT_NUMBUF];
    for (size_t i = 0; i < a->pairs && (!most || i < most); i++) {
        fprintf(out, "%s\n", a->pair[i].variable);
        put_end(&a->pair[i], 0, out);
        put_end(&a->pair[i], 1, out);
    }
    if (most && a->pairs > most) fprintf(out, "... and %s pairs that are less likely (--all)\n", weft__commas(n, a->pairs - most));
    fprintf(out, "%s of %s accesses may race", weft__commas(n, a->racy), weft__commas(m, a->accesses));
    fprintf(out, ", in %s pairs of lines\n", weft__commas(n, a->pairs));
}

static void json_end(struct weft_strbuf *b, const struct weft_race_pair *p, int i) {
    const struct weft_race_end *e = p->end[i];
    weft__strbuf_puts(b, "{\"file\": ");
    weft__strbuf_json(b, e->file);
    weft__strbuf_printf(b, ", \"line\": %u, \"column\": %u, \"function\": ", e->line, e->column);
    weft__strbuf_json(b, e->function);
    weft__strbuf_printf(b, ", \"reads\": %s, \"writes\": %s, \"frees\": %s, \"thread\": ", p->does[i] & WEFT_READS ? "true" : "false",
                        p->does[i] & WEFT_WRITES ? "true" : "false", p->does[i] & WEFT_FREES ? "true" : "false");
    weft__strbuf_json(b, e->thread);
    weft__strbuf_puts(b, ", \"locks\": ");
    weft__strbuf_json(b, e->locks);
    weft__strbuf_puts(b, ", \"calls\": ");
    weft__strbuf_json(b, e->calls);
    weft__strbuf_puts(b, "}");
}

void weft__answer_json(const struct weft_answer *a, FILE *out) {
    struct weft_strbuf b = {0};
    fprintf(out, "{\"accesses\": %zu, \"racy\": %zu, \"atomic\": %zu, \"races\": [", a->accesses, a->racy, a->atomic);
    for (size_t i = 0; i < a->pairs; i++) {
        b.len = 0;
        weft__strbuf_puts(&b, i ? ",\n" : "\n");
        weft__strbuf_puts(&b, " {\"variable\": ");
        weft__strbuf_json(&b, a->pair[i].variable);
        weft__strbuf_printf(&b, ", \"score\": %d, \"ends\": [", a->pair[i].score);
        json_end(&b, &a->pair[i], 0);
        weft__strbuf_puts(&b, ", ");
        json_end(&b, &a->pair[i], 1);
        weft__strbuf_puts(&b, "]}");
        fputs(b.s, out);
    }
    fputs("]}\n", out);
    weft__strbuf_fini(&b);
}

static void sarif_place(struct weft_strbuf *b, const struct weft_race_pair *p, int i) {
    const struct weft_race_end *e = p->end[i];
    weft__strbuf_puts(b, "{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
    weft__strbuf_json(b, e->file);
    weft__strbuf_printf(b, "}, \"region\": {\"startLine\": %u", e->line ? e->line : 1);
    if (e->column) weft__strbuf_printf(b, ", \"startColumn\": %u", e->column);
    weft__strbuf_puts(b, "}}, \"message\": {\"text\": ");
    struct weft_strbuf m = {0};
    weft__strbuf_printf(&m, "%s in %s, thread %s, %s%s", does(p->does[i]), e->function, e->thread, *e->locks ? "with " : "no lock", e->locks);
    weft__strbuf_json(b, m.s);
    weft__strbuf_fini(&m);
    weft__strbuf_puts(b, "}}");
}

void weft__answer_sarif(const struct weft_answer *a, FILE *out) {
    struct weft_strbuf b = {0}, m = {0};
    fputs("{\"version\": \"2.1.0\", \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"runs\": [{\"tool\": {\"driver\": "
          "{\"name\": \"weft\", \"version\": \"" WEFT_VERSION "\", \"rules\": [{\"id\": \"data-race\", \"shortDescription\": {\"text\": "
          "\"Two accesses that may race\"}}]}}, \"results\": [",
          out);
    for (size_t i = 0; i < a->pairs; i++) {
        const struct weft_race_pair *p = &a->pair[i];
        b.len = m.len = 0;
        weft__strbuf_puts(&b, i ? ",\n" : "\n");
        weft__strbuf_printf(&b, " {\"ruleId\": \"data-race\", \"level\": \"%s\", \"message\": {\"text\": ", p->score >= 2 ? "warning" : "note");
        weft__strbuf_printf(&m, "%s may race: %s here, %s at %s:%u", p->variable, does(p->does[0]), does(p->does[1]), p->end[1]->file, p->end[1]->line);
        weft__strbuf_json(&b, m.s);
        weft__strbuf_puts(&b, "}, \"locations\": [");
        sarif_place(&b, p, 0);
        weft__strbuf_puts(&b, "], \"relatedLocations\": [");
        sarif_place(&b, p, 1);
        weft__strbuf_puts(&b, "]}");
        fputs(b.s, out);
    }
    fputs("]}]}\n", out);
    weft__strbuf_fini(&b);
    weft__strbuf_fini(&m);
}
