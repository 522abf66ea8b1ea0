/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft-cc and weft-c++: clang's command line in, clang's command line out. */
#ifndef WEFT_CC_H
#define WEFT_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of strings; the strings are never freed (the process is about to become clang). */
struct cc_strs {
    char **v; /* NULL-terminated once anything was added */
    size_t n, cap;
};

enum cc_phase { /* the last thing clang will do, in clang's order of precedence */
    CC_PREPROCESS,
    CC_CHECK, /* -fsyntax-only, --analyze and others that leave no code */
    CC_ASSEMBLY,
    CC_COMPILE,
    CC_LINK,
};

enum cc_input_kind { CC_SOURCE, CC_ASM, CC_OBJECT, CC_HEADER };

/* What a command line asks for. Filled by cc_args_read. */
struct cc_cmd {
    struct cc_strs args; /* without argv[0], response files expanded, -weft- options removed */
    enum cc_phase phase;
    bool compiles;    /* an object comes out of C or C++ */
    bool links;       /* with -r too */
    bool headers;     /* some inputs are headers, to be precompiled */
    bool info;        /* prints something about clang and ends: --version, -print-..., -dumpmachine */
    bool asks_ld;     /* -print-prog-name=ld */
    bool dry;         /* -### */
    bool verbose;     /* -v */
    bool emit_llvm;   /* -emit-llvm: the output is bitcode by the user's wish */
    bool shared;      /* -shared */
    bool relocatable; /* -r */
    bool no_build_id; /* the user switched it off */
    bool whole_archive;
    bool dash_dash; /* the arguments end in `-- FILE...` */
    size_t dash_at; /* index of `--` in args, if so */
    const char *static_link; /* -static or -static-pie, as written */
    const char *foreign;     /* an option that selects another target than x86-64 Linux, as written */
    const char *output;      /* -o */
    const char *sanitizer;   /* of -fsanitize=, one that has a runtime which cannot go together with weft's */
    const char *ld_deps;     /* --dependency-file of the linker, given by the user */
    const char *ld_why;      /* --why-extract of the linker, given by the user */
    struct cc_strs sources;  /* C, C++ and the like */
    struct cc_strs asms;
    struct cc_strs objects;  /* whatever goes to the linker by name */
    struct cc_strs libs;     /* -l, without the -l */
    struct cc_strs libdirs;  /* -L, in order */
    bool openmp;             /* -fopenmp, or a library of OpenMP's by name: weft's is linked, */
    const char *openmp_path; /* this one */
    bool ld_inputs;          /* -l, -Wl, -Xlinker: clang links even without a file */
    struct cc_strs env;      /* NAME=VALUE for the pass, from -weft- options */
    bool help;               /* -weft-help */
    bool no_repeat;          /* -weft-no-repeat */
    bool make_profile;       /* -weft-profile */
    const char *profile;     /* -weft-profile=FILE */
    struct cc_strs joined;        /* objects that were made from several by `ld -r`, as written... */
    struct cc_strs joined_copies; /* ...and what is linked in place of each */
};

/* ---- args.c ---- */
void cc_strs_add(struct cc_strs *list, const char *s);
/* Reads a command line (without argv[0]). Returns 0, or -1 with a message for the user in *error. */
int cc_args_read(struct cc_cmd *cmd, char **argv, char **error) __attribute__((warn_unused_result));

/* ---- elf.c ---- */
enum cc_file_kind {
    CC_FILE_OTHER,   /* none of these: a linker script, a text, nothing we can read */
    CC_FILE_NATIVE,  /* a relocatable object with code and without bitcode */
    CC_FILE_EMPTY,   /* a relocatable object with neither */
    CC_FILE_BITCODE, /* bitcode, or an object with bitcode in it */
    CC_FILE_SHARED,  /* a shared library or executable */
    CC_FILE_ARCHIVE,
};
struct cc_file {
    const uint8_t *bytes;
    size_t size;
    enum cc_file_kind kind;
    bool weft;          /* SHARED: carries weft's note */
    size_t joined;      /* BITCODE: where the header of a section with several modules in it is; 0: there is none */
    const char *soname; /* SHARED: or NULL; points into bytes */
};
int cc_file_open(struct cc_file *file, const char *path); /* 0 or -errno; whatever the bytes are, a kind comes out */
void cc_file_close(struct cc_file *file);
/* Calls `needed` with every DT_NEEDED of a SHARED file. */
void cc_file_needed(const struct cc_file *file, void (*needed)(const char *name, void *arg), void *arg);
/* Calls `function` with every function that a SHARED file defines for others. */
void cc_file_functions(const struct cc_file *file, void (*function)(const char *name, void *arg), void *arg);
/* Calls `member` with the name and kind of every member of an ARCHIVE; `path` is the archive's, for thin ones. */
void cc_file_members(const struct cc_file *file, const char *path,
                     void (*member)(const char *name, enum cc_file_kind kind, void *arg), void *arg);

/* ---- libs.c ---- */
/* The functions of all shared libraries on the command line that were built with weft; one name per line, in new memory
 * that the caller frees; NULL if there are none. */
char *cc_ordered_functions(const struct cc_cmd *cmd);

/* Objects whose bitcode cannot be read any more get copies without it, in `folder`. Changes cmd->args. */
bool cc_has_joined(struct cc_cmd *cmd);
void cc_copy_joined(struct cc_cmd *cmd, const char *folder);

/* ---- notes.c ---- */
/* Says which inputs of a finished link are not ordered. `deps` and `why` are what the linker wrote. */
void cc_notes(const struct cc_cmd *cmd, const char *deps, const char *why);

/* What messages begin with: weft-cc or weft-c++. */
extern const char *cc_name;

#endif
