/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Looks into ELF files, for two questions: was this built with weft, and is this the file that was recorded (build id)?
 * Only program headers and notes are read; every offset is checked against what the file has. */
#include "replay/replay.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_MAX (1u << 20)

static bool read_exact(int fd, void *buf, size_t n, uint64_t off) {
    if (off > INT64_MAX - n) return false;
    ssize_t r = pread(fd, buf, n, (off_t)off);
    return r >= 0 && (size_t)r == n;
}

/* One PT_NOTE segment. A broken one is left where it breaks: it is the loader's problem. */
static void read_notes(const uint8_t *p, size_t n, uint64_t align, struct weft_program *out) {
    uint64_t a = align == 8 ? 8 : 4;
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= n;) {
        Elf64_Nhdr h;
        memcpy(&h, p + at, sizeof h);
        uint64_t name = at + sizeof h;
        uint64_t desc = name + ((h.n_namesz + (a - 1)) & ~(a - 1));
        if (desc > n || h.n_descsz > n - desc) return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0) {
            size_t len = h.n_descsz < sizeof out->build_id ? h.n_descsz : sizeof out->build_id;
            memcpy(out->build_id, p + desc, len);
        }
        if (h.n_type == WEFT_NOTE_TYPE && h.n_namesz == sizeof WEFT_NOTE_OWNER &&
            memcmp(p + name, WEFT_NOTE_OWNER, sizeof WEFT_NOTE_OWNER) == 0) {
            out->weft = true;
            out->abi = WEFT_ABI_VERSION;
            if (h.n_descsz >= 4) memcpy(&out->abi, p + desc, 4);
        }
        at = desc + ((h.n_descsz + (a - 1)) & ~(a - 1));
    }
}

int weft__program_read(const char *path, struct weft_program *out, struct weft_err *err) {
    struct weft_program p = {0};
    Elf64_Ehdr e;
    struct stat st;
    int r = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return weft__err(err, errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        r = weft__err(err, EACCES, "%s: not a program", path);
        goto out;
    }
    char start[2] = "";
    if (read_exact(fd, start, 2, 0) && start[0] == '#' && start[1] == '!') {
        r = weft__err(err, ENOEXEC, "%s: a script, not a program built with weft: name the program that it starts",
                      path);
        goto out;
    }
    if (!read_exact(fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
        r = weft__err(err, ENOEXEC, "%s: not a program (no ELF file)", path);
        goto out;
    }
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64 || (e.e_type != ET_EXEC && e.e_type != ET_DYN) ||
        e.e_phentsize != sizeof(Elf64_Phdr)) {
        r = weft__err(err, ENOEXEC, "%s: not a 64-bit x86 program", path);
        goto out;
    }
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr ph;
        if (e.e_phoff > (uint64_t)st.st_size || !read_exact(fd, &ph, sizeof ph, e.e_phoff + (uint64_t)i * sizeof ph)) {
            r = weft__err(err, ENOEXEC, "%s: a damaged program (its program headers are missing)", path);
            goto out;
        }
        if (ph.p_type != PT_NOTE || ph.p_filesz > NOTES_MAX) continue;
        uint8_t *notes = weft__alloc(ph.p_filesz);
        if (read_exact(fd, notes, ph.p_filesz, ph.p_offset)) read_notes(notes, ph.p_filesz, ph.p_align, &p);
        free(notes);
    }
    *out = p;
out:
    close(fd);
    return r;
}

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The folder without links, dots and what else may be gone when the trace is replayed; the name as it is. */
static char *absolute(const char *path) {
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    char *real = dir ? realpath(dir, NULL) : NULL;
    struct weft_strbuf b = {0};
    weft__strbuf_printf(&b, "%s/%s", !real ? "." : strcmp(real, "/") == 0 ? "" : real, slash ? slash + 1 : path);
    free(real);
    free(dir);
    return b.s;
}

int weft__program_find(const char *name, char **out, struct weft_err *err) {
    struct stat st;
    if (name[0] == 0) return weft__err(err, ENOENT, "the program's name is empty");
    if (strchr(name, '/')) {
        if (stat(name, &st) < 0) return weft__err(err, errno, "%s: %s", name, strerror(errno));
        if (!is_program(name)) return weft__err(err, EACCES, "%s: cannot be executed", name);
        *out = absolute(name);
        return 0;
    }
    const char *path = getenv("PATH");
    if (!path) path = "/bin:/usr/bin"; /* as execvp */
    for (;;) {
        size_t n = strcspn(path, ":");
        struct weft_strbuf b = {0};
        weft__strbuf_printf(&b, "%.*s%s%s", (int)n, path, n ? "/" : "",
                            name); /* an empty entry is the working directory */
        if (is_program(b.s)) {
            *out = absolute(b.s);
            weft__strbuf_fini(&b);
            return 0;
        }
        weft__strbuf_fini(&b);
        if (!path[n]) break;
        path += n + 1;
    }
    if (is_program(name))
        return weft__err(err, ENOENT, "%s: no such program in PATH (there is one here: say ./%s)", name, name);
    return weft__err(err, ENOENT, "%s: no such program in PATH", name);
}

int weft__program_usable(const char *path, struct weft_err *err) {
    struct weft_program p;
    int r = weft__program_read(path, &p, err);
    if (r < 0) return r;
    if (!p.weft)
        return weft__err(err, ENOEXEC, "%s: not built with weft: build it with CC=weft-cc (or CXX=weft-c++)", path);
    if (p.abi != WEFT_ABI_VERSION)
        return weft__err(err, ENOEXEC,
                         "%s: built with another version of weft (interface %u, this is %d): build it again", path,
                         p.abi, WEFT_ABI_VERSION);
    return 0;
}

int weft__program_unchanged(struct weft_trace *t, struct weft_err *err) {
    static const uint8_t none[32];
    struct stat st;
    if (stat(t->program, &st) < 0)
        return weft__err(err, errno, "%s: the recorded program %s is missing: %s", t->dir, t->program, strerror(errno));
    int r = weft__program_usable(t->program, err);
    if (r < 0) return r;
    for (size_t i = 0; i < t->nmodules; i++) {
        const struct weft_module *m = &t->modules[i];
        struct weft_strbuf path = {0};
        struct weft_program p;
        if (!strchr(m->path, '/')) continue; /* the kernel's own: linux-vdso.so.1 */
        if (m->path[0] != '/') weft__strbuf_printf(&path, "%s/", t->cwd);
        weft__strbuf_puts(&path, m->path);
        r = weft__program_read(path.s, &p, err);
        if (r < 0) {
            char why[256];
            snprintf(why, sizeof why, "%s", err->code == ENOENT ? "is missing" : "cannot be read any more");
            r = weft__err(err, err->code, "%s: %s, which the recorded run had loaded, %s", t->dir, path.s, why);
        } else if (memcmp(m->build_id, none, sizeof none) != 0 && memcmp(m->build_id, p.build_id, sizeof none) != 0) {
            r = weft__err(err, ESTALE, "%s: %s was rebuilt since the recording (its build id differs): record again",
                          t->dir, path.s);
        }
        weft__strbuf_fini(&path);
        if (r < 0) return r;
    }
    return 0;
}
