/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What weft replay, weft debug and weft report have in common: a trace is opened and made ready to run, and the run is judged. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why it may be that the replay differs. */
static void add_plan(struct weft_strbuf *b, const struct weft_control *c) {
    if (c->plan_races)
        weft__strbuf_puts(b, "; plan races does not order what a memory error accesses: if the program may have one, build it with -weft-plan=shared");
}

/* What the runtime has to say, if it could not go on; NULL: nothing. New memory. */
static char *complaint(struct weft_trace *t, const struct weft_control *c) {
    struct weft_strbuf b = {0};
    char message[sizeof c->message];
    if (c->outcome != WEFT_OUT_DIVERGED && c->outcome != WEFT_OUT_STUCK && c->outcome != WEFT_OUT_REFUSED) return NULL;
    memcpy(message, c->message, sizeof message);
    message[sizeof message - 1] = 0;
    char *text = weft__message_lines(t, message);
    weft__strbuf_printf(&b, "%s: %s", t->dir, text);
    if (c->outcome == WEFT_OUT_DIVERGED)
        weft__foreign_text(&b, t, "; races in code that was not built with weft are not recorded, and here such code is in ");
    if (c->outcome == WEFT_OUT_DIVERGED) add_plan(&b, c);
    free(text);
    return b.s;
}

/* NULL: this run was the recorded one. Otherwise what was different; new memory. */
static char *judge(struct weft_trace *t, const struct weft_control *c, int wait_status) {
    struct weft_strbuf b = {0};
    uint32_t kind, code;
    weft__status_of(wait_status, &kind, &code);
    char *said = complaint(t, c);
    if (said) return said;
    if (kind == WEFT_END_EXIT && c->exit_kind == WEFT_END_STUCK && code == c->exit_code) kind = WEFT_END_STUCK;
    if (t->has_end && (kind != t->end.kind || code != t->end.code)) {
        weft__strbuf_printf(&b, "%s: the replay differs: it ended with ", t->dir);
        weft__status_text(&b, kind, code);
        weft__strbuf_puts(&b, ", the recorded run with ");
        weft__status_text(&b, t->end.kind, t->end.code);
        if (kind == WEFT_END_SIGNAL && code == SIGPIPE) weft__strbuf_puts(&b, " (whoever read the output went away)");
        add_plan(&b, c);
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

static char *complaint_parts(const struct weft_schedule *s) {
    char *why = NULL;
    for (size_t k = 0; k < s->nparts && !why; k++) {
        struct weft_schedule *p = &s->parts[k];
        if (!p->trace) continue;
        why = complaint(p->trace, p->control);
        if (!why) why = complaint_parts(p);
    }
    return why;
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

bool weft__rerun_stuck(const struct weft_rerun *r) { return parts_stuck(&r->schedule); }

struct weft_schedule *weft__rerun_part(struct weft_schedule *s, pid_t pid) {
    for (size_t k = 0; k < s->nparts; k++) {
        struct weft_schedule *p = &s->parts[k], *found = p->fd >= 0 ? weft__rerun_part(p, pid) : NULL;
        if (found) return found;
        if (p->trace && p->control->pid == (uint64_t)pid) return p;
    }
    return NULL;
}

static bool was_killed(const struct weft_rerun *r) {
    return r->t->has_end && r->t->end.kind == WEFT_END_SIGNAL && r->schedule.counts.items == 0;
}

int weft__rerun_prepare(struct weft_rerun *r, struct weft_err *err) {
    struct weft_trace *t = r->t;
    r->schedule = (struct weft_schedule){.fd = -1};
    if (t->recording) return weft__err(err, EBUSY, "%s: is still being recorded", t->dir);
    if (weft__trace_is_part(t->dir))
        return weft__err(err, EINVAL, "%s: is a process of another trace's: it is replayed with the trace that it belongs to", t->dir);
    int e = weft__replay_schedule(t, &r->schedule, err);
    if (e == 0) e = weft__program_unchanged(t, err);
    if (e == 0) e = parts_unchanged(&r->schedule, t, err);
    if (e < 0) return e;
    if (t->has_end &&
        (r->schedule.counts.edges != t->end.edges || r->schedule.counts.inputs != t->end.inputs ||
         r->schedule.counts.threads != t->end.threads || r->schedule.counts.stream_bytes != t->end.stream_bytes))
        return weft__err(err, EBADMSG, "%s: a piece of its streams is missing (weft check tells more)", t->dir);
    if (r->schedule.counts.threads == 0)
        return weft__err(err, ENODATA, "%s: there is nothing in it to replay%s", t->dir,
                         was_killed(r) ? ": the program was killed before it began" : "");
    r->launch = (struct weft_launch){
        .program = t->program,
        .cwd = t->cwd,
        .argv = t->argv,
        .env = t->env,
        .at_random = t->header.at_random,
        .stack_limit = t->header.stack_limit,
        .no_stdin = true,
        .may_interrupt = true,
        .control = &r->schedule,
    };
    if ((t->has_end && t->end.kind == WEFT_END_STUCK) || weft__rerun_stuck(r)) r->schedule.control->options |= WEFT_OPT_WAITS;
    if (getenv("WEFT_PROVE")) r->schedule.control->options |= WEFT_OPT_PROVE; /* to test weft */
    if (access(t->cwd, X_OK) < 0) {
        weft__warn("note: the working directory of the recording, %s, cannot be entered; replaying here", t->cwd);
        r->launch.cwd = NULL;
    }
    return 0;
}

bool weft__rerun_open(const char *name, struct weft_rerun *r, int *status) {
    struct weft_err err;
    int e;
    *r = (struct weft_rerun){.schedule = {.fd = -1}};
    *status = WEFT_FAILED;
    if ((e = weft__store_find(name, &r->dir, &err)) == 0 && (e = weft__trace_open(r->dir, &r->t, &err)) == 0 &&
        (e = weft__rerun_prepare(r, &err)) == 0)
        return true;
    weft__fail(&err);
    if (e == -ENODATA && was_killed(r)) *status = weft__status_repeat(r->t->end.kind, r->t->end.code);
    return false;
}

char *weft__rerun_judge(const struct weft_rerun *r, int wait_status) {
    char *why = judge(r->t, r->schedule.control, wait_status);
    return why ? why : judge_parts(&r->schedule);
}

char *weft__rerun_complaint(const struct weft_rerun *r) {
    char *why = complaint(r->t, r->schedule.control);
    return why ? why : complaint_parts(&r->schedule);
}

void weft__rerun_close(struct weft_rerun *r) {
    weft__schedule_fini(&r->schedule);
    weft__trace_close(r->t);
    free(r->dir);
}
