/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A command line of clang, read just far enough to know what clang is going to do with it.
 *
 * Response files are expanded the way clang does it (GNU quoting, nested files relative to the current folder, a name
 * that cannot be read stays as it is), so that an option decides the same wherever it stands. The options that matter
 * are in two tables: those that take the next argument, which must not be mistaken for a file, and those that decide.
 * The first was made by asking clang 19 for all of its options (--autocomplete) and trying each with an argument that
 * does not exist. Everything else is passed on unread; clang is the judge of it.
 *
 * -weft- options end here: they become environment variables, since lld runs the pass inside itself. */
#include "cc/cc.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cc_strs_add(struct cc_strs *list, const char *s) {
    list->v = weft__grow(list->v, &list->cap, list->n + 2, sizeof *list->v);
    list->v[list->n++] = (char *)s;
    list->v[list->n] = NULL;
}

static bool starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is(const char *s, const char *t) {
    return strcmp(s, t) == 0;
}

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...) {
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0) weft__die("out of memory");
    va_end(ap);
    return s;
}

/* ---- response files ---- */

#define MAX_DEPTH 64
#define MAX_RESPONSE (256u << 20)

static void expand(struct cc_strs *out, const char *arg, int depth);

/* LLVM's TokenizeGNUCommandLine: a token that is empty, quotes or not, is no token. */
static void tokenize(struct cc_strs *out, const char *s, size_t n, int depth) {
    char *token = weft__alloc(n + 1);
    size_t len = 0;
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? s[i] : ' ';
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0') {
            if (len) {
                token[len] = 0;
                expand(out, weft__strdup(token), depth);
            }
            len = 0;
        } else if (c == '\\' && i + 1 < n) {
            token[len++] = s[++i];
        } else if (c == '"' || c == '\'') {
            for (i++; i < n && s[i] != c; i++) {
                if (s[i] == '\\' && i + 1 < n) i++;
                token[len++] = s[i];
            }
        } else {
            token[len++] = c;
        }
    }
    free(token);
}

static void expand(struct cc_strs *out, const char *arg, int depth) {
    struct weft_err err;
    char *text = NULL;
    size_t n = 0;
    /* A file that names itself stays as it is beyond the limit, and clang says what is wrong with it. */
    if (arg[0] != '@' || depth >= MAX_DEPTH || weft__file_read(arg + 1, MAX_RESPONSE, &text, &n, &err) < 0) {
        cc_strs_add(out, arg);
        return;
    }
    size_t bom = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    tokenize(out, text + bom, n - bom, depth + 1);
    free(text);
}

/* ---- options of clang ---- */

/* Options that take the next argument when they stand alone. */
static const char *const separate[] = {
    "--analyzer-output", "--assert", "--bootclasspath", "--classpath", "--CLASSPATH", "--config", "--define-macro",
    "--dyld-prefix", "--encoding", "--extdirs", "--for-linker", "--force-link", "--imacros", "--include",
    "--include-directory", "--include-directory-after", "--include-prefix", "--include-with-prefix",
    "--include-with-prefix-after", "--include-with-prefix-before", "--language", "--library-directory", "--mhwdiv",
    "--no-system-header-prefix", "--output", "--param", "--prefix", "--print-file-name", "--print-prog-name",
    "--resource", "--rtlib", "--serialize-diagnostics", "--specs", "--std", "--stdlib", "--sysroot",
    "--system-header-prefix", "--undefine-macro", "--vfsoverlay", "-A", "-B", "-D", "-F", "-G", "-I", "-L", "-MF",
    "-MJ", "-MQ", "-MT", "-T", "-U", "-V", "-Xanalyzer", "-Xarch_device", "-Xarch_host", "-Xassembler", "-Xclang",
    "-Xcuda-fatbinary", "-Xcuda-ptxas", "-Xlinker", "-Xoffload-linker", "-Xopenmp-target", "-Xpreprocessor",
    "-allowable_client", "-arch", "-arcmt-migrate-report-output", "-b", "-bundle_loader", "-ccc-arcmt-migrate",
    "-ccc-gcc-name", "-ccc-install-dir", "-ccc-objcmt-migrate", "-client_name", "-compatibility_version",
    "-current_version", "-cxx-isystem", "-darwin-target-variant", "-darwin-target-variant-triple", "-dependency-dot",
    "-dependency-file", "-dsym-dir", "-dumpdir", "-dylinker_install_name", "-e", "-exported_symbols_list",
    "-fdebug-compilation-dir", "-fexperimental-openacc-macro-override", "-filelist", "-fmodules-user-build-path",
    "-force_load", "-framework", "-ftrapv-handler", "-gen-cdb-fragment-path", "-iapinotes-modules", "-idirafter",
    "-iframework", "-iframeworkwithsysroot", "-image_base", "-imacros", "-imultilib", "-include", "-include-pch",
    "-init", "-install_name", "-iprefix", "-iquote", "-isysroot", "-isystem", "-isystem-after", "-ivfsoverlay",
    "-iwithprefix", "-iwithprefixbefore", "-iwithsysroot", "-l", "-meabi", "-mllvm", "-mmlir",
    "-module-dependency-dir", "-mthread-model", "-multiply_defined", "-o", "-pagezero_size", "-read_only_relocs",
    "-resource-dir", "-rpath", "-seg1addr", "-seg_addr_table", "-segaddr", "-serialize-diagnostics", "-specs",
    "-stdlib++-isystem", "-target", "-u", "-umbrella", "-undefined", "-unexported_symbols_list", "-vfsoverlay",
    "-weak_framework", "-weak_library", "-working-directory", "-x", "-z",
};

static bool takes_next(const char *arg) {
    if (starts(arg, "-Xarch_") || starts(arg, "-Xopenmp-target=")) return true;
    for (size_t i = 0; i < sizeof separate / sizeof *separate; i++)
        if (is(arg, separate[i])) return true;
    return false;
}

/* If `arg` is this option, alone or joined with its value, the value. The long spelling, if any, is joined by `=`. */
static const char *value_of(const char *arg, const char *next, const char *shorter, const char *longer) {
    if (is(arg, shorter) || (longer && is(arg, longer))) return next;
    if (longer && starts(arg, longer) && arg[strlen(longer)] == '=') return arg + strlen(longer) + 1;
    if (!starts(arg, "--") && starts(arg, shorter)) return arg + strlen(shorter);
    return NULL;
}

/* Options that print something and end. With -v alone, clang does too. */
static bool prints(const char *arg) {
    static const char *const exact[] = {
        "--version", "--help", "-help", "--help-hidden", "-dumpmachine", "-dumpversion", "-dumpspecs", "-mcpu=help",
        "-mtune=help", "--supported-cpus", "--supported-extensions",
    };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (is(arg, exact[i])) return true;
    return starts(arg, "-print-") || starts(arg, "--print-") || starts(arg, "--autocomplete") ||
           starts(arg, "-ccc-print-phases") || starts(arg, "-ccc-print-bindings");
}

static void lower_phase(struct cc_cmd *cmd, enum cc_phase phase) {
    if (phase < cmd->phase) cmd->phase = phase;
}

/* Options that decide what clang's last phase is. */
static void read_phase(struct cc_cmd *cmd, const char *arg) {
    static const struct {
        const char *name;
        enum cc_phase phase;
    } table[] = {
        {"-E", CC_PREPROCESS}, {"--preprocess", CC_PREPROCESS},
        {"-M", CC_PREPROCESS}, {"--dependencies", CC_PREPROCESS},
        {"-MM", CC_PREPROCESS}, {"--user-dependencies", CC_PREPROCESS},
        {"-fsyntax-only", CC_CHECK}, {"--analyze", CC_CHECK}, {"--precompile", CC_CHECK}, {"-emit-ast", CC_CHECK},
        {"-verify-pch", CC_CHECK}, {"-rewrite-objc", CC_CHECK}, {"-rewrite-legacy-objc", CC_CHECK},
        {"-module-file-info", CC_CHECK}, {"-extract-api", CC_CHECK}, {"-emit-interface-stubs", CC_CHECK},
        {"-emit-merged-ifs", CC_CHECK},
        {"-S", CC_ASSEMBLY}, {"--assemble", CC_ASSEMBLY},
        {"-c", CC_COMPILE}, {"--compile", CC_COMPILE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is(arg, table[i].name)) lower_phase(cmd, table[i].phase);
}

/* Kind of an input by the name of a language (after -x), or by the ending of its name. */
static enum cc_input_kind kind_of_language(const char *language) {
    if (is(language, "assembler") || is(language, "assembler-with-cpp")) return CC_ASM;
    if (strstr(language, "-header")) return CC_HEADER;
    return CC_SOURCE;
}

static enum cc_input_kind kind_of_name(const char *path) {
    static const char *const source[] = {
        "c", "i", "cc", "cp", "cxx", "cpp", "c++", "C", "CC", "CPP", "CXX", "C++", "ii", "m", "mi", "mm", "mii", "M",
        "cppm", "ccm", "cxxm", "c++m", "ixx", "iim", "pcm", "ll", "bc",
        "cl", "clcpp", "cu", "cui", "hip", "ast",
    };
    static const char *const header[] = {"h", "H", "hh", "hp", "hpp", "hxx", "h++", "hm", "inc"};
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    if (!dot) return CC_OBJECT;
    if (is(dot, ".s") || is(dot, ".S") || is(dot, ".sx") || is(dot, ".asm")) return CC_ASM;
    for (size_t i = 0; i < sizeof source / sizeof *source; i++)
        if (is(dot + 1, source[i])) return CC_SOURCE;
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        if (is(dot + 1, header[i])) return CC_HEADER;
    return CC_OBJECT;
}

static void add_input(struct cc_cmd *cmd, const char *path, const char *language) {
    enum cc_input_kind kind = language && !is(language, "none") ? kind_of_language(language) : kind_of_name(path);
    switch (kind) {
    case CC_SOURCE:
        cc_strs_add(&cmd->sources, path);
        break;
    case CC_ASM:
        cc_strs_add(&cmd->asms, path);
        break;
    case CC_OBJECT:
        cc_strs_add(&cmd->objects, path);
        break;
    case CC_HEADER:
        cmd->headers = true;
        break;
    }
}

static void set_env(struct cc_cmd *cmd, const char *name, const char *value, char list);

/* One argument of the linker, out of -Wl, or -Xlinker. `prev` is the one before it. */
static void read_linker(struct cc_cmd *cmd, const char *arg, const char *prev) {
    const char *v;
    if (is(arg, "-r") || is(arg, "-i") || is(arg, "--relocatable")) cmd->relocatable = true;
    if (is(arg, "-shared") || is(arg, "--shared") || is(arg, "-Bshareable")) cmd->shared = true;
    if (is(arg, "--whole-archive") || is(arg, "-whole-archive")) cmd->whole_archive = true;
    if (starts(arg, "--build-id") || starts(arg, "-build-id")) cmd->no_build_id = is(arg + strlen(arg) - 5, "=none");
    if (is(arg, "--no-build-id")) cmd->no_build_id = true;
    if ((v = strstr(arg, "-dependency-file=")) && v - arg <= 1) cmd->ld_deps = strchr(v, '=') + 1;
    if ((v = strstr(arg, "-wrap=")) && v - arg <= 1) set_env(cmd, "WEFT_WRAP", v + 6, ',');
    if (is(prev, "--wrap") || is(prev, "-wrap")) set_env(cmd, "WEFT_WRAP", arg, ',');
    if (is(prev, "--dependency-file") || is(prev, "-dependency-file")) cmd->ld_deps = arg;
    if ((v = strstr(arg, "-why-extract=")) && v - arg <= 1) cmd->ld_why = strchr(v, '=') + 1;
}

static bool is_weft_target(const char *triple) {
    return (starts(triple, "x86_64-") || starts(triple, "amd64-")) && strstr(triple, "linux") &&
           !strstr(triple, "gnux32") && !strstr(triple, "android");
}

/* -fsanitize=A,B and -fno-sanitize=A,B: the last one of these that is on. */
static void read_sanitizers(struct cc_cmd *cmd, const char *list, bool on) {
    static const char *const table[] = {"thread", "address", "memory", "hwaddress", "leak"};
    char *rest = weft__strdup(list), *word;
    while ((word = strsep(&rest, ","))) {
        if (!on && cmd->sanitizer && (is(word, "all") || is(word, cmd->sanitizer))) cmd->sanitizer = NULL;
        for (size_t i = 0; on && i < sizeof table / sizeof *table; i++)
            if (is(word, table[i])) cmd->sanitizer = table[i];
    }
}

/* ---- options of weft ---- */

static const struct weft_option {
    const char *name, *env;
    enum { PLAIN, OPTIONAL, REQUIRED } value;
    char list; /* several are joined with this */
    const char *choices;
} weft_options[] = {
    {"-weft-stats", "WEFT_STATS", OPTIONAL, 0, NULL},
    {"-weft-plan", "WEFT_PLAN", REQUIRED, 0, "all shared races sync"},
    {"-weft-granularity", "WEFT_GRANULARITY", REQUIRED, 0, "loop access region"},
    {"-weft-verify", "WEFT_VERIFY", PLAIN, 0, NULL},
    {"-weft-check", "WEFT_CHECK", PLAIN, 0, NULL},
    {"-weft-races", "WEFT_RACES", PLAIN, 0, NULL},
    {"-weft-serialize", "WEFT_SERIALIZE", REQUIRED, ',', NULL},
    {"-weft-externals", "WEFT_EXTERNALS", REQUIRED, ':', NULL},
};

static bool is_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    for (const char *p = choices; (p = strstr(p, value)); p++)
        if ((p == choices || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0) && n) return true;
    return false;
}

static void set_env(struct cc_cmd *cmd, const char *name, const char *value, char list) {
    size_t n = strlen(name);
    for (size_t i = 0; i < cmd->env.n; i++) {
        if (strncmp(cmd->env.v[i], name, n) || cmd->env.v[i][n] != '=') continue;
        cmd->env.v[i] = list ? format("%s%c%s", cmd->env.v[i], list, value) : format("%s=%s", name, value);
        return;
    }
    cc_strs_add(&cmd->env, format("%s=%s", name, value));
}

static int read_weft_option(struct cc_cmd *cmd, const char *arg, char **error) {
    if (is(arg, "-weft-help")) {
        cmd->help = true;
        return 0;
    }
    if (is(arg, "-weft-no-repeat")) {
        cmd->no_repeat = true;
        return 0;
    }
    if (is(arg, "-weft-profile") || (starts(arg, "-weft-profile=") && arg[14])) { /* the last one counts */
        cmd->make_profile = !arg[13];
        cmd->profile = arg[13] ? arg + 14 : NULL;
        return 0;
    }
    if (is(arg, "-weft-profile=")) {
        *error = format("%s: a file is missing: -weft-profile=FILE, or -weft-profile to make one", arg);
        return -1;
    }
    for (size_t i = 0; i < sizeof weft_options / sizeof *weft_options; i++) {
        const struct weft_option *o = &weft_options[i];
        size_t n = strlen(o->name);
        if (strncmp(arg, o->name, n) || (arg[n] && arg[n] != '=')) continue;
        const char *value = arg[n] ? arg + n + 1 : NULL;
        if (value && o->value == PLAIN) {
            *error = format("%s: this option takes no value", arg);
            return -1;
        }
        if (o->value == REQUIRED && (!value || !*value)) {
            *error = format("%s: a value is missing: %s=...", arg, o->name);
            return -1;
        }
        if (o->choices && !is_choice(o->choices, value)) {
            *error = format("%s: not one of: %s", arg, o->choices);
            return -1;
        }
        set_env(cmd, o->env, value && *value ? value : "1", o->list);
        return 0;
    }
    *error = format("%s: no such option (-weft-help lists them)", arg);
    return -1;
}

int cc_args_read(struct cc_cmd *cmd, char **argv, char **error) {
    struct cc_strs all = {0};
    const char *language = NULL;
    const char *ld_prev = "";
    for (; *argv; argv++)
        expand(&all, *argv, 0);

    *cmd = (struct cc_cmd){.phase = CC_LINK};
    for (size_t i = 0; i < all.n; i++) {
        const char *arg = all.v[i], *next = i + 1 < all.n ? all.v[i + 1] : "", *v;
        if (starts(arg, "-weft-")) {
            if (read_weft_option(cmd, arg, error) < 0) return -1;
            continue;
        }
        if (is(arg, "--")) {
            cmd->dash_dash = true;
            cmd->dash_at = cmd->args.n;
            for (; i < all.n; i++) {
                cc_strs_add(&cmd->args, all.v[i]);
                if (i + 1 < all.n) add_input(cmd, all.v[i + 1], language);
            }
            break;
        }
        cc_strs_add(&cmd->args, arg);
        if (arg[0] != '-' || !arg[1]) {
            add_input(cmd, arg, language);
            continue;
        }

        if (is(arg, "-v") || is(arg, "--verbose")) cmd->verbose = true;
        if (is(arg, "-###")) cmd->dry = true;
        if (prints(arg)) cmd->info = true;
        if (is(arg, "-print-prog-name=ld") || is(arg, "--print-prog-name=ld")) cmd->asks_ld = true;
        if (is(arg, "-emit-llvm")) cmd->emit_llvm = true;
        if (is(arg, "-shared") || is(arg, "--shared")) cmd->shared = true;
        if (is(arg, "-r")) cmd->relocatable = true;
        if (is(arg, "-static") || is(arg, "--static") || is(arg, "-static-pie")) cmd->static_link = arg;
        if (is(arg, "-m32") || is(arg, "-mx32") || is(arg, "-m16")) cmd->foreign = arg;
        if (is(arg, "-m64")) cmd->foreign = NULL;
        if (starts(arg, "--target=") || is(arg, "-target")) {
            v = is(arg, "-target") ? next : arg + 9;
            cmd->foreign = is_weft_target(v) ? NULL : v;
        }
        if (is(arg, "-fopenmp") || starts(arg, "-fopenmp=")) cmd->openmp = true;
        if (is(arg, "-fno-openmp")) cmd->openmp = false;
        if (starts(arg, "-fsanitize=")) read_sanitizers(cmd, arg + 11, true);
        if (starts(arg, "-fno-sanitize=")) read_sanitizers(cmd, arg + 14, false);
        read_phase(cmd, arg);
        if ((v = value_of(arg, next, "-x", "--language"))) language = v;
        if (!starts(arg, "-objcmt-") && (v = value_of(arg, next, "-o", "--output"))) cmd->output = v;
        if ((v = value_of(arg, next, "-L", "--library-directory"))) cc_strs_add(&cmd->libdirs, v);
        if ((v = value_of(arg, next, "-l", NULL))) {
            cmd->ld_inputs = true;
            cc_strs_add(&cmd->libs, v);
        }
        if (starts(arg, "-Wl,")) {
            cmd->ld_inputs = true;
            char *rest = weft__strdup(arg + 4), *token;
            while ((token = strsep(&rest, ","))) {
                read_linker(cmd, token, ld_prev);
                ld_prev = token;
            }
        }
        if (is(arg, "-Xlinker") || is(arg, "--for-linker")) {
            cmd->ld_inputs = true;
            read_linker(cmd, next, ld_prev);
            ld_prev = next;
        }
        if (takes_next(arg) && i + 1 < all.n) cc_strs_add(&cmd->args, all.v[++i]);
    }
    bool inputs = cmd->sources.n || cmd->asms.n || cmd->objects.n;
    if (cmd->headers && !inputs) lower_phase(cmd, CC_CHECK); /* headers alone are precompiled, whatever else is asked */
    cmd->compiles = !cmd->info && cmd->phase >= CC_COMPILE && cmd->sources.n;
    cmd->links = !cmd->info && cmd->phase == CC_LINK && (inputs || cmd->ld_inputs);
    return 0;
}
