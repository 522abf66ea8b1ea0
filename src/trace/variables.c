/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names for addresses of global variables, by the debug information: which variable it is, and by its type, which member and which element.
 * Without it the symbol. What is on the heap or on a stack has no name. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#if WEFT_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#define DEPTH 16

static bool type_of(Dwarf_Die *die, Dwarf_Die *out) {
    Dwarf_Attribute a;
    Dwarf_Die t;
    if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &a), &t)) return false;
    return dwarf_peel_type(&t, out) == 0;
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *out) {
    Dwarf_Attribute a;
    Dwarf_Word v;
    if (dwarf_formudata(dwarf_attr(die, name, &a), &v) != 0) return false;
    *out = v;
    return true;
}

/* ".member[3].name" for the bytes at the offset in a value of that type; nothing below what has their size. */
static void put_path(Dwarf_Die *type, uint64_t off, uint64_t bytes, struct weft_strbuf *b, int depth) {
    Dwarf_Die child, t;
    Dwarf_Word size;
    int tag = dwarf_tag(type);
    if (depth > DEPTH || (!off && dwarf_aggregate_size(type, &size) == 0 && size <= bytes)) return;
    if (tag == DW_TAG_array_type) {
        if (!type_of(type, &t) || dwarf_aggregate_size(&t, &size) != 0 || !size) return;
        weft__strbuf_printf(b, "[%llu]", (unsigned long long)(off / size));
        put_path(&t, off % size, bytes, b, depth + 1);
        return;
    }
    if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type) return;
    if (dwarf_child(type, &child) != 0) return;
    do {
        uint64_t at = 0;
        if (dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance) continue;
        number(&child, DW_AT_data_member_location, &at);
        if (!type_of(&child, &t) || dwarf_aggregate_size(&t, &size) != 0 || off < at || off - at >= size) continue;
        const char *name = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;
        if (name) weft__strbuf_printf(b, ".%s", name);
        put_path(&t, off - at, bytes, b, depth + 1);
        return;
    } while (dwarf_siblingof(&child, &child) == 0);
}

/* Whether the address (as in the file) lies in the variable, and where. One that the optimiser took apart has pieces. */
static bool lies_in(Dwarf_Die *var, uint64_t addr, uint64_t size, uint64_t *offset) {
    Dwarf_Attribute a, found;
    Dwarf_Op *ops;
    size_t n;
    uint64_t off = 0;
    Dwarf_Addr at = 0;
    bool known = false, pieces = false;
    if (!dwarf_attr(var, DW_AT_location, &a) || dwarf_getlocation(&a, &ops, &n) != 0) return false;
    for (size_t i = 0; i < n; i++) {
        if (ops[i].atom == DW_OP_addr) {
            at = ops[i].number;
            known = true;
        } else if (ops[i].atom == DW_OP_addrx) {
            known = dwarf_getlocation_attr(&a, &ops[i], &found) == 0 && dwarf_formaddr(&found, &at) == 0;
        } else if (ops[i].atom == DW_OP_piece) {
            pieces = true;
            if (known && addr >= at && addr - at < ops[i].number) {
                *offset = off + (addr - at);
                return true;
            }
            off += ops[i].number;
            known = false;
        } else
            return false; /* a register, thread-local, computed */
    }
    *offset = addr - at;
    return known && !pieces && addr >= at && addr - at < size;
}

static bool find_variable(Dwarf_Die *scope, uint64_t addr, uint64_t size, struct weft_strbuf *b, int depth) {
    Dwarf_Die child, type;
    Dwarf_Word all;
    uint64_t offset;
    if (depth > DEPTH || dwarf_child(scope, &child) != 0) return false;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable && type_of(&child, &type) && dwarf_aggregate_size(&type, &all) == 0 && lies_in(&child, addr, all, &offset)) {
            Dwarf_Attribute a;
            const char *name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &a));
            if (!name) continue;
            weft__strbuf_puts(b, name);
            put_path(&type, offset, size, b, 0);
            return true;
        }
        if ((tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block) && find_variable(&child, addr, size, b, depth + 1)) return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}
#endif

char *weft__symbols_variable(struct weft_symbols *s, uint64_t addr, size_t size) {
    struct weft_strbuf b = {0};
#if WEFT_HAVE_LIBDW
    Dwfl *dwfl = weft__symbols_dwfl(s);
    Dwfl_Module *m = dwfl ? dwfl_addrmodule(dwfl, addr) : NULL;
    GElf_Sym sym;
    GElf_Off offset;
    Dwarf_Addr bias;
    Dwarf_Die *cu = NULL;
    while (m && (cu = dwfl_module_nextcu(m, cu, &bias)))
        if (find_variable(cu, addr - bias, size, &b, 0)) return b.s;
    const char *name = m ? dwfl_module_addrinfo(m, addr, &offset, &sym, NULL, NULL, NULL) : NULL;
    if (!name || offset >= sym.st_size || GELF_ST_TYPE(sym.st_info) != STT_OBJECT) return NULL;
    weft__strbuf_puts(&b, weft__demangle(name));
    if (offset) weft__strbuf_printf(&b, "+%llu", (unsigned long long)offset);
#else
    (void)s;
    (void)addr;
    (void)size;
#endif
    return b.s;
}
