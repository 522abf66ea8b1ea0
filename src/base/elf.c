/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the pass leaves for people is in sections of the program that are not loaded. */
#include "base/base.h"

#include <elf.h>
#include <string.h>

const char *weft__elf_section(const char *bytes, size_t size, const char *name, size_t *n) {
    Elf64_Ehdr h;
    size_t want = strlen(name) + 1;
    if (size < sizeof h) return NULL;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_shentsize != sizeof(Elf64_Shdr) ||
        h.e_shoff > size || (size - h.e_shoff) / sizeof(Elf64_Shdr) < h.e_shnum || h.e_shstrndx >= h.e_shnum)
        return NULL;
    Elf64_Shdr names, s;
    memcpy(&names, bytes + h.e_shoff + h.e_shstrndx * sizeof s, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset) return NULL;
    for (unsigned i = 0; i < h.e_shnum; i++) {
        memcpy(&s, bytes + h.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_name >= names.sh_size || names.sh_size - s.sh_name < want) continue;
        if (memcmp(bytes + names.sh_offset + s.sh_name, name, want)) continue;
        if (s.sh_type == SHT_NOBITS || s.sh_offset > size || s.sh_size > size - s.sh_offset) return NULL;
        *n = s.sh_size;
        return bytes + s.sh_offset;
    }
    return NULL;
}
