/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where functions begin and end, and what they are called, by the symbols of the modules that a trace names. */
#include "slice/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if WEFT_HAVE_LIBDW
#include <gelf.h>

static void read_table(struct weft_names *n, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t bias) {
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize; i++) {
        GElf_Sym s;
        if (!gelf_getsym(data, (int)i, &s) || (GELF_ST_TYPE(s.st_info) != STT_FUNC && GELF_ST_TYPE(s.st_info) != STT_OBJECT) || s.st_shndx == SHN_UNDEF || !s.st_value) continue;
        const char *name = elf_strptr(elf, sh->sh_link, s.st_name);
        n->list = weft__grow(n->list, &n->cap, n->n + 1, sizeof *n->list);
        n->list[n->n++] = (struct weft_name){s.st_value + bias, s.st_value + s.st_size + bias, weft__strdup(name ? name : "")};
    }
}

/* A module is loaded at its base; addresses in the file count from its first segment's page. */
static uint64_t bias_of(Elf *elf, uint64_t base) {
    size_t n = 0;
    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD) return base - (p.p_vaddr & ~4095ull);
    }
    return base;
}

static int by_address(const void *a, const void *b) {
    const struct weft_name *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

int weft__names_read(struct weft_names *n, const struct weft_trace *t, struct weft_err *err) {
    (void)err;
    elf_version(EV_CURRENT);
    for (size_t m = 0; m < t->nmodules; m++) {
        int fd = open(t->modules[m].path, O_RDONLY | O_CLOEXEC);
        Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
        Elf_Scn *scn = NULL;
        uint64_t bias = elf ? bias_of(elf, t->modules[m].base) : 0;
        while (elf && (scn = elf_nextscn(elf, scn))) {
            GElf_Shdr sh;
            if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)) read_table(n, elf, scn, &sh, bias);
        }
        if (elf) elf_end(elf);
        if (fd >= 0) close(fd);
    }
    if (n->n) qsort(n->list, n->n, sizeof *n->list, by_address);
    return 0;
}
#else
int weft__names_read(struct weft_names *n, const struct weft_trace *t, struct weft_err *err) {
    (void)n, (void)t;
    return weft__err(err, ENOTSUP, "this weft was built without libdw and libelf: it cannot slice");
}
#endif

const struct weft_name *weft__names_at(const struct weft_names *n, uint64_t pc) {
    size_t lo = 0, hi = n->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (n->list[mid].from <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && pc < n->list[lo - 1].to ? &n->list[lo - 1] : NULL;
}

const struct weft_name *weft__names_find(const struct weft_names *n, const char *name, uint64_t from, uint64_t to) {
    for (size_t i = 0; i < n->n; i++)
        if (n->list[i].from >= from && n->list[i].from < to && strcmp(n->list[i].name, name) == 0) return &n->list[i];
    return NULL;
}

void weft__names_fini(struct weft_names *n) {
    for (size_t i = 0; i < n->n; i++) free(n->list[i].name);
    free(n->list);
    *n = (struct weft_names){0};
}
