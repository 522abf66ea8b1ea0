/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list of accesses of a replay (struct weft_accesses): a ring at the end of the memory file, so that it is there however the
 * program ended.
 *
 * So that every access is seen, such a replay takes no copy of a loop that leaves out checks (src/runtime/loops.c), where the recording did. A position in the copy is then that of the
 * same access in the loop: the program says which two these are (WEFT_PAIRS). */
#include "replay/replay.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pair {
    uint64_t number, site;
};
static int by_number(const void *a, const void *b) {
    const struct pair *p = a, *q = b;
    return p->number < q->number ? -1 : p->number > q->number;
}
static int by_copy(const void *a, const void *b) { /* here `number` is the site in the copy */
    return by_number(a, b);
}

/* What is added to addresses in the file to get those in the process. */
static uint64_t bias_of(const struct weft_module *m, const char *bytes, size_t size) {
    Elf64_Ehdr h;
    if (size < sizeof h) return 0;
    memcpy(&h, bytes, sizeof h);
    for (unsigned i = 0; i < h.e_phnum && h.e_phentsize == sizeof(Elf64_Phdr) && h.e_phoff <= size && (size - h.e_phoff) / sizeof(Elf64_Phdr) > i; i++) {
        Elf64_Phdr p;
        memcpy(&p, bytes + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_LOAD) return m->base - (p.p_vaddr & ~4095ul);
    }
    return m->base;
}

/* Adds those of a module to the list of n: sites in copies, and in the loops. Without the section there are none, and if it is damaged, some. */
static struct pair *add_pairs(struct pair *list, size_t *n, const struct weft_trace *t, const struct weft_module *m) {
    struct weft_strbuf path = {0};
    struct weft_err ignored;
    char *bytes = NULL;
    size_t size = 0, length = 0;
    if (m->path[0] != '/') weft__strbuf_printf(&path, "%s/", t->cwd);
    weft__strbuf_puts(&path, m->path);
    int r = weft__file_read(path.s, SIZE_MAX >> 1, &bytes, &size, &ignored);
    const char *section = r < 0 ? NULL : weft__elf_section(bytes, size, WEFT_PAIRS, &length);
    if (section) {
        uint64_t bias = bias_of(m, bytes, size);
        size_t all = length / 16, originals = 0, k = 0;
        struct pair *in = weft__alloc(all * sizeof *in);
        for (size_t i = 0; i < all; i++) {
            struct pair p;
            memcpy(&p.site, section + 16 * i, 8);
            memcpy(&p.number, section + 16 * i + 8, 8);
            if (!p.site) continue; /* of a function that is not in the program */
            in[k++] = p;
            originals += !(p.number & WEFT_PAIR_COPY);
        }
        qsort(in, k, sizeof *in, by_number); /* loops come first, then copies */
        list = realloc(list, (*n + k) * sizeof *list);
        if (!list) weft__die("out of memory");
        for (size_t i = originals; i < k; i++) {
            struct pair key = {in[i].number & ~WEFT_PAIR_COPY, 0};
            const struct pair *o = bsearch(&key, in, originals, sizeof *in, by_number);
            if (o) list[(*n)++] = (struct pair){in[i].site + bias, o->site + bias};
        }
        free(in);
    }
    free(bytes);
    weft__strbuf_fini(&path);
    return list;
}

static void move_to_loops(struct weft_schedule *s, const struct weft_trace *t) {
    struct pair *list = NULL;
    size_t n = 0;
    for (size_t i = 0; i < t->nmodules; i++)
        if (t->modules[i].weft) list = add_pairs(list, &n, t, &t->modules[i]);
    if (n) qsort(list, n, sizeof *list, by_copy);
    const struct weft_sched *sched = (struct weft_sched *)(s->map + s->control->sched_off);
    const struct weft_sched_slot *slot = (const struct weft_sched_slot *)(sched + 1);
    for (uint64_t k = 0; n && k < sched->slots; k++) {
        struct weft_sched_item *item = (struct weft_sched_item *)(s->map + slot[k].items_off);
        for (uint64_t i = 0; i < slot[k].items; i++) {
            struct pair key = {item[i].site, 0};
            const struct pair *p = item[i].site ? bsearch(&key, list, n, sizeof *list, by_copy) : NULL;
            if (p) item[i].site = p->site;
        }
    }
    free(list);
}

int weft__accesses_open(struct weft_schedule *s, struct weft_trace *t, uint64_t room, struct weft_accesses **out, struct weft_err *err) {
    uint64_t size = (sizeof **out + room * sizeof(struct weft_access) + 4095) & ~4095ull;
    if (ftruncate(s->fd, (off_t)(s->size + size)) < 0)
        return weft__err(err, errno, "cannot grow a memory file by %llu bytes: %s", (unsigned long long)size, strerror(errno));
    int r = weft__modules_read(t, err);
    if (r < 0) return r;
    move_to_loops(s, t);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, (off_t)s->size);
    if (map == MAP_FAILED)
        return weft__err(err, errno, "cannot map %llu bytes: %s", (unsigned long long)size, strerror(errno));
    *out = map;
    (*out)->room = room;
    (*out)->size = size;
    s->control->accesses_off = s->size;
    s->control->options |= WEFT_OPT_ACCESSES | WEFT_OPT_WAITS;
    return 0;
}
