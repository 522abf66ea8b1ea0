/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft debug: a replay with gdb attached to one of its processes. What gdb is told of weft is in weft-gdb.py, beside the
 * runtime; it takes over when gdb has started. */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct gdb {
    const char *script;
    bool at_failure;
    char **args; /* the user's */
    int nargs;
};

/* In a child of ours. */
static void start_gdb(void *ctx, pid_t pid) {
    const struct gdb *g = ctx;
    struct weft_strbuf begin = {0};
    weft__strbuf_printf(&begin, "python weft_begin(%d, %s)", (int)pid, g->at_failure ? "True" : "False");
    const char *fixed[] = {"gdb", "-q", "-x", g->script, "-ex", begin.s};
    size_t n = sizeof fixed / sizeof *fixed;
    char **argv = weft__alloc((n + (size_t)g->nargs + 1) * sizeof *argv);
    memcpy(argv, fixed, sizeof fixed);
    for (int i = 0; i < g->nargs; i++) argv[n + (size_t)i] = g->args[i];
    execvp("gdb", argv);
    weft__warn("gdb: %s", strerror(errno));
}

/* Says what is missing, if this gdb cannot be used. */
static bool usable_gdb(void) {
    char line[256];
    bool python = false;
    FILE *f = popen("gdb -nx -q -batch -ex \"python print('weft')\" 2>&1 < /dev/null", "r");
    while (f && fgets(line, sizeof line, f)) python |= strcmp(line, "weft\n") == 0; /* there may be warnings, too */
    int status = f ? pclose(f) : -1;
    if (python) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        weft__warn("debug: gdb is not installed, or not in PATH");
    else
        weft__warn("debug: this gdb has no Python, which weft's commands in it need");
    return false;
}

/* Beside the runtime: new memory. */
static char *find_script(void) {
    char exe[PATH_MAX];
    struct weft_strbuf b = {0};
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(exe, '/');
        if (slash) *slash = 0;
    }
    weft__strbuf_printf(&b, "%s/lib/weft/weft-gdb.py", exe);
    if (access(b.s, R_OK) == 0) return b.s;
    weft__warn("debug: %s: %s", b.s, strerror(errno));
    weft__strbuf_fini(&b);
    return NULL;
}

/* The process with this number: N of the first one's, N/M of that one's. NULL: there is none. */
static struct weft_schedule *find_process(struct weft_schedule *s, const char *number) {
    while (s && number && *number) {
        char *end;
        unsigned long k = strtoul(number, &end, 10);
        if (end == number || (*end && *end != '/') || k == 0 || k > s->nparts) return NULL;
        s = &s->parts[k - 1];
        if (s->fd < 0 || s->counts.threads == 0) return NULL;
        number = *end ? end + 1 : end;
    }
    return s;
}

int weft__cmd_debug(int argc, char **argv) {
    static const struct option options[] = {
        {"at-failure", no_argument, NULL, 'f'}, {"process", required_argument, NULL, 'p'}, {0}};
    struct gdb gdb = {0};
    struct weft_rerun run = {.schedule = {.fd = -1}};
    struct weft_err err;
    const char *process = NULL;
    char *script = NULL, *why = NULL;
    int status = WEFT_FAILED, own = argc, gdb_status = -1, wait_status;

    if (weft__asks_help(argc, argv)) return 0;
    for (int i = 1; i < own; i++)
        if (strcmp(argv[i], "--") == 0) own = i;
    gdb.args = argv + own + 1;
    gdb.nargs = own < argc ? argc - own - 1 : 0;
    opterr = 0;
    for (int o; (o = getopt_long(own, argv, ":", options, NULL)) != -1;) {
        if (o == ':') return weft__usage("debug", "%s needs a value", argv[optind - 1]);
        if (o == 'f')
            gdb.at_failure = true;
        else if (o == 'p')
            process = optarg;
        else
            return weft__usage("debug", "there is no option %s", argv[optind - 1]);
    }
    if (own - optind > 1) return weft__usage("debug", "one trace at a time (what is for gdb comes after --)");

    if (!weft__rerun_open(optind < own ? argv[optind] : NULL, &run, &status)) goto out;
    status = WEFT_FAILED;
    struct weft_schedule *s = find_process(&run.schedule, process);
    if (!s) {
        weft__warn("%s: there is no process %s in it (they are its folders: 1, 2, ..., 1/1, ...)",
                   run.t->dir, process);
        goto out;
    }
    if (!(gdb.script = script = find_script()) || !usable_gdb()) goto out;
    weft__schedule_reset(&run.schedule);
    s->control->debug = WEFT_DEBUG_WANTED;
    run.launch.debug = s->control;
    run.launch.debugger = start_gdb;
    run.launch.debugger_status = &gdb_status;
    run.launch.ctx = &gdb;
    if (weft__launch(&run.launch, &wait_status, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    if ((why = weft__rerun_complaint(&run)))
        weft__warn("%s", why);
    else if (gdb_status < 0)
        weft__warn("%s: the replay ended before the process was there", run.t->dir);
    else
        status = WIFSIGNALED(gdb_status) ? 128 + WTERMSIG(gdb_status) : WEXITSTATUS(gdb_status);
out:
    weft__rerun_close(&run);
    free(script);
    free(why);
    return status;
}
