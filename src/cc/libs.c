/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of a link that need a look before it: shared libraries built with weft, and objects joined by `ld -r`.
 *
 * Which functions of other modules are instrumented themselves. To the pass, a function of a shared library is external,
 * and an external function that it does not know runs outside, with a warning; one that was built with weft needs
 * neither. The pass runs before the linker has told anyone which libraries it uses, so they are looked for here the way
 * the linker does: inputs by name, and -l in the folders of -L, LIBRARY_PATH and the system. One that is missed is treated
 * like any other external function, which is slow and right.
 *
 * GNU ld, asked to join fat objects with -r, puts their bitcode one behind the other, which lld refuses to read. Such an
 * object is linked for its native code, through a copy in which the section has no name any more. */
#include "cc/cc.h"

#include "base/base.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_function(const char *name, void *arg) {
    weft__strbuf_printf(arg, "%s\n", name);
}

static void see_library(const char *path, struct weft_strbuf *out) {
    struct cc_file file;
    const char *dot = strrchr(path, '.');
    if (dot && (!strcmp(dot, ".o") || !strcmp(dot, ".a"))) return; /* not worth opening */
    if (cc_file_open(&file, path) < 0) return;
    if (file.kind == CC_FILE_SHARED && file.weft) cc_file_functions(&file, add_function, out);
    cc_file_close(&file);
}

/* Looks for a library in one folder; true if the search ends here. */
static bool look(const char *folder, const char *lib, struct weft_strbuf *out) {
    char *shared = NULL, *archive = NULL;
    bool exact = lib[0] == ':';
    if (asprintf(&shared, exact ? "%s/%s" : "%s/lib%s.so", folder, lib + exact) < 0) return true;
    if (asprintf(&archive, exact ? "%s/%s" : "%s/lib%s.a", folder, lib + exact) < 0) return true;
    bool found = access(shared, R_OK) == 0;
    if (found) see_library(shared, out);
    found = found || access(archive, R_OK) == 0;
    free(shared);
    free(archive);
    return found;
}

char *cc_ordered_functions(const struct cc_cmd *cmd) {
    static const char *const system[] = {
        "/usr/local/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
    };
    struct weft_strbuf out = {0};
    struct cc_strs folders = {0};
    const char *more = getenv("LIBRARY_PATH");
    char *rest = more ? weft__strdup(more) : NULL, *folder;
    for (size_t i = 0; i < cmd->libdirs.n; i++)
        cc_strs_add(&folders, cmd->libdirs.v[i]);
    while ((folder = strsep(&rest, ":")))
        if (*folder) cc_strs_add(&folders, folder);
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        cc_strs_add(&folders, system[i]);

    for (size_t i = 0; i < cmd->objects.n; i++)
        see_library(cmd->objects.v[i], &out);
    for (size_t i = 0; i < cmd->libs.n; i++)
        for (size_t k = 0; k < folders.n; k++)
            if (look(folders.v[k], cmd->libs.v[i], &out)) break;
    return out.s;
}

bool cc_has_joined(struct cc_cmd *cmd) {
    for (size_t i = 0; i < cmd->objects.n; i++) {
        struct cc_file file;
        const char *path = cmd->objects.v[i], *dot = strrchr(path, '.');
        if (!dot || (strcmp(dot, ".o") && strcmp(dot, ".lo")) || cc_file_open(&file, path) < 0) continue;
        if (file.joined) cc_strs_add(&cmd->joined, path);
        cc_file_close(&file);
    }
    return cmd->joined.n;
}

void cc_copy_joined(struct cc_cmd *cmd, const char *folder) {
    for (size_t i = 0; i < cmd->joined.n; i++) {
        struct cc_file file;
        struct weft_err err;
        char *copy = NULL;
        uint32_t type = SHT_PROGBITS, name = 0;
        if (cc_file_open(&file, cmd->joined.v[i]) < 0 || !file.joined) continue;
        uint8_t *bytes = weft__alloc(file.size);
        memcpy(bytes, file.bytes, file.size);
        memcpy(bytes + file.joined + offsetof(Elf64_Shdr, sh_type), &type, sizeof type);
        memcpy(bytes + file.joined + offsetof(Elf64_Shdr, sh_name), &name, sizeof name);
        if (asprintf(&copy, "%s/joined-%zu.o", folder, i) < 0) weft__die("out of memory");
        if (weft__file_write(copy, bytes, file.size, &err) == 0) {
            cc_strs_add(&cmd->joined_copies, copy);
            for (size_t k = 0; k < cmd->args.n; k++) /* the very same string, not just an equal one */
                if (cmd->args.v[k] == cmd->joined.v[i]) cmd->args.v[k] = copy;
        }
        free(bytes);
        cc_file_close(&file);
    }
}
