/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft-cc, weft-c++: clang 19, with what weft needs added.
 *
 *   compiling     -g (unless the user chose) and full LTO in fat objects: native code for everyone else's tools, bitcode
 *                 for the link; and the early pass, which sees the loops of the source. Not where clang leaves no object (-E, -S,
 *                 -fsyntax-only, ...).
 *   linking       lld, the pass, the runtime. The pass sees the whole program.
 *   -r            the objects are joined and nothing is instrumented: that is for the final link.
 *
 * The user's arguments stay in their order. In front of them goes what they may override (-g, the build id) and what
 * must come first: the runtime, so that its symbols are found before those of every other library. Behind them goes
 * what they must not override: the linker and the kind of LTO. Everything added stands between
 * --start-no-unused-arguments and --end-no-unused-arguments, so -Werror hits the user's arguments only.
 *
 * A link is run as a child when there is something to do after it (notes, temporary files); everything else becomes
 * clang. */
#include "cc/cc.h"

#include "base/base.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *cc_name = "weft-cc";

static void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", cc_name);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

static char *join(const char *a, const char *b, const char *c) {
    char *s = NULL;
    if (asprintf(&s, "%s%s%s", a, b, c) < 0) weft__die("out of memory");
    return s;
}

static void help(void) {
    printf("usage: %s [ARGUMENTS OF clang...]\n"
           "\n"
           "Compiles and links like clang 19, for `weft record`. Options of its own, used when linking but for one:\n"
           "  -weft-plan=PLAN         which accesses are checked: all, shared (the default), races or sync\n"
           "  -weft-granularity=WHAT  loop (the default: what a loop touches is looked at before it, where that is known), access, or region\n"
           "  -weft-profile           the program tells `weft profile` which of its parts run beside each other (plan races)\n"
           "  -weft-profile=FILE      what `weft profile` found, for this build (plan races)\n"
           "  -weft-no-repeat         loops get no bodies that `weft simplify` can leave out (when compiling)\n"
           "  -weft-stats[=FILE]      count accesses and what became of them; FILE gets it as JSON\n"
           "  -weft-verify            record and replay compare every checked access\n"
           "  -weft-check             prove while running that positions are unique (slow)\n"
           "  -weft-races             find accesses that may race, for `weft races`\n"
           "  -weft-serialize=NAME    order the calls of the external function NAME; may be repeated\n"
           "  -weft-externals=FILE    more entries for the table of external functions; may be repeated\n"
           "  -weft-help              this text\n"
           "\n"
           "Environment: WEFT_CLANG (the clang to run), WEFT_QUIET=1 (no notes after a link).\n",
           cc_name);
}

/* ../lib/weft from where this program is: the same in a build tree and when installed. */
static const char *find_libdir(void) {
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) fail("/proc/self/exe: %s", strerror(errno));
    exe[n] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(exe, '/');
        if (!slash) fail("/proc/self/exe: not an absolute path");
        *slash = 0;
    }
    return join(exe, "/lib/weft", "");
}

static const char *need(const char *libdir, const char *name) {
    const char *path = join(libdir, "/", name);
    if (access(path, R_OK) < 0) fail("%s: %s (is weft built and installed completely?)", path, strerror(errno));
    return path;
}

/* ---- the command line for clang ---- */

static void linker(struct cc_strs *out, const char *arg) {
    cc_strs_add(out, "-Xlinker"); /* not -Wl, which would break paths at commas */
    cc_strs_add(out, arg);
}

static void check_link(const struct cc_cmd *cmd, const char *libdir) {
    if (cmd->foreign) fail("%s: weft supports x86-64 Linux only", cmd->foreign);
    if (cmd->sanitizer && !strcmp(cmd->sanitizer, "thread"))
        fail("-fsanitize=thread: ThreadSanitizer and weft cannot be in one program");
    need(libdir, "libweft-rt.so");
    need(libdir, "weft-pass.so");
}

/* What the pass is to do about profiles: make what one is gathered with, or use one. A file that cannot be used is found here, so that the
 * message is one of weft-cc's, and not the linker's. */
static void hand_profile(const struct cc_cmd *cmd, bool quiet) {
    const char *plan = getenv("WEFT_PLAN"), *use = getenv("WEFT_PROFILE_USE"), *make = getenv("WEFT_PROFILE_MAKE");
    char path[PATH_MAX], err[512];
    if (cmd->make_profile || cmd->profile) make = cmd->make_profile ? "1" : NULL, use = cmd->profile;
    if (use && !*use) use = NULL;
    if (make && !*make) make = NULL;
    if (make && use) fail("WEFT_PROFILE_MAKE and WEFT_PROFILE_USE: one of the two");
    if (!make || cmd->shared) unsetenv("WEFT_PROFILE_MAKE"); /* in a library: regions are numbered within a program */
    if (!use) unsetenv("WEFT_PROFILE_USE");
    if (!make && !use) return;
    if (!plan || strcmp(plan, "races"))
        fail("%s%s: profiles are for plan races: add -weft-plan=races", make ? "-weft-profile" : "-weft-profile=", make ? "" : use);
    if (make && cmd->shared) {
        if (!quiet) fprintf(stderr, "%s: note: -weft-profile: libraries are not profiled yet, only programs are\n", cc_name);
    } else if (make) {
        setenv("WEFT_PROFILE_MAKE", "1", 1);
    } else {
        struct weft_profile *p = weft__profile_read(use, err, sizeof err);
        if (!p) fail("-weft-profile: %s", err);
        weft__profile_free(p);
        if (!realpath(use, path)) fail("-weft-profile: %s: %s", use, strerror(errno));
        setenv("WEFT_PROFILE_USE", path, 1);
    }
}

/* OpenMP is weft's own library, by whatever name a program asks for it: in others, threads wait where it cannot be recorded. -l finds it in a folder
 * that comes before all others; a path (CMake writes these) is replaced by add_args(). */
static bool is_openmp_path(const char *path) {
    static const char *const names[] = {"libomp.so", "libgomp.so", "libiomp5.so"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(name, names[i], n) && (!name[n] || name[n] == '.')) return true;
    }
    return false;
}
static void choose_openmp(struct cc_cmd *cmd, const char *libdir) {
    for (size_t i = 0; i < cmd->libs.n; i++)
        cmd->openmp |= !strcmp(cmd->libs.v[i], "omp") || !strcmp(cmd->libs.v[i], "gomp") || !strcmp(cmd->libs.v[i], "iomp5");
    for (size_t i = 0; i < cmd->objects.n; i++)
        cmd->openmp |= is_openmp_path(cmd->objects.v[i]);
    cmd->openmp_path = join(libdir, "/libweft-omp.so", "");
    if (access(cmd->openmp_path, R_OK) < 0) cmd->openmp = false; /* built without it: as with clang */
    if (cmd->openmp) cc_strs_add(&cmd->objects, cmd->openmp_path);
}

static void add_link_front(struct cc_strs *out, const struct cc_cmd *cmd, const char *libdir, const char *deps,
                           const char *why) {
    linker(out, "--push-state");
    linker(out, "--no-as-needed");
    linker(out, need(libdir, "libweft-rt.so"));
    linker(out, "--pop-state");
    if (cmd->openmp) cc_strs_add(out, join("-L", libdir, "/omp"));
    linker(out, "--build-id=sha1");
    /* GNU ld, clang's default linker, lets version scripts name symbols that do not exist; lld's default does not. */
    linker(out, "--undefined-version");
    if (deps && !cmd->ld_deps) linker(out, join("--dependency-file=", deps, ""));
    if (why && !cmd->ld_why) linker(out, join("--why-extract=", why, ""));
}

static void add_link_back(struct cc_strs *out, const struct cc_cmd *cmd, const char *libdir, bool probe) {
    const char *inst = join(libdir, "/", "libweft-inst.a");
    if (!probe) linker(out, join("--load-pass-plugin=", need(libdir, "weft-pass.so"), ""));
    if (!probe && access(inst, R_OK) == 0) {
        linker(out, "--push-state");
        linker(out, "--no-whole-archive");
        linker(out, inst);
        linker(out, "--pop-state");
    }
    linker(out, "-rpath");
    linker(out, libdir);
    linker(out, "-z");
    linker(out, "now");
    if (cmd->no_build_id) linker(out, "--build-id=sha1"); /* a trace names its program by it */
}

static void add_linker_choice(struct cc_strs *out) {
    cc_strs_add(out, "-fuse-ld=lld");
    /* With a clang of the user's choice, the lld beside it. */
    if (!getenv("WEFT_CLANG")) cc_strs_add(out, "--ld-path=" WEFT_LLD);
}

/* Libraries that come with the compiler and libc. */
static bool is_system_library(const char *name) {
    static const char *const names[] = {"c",   "m",     "pthread", "dl",   "rt",     "util",    "resolv", "anl",
                                        "gcc", "gcc_s", "gcc_eh",  "stdc++", "c++", "c++abi", "atomic", "unwind"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* -static: the runtime and libc are shared libraries all the same; the program's own libraries are taken from archives. */
static void add_args(struct cc_strs *out, const struct cc_cmd *cmd, size_t from, size_t to) {
    bool archives = cmd->static_link && cmd->links && !cmd->relocatable;
    for (size_t i = from; i < to; i++) {
        const char *arg = cmd->args.v[i];
        if (cmd->openmp && cmd->links && arg[0] != '-' && is_openmp_path(arg)) arg = cmd->openmp_path;
        bool apart = !strcmp(arg, "-l");
        const char *lib = apart && i + 1 < to ? cmd->args.v[i + 1] : arg[0] == '-' && arg[1] == 'l' && arg[2] ? arg + 2 : NULL;
        if (archives && (!strcmp(arg, "-static") || !strcmp(arg, "--static") || !strcmp(arg, "-static-pie"))) continue;
        bool own = archives && lib && !is_system_library(lib);
        if (own) linker(out, "-Bstatic");
        cc_strs_add(out, arg);
        if (apart && i + 1 < to) cc_strs_add(out, cmd->args.v[++i]);
        if (own) linker(out, "-Bdynamic");
    }
}

/* <weft/repeat.h>, and <omp.h> for who has none, after all other folders: in place of nothing that the program has. */
static void add_include(struct cc_strs *out, const char *libdir) {
    const char *folders[] = {join(libdir, "/../../include", ""), join(libdir, "/omp", "")};
    const char *headers[] = {"/weft/repeat.h", "/omp.h"};
    for (int i = 0; i < 2; i++) {
        if (access(join(folders[i], headers[i], ""), R_OK) < 0) continue;
        cc_strs_add(out, "-idirafter");
        cc_strs_add(out, folders[i]);
    }
}

/* `deps` and `why` are where the linker shall list what it used; NULL: nowhere. A probe is linked as clang links it, from native
 * code: an optimiser that sees all of it would answer for the linker (`char (*f)() = sin; int main() { return f != sin; }` needs no sin). */
static void build(struct cc_strs *out, const struct cc_cmd *cmd, const char *libdir, const char *deps, const char *why, bool probe) {
    size_t end = cmd->dash_dash ? cmd->dash_at : cmd->args.n;
    if (cmd->info) {
        add_args(out, cmd, 0, cmd->args.n);
        return;
    }
    cc_strs_add(out, "--start-no-unused-arguments");
    if (cmd->sources.n || cmd->headers) add_include(out, libdir);
    if (!cmd->compiles && !cmd->links) {
        cc_strs_add(out, "--end-no-unused-arguments");
        add_args(out, cmd, 0, cmd->args.n);
        return;
    }
    if (cmd->compiles) {
        cc_strs_add(out, "-g");
        if (!cmd->no_repeat && !cmd->foreign) cc_strs_add(out, join("-fpass-plugin=", need(libdir, "weft-pass.so"), ""));
    }
    if (cmd->links && !cmd->relocatable) add_link_front(out, cmd, libdir, deps, why);
    cc_strs_add(out, "--end-no-unused-arguments");
    add_args(out, cmd, 0, end);
    cc_strs_add(out, "--start-no-unused-arguments");
    if (!cmd->emit_llvm && !(cmd->links && (cmd->relocatable || probe))) {
        cc_strs_add(out, "-flto=full");
        cc_strs_add(out, "-ffat-lto-objects");
        /* GNU as does not know the section that bitcode goes into. */
        if (cmd->compiles) cc_strs_add(out, "-fintegrated-as");
    }
    if (cmd->links) {
        add_linker_choice(out);
        if (!cmd->relocatable) add_link_back(out, cmd, libdir, probe);
    }
    cc_strs_add(out, "--end-no-unused-arguments");
    add_args(out, cmd, end, cmd->args.n);
}

/* Response files were expanded, so the line may have become too long for exec: then it goes into one of our own, in
 * memory, which clang reads through its descriptor. */
static void shorten(struct cc_strs *argv, size_t keep) {
    struct weft_strbuf text = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < argv->n; i++)
        bytes += strlen(argv->v[i]) + 1 + sizeof(char *);
    if (bytes < 96 * 1024) return;
    for (size_t i = keep; i < argv->n; i++) {
        weft__strbuf_puts(&text, "\"");
        for (const char *p = argv->v[i]; *p; p++) {
            if (*p == '"' || *p == '\\') weft__strbuf_puts(&text, "\\");
            weft__strbuf_add(&text, p, 1);
        }
        weft__strbuf_puts(&text, "\"\n");
    }
    int fd = memfd_create("weft-cc-arguments", 0);
    if (fd < 0 || weft__write_all(fd, text.s, text.len) < 0) fail("memfd_create: %s", strerror(errno));
    char *name = NULL;
    if (asprintf(&name, "@/proc/self/fd/%d", fd) < 0) weft__die("out of memory");
    argv->v[keep] = name;
    argv->v[keep + 1] = NULL;
    argv->n = keep + 1;
    weft__strbuf_fini(&text);
}

/* ---- running it ---- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_probe_path(const char *path) {
    static const char *const folders[] = {"CMakeTmp", "CMakeScratch", "CompilerId", "meson-private", ".conf_check_"};
    const char *name = base_name(path);
    if (!strncmp(name, "conftest", 8) || !strncmp(name, "cmTC_", 5) || !strncmp(name, "sanitycheck", 11)) return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(path, folders[i])) return true;
    return !strcmp(path, "/dev/null");
}

static bool any_probe(const struct cc_strs *list) {
    for (size_t i = 0; i < list->n; i++)
        if (is_probe_path(list->v[i])) return true;
    return false;
}

/* A configure script's question. */
static bool is_probe(const struct cc_cmd *cmd) {
    char cwd[PATH_MAX];
    if (cmd->output && is_probe_path(cmd->output)) return true;
    if (any_probe(&cmd->sources) || any_probe(&cmd->asms) || any_probe(&cmd->objects)) return true;
    return getcwd(cwd, sizeof cwd) && is_probe_path(cwd);
}

/* The answer to a probe may be read off stderr: nothing is said then, neither here nor by the pass. */
static bool is_quiet(const struct cc_cmd *cmd) {
    const char *quiet = getenv("WEFT_QUIET");
    if (quiet && *quiet && strcmp(quiet, "0")) return true;
    return cmd->dry || cmd->verbose || cmd->relocatable || is_probe(cmd);
}

static void run(char **argv) {
    execvp(argv[0], argv);
    int saved = errno;
    if (!strchr(argv[0], '/')) fail("%s: %s", argv[0], strerror(saved));
    execvp(base_name(argv[0]), argv); /* the clang of configure time moved */
    fail("%s: %s", argv[0], strerror(saved));
}

/* Temporary files of a link, in a folder of their own. NULL: there is none. */
struct files {
    char *folder, *deps, *why; /* what the linker lists, for cc_notes */
    char *ordered;             /* what cc_ordered_functions says, for the pass */
};

/* A folder that cannot be made is not our error: there are no notes then, and clang will say the rest. */
static void make_files(struct files *files, bool notes, struct cc_cmd *cmd) {
    const char *tmp = getenv("TMPDIR");
    char *ordered = cc_ordered_functions(cmd);
    bool joined = cc_has_joined(cmd);
    struct weft_err err;
    if (!notes && !ordered && !joined) return;
    files->folder = join(tmp && *tmp ? tmp : "/tmp", "/weft-cc-XXXXXX", "");
    if (!mkdtemp(files->folder)) {
        files->folder = NULL;
        return;
    }
    if (notes) {
        files->deps = join(files->folder, "/deps", "");
        files->why = join(files->folder, "/why", "");
    }
    if (ordered) {
        files->ordered = join(files->folder, "/ordered", "");
        if (weft__file_write(files->ordered, ordered, strlen(ordered), &err) == 0)
            setenv("WEFT_ORDERED", files->ordered, 1);
    }
    cc_copy_joined(cmd, files->folder);
    free(ordered);
}

static void remove_files(const struct files *files, const struct cc_cmd *cmd) {
    for (size_t i = 0; i < cmd->joined_copies.n; i++)
        unlink(cmd->joined_copies.v[i]);
    if (files->deps) unlink(files->deps);
    if (files->why) unlink(files->why);
    if (files->ordered) unlink(files->ordered);
    if (files->folder) rmdir(files->folder);
}

static volatile sig_atomic_t child;

static void pass_on(int sig) {
    if (child > 0) kill((pid_t)child, sig);
}

/* Runs clang as a child; returns its exit status, or dies of the signal that killed it. */
static int run_child(char **argv, const struct files *files, const struct cc_cmd *cmd) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    int status;
    struct sigaction on = {.sa_handler = pass_on, .sa_flags = SA_RESTART}, old[4];
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) fail("fork: %s", strerror(errno));
    if (pid == 0) run(argv);
    child = pid;
    for (int i = 0; i < 4; i++) {
        sigaction(signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) sigaction(signals[i], &on, NULL);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) fail("waitpid: %s", strerror(errno));
    child = 0;
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &old[i], NULL);

    if (status == 0 && files->deps)
        cc_notes(cmd, cmd->ld_deps ? cmd->ld_deps : files->deps, cmd->ld_why ? cmd->ld_why : files->why);
    remove_files(files, cmd);
    if (WIFSIGNALED(status)) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none); /* the core, if any, is clang's */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
    struct cc_cmd cmd;
    struct cc_strs out = {0};
    char *error = NULL;
    bool cxx = argc > 0 && ends_with(argv[0], "++");
    if (cxx) cc_name = "weft-c++";

    const char *clang = getenv("WEFT_CLANG");
    bool chosen = clang && *clang;
    if (!chosen) {
        unsetenv("WEFT_CLANG");
        clang = cxx ? WEFT_CLANGXX : WEFT_CLANG;
    }
    cc_strs_add(&out, clang);
    if (argc > 1 && !strncmp(argv[1], "-cc1", 4)) { /* clang's inner face: none of our business */
        for (int i = 1; i < argc; i++)
            cc_strs_add(&out, argv[i]);
        run(out.v);
    }
    if (chosen && cxx) cc_strs_add(&out, "--driver-mode=g++");
    size_t keep = out.n;

    if (cc_args_read(&cmd, argv + (argc > 0), &error) < 0) fail("%s", error);
    if (cmd.help) {
        help();
        return 0;
    }
    if (cmd.asks_ld && !chosen) { /* libtool and others look at the linker that CC uses */
        puts(WEFT_LLD);
        return 0;
    }
    const char *libdir = find_libdir();
    struct files files = {0};
    if (cmd.links && !cmd.relocatable) {
        bool quiet = is_quiet(&cmd);
        check_link(&cmd, libdir);
        choose_openmp(&cmd, libdir);
        if (cmd.static_link && !quiet)
            fprintf(stderr, "%s: note: %s: libc and weft's runtime are linked as shared libraries, the rest from archives\n",
                    cc_name, cmd.static_link);
        unsetenv("WEFT_WRAP"); /* no option of ours: this link's alone */
        for (size_t i = 0; i < cmd.env.n; i++)
            putenv(cmd.env.v[i]);
        if (!is_probe(&cmd)) hand_profile(&cmd, quiet);
        setenv("WEFT_LINK", cmd.shared ? "shared" : "exe", 1);
        unsetenv("WEFT_ORDERED");
        if (quiet) setenv("WEFT_QUIET", "1", 1);
        make_files(&files, !quiet, &cmd);
    }
    build(&out, &cmd, libdir, files.deps, files.why, cmd.links && is_probe(&cmd));
    shorten(&out, keep);
    if (files.folder) return run_child(out.v, &files, &cmd);
    run(out.v);
}
