/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* After a link: which of its inputs are not ordered, one line each.
 *
 * The linker itself says what it used: --dependency-file names every file that it opened, with -l and linker scripts
 * resolved; --why-extract names the members that it took out of archives; and the output's DT_NEEDED entries are the
 * shared libraries that were really needed. So nothing is guessed here from -L, -B, --as-needed and the like.
 * Not mentioned: what every program has (libc and its relatives, whose functions weft knows by name; the start-up
 * files), and objects without any code. */
#include "cc/cc.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTING (64u << 20)
#define MAX_MEMBERS 3 /* of one archive, by name; beyond that, their number */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool contains(const struct cc_strs *list, const char *s) {
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->v[i], s)) return true;
    return false;
}

static void note(struct cc_strs *said, const char *what, const char *part) {
    char *line = NULL;
    if (asprintf(&line, "%s%s%s%s", what, part ? "(" : "", part ? part : "", part ? ")" : "") < 0) return;
    if (!contains(said, line)) {
        bool openmp = !strncmp(line, "libomp.", 7) || !strncmp(line, "libgomp.", 8) || !strncmp(line, "libiomp5.", 9);
        fprintf(stderr, "%s: note: %s: not built with weft; %s\n", cc_name, line,
                openmp ? "threads that it starts cannot be recorded, since they wait for one another inside it" : "races inside it are not recorded");
        cc_strs_add(said, line);
    }
}

/* Libraries that belong to the system's C and C++ runtime, and the start-up files of every link. */
static bool is_known(const char *path) {
    static const char *const libraries[] = {
        "libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libutil", "libanl", "libresolv", "ld-linux",
        "ld-linux-x86-64", "libgcc", "libgcc_s", "libgcc_eh", "libatomic", "libstdc++", "libsupc++", "libc++",
        "libc++abi", "libunwind", "libc_nonshared", "libpthread_nonshared", "libweft-rt", "libweft-inst",
    };
    static const char *const objects[] = {
        "crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "Mcrt1.o", "crti.o", "crtn.o", "crtbegin.o", "crtbeginS.o",
        "crtbeginT.o", "crtend.o", "crtendS.o", "crtfastmath.o",
    };
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!strcmp(name, objects[i])) return true;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t n = strlen(libraries[i]);
        if (!strncmp(name, libraries[i], n) && (!strncmp(name + n, ".so", 3) || !strcmp(name + n, ".a"))) return true;
    }
    return !strncmp(name, "libclang_rt.", 12) || (!strncmp(name, "libm-2.", 7) && strstr(name, ".a"));
}

/* The prerequisites of the first rule of a make file as lld writes it. */
static void read_deps(struct cc_strs *out, const char *path) {
    struct weft_err err;
    char *text = NULL, *line, *rest;
    size_t n;
    if (weft__file_read(path, MAX_LISTING, &text, &n, &err) < 0) return;
    rest = text;
    line = strsep(&rest, "\n"); /* output: \ */
    while (line && (line = strsep(&rest, "\n")) && line[0] == ' ') {
        char *from = line + 1, *to = line;
        size_t len = strlen(from);
        if (len >= 2 && !strcmp(from + len - 2, " \\")) from[len - 2] = 0;
        while (*from) {
            if ((from[0] == '\\' && (from[1] == ' ' || from[1] == '#')) || (from[0] == '$' && from[1] == '$')) from++;
            *to++ = *from++;
        }
        *to = 0;
        cc_strs_add(out, weft__strdup(line));
    }
    free(text);
}

/* A path as lld writes it into the dependency file: without `.`, and with `..` taken literally. */
static char *normalize(const char *path) {
    struct cc_strs parts = {0};
    struct weft_strbuf out = {0};
    char *rest = weft__strdup(path), *part;
    while ((part = strsep(&rest, "/"))) {
        if (!*part || !strcmp(part, ".")) continue;
        bool up = !strcmp(part, "..");
        if (up && parts.n && strcmp(parts.v[parts.n - 1], ".."))
            parts.n--;
        else if (!up || path[0] != '/')
            cc_strs_add(&parts, part);
    }
    for (size_t i = 0; i < parts.n; i++)
        weft__strbuf_printf(&out, "%s%s", i || path[0] == '/' ? "/" : "", parts.v[i]);
    return out.s ? out.s : weft__strdup("");
}

/* The second column of --why-extract: ARCHIVE(MEMBER). */
static void read_why(struct cc_strs *out, const char *path) {
    struct weft_err err;
    char *text = NULL, *line, *rest;
    size_t n;
    if (weft__file_read(path, MAX_LISTING, &text, &n, &err) < 0) return;
    for (rest = text; (line = strsep(&rest, "\n"));) {
        strsep(&line, "\t");
        char *extracted = strsep(&line, "\t");
        if (extracted) cc_strs_add(out, normalize(extracted));
    }
    free(text);
}

struct archive {
    const char *path;
    const struct cc_strs *used; /* ARCHIVE(MEMBER); NULL: all are */
    struct cc_strs native;
};

static void see_member(const char *name, enum cc_file_kind kind, void *arg) {
    struct archive *a = arg;
    char *id = NULL;
    if (kind != CC_FILE_NATIVE) return;
    /* lld names a member of a thin archive by its last component. */
    if (asprintf(&id, "%s(%s)", a->path, base_name(name)) < 0) return;
    if ((!a->used || contains(a->used, id)) && !contains(&a->native, base_name(name)))
        cc_strs_add(&a->native, weft__strdup(base_name(name)));
    free(id);
}

static void note_archive(struct cc_strs *said, const struct cc_cmd *cmd, const struct cc_file *file, const char *path,
                         const struct cc_strs *why) {
    struct archive a = {.path = path};
    size_t n = strlen(path);
    for (size_t i = 0; i < why->n; i++)
        if (!strncmp(why->v[i], path, n) && why->v[i][n] == '(') a.used = why;
    /* Nothing was extracted: it is not used at all, or it was taken whole. */
    if (!a.used && !cmd->whole_archive) return;
    cc_file_members(file, path, see_member, &a);
    if (a.native.n > MAX_MEMBERS) {
        char part[64];
        snprintf(part, sizeof part, "%zu members", a.native.n);
        note(said, path, part);
        return;
    }
    for (size_t i = 0; i < a.native.n; i++)
        note(said, path, a.native.v[i]);
}

static void keep_needed(const char *name, void *arg) {
    cc_strs_add(arg, weft__strdup(name));
}

void cc_notes(const struct cc_cmd *cmd, const char *deps_path, const char *why_path) {
    struct cc_strs deps = {0}, why = {0}, needed = {0}, said = {0};
    struct cc_file file;
    if (cmd->sanitizer)
        fprintf(stderr, "%s: note: -fsanitize=%s: its allocator takes the place of weft's; the program runs, but cannot be recorded\n", cc_name,
                cmd->sanitizer);
    if (cc_file_open(&file, cmd->output ? cmd->output : "a.out") < 0) return;
    if (file.kind == CC_FILE_SHARED) cc_file_needed(&file, keep_needed, &needed);
    cc_file_close(&file);
    read_deps(&deps, deps_path);
    read_why(&why, why_path);

    for (size_t i = 0; i < cmd->asms.n; i++) /* their objects were temporary and are gone */
        note(&said, cmd->asms.v[i], NULL);
    for (size_t i = 0; i < cmd->joined.n; i++)
        note(&said, cmd->joined.v[i], NULL);
    for (size_t i = 0; i < deps.n; i++) {
        const char *path = deps.v[i];
        if (is_known(path) || contains(&cmd->joined_copies, path) || cc_file_open(&file, path) < 0) continue;
        switch (file.kind) {
        case CC_FILE_NATIVE:
            note(&said, path, NULL);
            break;
        case CC_FILE_SHARED: {
            const char *name = file.soname ? file.soname : base_name(path);
            if (!file.weft && !is_known(name) && (contains(&needed, name) || contains(&needed, path)))
                note(&said, name, NULL);
            break;
        }
        case CC_FILE_ARCHIVE:
            note_archive(&said, cmd, &file, path, &why);
            break;
        case CC_FILE_OTHER:
        case CC_FILE_EMPTY:
        case CC_FILE_BITCODE:
            break;
        }
        cc_file_close(&file);
    }
}
