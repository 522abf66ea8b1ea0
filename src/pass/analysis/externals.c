/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Turns the lines of externals.def, and of files in the same syntax, into struct weft_external with parsed effects.
 *
 * Exact names are in a hash table, names that end in * in a list sorted by length, longest first. Entries of files
 * shadow those of the built-in table. An entry is parsed when the table is made, so a mistake in externals.def shows in
 * the first test that runs (weft__externals_check), not in some user's build. What the effects mean for points-to is
 * decided in weft__build_external. */
#include "../facts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *name, *class, *effects;
};

static const struct line builtin[] = {
#define EXT(name, class, effects) {#name, #class, effects},
#include "../externals.def"
#undef EXT
};
#define BUILTIN_COUNT (sizeof builtin / sizeof builtin[0])

static struct {
    struct weft_external *entry;
    size_t count, room;
    size_t *exact; /* hash table of indices + 1 */
    size_t exact_room;
    size_t *prefix; /* indices, longest name first; later entries first among equals */
    size_t prefix_count;
    int ready;
    char bad[200]; /* first mistake in the built-in table */
} table;

static void *grow(void *p, size_t n, size_t size) {
    p = realloc(p, n * size);
    if (!p) {
        fputs("weft: out of memory\n", stderr);
        abort();
    }
    return p;
}

static size_t hash_name(const char *s) {
    size_t h = 1469598103934665603u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h ^ (h >> 29);
}

/* ---- effects --------------------------------------------------------------------------------------------------- */

static int number(const char **s, int64_t *n) {
    if (!isdigit((unsigned char)**s)) return -1;
    for (*n = 0; isdigit((unsigned char)**s); (*s)++)
        *n = *n * 10 + (**s - '0');
    return 0;
}

static int small(const char **s, int8_t *n) {
    int64_t v;
    if (number(s, &v) < 0 || v > 100) return -1;
    *n = (int8_t)v;
    return 0;
}

static int parse_size(const char **s, struct weft_effect *e) {
    int64_t v;
    switch (**s) {
    case '?':
        e->size = WEFT_SIZE_WHOLE, (*s)++;
        return 0;
    case 's':
        e->size = WEFT_SIZE_STRING, (*s)++;
        return 0;
    case 'S':
        e->size = WEFT_SIZE_WSTRING, (*s)++;
        return 0;
    case '=':
        (*s)++;
        if (number(s, &v) < 0) return -1;
        e->size = WEFT_SIZE_CONSTANT, e->constant = (uint64_t)v;
        return 0;
    }
    if (small(s, &e->arg2) < 0) return -1;
    e->size = WEFT_SIZE_ARG;
    if (**s != '*') return 0;
    (*s)++;
    if (**s != '=') return small(s, &e->arg3);
    (*s)++;
    if (number(s, &v) < 0) return -1;
    e->constant = (uint64_t)v;
    return 0;
}

/* One token at *s; moves *s behind it. */
static int parse_effect(const char **s, struct weft_effect *e) {
    *e = (struct weft_effect){.kind = (uint8_t) * *s, .arg = -1, .arg2 = -1, .arg3 = -1, .constant = 1};
    (*s)++;
    switch (e->kind) {
    case WEFT_EFF_READ:
    case WEFT_EFF_WRITE:
        if (small(s, &e->arg) < 0 || *(*s)++ != ':') return -1;
        return parse_size(s, e);
    case WEFT_EFF_TOUCH:
        if (small(s, &e->arg) < 0) return -1;
        if (**s != ':') return 0;
        (*s)++;
        return parse_size(s, e) < 0 || e->size != WEFT_SIZE_CONSTANT ? -1 : 0;
    case WEFT_EFF_COPY:
    case WEFT_EFF_POINTS:
    case WEFT_EFF_THREAD:
        if (small(s, &e->arg) < 0 || *(*s)++ != ':') return -1;
        return small(s, &e->arg2);
    case WEFT_EFF_LATER:
    case WEFT_EFF_ATEXIT:
        if (small(s, &e->arg) < 0) return -1;
        if (**s != ':') return 0;
        (*s)++;
        return small(s, &e->arg2);
    case WEFT_EFF_KEEP:
    case WEFT_EFF_ALONE:
    case WEFT_EFF_SETOWN:
    case WEFT_EFF_ENDOWN:
    case WEFT_EFF_HANDLER:
    case WEFT_EFF_REACH:
    case WEFT_EFF_INTO:
    case WEFT_EFF_FREE:
    case WEFT_EFF_CALL:
    case WEFT_EFF_MAKES:
    case WEFT_EFF_LIBPTR:
    case WEFT_EFF_JOIN:
    case WEFT_EFF_RESULT:
    case WEFT_EFF_THROW:
        return small(s, &e->arg);
    case WEFT_EFF_FRESH:
    case WEFT_EFF_GLOBAL:
    case WEFT_EFF_ERRNO:
    case WEFT_EFF_CTYPE:
    case WEFT_EFF_STARTS:
    case WEFT_EFF_NORETURN:
    case WEFT_EFF_EXIT:
    case WEFT_EFF_VARREAD:
    case WEFT_EFF_VARWRITE:
    case WEFT_EFF_INPUT:
    case WEFT_EFF_OUTPUT:
    case WEFT_EFF_GETOWN:
    case WEFT_EFF_RUNS:
    case WEFT_EFF_STATIC:
        return 0;
    }
    return -1;
}

static int parse_class(const char *s, enum weft_ext_class *class) {
    static const char *const name[] = {"PURE", "WRAP", "RENAME", "OUT"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(s, name[i])) {
            *class = (enum weft_ext_class)i;
            return 0;
        }
    return -1;
}

/* Fills *ext; the strings are borrowed. On failure *bad is where the effects stop making sense, NULL if it is the
 * class. */
static int parse_entry(const struct line *l, struct weft_external *ext, const char **bad) {
    struct weft_effect *effect = NULL;
    unsigned count = 0;
    *bad = NULL;
    ext->name = l->name, ext->effects = l->effects;
    if (parse_class(l->class, &ext->class) < 0) return -1;
    for (const char *s = l->effects; *s;) {
        if (*s == ' ') {
            s++;
            continue;
        }
        effect = grow(effect, count + 1, sizeof *effect);
        *bad = s;
        if (parse_effect(&s, &effect[count]) < 0 || (*s && *s != ' ')) {
            free(effect);
            return -1;
        }
        count++;
    }
    ext->effect = effect, ext->count = count;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static int longer_first(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    size_t m = strlen(table.entry[x].name), n = strlen(table.entry[y].name);
    if (m != n) return m > n ? -1 : 1;
    return x > y ? -1 : x < y;
}

static void add(struct weft_external ext) {
    if (table.count == table.room)
        table.entry = grow(table.entry, table.room = table.room ? 2 * table.room : 2048, sizeof *table.entry);
    table.entry[table.count++] = ext;
}

/* Later entries win. */
static void reindex(void) {
    table.exact_room = 4096;
    while (table.exact_room < 2 * table.count)
        table.exact_room *= 2;
    free(table.exact);
    table.exact = calloc(table.exact_room, sizeof *table.exact);
    table.prefix = grow(table.prefix, table.count + 1, sizeof *table.prefix);
    if (!table.exact) abort();
    table.prefix_count = 0;
    for (size_t i = 0; i < table.count; i++) {
        const char *name = table.entry[i].name;
        size_t n = strlen(name);
        if (n && name[n - 1] == '*') {
            table.prefix[table.prefix_count++] = i;
            continue;
        }
        size_t h = hash_name(name) & (table.exact_room - 1);
        while (table.exact[h] && strcmp(table.entry[table.exact[h] - 1].name, name))
            h = (h + 1) & (table.exact_room - 1);
        table.exact[h] = i + 1;
    }
    qsort(table.prefix, table.prefix_count, sizeof *table.prefix, longer_first);
}

static void prepare(void) {
    if (table.ready) return;
    table.ready = 1;
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        struct weft_external ext;
        const char *bad;
        if (parse_entry(&builtin[i], &ext, &bad) == 0)
            add(ext);
        else if (!table.bad[0])
            snprintf(table.bad, sizeof table.bad, "externals.def: %s: %s '%s'", builtin[i].name,
                     bad ? "effect" : "class", bad ? bad : builtin[i].class);
    }
    reindex();
}

const struct weft_external *weft__external(const char *name) {
    prepare();
    size_t h = hash_name(name) & (table.exact_room - 1);
    for (; table.exact[h]; h = (h + 1) & (table.exact_room - 1))
        if (!strcmp(table.entry[table.exact[h] - 1].name, name)) return &table.entry[table.exact[h] - 1];
    for (size_t i = 0; i < table.prefix_count; i++) {
        const struct weft_external *e = &table.entry[table.prefix[i]];
        if (!strncmp(e->name, name, strlen(e->name) - 1)) return e;
    }
    return NULL;
}

int weft__external_ordered(const char *name) {
    static char *text; /* names, each in a line of its own, with a line's end before the first */
    static int looked;
    if (!looked) {
        const char *path = getenv("WEFT_ORDERED");
        FILE *f = path ? fopen(path, "r") : NULL;
        looked = 1;
        if (f) {
            size_t n = 1, room = 1 << 16, got;
            text = malloc(room);
            if (!text) abort();
            text[0] = '\n';
            while ((got = fread(text + n, 1, room - n - 2, f))) {
                n += got;
                if (n + 2 < room) continue;
                text = realloc(text, room *= 2);
                if (!text) abort();
            }
            fclose(f);
            text[n] = '\n';
            text[n + 1] = 0;
        }
    }
    size_t n = strlen(name);
    for (const char *at = text; at && (at = strstr(at, name)); at++)
        if (at[-1] == '\n' && at[n] == '\n') return 1;
    return 0;
}

int weft__external_calls_found(const struct weft_external *ext) {
    if (ext->class == WEFT_EXT_PURE) return 0;
    return ext->class != WEFT_EXT_WRAP || weft__external_has(ext, WEFT_EFF_RUNS);
}

int weft__external_has(const struct weft_external *ext, enum weft_effect_kind kind) {
    for (unsigned i = 0; i < ext->count; i++)
        if (ext->effect[i].kind == kind) return 1;
    return 0;
}

int weft__externals_check(char *err, size_t err_size) {
    prepare();
    if (!table.bad[0]) return 0;
    snprintf(err, err_size, "%s", table.bad);
    return -1;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static char *trim(char *s) {
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = 0;
    return s;
}

/* Splits `EXT(name, CLASS, "effects")` in place. */
static int split(char *s, struct line *l) {
    if (strncmp(s, "EXT(", 4)) return -1;
    char *name = s + 4, *c1 = strchr(name, ','), *c2 = c1 ? strchr(c1 + 1, ',') : NULL;
    char *q1 = c2 ? strchr(c2 + 1, '"') : NULL, *q2 = q1 ? strchr(q1 + 1, '"') : NULL;
    if (!q2 || strcmp(trim(q2 + 1), ")")) return -1;
    *c1 = *c2 = *q1 = *q2 = 0;
    if (*trim(c2 + 1)) return -1;
    *l = (struct line){trim(name), trim(c1 + 1), q1 + 1};
    return *l->name ? 0 : -1;
}

int weft__externals_load(const char *path, char *err, size_t err_size) {
    prepare();
    size_t before = table.count;
    char *buf = NULL;
    size_t room = 0;
    int rc = -1, number = 0, comment = 0;
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(err, err_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    while (getline(&buf, &room, f) >= 0) {
        char *s = trim(buf);
        const char *bad = NULL;
        struct line l;
        struct weft_external ext;
        number++;
        if (comment) {
            char *end = strstr(s, "*/");
            if (!end) continue;
            comment = 0;
            s = trim(end + 2);
        }
        if (!strncmp(s, "/*", 2)) {
            char *end = strstr(s + 2, "*/");
            comment = !end;
            s = end ? trim(end + 2) : s + strlen(s);
        }
        if (!*s || *s == '#' || !strncmp(s, "//", 2)) continue;
        char *copy = strdup(s); /* lives as long as the table */
        if (!copy) abort();
        if (split(copy, &l) < 0) {
            snprintf(err, err_size, "%s:%d: expected EXT(name, CLASS, \"effects\")", path, number);
            goto out;
        }
        if (parse_entry(&l, &ext, &bad) < 0) {
            if (bad)
                snprintf(err, err_size, "%s:%d: effect not understood: '%s'", path, number, bad);
            else
                snprintf(err, err_size, "%s:%d: class is '%s', not PURE, WRAP, RENAME or OUT", path, number, l.class);
            goto out;
        }
        add(ext);
    }
    rc = 0;
out:
    if (rc < 0) table.count = before;
    reindex();
    free(buf);
    fclose(f);
    return rc;
}
