/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft record: makes the trace folder, runs the program, seals what it left, and ends as the program did. */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_SIZE_LEAST (64u << 10)

extern char **environ;

/* For people who test weft: WEFT_OPTIONS=chaos,stats,seed=N. */
static int read_options(struct weft_control *c, uint64_t *seed) {
    char *list = weft__strdup(getenv("WEFT_OPTIONS") ? getenv("WEFT_OPTIONS") : "");
    int r = 0;
    char *save, *end = "";
    for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
        if (strcmp(o, "chaos") == 0)
            c->chaos = WEFT_CHAOS_RANDOM;
        else if (strcmp(o, "pct") == 0)
            c->chaos = WEFT_CHAOS_PCT, c->chaos_depth = 3;
        else if (strcmp(o, "stats") == 0)
            c->options |= WEFT_OPT_STATS;
        else if (strncmp(o, "seed=", 5) == 0)
            *seed = c->seed = strtoull(o + 5, &end, 0);
        else
            end = o;
        if (*end) {
            weft__warn("WEFT_OPTIONS: '%s' is not known (chaos, stats, seed=N)", o);
            r = -EINVAL;
            break;
        }
    }
    free(list);
    return r;
}

/* "64K", "10M", "2G" or bytes; 0: none of these, or too small for a trace. */
static uint64_t size_of(const char *s) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    uint64_t n = strtoull(s, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (end == s || *s == '-' || errno || end[unit != NULL] || n > UINT64_MAX >> shift) return 0;
    return n << shift < MAX_SIZE_LEAST ? 0 : n << shift;
}

/* The program's environment: ours, and early binding, so that the first call of a function does not differ from the
 * others (the resolver would run inside the program's threads). */
static char **environment(void) {
    size_t n = 0, out = 0;
    while (environ[n]) n++;
    char **env = weft__alloc((n + 2) * sizeof *env);
    bool bind = false;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], "WEFT_RT=", 8) == 0) continue;
        if (strncmp(environ[i], "LD_BIND_NOW=", 12) == 0) bind = true;
        env[out++] = environ[i];
    }
    if (!bind) env[out++] = (char *)"LD_BIND_NOW=1";
    return env;
}

struct running {
    const char *dir;
    bool latest; /* is to point to it */
    struct weft_follow *follow;
};

/* To all processes of the program that still run: their control blocks are there until their parts are closed. */
static void pass_on_in(const char *dir, int sig) {
    unsigned most = weft__trace_parts(dir);
    for (unsigned k = 1; k <= most; k++) {
        struct weft_strbuf part = {0}, path = {0};
        struct weft_err err;
        char *bytes = NULL;
        size_t len = 0;
        if (weft__trace_part(dir, k, &part)) {
            weft__strbuf_printf(&path, "%s/control", part.s);
            if (weft__file_read(path.s, sizeof(struct weft_control), &bytes, &len, &err) == 0 &&
                len == sizeof(struct weft_control)) {
                const struct weft_control *c = (const struct weft_control *)bytes;
                if (c->pid && !c->exit_kind) kill((pid_t)c->pid, sig);
            }
            pass_on_in(part.s, sig);
        }
        free(bytes);
        weft__strbuf_fini(&path);
        weft__strbuf_fini(&part);
    }
}

static void pass_on(void *ctx, int sig) { pass_on_in(((struct running *)ctx)->dir, sig); }

static void started(void *ctx) {
    struct running *r = ctx;
    if (r->latest) weft__store_set_latest(r->dir);
    weft__follow_start(r->follow);
}

struct progress {
    struct timespec start;
    bool tty, shown;
};

static void show_progress(void *ctx, uint64_t done, uint64_t all) {
    struct progress *p = ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!p->tty || now.tv_sec - p->start.tv_sec < 2) return;
    fprintf(stderr, "\rweft: compressing the trace: %d%%", (int)(all ? done * 100 / all : 100));
    p->shown = true;
}

static uint64_t elapsed_us(const struct timespec *from, const struct timespec *to) {
    return (uint64_t)((to->tv_sec - from->tv_sec) * 1000000 + (to->tv_nsec - from->tv_nsec) / 1000);
}

static void summary(const char *name, const struct weft_trace *t, const struct weft_counts *n,
                    const struct weft_parts *parts) {
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF], c[WEFT_NUMBUF], d[WEFT_NUMBUF];
    struct weft_strbuf line = {0};
    size_t foreign = 0;
    weft__strbuf_printf(&line, "recorded %s: %s thread%s, %s edge%s, %s input%s, %s", name, weft__commas(a, n->threads),
                        n->threads == 1 ? "" : "s", weft__commas(b, n->edges), n->edges == 1 ? "" : "s",
                        weft__commas(c, n->inputs), n->inputs == 1 ? "" : "s",
                        weft__bytes(d, weft__trace_disk_bytes(t->dir)));
    if (parts->forked)
        weft__strbuf_printf(&line, "; %s process%s forked", weft__commas(a, parts->forked), parts->forked == 1 ? " was" : "es were");
    if (parts->executed)
        weft__strbuf_printf(&line, "; %s program%s executed", weft__commas(a, parts->executed), parts->executed == 1 ? " was" : "s were");
    for (size_t i = 0; i < t->nmodules; i++)
        if (weft__is_foreign(&t->modules[i]))
            weft__strbuf_printf(&line, "%s%s",
                                foreign++ ? ", " : "; not built with weft: ", weft__basename(t->modules[i].path));
    weft__warn("%s", line.s);
    weft__strbuf_fini(&line);
}

int weft__cmd_record(int argc, char **argv) {
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"max-size", required_argument, NULL, 'm'},
        {"by-reference", no_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *dir_option = NULL;
    uint64_t max_size = 0;
    bool by_reference = false;
    struct weft_err err;
    struct weft_schedule control = {.fd = -1};
    struct running running = {0};
    char *program = NULL, *dir = NULL, *cwd = NULL, **env = NULL;
    struct weft_strbuf streams = {0};
    int lock = -1, status = WEFT_FAILED;

    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, "+:o:", options, NULL)) != -1;) {
        if (o == 'o')
            dir_option = optarg;
        else if (o == 'r')
            by_reference = true;
        else if (o == 'm') {
            if (!(max_size = size_of(optarg)))
                return weft__usage("record", "--max-size wants a size from 64K on, as in 500M or 2G, not '%s'", optarg);
        }
        else if (o == ':')
            return weft__usage("record", "%s needs a value", argv[optind - 1]);
        else
            return weft__usage("record", "there is no option %s", argv[optind - 1]);
    }
    if (optind == argc) return weft__usage("record", "no program to record");
    if (dir_option && !*dir_option) return weft__usage("record", "the folder's name is empty");

    if (weft__program_find(argv[optind], &program, &err) < 0 || weft__program_usable(program, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    cwd = getcwd(NULL, 0);
    if (!cwd) {
        weft__warn("the working directory cannot be found: %s", strerror(errno));
        goto out;
    }
    env = environment();
    struct weft_trace_start start = {
        .program = program, .cwd = cwd, .argv = argv + optind, .env = env, .start_time = (uint64_t)time(NULL)};
    struct rlimit stack;
    if (getrandom(start.at_random, sizeof start.at_random, 0) < 0 || getrandom(&start.seed, sizeof start.seed, 0) < 0 ||
        getrlimit(RLIMIT_STACK, &stack) < 0) {
        weft__warn("cannot record here: %s", strerror(errno));
        goto out;
    }
    start.stack_limit = stack.rlim_cur;

    if (weft__store_new(dir_option, program, &dir, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    weft__strbuf_printf(&streams, "%s/streams", dir);
    if (weft__record_control(streams.s, start.seed, &control, &err) < 0) {
        rmdir(dir);
        weft__fail(&err);
        goto out;
    }
    control.control->max_bytes = max_size;
    if (by_reference) control.control->options |= WEFT_OPT_REFER;
    if (read_options(control.control, &start.seed) < 0) {
        rmdir(dir);
        goto out;
    }
    if (weft__trace_create(dir, &start, &lock, &err) < 0 ||
        weft__follow_open(dir, control.control, &running.follow, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    struct weft_launch launch = {
        .program = program, .argv = start.argv, .env = env, .at_random = start.at_random,
        .stack_limit = start.stack_limit, .wait_all = true, .control = &control};
    int wait_status;
    char message[sizeof control.control->message] = "";
    launch.message = message;
    running.dir = dir;
    running.latest = !dir_option;
    launch.ctx = &running;
    launch.pass_on = pass_on;
    launch.started = started;
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    if (weft__launch(&launch, &wait_status, &err) < 0) {
        weft__fail(&err);
        if (weft__store_remove(dir, true, &err) < 0) weft__fail(&err); /* nothing is in it */
        goto out;
    }
    uint32_t kind, code;
    weft__status_of(wait_status, &kind, &code);
    const char *name = dir_option ? dir_option : weft__basename(dir);

    struct weft_counts counts;
    struct progress progress = {.tty = isatty(2)};
    clock_gettime(CLOCK_MONOTONIC, &progress.start);
    uint64_t run = elapsed_us(&begun, &progress.start), patience = run / 50 > 20000 ? run / 50 : 20000;
    weft__follow_stop(running.follow);
    struct weft_trace *t = weft__follow_trace(running.follow);
    int r = weft__follow_seal(running.follow, kind, code, patience, show_progress, &progress, &counts, &err);
    struct weft_parts parts = {0};
    if (r == 0) r = weft__follow_seal_parts(running.follow, patience, message, &parts, &err);
    if (progress.shown) fprintf(stderr, "\r\033[K");
    if (r < 0) {
        weft__warn("the program ended, but its trace cannot be closed: %s", err.text);
        if (r != -EBADMSG)
            status = weft__status_repeat(kind, code); /* the disk is full; what there is can be replayed */
        goto out;
    }
    control.control->message[sizeof control.control->message - 1] = 0;
    if (control.control->outcome == WEFT_OUT_REFUSED) memcpy(message, control.control->message, sizeof message);
    if (*message) {
        char *text = weft__message_lines(t, message);
        weft__warn("%s", text);
        free(text);
        goto out;
    }
    summary(name, t, &counts, &parts);
    if (control.control->log_full)
        weft__warn("%s: %s: the program went on, but of what it did after %s of events nothing is known", name,
                   weft__lost_text(control.control->log_full), weft__bytes((char[WEFT_NUMBUF]){0}, counts.stream_bytes));
    if (counts.threads == 0)
        weft__warn("%s: nothing was recorded: the program ended before weft's runtime started", name);
    weft__follow_close(running.follow);
    running.follow = NULL;
    weft__schedule_fini(&control);
    close(lock);
    lock = -1;
    status = weft__status_repeat(kind, code);
out:
    weft__follow_close(running.follow);
    if (lock >= 0) close(lock);
    weft__schedule_fini(&control);
    weft__strbuf_fini(&streams);
    free(env);
    free(cwd);
    free(dir);
    free(program);
    return status;
}
