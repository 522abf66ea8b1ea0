/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads a profile, and answers what is asked of it. Part of the tools, of weft-cc and of the pass, so it uses nothing but libc and
 * returns what goes wrong as text. The rules of profile.h are checked to the letter: a profile that was merged by hand, or by a
 * version control system, and is not whole any more, would make a program slow and nobody would know why. */
#include "profile/profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *path;
    unsigned long line;
    char *at, *end; /* what was not read yet */
    char *err;      /* of n bytes */
    size_t n;
    size_t region_room, pair_room, run_room;
};

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *fmt, ...) {
    char why[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (r->line)
        snprintf(r->err, r->n, "%s:%lu: %s", r->path, r->line, why);
    else
        snprintf(r->err, r->n, "%s: %s", r->path, why);
    return -1;
}

/* The whole file, with a NUL behind it. */
static char *slurp(struct reader *r, size_t *len) {
    size_t room = 1 << 16, have = 0;
    char *text = NULL;
    FILE *f = fopen(r->path, "re");
    if (!f) {
        fail(r, "%s", strerror(errno));
        return NULL;
    }
    for (;;) {
        char *more = realloc(text, room);
        if (!more) {
            errno = ENOMEM;
            break;
        }
        text = more;
        errno = EIO;
        have += fread(text + have, 1, room - 1 - have, f);
        if (ferror(f)) break;
        if (have < room - 1) {
            fclose(f);
            text[have] = 0;
            *len = have;
            return text;
        }
        room *= 2;
    }
    fail(r, "%s", strerror(errno));
    free(text);
    fclose(f);
    return NULL;
}

/* The next line if it begins with this word: what follows the word and a blank. NULL: it does not, or there is none. */
static char *line_of(struct reader *r, const char *word) {
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) || r->at[n] != ' ') return NULL;
    char *s = r->at + n + 1, *end = strchr(s, '\n');
    if (!end) return NULL;
    *end = 0;
    r->at = end + 1;
    r->line++;
    return s;
}

/* A number as it is printed, and where it ends. NULL: it is none. */
static char *number(char *s, uint64_t *out) {
    uint64_t v = 0;
    if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9')) return NULL;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v)) return NULL;
    *out = v;
    return s;
}

static void *room_for(void *p, size_t *room, size_t have, size_t size) {
    if (have < *room) return p;
    *room = *room ? 2 * *room : 64;
    return realloc(p, *room * size);
}

static long find(const struct weft_profile *p, const char *name) {
    size_t lo = 0, hi = p->regions;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(name, p->region[mid].name);
        if (!c) return (long)mid;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

static int read_runs(struct reader *r, struct weft_profile *p) {
    uint64_t runs = 0;
    char *s = line_of(r, "runs"), *end = s ? number(s, &runs) : NULL;
    if (!end || *end) return r->line = 2, fail(r, "the number of runs is expected here");
    while ((s = line_of(r, "added"))) {
        uint64_t *added = room_for(p->added, &r->run_room, p->runs, sizeof *added);
        if (!added) return fail(r, "no memory");
        p->added = added;
        end = number(s, &p->added[p->runs++]);
        if (!end || *end) return fail(r, "a number is expected here");
    }
    if (p->runs != runs) return r->line = 2, fail(r, "%llu runs, but %zu lines that say what they added", (unsigned long long)runs, p->runs);
    return 0;
}

static int read_region(struct reader *r, struct weft_profile *p, char *s) {
    struct weft_profile_region *list = room_for(p->region, &r->region_room, p->regions, sizeof *list);
    if (!list) return fail(r, "no memory");
    p->region = list;
    uint64_t count;
    char *name = number(s, &count);
    if (!name || *name != ' ' || !name[1] || strchr(name, '\t')) return fail(r, "a number and a name are expected here");
    name++;
    if (p->regions && strcmp(list[p->regions - 1].name, name) >= 0) return fail(r, "not in its place: regions are sorted, and each is there once");
    if (p->regions >= UINT32_MAX) return fail(r, "too many regions");
    size_t n = strlen(name) + 1;
    char *copy = malloc(n);
    if (!copy) return fail(r, "no memory");
    list[p->regions++] = (struct weft_profile_region){memcpy(copy, name, n), count};
    return 0;
}

static int read_pair(struct reader *r, struct weft_profile *p, char *s) {
    struct weft_profile_pair *list = room_for(p->pair, &r->pair_room, p->pairs, sizeof *list);
    if (!list) return fail(r, "no memory");
    p->pair = list;
    char *tab = strchr(s, '\t');
    if (!tab) return fail(r, "two names with a tab between them are expected here");
    *tab = 0;
    long a = find(p, s), b = find(p, tab + 1);
    if (a < 0 || b < 0) return fail(r, "there is no region '%s'", a < 0 ? s : tab + 1);
    const struct weft_profile_pair *last = p->pairs ? &list[p->pairs - 1] : NULL;
    if (a > b || (last && (last->a > a || (last->a == a && last->b >= b))))
        return fail(r, "not in its place: pairs are sorted, and each is there once");
    list[p->pairs++] = (struct weft_profile_pair){(uint32_t)a, (uint32_t)b};
    return 0;
}

static int read_all(struct reader *r, struct weft_profile *p) {
    uint64_t version = 0;
    char *s = line_of(r, "weft-profile"), *end = s ? number(s, &version) : NULL;
    if (!end || *end) {
        r->line = 0;
        return fail(r, "not a profile of weft's");
    }
    if (version != 1) return fail(r, "a profile of version %llu: this weft knows version 1", (unsigned long long)version);
    if (read_runs(r, p) < 0) return -1;
    while ((s = line_of(r, "region")))
        if (read_region(r, p, s) < 0) return -1;
    while ((s = line_of(r, "beside")))
        if (read_pair(r, p, s) < 0) return -1;
    if (r->at == r->end) return 0;
    r->line++;
    return fail(r, memchr(r->at, '\n', (size_t)(r->end - r->at)) ? "not a line of a profile, or not in its place"
                                                                  : "the file ends in the middle of a line");
}

struct weft_profile *weft__profile_read(const char *path, char *err, size_t n) {
    struct reader r = {.path = path, .err = err, .n = n};
    size_t len = 0;
    char *text = slurp(&r, &len);
    struct weft_profile *p = text ? calloc(1, sizeof *p) : NULL;
    if (text && !p) fail(&r, "no memory");
    r.at = text, r.end = text ? text + len : NULL;
    if (p && read_all(&r, p) < 0) {
        weft__profile_free(p);
        p = NULL;
    }
    free(text);
    return p;
}

void weft__profile_free(struct weft_profile *p) {
    if (!p) return;
    for (size_t i = 0; i < p->regions; i++) free(p->region[i].name);
    free(p->region);
    free(p->pair);
    free(p->added);
    free(p);
}

int weft__profile_knows(const struct weft_profile *p, const char *name) { return find(p, name) >= 0; }

uint64_t weft__profile_count(const struct weft_profile *p, const char *name) {
    long i = find(p, name);
    return i < 0 ? 0 : p->region[i].count;
}

int weft__profile_beside(const struct weft_profile *p, const char *a, const char *b) {
    long x = find(p, a), y = find(p, b);
    if (x < 0 || y < 0) return 0;
    struct weft_profile_pair want = {(uint32_t)(x < y ? x : y), (uint32_t)(x < y ? y : x)};
    size_t lo = 0, hi = p->pairs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct weft_profile_pair *m = &p->pair[mid];
        if (m->a == want.a && m->b == want.b) return 1;
        if (m->a > want.a || (m->a == want.a && m->b > want.b))
            hi = mid;
        else
            lo = mid + 1;
    }
    return 0;
}
