/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an input of the linker is: bitcode, an object with or without bitcode in it, a shared library with or without
 * weft's note, an archive of such. The bytes are whatever a user has on disk, so every offset is checked before it is
 * followed; what cannot be followed makes the file CC_FILE_OTHER, about which nothing is said. */
#include "cc/cc.h"

#include "base/base.h"
#include "weft/abi.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct span {
    const uint8_t *p;
    size_t n;
};

/* `count` things of `size` bytes at `off`; NULL if they are not all inside. Unaligned: copy before use. */
static const void *at(struct span s, uint64_t off, uint64_t count, uint64_t size) {
    if (off > s.n || (size && count > (s.n - off) / size)) return NULL;
    return s.p + off;
}

/* A string that ends inside the span; NULL if it does not. */
static const char *string_at(struct span s, uint64_t off) {
    if (off >= s.n || !memchr(s.p + off, 0, s.n - off)) return NULL;
    return (const char *)s.p + off;
}

static bool get_header(struct span s, Elf64_Ehdr *h) {
    const void *p = at(s, 0, 1, sizeof *h);
    if (!p) return false;
    memcpy(h, p, sizeof *h);
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB;
}

/* Section headers, or NULL. The counts may be in section 0 when they are too large for the header. */
static const uint8_t *get_sections(struct span s, const Elf64_Ehdr *h, uint64_t *count, uint64_t *names) {
    Elf64_Shdr zero;
    const void *p;
    if (!h->e_shoff || h->e_shentsize != sizeof zero || !(p = at(s, h->e_shoff, 1, sizeof zero))) return NULL;
    memcpy(&zero, p, sizeof zero);
    *count = h->e_shnum ? h->e_shnum : zero.sh_size;
    *names = h->e_shstrndx == SHN_XINDEX ? zero.sh_link : h->e_shstrndx;
    return *names < *count ? at(s, h->e_shoff, *count, sizeof zero) : NULL;
}

static Elf64_Shdr get_section(const uint8_t *table, uint64_t i) {
    Elf64_Shdr h;
    memcpy(&h, table + i * sizeof h, sizeof h);
    return h;
}

static struct span get_names(struct span s, const uint8_t *table, uint64_t names) {
    Elf64_Shdr n = get_section(table, names);
    const void *strings = n.sh_type == SHT_STRTAB ? at(s, n.sh_offset, n.sh_size, 1) : NULL;
    return (struct span){strings, strings ? n.sh_size : 0};
}

/* Does another module follow the first? Top-level blocks of bitcode are: one word that begins with abbreviation 1, one
 * word with the length in words, the block. */
static bool has_several_modules(struct span s, const Elf64_Shdr *sh) {
    const uint8_t *p = at(s, sh->sh_offset, sh->sh_size, 1);
    uint64_t off = 4;
    uint32_t word, length;
    while (p && off <= sh->sh_size && sh->sh_size - off >= 8) {
        memcpy(&word, p + off, 4);
        memcpy(&length, p + off + 4, 4);
        if (word == 0xdec04342u) return true; /* "BC\xc0\xde" */
        if ((word & 3) != 1) return false;
        off += 8 + 4ull * length;
    }
    return false;
}

static enum cc_file_kind kind_of_object(struct span s, const Elf64_Ehdr *h, size_t *joined) {
    uint64_t count, names;
    const uint8_t *table = get_sections(s, h, &count, &names);
    if (!table) return CC_FILE_OTHER;
    struct span name_span = get_names(s, table, names);
    enum cc_file_kind kind = CC_FILE_EMPTY;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Shdr sh = get_section(table, i);
        const char *name = string_at(name_span, sh.sh_name);
        if (name && !strcmp(name, ".llvm.lto") && sh.sh_size) {
            if (has_several_modules(s, &sh)) *joined = (size_t)(table - s.p) + i * sizeof sh;
            return CC_FILE_BITCODE;
        }
        if (sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR) && sh.sh_size) kind = CC_FILE_NATIVE;
    }
    return kind;
}

static bool has_weft_note(struct span s, uint64_t off, uint64_t size) {
    const uint8_t *p = at(s, off, size, 1);
    if (!p) return false;
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n;
        memcpy(&n, p, sizeof n);
        uint64_t name = (n.n_namesz + 3ull) & ~3ull, desc = (n.n_descsz + 3ull) & ~3ull;
        if (name > size - sizeof n || desc > size - sizeof n - name) return false;
        if (n.n_type == WEFT_NOTE_TYPE && n.n_namesz == sizeof WEFT_NOTE_OWNER &&
            !memcmp(p + sizeof n, WEFT_NOTE_OWNER, sizeof WEFT_NOTE_OWNER))
            return true;
        p += sizeof n + name + desc;
        size -= sizeof n + name + desc;
    }
    return false;
}

static Elf64_Phdr get_segment(const uint8_t *table, uint64_t i) {
    Elf64_Phdr h;
    memcpy(&h, table + i * sizeof h, sizeof h);
    return h;
}

/* Where in the file a virtual address is; all ones if nowhere. */
static uint64_t file_offset(const uint8_t *segments, uint64_t count, uint64_t addr) {
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr p = get_segment(segments, i);
        if (p.p_type == PT_LOAD && addr >= p.p_vaddr && addr - p.p_vaddr < p.p_filesz)
            return p.p_offset + (addr - p.p_vaddr);
    }
    return UINT64_MAX;
}

/* Walks the dynamic section; calls `fn` with every string-valued entry of tag `tag`. */
static void each_dynamic(struct span s, const Elf64_Ehdr *h, int64_t tag, void (*fn)(const char *, void *), void *arg) {
    if (h->e_phentsize != sizeof(Elf64_Phdr)) return;
    const uint8_t *segments = at(s, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr));
    if (!segments) return;
    for (uint64_t i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p = get_segment(segments, i);
        if (p.p_type != PT_DYNAMIC) continue;
        uint64_t count = p.p_filesz / sizeof(Elf64_Dyn);
        const uint8_t *dyn = at(s, p.p_offset, count, sizeof(Elf64_Dyn));
        uint64_t strings = UINT64_MAX;
        if (!dyn) return;
        for (int pass = 0; pass < 2; pass++) { /* the string table's entry may come last */
            for (uint64_t k = 0; k < count; k++) {
                Elf64_Dyn d;
                memcpy(&d, dyn + k * sizeof d, sizeof d);
                if (d.d_tag == DT_NULL) break;
                if (pass == 0 && d.d_tag == DT_STRTAB) strings = file_offset(segments, h->e_phnum, d.d_un.d_ptr);
                if (pass == 1 && d.d_tag == tag && d.d_un.d_val < s.n) {
                    const char *name = string_at(s, strings + d.d_un.d_val);
                    if (name) fn(name, arg);
                }
            }
            if (strings >= s.n) return;
        }
    }
}

static void keep_name(const char *name, void *arg) {
    *(const char **)arg = name;
}

/* By the loaded notes, which survive `strip`, or by the section's name. */
static bool is_weft_library(struct span s, const Elf64_Ehdr *h) {
    const uint8_t *table = NULL;
    uint64_t count, names;
    if (h->e_phentsize == sizeof(Elf64_Phdr)) table = at(s, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr));
    for (uint64_t i = 0; table && i < h->e_phnum; i++) {
        Elf64_Phdr p = get_segment(table, i);
        if (p.p_type == PT_NOTE && has_weft_note(s, p.p_offset, p.p_filesz)) return true;
    }
    table = get_sections(s, h, &count, &names);
    struct span name_span = table ? get_names(s, table, names) : (struct span){0};
    for (uint64_t i = 0; table && i < count; i++) {
        const char *name = string_at(name_span, get_section(table, i).sh_name);
        if (name && !strcmp(name, ".note.weft")) return true;
    }
    return false;
}

static enum cc_file_kind kind_of_bytes(struct span s, size_t *joined) {
    Elf64_Ehdr h;
    if (s.n >= 8 && (!memcmp(s.p, "!<arch>\n", 8) || !memcmp(s.p, "!<thin>\n", 8))) return CC_FILE_ARCHIVE;
    if (s.n >= 4 && (!memcmp(s.p, "BC\xc0\xde", 4) || !memcmp(s.p, "\xde\xc0\x17\x0b", 4))) return CC_FILE_BITCODE;
    if (!get_header(s, &h)) return CC_FILE_OTHER;
    if (h.e_type == ET_REL) return kind_of_object(s, &h, joined);
    if (h.e_type == ET_DYN || h.e_type == ET_EXEC) return CC_FILE_SHARED;
    return CC_FILE_OTHER;
}

int cc_file_open(struct cc_file *file, const char *path) {
    struct stat st;
    void *p = NULL;
    int ret = 0;
    *file = (struct cc_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -errno;
    if (fstat(fd, &st) < 0) {
        ret = -errno;
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_size <= 0) goto out;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        ret = -errno;
        goto out;
    }
    struct span s = {p, (size_t)st.st_size};
    file->bytes = p;
    file->size = s.n;
    file->kind = kind_of_bytes(s, &file->joined);
    if (file->kind == CC_FILE_SHARED) {
        Elf64_Ehdr h;
        if (!get_header(s, &h)) goto out;
        file->weft = is_weft_library(s, &h);
        each_dynamic(s, &h, DT_SONAME, keep_name, &file->soname);
    }
out:
    close(fd);
    return ret;
}

void cc_file_close(struct cc_file *file) {
    if (file->bytes) munmap((void *)file->bytes, file->size);
    *file = (struct cc_file){0};
}

void cc_file_needed(const struct cc_file *file, void (*needed)(const char *, void *), void *arg) {
    struct span s = {file->bytes, file->size};
    Elf64_Ehdr h;
    if (file->kind == CC_FILE_SHARED && get_header(s, &h)) each_dynamic(s, &h, DT_NEEDED, needed, arg);
}

void cc_file_functions(const struct cc_file *file, void (*function)(const char *, void *), void *arg) {
    struct span s = {file->bytes, file->size};
    Elf64_Ehdr h;
    uint64_t count, names;
    const uint8_t *table = file->kind == CC_FILE_SHARED && get_header(s, &h) ? get_sections(s, &h, &count, &names) : NULL;
    for (uint64_t i = 0; table && i < count; i++) {
        Elf64_Shdr sh = get_section(table, i);
        if (sh.sh_type != SHT_DYNSYM || sh.sh_link >= count) continue;
        struct span strings = get_names(s, table, sh.sh_link);
        uint64_t n = sh.sh_size / sizeof(Elf64_Sym);
        const uint8_t *symbols = at(s, sh.sh_offset, n, sizeof(Elf64_Sym));
        for (uint64_t k = 1; symbols && k < n; k++) {
            Elf64_Sym sym;
            memcpy(&sym, symbols + k * sizeof sym, sizeof sym);
            int type = ELF64_ST_TYPE(sym.st_info), bind = ELF64_ST_BIND(sym.st_info);
            const char *name = string_at(strings, sym.st_name);
            if (name && *name && sym.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
                (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE))
                function(name, arg);
        }
    }
}

/* ---- archives: System V (GNU) and BSD names, thin ones too ---- */

struct ar_header {
    char name[16], date[12], uid[6], gid[6], mode[8], size[10], end[2];
};

static bool ar_number(const char *digits, size_t n, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;
    for (; i < n && digits[i] >= '0' && digits[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(digits[i] - '0');
    *out = v;
    return i > 0;
}

/* The member of a thin archive is a file beside it. */
static enum cc_file_kind kind_of_thin(const char *archive, const char *name) {
    struct cc_file file;
    const char *slash = strrchr(archive, '/');
    char *path = NULL;
    enum cc_file_kind kind = CC_FILE_OTHER;
    int n = name[0] == '/' || !slash ? asprintf(&path, "%s", name)
                                     : asprintf(&path, "%.*s/%s", (int)(slash - archive), archive, name);
    if (n >= 0 && cc_file_open(&file, path) == 0) {
        kind = file.kind;
        cc_file_close(&file);
    }
    free(path);
    return kind;
}

void cc_file_members(const struct cc_file *file, const char *path,
                     void (*member)(const char *, enum cc_file_kind, void *), void *arg) {
    struct span s = {file->bytes, file->size}, long_names = {0};
    if (file->kind != CC_FILE_ARCHIVE) return;
    bool thin = !memcmp(s.p, "!<thin>\n", 8);
    for (uint64_t off = 8; off < s.n;) {
        struct ar_header h;
        const void *p = at(s, off, 1, sizeof h);
        uint64_t size, n;
        if (!p) return;
        memcpy(&h, p, sizeof h);
        if (memcmp(h.end, "`\n", 2) || !ar_number(h.size, sizeof h.size, &size)) return;
        off += sizeof h;

        char *name = NULL;
        bool special = !memcmp(h.name, "/ ", 2) || !memcmp(h.name, "// ", 3) || !memcmp(h.name, "/SYM64/", 7) ||
                       !memcmp(h.name, "__.SYMDEF", 9);
        bool inside = special || !thin; /* are the bytes here? */
        struct span data = {inside ? at(s, off, size, 1) : NULL, size};
        if (inside && !data.p) return;
        if (!memcmp(h.name, "// ", 3)) {
            long_names = data;
        } else if (!special && h.name[0] == '/' && ar_number(h.name + 1, 15, &n)) {
            if (n < long_names.n) {
                const char *q = (const char *)long_names.p + n;
                size_t max = long_names.n - n, k = 0;
                while (k < max && q[k] != '\n' && q[k])
                    k++;
                if (k && q[k - 1] == '/') k--;
                name = strndup(q, k);
            }
        } else if (!memcmp(h.name, "#1/", 3) && ar_number(h.name + 3, 13, &n) && inside && n <= size) {
            name = strndup((const char *)data.p, n);
            data.p += n;
            data.n -= n;
        } else if (!special) {
            size_t k = 0;
            while (k < sizeof h.name && h.name[k] != '/')
                k++;
            while (k == sizeof h.name && k && h.name[k - 1] == ' ')
                k--;
            name = strndup(h.name, k);
        }
        size_t joined = 0;
        if (name) member(name, inside ? kind_of_bytes(data, &joined) : kind_of_thin(path, name), arg);
        free(name);
        if (inside) {
            if (size > s.n - off) return;
            off += size + (size & 1);
        }
    }
}
