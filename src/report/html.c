/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as one page (page.html), with all that it shows inside: the report as JSON, and the events of the sequence in bytes:
 *
 *   for each block: varint slot, varint events, varint 1 preempted, 2 over; then its events:
 *   varint 2 * kind (0 edge, else 1 + a name's number), and 1 more if the failure does not depend on it; varint ticks since the slot's last event,
 *   of an edge also: varint place, varint other slot, varint other tick, varint other place
 *
 * Names and places are lists of strings beside it; place 0 is none. Of a very large trace only the last EVENTS are there, and the page
 * says so. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS 1000000ull

#pragma clang diagnostic ignored "-Wc23-extensions"
static const char page[] = {
#embed "page.html" suffix(, 0)
};
#define MARK "<!--DATA-->"

struct table { /* strings by number, found by key */
    uint64_t *key; /* + 1 */
    uint32_t *number;
    size_t room, n;
    struct weft_strbuf json;
};

struct writing {
    struct weft_report *r;
    struct weft_strbuf bytes;
    uint64_t from, at, begun; /* events; begun: blocks + 1 */
    uint64_t *ticks;
    size_t nticks;
    struct table places, names;
};

static void put(struct weft_strbuf *b, uint64_t v) {
    uint8_t c[10];
    size_t n = 0;
    do {
        c[n] = (uint8_t)(v & 0x7f);
        v >>= 7;
        c[n] |= v ? 0x80 : 0;
        n++;
    } while (v);
    weft__strbuf_add(b, c, n);
}

static size_t slot_in(const struct table *t, uint64_t key) {
    size_t i = (key * 0x9e3779b97f4a7c15ull >> 20) & (t->room - 1);
    while (t->key[i] && t->key[i] != key + 1) i = (i + 1) & (t->room - 1);
    return i;
}

/* Its number; *fresh: the string is to be added. */
static uint32_t number_of(struct table *t, uint64_t key, bool *fresh) {
    if (t->n * 2 >= t->room) {
        struct table bigger = {.room = t->room ? t->room * 2 : 1024};
        bigger.key = weft__alloc(bigger.room * sizeof *bigger.key);
        bigger.number = weft__alloc(bigger.room * sizeof *bigger.number);
        for (size_t i = 0; i < t->room; i++)
            if (t->key[i]) {
                size_t k = slot_in(&bigger, t->key[i] - 1);
                bigger.key[k] = t->key[i];
                bigger.number[k] = t->number[i];
            }
        free(t->key);
        free(t->number);
        t->key = bigger.key;
        t->number = bigger.number;
        t->room = bigger.room;
    }
    size_t i = slot_in(t, key);
    *fresh = !t->key[i];
    if (*fresh) {
        t->key[i] = key + 1;
        t->number[i] = (uint32_t)t->n++;
    }
    return t->number[i];
}

static uint32_t string_number(struct table *t, uint64_t key, const char *s) {
    bool fresh;
    uint32_t n = number_of(t, key, &fresh);
    if (fresh) {
        weft__strbuf_puts(&t->json, t->json.len ? "," : "[");
        weft__strbuf_json(&t->json, s);
    }
    return n;
}

static uint32_t place(struct writing *w, uint64_t site) {
    return string_number(&w->places, site, site ? weft__symbols_line(w->r->symbols, site) : "");
}

static void put_event(void *ctx, const struct weft_item *i, size_t block) {
    struct writing *w = ctx;
    char buf[64];
    size_t had = w->nticks;
    if (i->slot >= had) {
        w->ticks = weft__grow(w->ticks, &w->nticks, (size_t)i->slot + 1, sizeof *w->ticks);
        memset(w->ticks + had, 0, (w->nticks - had) * sizeof *w->ticks);
    }
    if (w->at++ < w->from) return;
    if (w->begun != block + 1) {
        const struct weft_block *b = &w->r->blocks.list[block];
        uint64_t cut = w->begun ? 0 : w->at - 1 - b->first; /* its first events may be left out */
        put(&w->bytes, i->slot);
        put(&w->bytes, b->events - cut);
        put(&w->bytes, b->over ? 2 : b->preempted);
        w->begun = block + 1;
    }
    bool edge = weft__item_is_edge(i->kind), named = i->kind == WEFT_ITEM_INPUT || i->kind == WEFT_ITEM_CRASH || i->kind == WEFT_ITEM_SIGNAL;
    uint64_t kind = edge ? 0 : 1 + string_number(&w->names, (uint64_t)i->kind << 32 | (named ? (uint32_t)i->op : 0), weft__event_name(i, buf, sizeof buf));
    put(&w->bytes, 2 * kind + (w->r->sliced && weft__relevant_counts(i) && !weft__relevant_has(&w->r->relevant, i)));
    put(&w->bytes, i->tick - w->ticks[i->slot]);
    w->ticks[i->slot] = i->tick;
    if (!edge) return;
    put(&w->bytes, place(w, i->site));
    put(&w->bytes, i->other_slot);
    put(&w->bytes, i->other_tick);
    put(&w->bytes, place(w, i->other_site));
}

static void put_base64(FILE *out, const uint8_t *p, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);
        char c[4] = {digit[v >> 18], digit[v >> 12 & 63], i + 1 < n ? digit[v >> 6 & 63] : '=', i + 2 < n ? digit[v & 63] : '='};
        fwrite(c, 1, 4, out);
    }
}

/* No string may end the script that it is in. */
static void put_script(FILE *out, const char *id, const char *json) {
    fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", out);
        else
            fputc(*json, out);
    }
    fputs("</script>\n", out);
}

int weft__report_html(struct weft_report *r, FILE *out, struct weft_err *err) {
    struct writing w = {.r = r, .from = r->blocks.events > EVENTS ? r->blocks.events - EVENTS : 0};
    struct weft_blocks again;
    char *json = NULL;
    size_t len;
    const char *mark = strstr(page, MARK);
    WEFT_CHECK(mark);
    place(&w, 0);
    int e = weft__blocks_make(r->t, NULL, &again, put_event, &w, err);
    if (e < 0) goto out;
    weft__blocks_fini(&again);
    FILE *f = open_memstream(&json, &len);
    if (!f) weft__die("no memory");
    weft__report_json(r, f);
    fclose(f);
    fwrite(page, 1, (size_t)(mark - page), out);
    put_script(out, "report", json);
    weft__strbuf_puts(&w.places.json, w.places.json.len ? "]" : "[]");
    weft__strbuf_puts(&w.names.json, w.names.json.len ? "]" : "[]");
    put_script(out, "places", w.places.json.s);
    put_script(out, "names", w.names.json.s);
    fprintf(out, "<script type=\"application/octet-stream\" id=\"events\" data-from=\"%llu\">", (unsigned long long)w.from);
    put_base64(out, (const uint8_t *)w.bytes.s, w.bytes.len);
    fputs("</script>\n", out);
    fputs(mark + sizeof MARK - 1, out);
    if (ferror(out)) e = weft__err(err, EIO, "the page cannot be written");
out:
    free(json);
    free(w.ticks);
    for (int i = 0; i < 2; i++) {
        struct table *t = i ? &w.names : &w.places;
        free(t->key);
        free(t->number);
        weft__strbuf_fini(&t->json);
    }
    weft__strbuf_fini(&w.bytes);
    return e;
}
