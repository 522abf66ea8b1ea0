/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The vDSO's clock_gettime, found in the image that the launcher hides from libc (so that no time goes unrecorded). */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <time.h>

typedef int (*gettime_fn)(clockid_t, struct timespec *);

static int same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static gettime_fn find(uint64_t base) {
    const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)base;
    if (!base || e->e_ident[0] != 0x7f) return NULL;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + e->e_phoff);
    const ElfW(Dyn) *d = NULL;
    uint64_t load = 0;
    for (int i = 0; i < e->e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && !load) load = base + p[i].p_offset - p[i].p_vaddr;
        if (p[i].p_type == PT_DYNAMIC) d = (const ElfW(Dyn) *)(base + p[i].p_offset);
    }
    const ElfW(Sym) *sym = NULL;
    const char *str = NULL;
    uint64_t n = 0;
    for (; d && d->d_tag; d++) {
        uint64_t at = load + d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) sym = (const ElfW(Sym) *)at;
        if (d->d_tag == DT_STRTAB) str = (const char *)at;
        if (d->d_tag == DT_HASH) n = ((const uint32_t *)at)[1];
    }
    if (!n) n = 16; /* no DT_HASH: the vDSO has about a dozen symbols */
    for (uint64_t i = 1; sym && str && i < n; i++)
        if (same(str + sym[i].st_name, "__vdso_clock_gettime")) return (gettime_fn)(load + sym[i].st_value);
    return NULL;
}

int weft__vdso_clock_gettime(clockid_t c, struct timespec *ts) {
    static gettime_fn fn;
    static int looked;
    if (!looked) {
        fn = find(weft__control ? weft__control->vdso : getauxval(AT_SYSINFO_EHDR));
        looked = 1;
    }
    return fn ? fn(c, ts) : (int)weft__raw(SYS_clock_gettime, c, ts);
}
