/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the answer of the race detector out of a program, and turns its classes of instructions into pairs of source lines,
 * most likely first: data that is locked on one side and not on the other; then variables before memory of unknown origin;
 * then two that both write. What is only freed on one side comes last. */
#include "races/races.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct site {
    char kind;
    const char *function, *file;
    unsigned line, column;
};

struct member {
    struct weft_race_end end;
    uint64_t hash; /* of its place */
    uint8_t does;
};

struct class {
    struct member *member;
    size_t members, room;
};

struct reader {
    struct site *site;
    size_t sites, site_room;
    struct class *class;
    size_t classes, class_room;
    uint64_t *slot; /* hash table: index of a pair + 1 */
    size_t slots;
    uint64_t *hash; /* of each pair */
    size_t hash_room;
};

/* ---- records ---- */

/* The next field of a line: ends it with a NUL. "" when there is none. */
static char *field(char **line) {
    char *s = *line, *tab = strchr(s, '\t');
    *line = tab ? tab + 1 : s + strlen(s);
    if (tab) *tab = 0;
    return s;
}

static void add_site(struct reader *r, char *s) {
    r->site = weft__grow(r->site, &r->site_room, r->sites + 1, sizeof *r->site);
    struct site *x = &r->site[r->sites];
    *x = (struct site){0};
    x->kind = *field(&s);
    x->function = field(&s);
    x->file = field(&s);
    x->line = (unsigned)strtoul(field(&s), NULL, 10);
    x->column = (unsigned)strtoul(field(&s), NULL, 10);
    r->sites++;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_name(uint64_t h, const char *s) {
    while (*s) h = mix(h, (unsigned char)*s++);
    return h;
}

/* What libweft-inst.a does in place of libc, and code that has no source, was called by somebody, who is more interesting.
 * The calls get shorter by one. */
static void blame_caller(struct weft_race_end *e) {
    while ((strstr(e->file, "src/inst/") || !strcmp(e->file, "?")) && *e->calls) {
        size_t n = strlen(e->calls) - 1; /* without the > at the end */
        char *copy = weft__alloc(n + 1), *s;
        memcpy(copy, e->calls, n);
        char *last = (s = strrchr(copy, '>')) ? s + 1 : copy, *at = strchr(last, '@'), *colon = at ? strrchr(at, ':') : NULL;
        if (!colon) return;
        e->line = (unsigned)strtoul(colon + 1, NULL, 10), e->column = 0;
        *at = *colon = 0;
        e->function = weft__strdup(last);
        e->file = weft__strdup(at + 1);
        *last = 0;
        e->calls = copy;
    }
}

static uint8_t does(char kind) {
    return kind == 'f' ? WEFT_FREES : kind == 'w' || kind == 'W' ? WEFT_WRITES : WEFT_READS;
}

static void add_class(struct reader *r, char *s) {
    r->class = weft__grow(r->class, &r->class_room, r->classes + 1, sizeof *r->class);
    struct class *c = &r->class[r->classes++];
    *c = (struct class){0};
    const char *thread = field(&s), *locks = field(&s);
    while (*s) {
        char *m = field(&s), *colon = strchr(m, ':');
        uint32_t number = (uint32_t)strtoul(m, NULL, 10);
        if (!colon || number >= r->sites) continue;
        const struct site *x = &r->site[number];
        struct weft_race_end e = {x->function, x->file, thread, locks, colon + 1, x->line, x->column};
        blame_caller(&e);
        uint64_t h = mix_name(mix_name(mix(1, e.line), e.file), e.function);
        size_t k = 0; /* the same line once; often it was the last one */
        for (k = c->members; k > 0 && c->member[k - 1].hash != h; k--) {
        }
        if (k) {
            c->member[k - 1].does |= does(x->kind);
            continue;
        }
        c->member = weft__grow(c->member, &c->room, c->members + 1, sizeof *c->member);
        c->member[c->members++] = (struct member){e, h, does(x->kind)};
    }
}

static void index_pairs(struct reader *r, const struct weft_answer *a) {
    r->slots = r->slots ? 2 * r->slots : 1024;
    free(r->slot);
    r->slot = weft__alloc(r->slots * sizeof *r->slot);
    for (size_t i = 0; i < a->pairs; i++) {
        size_t h = r->hash[i] & (r->slots - 1);
        while (r->slot[h]) h = (h + 1) & (r->slots - 1);
        r->slot[h] = i + 1;
    }
}

static bool same_place(const struct weft_race_end *e, const struct weft_race_end *o) {
    return e->line == o->line && !strcmp(e->file, o->file) && !strcmp(e->function, o->function);
}

/* The hash is the same for both orders of its ends. */
static void add_pair(struct reader *r, struct weft_answer *a, const char *variable, uint64_t hash, const struct member *x,
                     const struct member *y) {
    if (2 * (a->pairs + 1) > r->slots) index_pairs(r, a);
    hash = mix(hash, x->hash + y->hash);
    size_t h = hash & (r->slots - 1);
    for (; r->slot[h]; h = (h + 1) & (r->slots - 1)) {
        struct weft_race_pair *o = &a->pair[r->slot[h] - 1];
        if (r->hash[r->slot[h] - 1] != hash || strcmp(o->variable, variable)) continue;
        int turned = !same_place(o->end[0], &x->end);
        if (!same_place(o->end[turned], &x->end) || !same_place(o->end[!turned], &y->end)) continue;
        o->does[turned] |= x->does, o->does[!turned] |= y->does;
        return;
    }
    a->pair = weft__grow(a->pair, &a->room, a->pairs + 1, sizeof *a->pair);
    r->hash = weft__grow(r->hash, &r->hash_room, a->pairs + 1, sizeof *r->hash);
    r->hash[a->pairs] = hash;
    a->pair[a->pairs++] = (struct weft_race_pair){variable, {&x->end, &y->end}, {x->does, y->does}, 0};
    r->slot[h] = a->pairs;
}

static void add_race(struct reader *r, struct weft_answer *a, char *s) {
    const char *variable = field(&s);
    uint64_t hash = mix_name(1, variable);
    size_t i = strtoul(field(&s), NULL, 10), j = strtoul(field(&s), NULL, 10);
    if (i >= r->classes || j >= r->classes) return;
    const struct class *c = &r->class[i], *d = &r->class[j];
    for (size_t k = 0; k < c->members; k++)
        for (size_t m = i == j ? k : 0; m < d->members; m++)
            add_pair(r, a, variable, hash, &c->member[k], &d->member[m]);
}

static int score(const struct weft_race_pair *p) {
    int n = 0;
    if (!*p->end[0]->locks != !*p->end[1]->locks) n += 4;
    if (strncmp(p->variable, "memory ", 7) && strncmp(p->variable, "heap", 4) && strncmp(p->variable, "local", 5)) n += 2;
    if (p->does[0] & p->does[1] & WEFT_WRITES) n++;
    if (!strncmp(p->variable, "memory ", 7)) n -= 4;
    if (p->does[0] == WEFT_FREES || p->does[1] == WEFT_FREES) n -= 3;
    return n;
}

static int by_score(const void *a, const void *b) {
    const struct weft_race_pair *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    int c = strcmp(x->variable, y->variable);
    for (int i = 0; i < 2 && !c; i++) {
        c = strcmp(x->end[i]->file, y->end[i]->file);
        if (!c) c = (x->end[i]->line > y->end[i]->line) - (x->end[i]->line < y->end[i]->line);
    }
    return c;
}

int weft__answer_read(const char *path, struct weft_answer *a, struct weft_err *err) {
    struct reader r = {0};
    char *bytes = NULL;
    size_t size, n = 0;
    *a = (struct weft_answer){0};
    int ret = weft__file_read(path, (size_t)4 << 30, &bytes, &size, err);
    if (ret < 0) return ret;
    const char *s = weft__elf_section(bytes, size, ".weft.races", &n);
    if (!s || n < 13 || memcmp(s, "weft-races 1\n", 13)) {
        free(bytes);
        return weft__err(err, ENOENT, "%s: it has no answer of the race detector in it (link it with weft-cc -weft-races)", path);
    }
    a->text = weft__alloc(n + 1);
    memcpy(a->text, s, n);
    free(bytes);
    for (char *line = a->text, *next; *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        else
            next = line + strlen(line);
        const char *what = field(&line);
        if (!strcmp(what, "counts")) {
            a->accesses = strtoul(field(&line), NULL, 10);
            a->racy = strtoul(field(&line), NULL, 10);
            a->atomic = strtoul(field(&line), NULL, 10);
        } else if (!strcmp(what, "site")) {
            add_site(&r, line);
        } else if (!strcmp(what, "class")) {
            add_class(&r, line);
        } else if (!strcmp(what, "race")) {
            add_race(&r, a, line);
        }
    }
    for (size_t i = 0; i < a->pairs; i++)
        a->pair[i].score = (int8_t)score(&a->pair[i]);
    if (a->pairs) qsort(a->pair, a->pairs, sizeof *a->pair, by_score);
    a->members = weft__alloc((r.classes + 1) * sizeof *a->members);
    for (size_t i = 0; i < r.classes; i++)
        a->members[a->classes++] = r.class[i].member;
    free(r.class), free(r.site), free(r.slot), free(r.hash);
    return 0;
}

void weft__answer_fini(struct weft_answer *a) {
    for (size_t i = 0; i < a->classes; i++)
        free(a->members[i]);
    free(a->members), free(a->pair), free(a->text);
    *a = (struct weft_answer){0};
}
