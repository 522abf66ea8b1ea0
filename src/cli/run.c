/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One recording: makes the trace folder, runs the program, and then either seals what it left or throws it away. What people
 * are to read comes back as lines: while a program is caught (catch.c), stderr is not ours. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

uint64_t weft__chaos_seed(const struct weft_chaos_plan *p) {
    uint64_t both[2] = {p->seed, p->run};
    return p->run <= 1 ? p->seed : weft_hash(both, sizeof both) >> 32; /* so that people can type it */
}
enum weft_chaos weft__chaos_strategy(const struct weft_chaos_plan *p) {
    return p->strategy ? p->strategy : p->run % 2 ? WEFT_CHAOS_RANDOM : WEFT_CHAOS_PCT;
}
const char *weft__chaos_name(enum weft_chaos c) { return c == WEFT_CHAOS_PCT ? "pct" : "random"; }

/* For people who test weft: WEFT_OPTIONS=delays,words,leave-out,seed=N. */
static int read_options(struct weft_control *c, uint64_t *seed, struct weft_err *err) {
    char *list = weft__strdup(getenv("WEFT_OPTIONS") ? getenv("WEFT_OPTIONS") : "");
    int r = 0;
    char *save, *end = "";
    for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
        if (strcmp(o, "delays") == 0)
            c->options |= WEFT_OPT_DELAYS;
        else if (strcmp(o, "words") == 0)
            c->options |= WEFT_OPT_WORDS;
        else if (strcmp(o, "leave-out") == 0)
            c->options |= WEFT_OPT_LEAVE_OUT;
        else if (strncmp(o, "seed=", 5) == 0)
            *seed = c->seed = strtoull(o + 5, &end, 0);
        else
            end = o;
        if (*end) {
            r = weft__err(err, EINVAL, "WEFT_OPTIONS: '%s' is not known (delays, words, leave-out, seed=N)", o);
            break;
        }
    }
    free(list);
    return r;
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

/* Of all processes that still run, but the first: their control blocks are there until their parts are closed. */
static void for_parts(const char *dir, void (*f)(void *ctx, const char *dir, const struct weft_control *c), void *ctx) {
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
                if (c->pid && !c->exit_kind) f(ctx, part.s, c);
            }
            for_parts(part.s, f, ctx);
        }
        free(bytes);
        weft__strbuf_fini(&path);
        weft__strbuf_fini(&part);
    }
}

static void pass_on_to(void *ctx, const char *dir, const struct weft_control *c) {
    (void)dir;
    kill((pid_t)c->pid, *(int *)ctx);
}
static void pass_on(void *ctx, int sig) { for_parts(((struct weft_run *)ctx)->dir, pass_on_to, &sig); }

static uint64_t activity(void *ctx) { return weft__trace_activity(((struct weft_run *)ctx)->dir); }

/* How far its threads had come is added to the trace. Without it, it would be replayed up to the last events only. */
static void note_reached(const char *dir, pid_t pid, const struct weft_control *c) {
    struct weft_thread_view *v;
    struct weft_err err;
    weft__threads_stop(pid);
    size_t n = weft__threads_read(pid, &c->threads, &v);
    struct weft_reached *list = weft__alloc((n + 1) * sizeof *list);
    for (size_t i = 0; i < n; i++) list[i] = (struct weft_reached){v[i].slot, v[i].clock};
    if (n && weft__trace_add_reached(dir, list, n, &err) < 0) {} /* a full disk: so be it */
    free(list);
    free(v);
}

static void halt_part(void *ctx, const char *dir, const struct weft_control *c) {
    (void)ctx;
    note_reached(dir, (pid_t)c->pid, c);
}

static void halt(void *ctx, pid_t pid) {
    struct weft_run *r = ctx;
    struct weft_control *c = r->control.control;
    if (c->log_full) return; /* what came after is not known, of anybody */
    if (pid && !c->exit_kind) note_reached(r->dir, pid, c);
    for_parts(r->dir, halt_part, NULL);
}

static void started(void *ctx) {
    struct weft_run *r = ctx;
    if (r->latest) weft__store_set_latest(r->dir);
    weft__follow_start(r->follow, r->catching);
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

static void say(struct weft_run *r, const char *fmt, ...) WEFT_PRINTF(2, 3);
static void say(struct weft_run *r, const char *fmt, ...) {
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) weft__die("out of memory");
    weft__strbuf_printf(&r->lines, "%s\n", text);
    free(text);
}

static void summary(struct weft_run *r, const char *name, const struct weft_trace *t, const struct weft_counts *n,
                    const struct weft_parts *parts) {
    char a[WEFT_NUMBUF], b[WEFT_NUMBUF], c[WEFT_NUMBUF], d[WEFT_NUMBUF];
    struct weft_strbuf line = {0};
    weft__strbuf_printf(&line, "recorded %s: %s thread%s, %s edge%s, %s input%s, %s", name, weft__commas(a, n->threads),
                        n->threads == 1 ? "" : "s", weft__commas(b, n->edges), n->edges == 1 ? "" : "s",
                        weft__commas(c, n->inputs), n->inputs == 1 ? "" : "s",
                        weft__bytes(d, weft__trace_disk_bytes(t->dir)));
    if (parts->forked)
        weft__strbuf_printf(&line, "; %s process%s forked", weft__commas(a, parts->forked), parts->forked == 1 ? " was" : "es were");
    if (parts->executed)
        weft__strbuf_printf(&line, "; %s program%s executed", weft__commas(a, parts->executed), parts->executed == 1 ? " was" : "s were");
    weft__foreign_text(&line, t, "; not built with weft: ");
    say(r, "%s", line.s);
    weft__strbuf_fini(&line);
}

int weft__run_init(struct weft_run *r, char *const *argv, struct weft_err *err) {
    struct rlimit stack;
    r->control.fd = r->lock = -1;
    r->start.argv = argv;
    int e = weft__program_find(argv[0], &r->program, err);
    if (e == 0) e = weft__program_usable(r->program, err);
    if (e < 0) return e;
    r->start.program = r->program;
    r->start.cwd = r->cwd = getcwd(NULL, 0);
    if (!r->cwd) return weft__err(err, errno, "the working directory cannot be found: %s", strerror(errno));
    r->start.env = r->env = environment();
    if (getrlimit(RLIMIT_STACK, &stack) < 0) return weft__err(err, errno, "cannot record here: %s", strerror(errno));
    r->start.stack_limit = stack.rlim_cur;
    return 0;
}

int weft__run_begin(struct weft_run *r, struct weft_err *err) {
    struct weft_strbuf streams = {0};
    struct weft_trace_start *s = &r->start;
    int e = 0;
    s->start_time = (uint64_t)time(NULL);
    if (getrandom(s->at_random, sizeof s->at_random, 0) < 0 || getrandom(&s->seed, sizeof s->seed, 0) < 0)
        e = weft__err(err, errno, "cannot record here: %s", strerror(errno));
    weft__strbuf_printf(&streams, "%s/streams", r->dir);
    if (e == 0) e = weft__record_control(streams.s, s->seed, &r->control, err);
    weft__strbuf_fini(&streams);
    if (e == 0) {
        r->control.control->max_bytes = r->max_size;
        if (r->by_reference) r->control.control->options |= WEFT_OPT_REFER;
        if (r->catching && !r->chaos.on) r->control.control->options |= WEFT_OPT_DELAYS;
        if (r->chaos.on) {
            struct weft_control *c = r->control.control;
            s->seed = c->seed = weft__chaos_seed(&r->chaos);
            c->chaos = weft__chaos_strategy(&r->chaos);
            /* Few changes find most bugs soonest; where many threads must be stopped half-way, few do not do. */
            uint64_t h = weft_hash(&c->seed, sizeof c->seed);
            c->chaos_depth = h % 3 ? 1 + h / 3 % 3 : 4ul << h / 3 % 5;
            c->chaos_events = r->chaos.events;
        }
        e = read_options(r->control.control, &s->seed, err);
    }
    if (e < 0)
        rmdir(r->dir);
    else
        e = weft__trace_create(r->dir, s, &r->lock, err);
    return e < 0 ? e : weft__follow_open(r->dir, r->control.control, &r->follow, err);
}

int weft__run_go(struct weft_run *r, struct weft_err *err) {
    struct timespec begun, ended;
    int status;
    struct weft_launch launch = {
        .program = r->program, .argv = r->start.argv, .env = r->start.env, .at_random = r->start.at_random,
        .stack_limit = r->start.stack_limit, .wait_all = true, .may_interrupt = r->catching, .control = &r->control,
        .message = r->message, .ctx = r, .pass_on = pass_on, .started = started,
        .watch = r->watch.all_us || r->watch.idle_us ? &r->watch : NULL, .mask = r->catching ? NULL : &r->mask};
    r->watch.activity = activity;
    r->watch.halt = halt;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    int e = weft__launch(&launch, &status, err);
    if (e < 0) return e;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    r->took_us = elapsed_us(&begun, &ended);
    weft__follow_stop(r->follow);
    weft__status_of(status, &r->kind, &r->code);
    r->stuck = r->watch.stuck != WEFT_NOT_STUCK;
    if (r->stuck && r->kind == WEFT_END_SIGNAL && r->code == SIGKILL) {
        r->kind = WEFT_END_STUCK;
        r->code = WEFT_STUCK_STATUS;
    }
    struct weft_control *c = r->control.control;
    c->message[sizeof c->message - 1] = 0;
    if (c->outcome == WEFT_OUT_REFUSED) memcpy(r->message, c->message, sizeof r->message);
    return 0;
}

int weft__run_seal(struct weft_run *r, const char *name, struct weft_err *err) {
    struct weft_counts counts;
    struct weft_parts parts = {0};
    struct progress progress = {.tty = isatty(2) && !r->catching};
    uint64_t patience = r->catching ? 0 : r->took_us / 50 > 20000 ? r->took_us / 50 : 20000;
    struct weft_trace *t = weft__follow_trace(r->follow);
    clock_gettime(CLOCK_MONOTONIC, &progress.start);
    int e = weft__follow_seal(r->follow, r->kind, r->code, patience, show_progress, &progress, &counts, err);
    if (e == 0) e = weft__follow_seal_parts(r->follow, r->stuck, patience, r->message, &parts, err);
    if (progress.shown) fprintf(stderr, "\r\033[K");
    if (e < 0) return e;
    if (*r->message) {
        char *text = weft__message_lines(t, r->message);
        struct weft_strbuf path = {0};
        say(r, "%s", text);
        weft__strbuf_printf(&path, "%s/refused", t->dir);
        e = weft__file_write(path.s, text, strlen(text), err); /* for who replays it */
        weft__strbuf_fini(&path);
        free(text);
        return e;
    }
    uint64_t full = r->control.control->log_full;
    if (r->stuck)
        say(r, "%s: %s: it was ended", name,
            r->watch.stuck == WEFT_STUCK_IDLE ? "nothing happened any more (--idle)" : "it took too long (--timeout)");
    summary(r, name, t, &counts, &parts);
    if (full)
        say(r, "%s: %s: the program went on, but of what it did after %s of events nothing is known", name,
            weft__lost_text(full), weft__bytes((char[WEFT_NUMBUF]){0}, counts.stream_bytes));
    if (counts.threads == 0) say(r, "%s: nothing was recorded: the program ended before weft's runtime started", name);
    return 0;
}

void weft__run_end(struct weft_run *r) {
    weft__follow_close(r->follow);
    r->follow = NULL;
    if (r->lock >= 0) close(r->lock);
    r->lock = -1;
    weft__schedule_fini(&r->control);
}

void weft__run_say(const struct weft_strbuf *lines) {
    char *copy = weft__strdup(lines->s ? lines->s : ""), *save;
    for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) weft__warn("%s", l);
    free(copy);
}

void weft__run_fini(struct weft_run *r) {
    weft__run_end(r);
    weft__strbuf_fini(&r->lines);
    free(r->env);
    free(r->cwd);
    free(r->dir);
    free(r->program);
}
