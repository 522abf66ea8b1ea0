/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses to source lines. A trace tells where each module was loaded; libdw finds the line in the module's debug
 * information. Answers are kept: a trace asks for few addresses, millions of times. Without libdw, or without debug
 * information, the answer is module+offset. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if WEFT_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#endif

bool weft__module_decode(const struct weft_item *item, struct weft_module *m) {
    struct weft_module_item i;
    if (item->size <= sizeof i) return false;
    memcpy(&i, item->data, sizeof i);
    const char *path = (const char *)item->data + sizeof i;
    size_t room = item->size - sizeof i;
    if (!memchr(path, 0, room)) return false;
    *m = (struct weft_module){.base = i.base, .size = i.size, .weft = item->op == 1, .path = weft__strdup(path)};
    memcpy(m->build_id, i.build_id, sizeof m->build_id);
    return true;
}

/* The walk collects them by the way. */
int weft__modules_read(struct weft_trace *t, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item item;
    int r = 0;
    if (t->modules_all) return 0;
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &item, err)) > 0) {
    }
    weft__cursor_close(&c);
    return r;
}

/* A row of a module's line table. */
struct row {
    uint64_t addr; /* as in the file: without the load bias */
    const char *file;
    int line;
    bool end; /* of a sequence: the first address behind it */
};

/* What was read of one module. */
struct lines {
    void *mod;
    struct row *rows;
    size_t n;
};

struct answer {
    uint64_t addr;
    char *text; /* NULL: free place */
};

struct weft_symbols {
    const struct weft_trace *t;
    void *dwfl;
    struct lines *lines; /* of the modules that were asked about */
    size_t nlines, lines_cap;
    struct answer *answers; /* open addressing, a power of two */
    size_t room, used;
};

#if WEFT_HAVE_LIBDW
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo};

/* Reports all modules to libdw, which opens them when they are asked about. */
static void *open_dwfl(const struct weft_trace *t) {
    Dwfl *d = dwfl_begin(&callbacks);
    if (!d) return NULL;
    dwfl_report_begin(d);
    for (size_t i = 0; i < t->nmodules; i++) {
        struct weft_strbuf path = {0};
        const struct weft_module *m = &t->modules[i];
        if (!strchr(m->path, '/')) continue;
        if (m->path[0] != '/') weft__strbuf_printf(&path, "%s/", t->cwd);
        weft__strbuf_puts(&path, m->path);
        struct stat st; /* a path in a foreign trace may be anything, a FIFO too */
        if (stat(path.s, &st) == 0 && S_ISREG(st.st_mode)) dwfl_report_elf(d, m->path, path.s, -1, m->base, false);
        weft__strbuf_fini(&path);
    }
    dwfl_report_end(d, NULL, NULL);
    return d;
}

static int by_addr(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->addr != y->addr) return x->addr < y->addr ? -1 : 1;
    return y->end - x->end;
}

/* All rows of all units, sorted. libdw would go by .debug_aranges (dwfl_module_getsrc), which clang does not write. */
static struct lines *load_lines(struct weft_symbols *s, Dwfl_Module *mod) {
    for (size_t i = 0; i < s->nlines; i++)
        if (s->lines[i].mod == mod) return &s->lines[i];
    s->lines = weft__grow(s->lines, &s->lines_cap, s->nlines + 1, sizeof *s->lines);
    struct lines *t = &s->lines[s->nlines++];
    *t = (struct lines){.mod = mod};
    size_t cap = 0;
    Dwarf_Die *cu = NULL;
    Dwarf_Addr bias;
    while ((cu = dwfl_module_nextcu(mod, cu, &bias))) {
        Dwarf_Lines *lines;
        size_t n;
        if (dwarf_getsrclines(cu, &lines, &n) != 0) continue;
        t->rows = weft__grow(t->rows, &cap, t->n + n, sizeof *t->rows);
        for (size_t i = 0; i < n; i++) {
            Dwarf_Line *l = dwarf_onesrcline(lines, i);
            struct row *r = &t->rows[t->n];
            Dwarf_Addr addr;
            if (dwarf_lineaddr(l, &addr) != 0 || dwarf_lineno(l, &r->line) != 0 ||
                dwarf_lineendsequence(l, &r->end) != 0)
                continue;
            r->addr = addr;
            r->file = dwarf_linesrc(l, NULL, NULL);
            t->n++;
        }
    }
    if (t->n) qsort(t->rows, t->n, sizeof *t->rows, by_addr);
    return t;
}

/* As a compiler would say it: relative to where the program was started, if it lies below. */
static const char *short_name(const struct weft_symbols *s, const char *file) {
    size_t len = strlen(s->t->cwd);
    return len > 1 && strncmp(file, s->t->cwd, len) == 0 && file[len] == '/' ? file + len + 1 : file;
}

static const struct row *find_row(struct weft_symbols *s, uint64_t addr) {
    Dwarf_Addr bias;
    Dwfl_Module *mod = s->dwfl ? dwfl_addrmodule(s->dwfl, addr) : NULL;
    if (!mod || !dwfl_module_getdwarf(mod, &bias)) return NULL;
    const struct lines *t = load_lines(s, mod);
    size_t lo = 0, hi = t->n;
    while (lo < hi) { /* the first row behind the address */
        size_t mid = lo + (hi - lo) / 2;
        if (t->rows[mid].addr <= addr - bias)
            lo = mid + 1;
        else
            hi = mid;
    }
    /* Line 0 is code that the compiler made up: the line before says more. */
    while (lo > 0 && !t->rows[lo - 1].end && t->rows[lo - 1].line == 0) lo--;
    return lo == 0 || t->rows[lo - 1].end || !t->rows[lo - 1].file ? NULL : &t->rows[lo - 1];
}

static char *find_line(struct weft_symbols *s, uint64_t addr) {
    const struct row *r = find_row(s, addr);
    struct weft_strbuf b = {0};
    if (r) weft__strbuf_printf(&b, "%s:%d", short_name(s, r->file), r->line);
    return b.s;
}

/* The unit that an address is in; without .debug_aranges, one after the other. */
static size_t find_same(struct weft_symbols *s, uint64_t addr, struct weft_range *out, size_t most) {
    Dwarf_Addr bias;
    const struct row *r = find_row(s, addr);
    Dwfl_Module *mod = r ? dwfl_addrmodule(s->dwfl, addr) : NULL;
    if (!mod || !dwfl_module_getdwarf(mod, &bias)) return 0;
    const struct lines *t = load_lines(s, mod);
    size_t n = 0;
    for (size_t i = 0; i + 1 < t->n && n < most; i++) {
        const struct row *x = &t->rows[i];
        if (x->end || x->line != r->line || !x->file || strcmp(x->file, r->file) != 0 || x->addr == x[1].addr) continue;
        if (n && out[n - 1].to == x->addr + bias)
            out[n - 1].to = x[1].addr + bias;
        else
            out[n++] = (struct weft_range){x->addr + bias, x[1].addr + bias};
    }
    return n;
}

static Dwarf_Die *find_unit(Dwfl_Module *mod, uint64_t addr, Dwarf_Addr *bias) {
    Dwarf_Die *cu = NULL;
    while ((cu = dwfl_module_nextcu(mod, cu, bias)))
        if (dwarf_haspc(cu, addr - *bias) == 1) return cu;
    return NULL;
}

static void put_source(const struct weft_symbols *s, struct weft_source *out, const char *file, int line) {
    snprintf(out->place, sizeof out->place, "%s:%d", short_name(s, file), line);
    out->system = strncmp(file, "/usr/", 5) == 0;
}

/* A function that was inlined stands in a scope that says where it was called: so the line of the address is the innermost
 * function's, and the place of each call is a line of the next one. */
static size_t find_sources(struct weft_symbols *s, uint64_t addr, struct weft_source *out, size_t most) {
    const struct row *row = find_row(s, addr);
    Dwfl_Module *mod = row ? dwfl_addrmodule(s->dwfl, addr) : NULL;
    Dwarf_Addr bias;
    Dwarf_Die *cu = mod ? find_unit(mod, addr, &bias) : NULL, *innermost = NULL, *scopes = NULL;
    /* By address they go on where the inlined function was written; by entry, where it was put. */
    int n = cu && dwarf_getscopes(cu, addr - bias, &innermost) > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
    const char *file = row ? row->file : NULL;
    int line = row ? row->line : 0;
    size_t found = 0;
    for (int i = 0; i < n && found < most && file; i++) {
        int tag = dwarf_tag(&scopes[i]);
        Dwarf_Attribute a;
        Dwarf_Word value;
        Dwarf_Files *files;
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        const char *name = dwarf_formstring(dwarf_attr_integrate(&scopes[i], DW_AT_name, &a));
        /* What OpenMP's library calls does nothing but call the region. */
        bool calls_region = found && name && strlen(name) > 13 && strcmp(name + strlen(name) - 13, ".omp_outlined") == 0;
        if (!calls_region) {
            out[found] = (struct weft_source){.function = name ? weft__demangle(name) : ""};
            put_source(s, &out[found++], file, line);
        }
        if (tag == DW_TAG_subprogram) break;
        file = NULL;
        if (dwarf_getsrcfiles(cu, &files, NULL) == 0 && dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &a), &value) == 0)
            file = dwarf_filesrc(files, value, NULL, NULL);
        if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &a), &value) == 0) line = (int)value;
    }
    free(innermost);
    free(scopes);
    if (!found && row && most) {
        out[0] = (struct weft_source){.function = ""};
        put_source(s, &out[found++], row->file, row->line);
    }
    return found;
}
#endif

size_t weft__symbols_sources(struct weft_symbols *s, uint64_t addr, struct weft_source *out, size_t most) {
    size_t n = 0;
#if WEFT_HAVE_LIBDW
    n = find_sources(s, addr, out, most);
#endif
    if (n || !most) return n;
    out[0] = (struct weft_source){.function = ""};
    snprintf(out[0].place, sizeof out[0].place, "%s", weft__symbols_line(s, addr));
    return 1;
}

struct weft_symbols *weft__symbols_new(const struct weft_trace *t) {
    struct weft_symbols *s = weft__alloc(sizeof *s);
    s->t = t;
#if WEFT_HAVE_LIBDW
    s->dwfl = open_dwfl(t);
#endif
    return s;
}

void weft__symbols_free(struct weft_symbols *s) {
    if (!s) return;
#if WEFT_HAVE_LIBDW
    if (s->dwfl) dwfl_end(s->dwfl);
#endif
    for (size_t i = 0; i < s->room; i++) free(s->answers[i].text);
    free(s->answers);
    for (size_t i = 0; i < s->nlines; i++) free(s->lines[i].rows);
    free(s->lines);
    free(s);
}

static char *find(struct weft_symbols *s, uint64_t addr) {
    struct weft_strbuf b = {0};
#if WEFT_HAVE_LIBDW
    char *line = find_line(s, addr);
    if (line) return line;
#endif
    for (size_t i = 0; i < s->t->nmodules; i++) {
        const struct weft_module *m = &s->t->modules[i];
        if (addr < m->base || addr - m->base >= m->size) continue;
        const char *slash = strrchr(m->path, '/');
        weft__strbuf_printf(&b, "%s+0x%llx", slash ? slash + 1 : m->path, (unsigned long long)(addr - m->base));
        return b.s;
    }
    weft__strbuf_printf(&b, "0x%llx", (unsigned long long)addr);
    return b.s;
}

static struct answer *place(struct answer *a, size_t room, uint64_t addr) {
    size_t i = (addr * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);
    while (a[i].text && a[i].addr != addr) i = (i + 1) & (room - 1);
    return &a[i];
}

const char *weft__symbols_line(struct weft_symbols *s, uint64_t addr) {
    if (s->used * 2 >= s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct answer *bigger = weft__alloc(room * sizeof *bigger);
        for (size_t i = 0; i < s->room; i++)
            if (s->answers[i].text) *place(bigger, room, s->answers[i].addr) = s->answers[i];
        free(s->answers);
        s->answers = bigger;
        s->room = room;
    }
    struct answer *a = place(s->answers, s->room, addr);
    if (!a->text) {
        *a = (struct answer){.addr = addr, .text = find(s, addr)};
        s->used++;
    }
    return a->text;
}

size_t weft__symbols_same_line(struct weft_symbols *s, uint64_t addr, struct weft_range *out, size_t most) {
    size_t n = 0;
#if WEFT_HAVE_LIBDW
    n = find_same(s, addr, out, most);
#endif
    if (n || !most) return n;
    out[0] = (struct weft_range){addr, addr + 1};
    return 1;
}

void *weft__symbols_dwfl(struct weft_symbols *s) { return s->dwfl; }
