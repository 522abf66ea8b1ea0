/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft replay: runs the recorded program along its trace and says whether it was the same run. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL: this run was the recorded one. Otherwise what was different; new memory. */
static char *judge(struct weft_trace *t, const struct weft_control *c, int wait_status) {
    struct weft_strbuf b = {0};
    uint32_t kind, code;
    weft__status_of(wait_status, &kind, &code);
    if (c->outcome == WEFT_OUT_DIVERGED || c->outcome == WEFT_OUT_STUCK || c->outcome == WEFT_OUT_REFUSED) {
        char message[sizeof c->message];
        memcpy(message, c->message, sizeof message);
        message[sizeof message - 1] = 0;
        char *text = weft__message_lines(t, message);
        weft__strbuf_printf(&b, "%s: %s", t->dir, text);
        free(text);
        return b.s;
    }
    if (kind == WEFT_END_EXIT && c->exit_kind == WEFT_END_STUCK && code == c->exit_code) kind = WEFT_END_STUCK;
    if (t->has_end && (kind != t->end.kind || code != t->end.code)) {
        weft__strbuf_printf(&b, "%s: the replay differs: it ended with ", t->dir);
        weft__status_text(&b, kind, code);
        weft__strbuf_puts(&b, ", the recorded run with ");
        weft__status_text(&b, t->end.kind, t->end.code);
        if (kind == WEFT_END_SIGNAL && code == SIGPIPE) weft__strbuf_puts(&b, " (whoever read the output went away)");
        return b.s;
    }
    if (c->outcome != WEFT_OUT_ENDED) {
        weft__strbuf_printf(&b, "%s: the replay ended with ", t->dir);
        weft__status_text(&b, kind, code);
        weft__strbuf_puts(&b, " before the recorded run was through");
        return b.s;
    }
    return NULL;
}

/* The other parts. One that was killed, or that left nothing, may end as it likes; one that does not run was begun when the
 * log of its parent had ended. */
static char *judge_parts(const struct weft_schedule *s) {
    char *why = NULL;
    for (size_t k = 0; k < s->nparts && !why; k++) {
        struct weft_schedule *p = &s->parts[k];
        if (!p->trace || p->counts.threads == 0 || !p->control->pid) continue;
        int status = p->control->exit_kind == WEFT_END_SIGNAL ? (int)p->control->exit_code
                                                              : (int)(p->control->exit_code & 0xff) << 8;
        why = judge(p->trace, p->control, status);
        if (!why) why = judge_parts(p);
    }
    return why;
}

/* A process that was forked was stuck: so was the recording, even if its first process had ended. */
static bool parts_stuck(const struct weft_schedule *s) {
    for (size_t k = 0; k < s->nparts; k++) {
        const struct weft_schedule *p = &s->parts[k];
        if (p->trace && p->trace->has_end && p->trace->end.kind == WEFT_END_STUCK) return true;
        if (parts_stuck(p)) return true;
    }
    return false;
}

/* The programs that were executed. */
static int parts_unchanged(const struct weft_schedule *s, const struct weft_trace *t, struct weft_err *err) {
    int r = 0;
    for (size_t k = 0; k < s->nparts && r == 0; k++) {
        struct weft_schedule *p = &s->parts[k];
        if (!p->trace) continue;
        if (p->counts.threads && weft__trace_is_program(p->trace, t)) r = weft__program_unchanged(p->trace, err);
        if (r == 0) r = parts_unchanged(p, p->trace, err);
    }
    return r;
}

struct replaying {
    struct weft_trace *t;
    struct weft_schedule *schedule;
    bool quiet;
};

static struct weft_schedule *part_of(struct weft_schedule *s, pid_t pid) {
    for (size_t k = 0; k < s->nparts; k++) {
        struct weft_schedule *p = &s->parts[k], *found = p->fd >= 0 ? part_of(p, pid) : NULL;
        if (found) return found;
        if (p->trace && p->control->pid == (uint64_t)pid) return p;
    }
    return NULL;
}

static void on_stuck(void *ctx, pid_t pid) {
    struct replaying *r = ctx;
    struct weft_schedule *s = part_of(r->schedule, pid);
    if (!r->quiet) weft__stuck_tell(s ? s->trace : r->t, s ? s->control : r->schedule->control, pid);
}

/* A new or an empty folder; out (4096 bytes) gets its absolute path. */
static int prepare_folder(const char *dir, char *out, struct weft_err *err) {
    if (mkdir(dir, 0777) < 0 && errno != EEXIST) return weft__err(err, errno, "%s: %s", dir, strerror(errno));
    char *path = realpath(dir, NULL);
    DIR *d = path ? opendir(path) : NULL;
    int r = d ? 0 : weft__err(err, errno, "%s: %s", dir, strerror(errno));
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = weft__err(err, EEXIST, "%s: is not empty: files are written to a new or empty folder", dir);
    if (r == 0 && strlen(path) >= sizeof((struct weft_control *)0)->write_files) r = weft__err(err, ENAMETOOLONG, "%s: the path is too long", dir);
    if (r == 0) strcpy(out, path);
    if (d) closedir(d);
    free(path);
    return r;
}

int weft__cmd_replay(int argc, char **argv) {
    static const struct option options[] = {
        {"times", required_argument, NULL, 'n'}, {"write-files", required_argument, NULL, 'w'}, {0}};
    const char *write_files = NULL;
    unsigned long times = 1, identical = 0;
    bool say = false;
    struct weft_err err;
    struct weft_trace *t = NULL;
    struct weft_schedule schedule = {.fd = -1};
    char *dir = NULL;
    int status = WEFT_FAILED;

    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        char *end;
        if (o == ':') return weft__usage("replay", "%s needs a value", argv[optind - 1]);
        if (o == 'w') {
            write_files = optarg;
            continue;
        }
        if (o != 'n') return weft__usage("replay", "there is no option %s", argv[optind - 1]);
        times = strtoul(optarg, &end, 10);
        if (*end || end == optarg || *optarg == '-' || times == 0 || times > 1000000000)
            return weft__usage("replay", "--times wants a number from 1 on, not '%s'", optarg);
        say = true;
    }
    if (argc - optind > 1) return weft__usage("replay", "one trace at a time");

    if (weft__store_find(argv[optind], &dir, &err) < 0 || weft__trace_open(dir, &t, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    if (t->recording) {
        weft__warn("%s: is still being recorded", t->dir);
        goto out;
    }
    if (weft__trace_is_part(dir)) {
        weft__warn("%s: is a process of another trace's: it is replayed with the trace that it belongs to", t->dir);
        goto out;
    }
    if (weft__replay_schedule(t, &schedule, &err) < 0 || weft__program_unchanged(t, &err) < 0 ||
        parts_unchanged(&schedule, t, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    if (t->has_end &&
        (schedule.counts.edges != t->end.edges || schedule.counts.inputs != t->end.inputs ||
         schedule.counts.threads != t->end.threads || schedule.counts.stream_bytes != t->end.stream_bytes)) {
        weft__warn("%s: a piece of its streams is missing (weft check tells more)", t->dir);
        goto out;
    }
    if (schedule.counts.threads == 0) {
        bool killed = t->has_end && t->end.kind == WEFT_END_SIGNAL && schedule.counts.items == 0;
        weft__warn("%s: there is nothing in it to replay%s", t->dir,
                   killed ? ": the program was killed before it began" : "");
        if (killed) status = weft__status_repeat(t->end.kind, t->end.code);
        goto out;
    }
    struct weft_launch launch = {
        .program = t->program,
        .cwd = t->cwd,
        .argv = t->argv,
        .env = t->env,
        .at_random = t->header.at_random,
        .stack_limit = t->header.stack_limit,
        .no_stdin = true,
        .may_interrupt = true,
        .control = &schedule,
        .stuck = on_stuck,
    };
    struct replaying replaying = {.t = t, .schedule = &schedule};
    launch.ctx = &replaying;
    if ((t->has_end && t->end.kind == WEFT_END_STUCK) || parts_stuck(&schedule)) schedule.control->options |= WEFT_OPT_WAITS;
    if (access(t->cwd, X_OK) < 0) {
        weft__warn("note: the working directory of the recording, %s, cannot be entered; replaying here", t->cwd);
        launch.cwd = NULL;
    }
    if (write_files && prepare_folder(write_files, schedule.control->write_files, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    char *first = NULL;
    for (unsigned long i = 0; i < times; i++) {
        int wait_status;
        weft__schedule_reset(&schedule);
        if (i > 0) schedule.control->write_files[0] = 0;
        launch.quiet = replaying.quiet = i > 0;
        if (weft__launch(&launch, &wait_status, &err) < 0) {
            weft__fail(&err);
            free(first);
            goto out;
        }
        char *why = judge(t, schedule.control, wait_status);
        if (!why) why = judge_parts(&schedule);
        identical += !why;
        if (!why || first)
            free(why);
        else
            first = why;
    }
    if (first) {
        weft__warn("%s", first);
        free(first);
    }
    if (say) fprintf(stderr, "%lu of %lu identical\n", identical, times);
    if (identical < times) goto out;
    if (schedule.counts.lost)
        weft__warn("%s: %s: it was replayed up to there", t->dir, weft__lost_text(schedule.counts.lost_by));
    if (!t->has_end) {
        weft__warn("%s: the recording was cut short; it was replayed up to its last event", t->dir);
        status = 0;
    } else if (parts_stuck(&schedule)) {
        status = WEFT_STUCK_STATUS;
    } else {
        status = weft__status_repeat(t->end.kind, t->end.code);
    }
out:
    weft__schedule_fini(&schedule);
    weft__trace_close(t);
    free(dir);
    return status;
}
