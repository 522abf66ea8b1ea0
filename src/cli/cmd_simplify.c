/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft simplify: from a failing trace to a smaller one that fails in the same way (src/simplify). The result is in its folder from the
 * first steered run on, and is replaced as the search goes on; beside it is the folder DIR.work, from which a search that was stopped
 * goes on. */
#include "cli/cli.h"
#include "simplify/simplify.h"
#include "slice/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUDGET_US 600000000ull
#define BEGIN_US 10000000ull /* for the first runs, if the budget is less: without these there is nothing */
#define SHOW_US 200000
#define ACCESSES (1ull << 24) /* the last ones of the trace that are looked at */
#define SLICE_MOST 5000000ull /* instructions: a minute or two; */
#define SLICE_TICKS (SLICE_MOST / 8) /* hardly fewer than these to a tick */

struct simplify {
    struct weft_trial trial; /* first: the pool's context is this too */
    struct weft_search search;
    struct weft_pool pool;
    struct weft_result result;
    struct weft_state *trace, *first;
    const char *fail_if;
    const char **repeat; /* FILE:LINE */
    size_t nrepeats;
    struct weft_symbols *symbols;
    char *dir;
    bool tty, shown;
    bool no_slice, said; /* said: why it is not sliced */
    uint64_t begun_us, shown_us, published;
    int error; /* of publishing */
    struct weft_err err;
};

/* ---- what it asks ---- */

static bool command_says(void *ctx, const char *out, const char *errors) {
    const struct simplify *x = ctx;
    int o = open(out, O_RDONLY | O_CLOEXEC), e = open(errors, O_RDONLY | O_CLOEXEC);
    int status = weft__fail_if(x->fail_if, o, e);
    if (o >= 0) close(o);
    if (e >= 0) close(e);
    return status == 0;
}

/* "a.c:12" says "/src/lib/a.c:12", and "lib/a.c:12". */
static bool says(const char *wanted, const char *place) {
    size_t n = strlen(wanted), m = strlen(place);
    return n <= m && strcmp(place + m - n, wanted) == 0 && (n == m || place[m - n - 1] == '/' || *wanted == '/');
}

static bool repeats(void *ctx, const struct weft_pass *p) {
    struct simplify *x = ctx;
    if (p->flags & (WEFT_REPEAT_COUNTS | WEFT_REPEAT_WRITTEN)) return true;
    const char *place = x->nrepeats ? weft__symbols_line(x->symbols, p->site) : "";
    for (size_t i = 0; i < x->nrepeats; i++)
        if (says(x->repeat[i], place)) return true;
    return false;
}

/* ---- what it tells ---- */

static void wipe(struct simplify *x) {
    if (x->shown) fprintf(stderr, "\r\033[K");
    x->shown = false;
}

static void show(struct simplify *x) {
    const struct weft_size *z = &x->search.now->size;
    struct weft_answers a = {0};
    char e[WEFT_NUMBUF];
    if (!x->tty || weft__now_us() - x->shown_us < SHOW_US) return;
    x->shown_us = weft__now_us();
    for (int t = 0; t < WEFT_TECHNIQUES; t++) {
        a.failed += x->search.effort[t].answers.failed;
        a.passed += x->search.effort[t].answers.passed;
        a.unresolved += x->search.effort[t].answers.unresolved;
    }
    fprintf(stderr, "\r\033[Kweft: round %llu, %s: %llu runs (%llu/%llu/%llu), %llu threads, %llu iterations, %s events, %llu+%llu switches left",
            (unsigned long long)x->search.round, weft__technique_name[x->search.technique], (unsigned long long)x->pool.runs,
            (unsigned long long)a.failed, (unsigned long long)a.passed, (unsigned long long)a.unresolved, (unsigned long long)z->threads,
            (unsigned long long)z->iterations, weft__commas(e, z->events), (unsigned long long)z->preemptive,
            (unsigned long long)(z->switches - z->preemptive));
    x->shown = true;
}

static void on_tick(void *ctx) { show(ctx); }

/* ---- what the failure depends on ---- */

static int slice(void *dir, struct weft_err *err) {
    struct weft_rerun run = {.schedule = {.fd = -1}};
    struct weft_slice s = {0};
    int r = weft__trace_open(dir, &run.t, err);
    if (r < 0) return r;
    r = weft__rerun_prepare(&run, err);
    if (r == 0) r = weft__slice_make(run.t, &run.schedule, &run.launch, SLICE_MOST, false, &s, err);
    if (r == 0) r = weft__relevant_write(&s.relevant, dir, err);
    weft__slice_fini(&s);
    weft__rerun_close(&run);
    return r;
}

/* Beside the recording, so that a search that goes on finds it. 1: it cannot be known. */
static int relevant_of(struct simplify *x, const struct weft_state *s, struct weft_relevant *out, struct weft_err *err) {
    if (weft__relevant_read(s->dir, out, err) == 0) return 0;
    if (x->no_slice) return 1;
    int r = s->size.ticks > SLICE_TICKS ? weft__err(err, EFBIG, "it is too long") : weft__pool_aside(&x->pool, slice, s->dir, 0, err);
    if (r == 0) r = weft__relevant_read(s->dir, out, err);
    if (r == 0 || r == -EINTR || r == -ETIME) return r;
    if (!x->said) {
        wipe(x);
        weft__warn("note: what its failure depends on is not known: %s", err->text);
    }
    x->said = true;
    return 1;
}

static int relevant_turns(void *ctx, const struct weft_state *s, bool *turns, struct weft_err *err) {
    struct weft_relevant r;
    int known = relevant_of(ctx, s, &r, err);
    if (known != 0) return known;
    uint64_t *from = weft__alloc((s->tree.n + 1) * sizeof *from);
    for (size_t i = 0; i < s->nturns; i++) {
        const struct weft_turn *t = &s->turns[i];
        uint32_t slot = s->tree.list[t->thread].slot;
        for (size_t k = 0; k < r.n && !turns[i]; k++)
            turns[i] = r.ranges[k].slot == slot && r.ranges[k].to >= from[t->thread] && r.ranges[k].from <= t->tick;
        from[t->thread] = t->tick;
    }
    free(from);
    weft__relevant_fini(&r);
    return 0;
}

static void measure_relevant(struct simplify *x) {
    struct weft_relevant r;
    struct weft_slice_size all, z;
    struct weft_err err;
    if (relevant_of(x, x->search.now, &r, &err) != 0) return;
    if (weft__slice_measure(x->search.now->t, &r, &all, &z, &err) == 0)
        x->result.relevant = (struct weft_relevance){true,         z.threads,    z.events,       z.switches,
                                                     z.preemptive, r.relevant, all.events, r.instructions};
    weft__relevant_fini(&r);
}

/* *why: what was different; new memory. order (may be NULL): of the sites that it passed. */
static int replay(const char *dir, struct weft_order **order, char **why, struct weft_err *err) {
    struct weft_rerun run = {.schedule = {.fd = -1}};
    struct weft_accesses *list = NULL;
    int wait_status, r = weft__trace_open(dir, &run.t, err);
    *why = NULL;
    if (r < 0) return r;
    r = weft__rerun_prepare(&run, err);
    if (r == 0 && order) r = weft__accesses_open(&run.schedule, run.t, ACCESSES, &list, err);
    if (r == 0) {
        run.launch.quiet = true;
        r = weft__launch(&run.launch, &wait_status, err);
    }
    if (r == 0) *why = weft__rerun_judge(&run, wait_status);
    if (r == 0 && order) *order = weft__order_new(list);
    if (list) munmap(list, list->size);
    weft__rerun_close(&run);
    return r;
}

/* Nothing is published that has not been replayed. */
static int replays(const char *dir, struct weft_err *err) {
    char *why;
    int r = replay(dir, NULL, &why, err);
    if (why) r = weft__err(err, EBADMSG, "internal error: what was found does not replay: %s", why);
    free(why);
    return r;
}

static void publish(struct simplify *x, struct weft_strbuf *text) {
    struct weft_strbuf json = {0}, own = {0};
    if (x->published != x->search.now->id) {
        struct weft_err err;
        int r = replays(x->search.now->dir, &err);
        if (r < 0 && weft__pool_stopping(&x->pool)) return; /* Ctrl-C is for all: that replay ended by it */
        if (r < 0 && !x->error) {
            x->error = r;
            x->err = err;
        }
    }
    if (x->error) return;
    x->result.runs = x->pool.runs;
    x->result.time_us = weft__now_us() - x->begun_us;
    weft__result_json(&x->result, &json);
    if (!text) weft__result_text(&x->result, text = &own);
    int r = weft__result_publish(x->dir, x->search.now, &json, text, &x->err);
    if (r < 0 && !x->error) x->error = r;
    x->published = x->search.now->id;
    weft__strbuf_fini(&json);
    weft__strbuf_fini(&own);
}

static void on_progress(struct weft_search *s) {
    struct simplify *x = s->user;
    static int technique = -1;
    show(x);
    if (technique == (int)s->technique || x->published == s->now->id) return;
    technique = (int)s->technique;
    publish(x, NULL);
}

/* ---- what it is asked for ---- */

/* Whether this trace can be simplified at all. */
static int usable(struct weft_trace *t, const char *fail_if, uint32_t ok, struct weft_err *err) {
    if (t->recording) return weft__err(err, EBUSY, "%s: is still being recorded", t->dir);
    if (weft__trace_is_part(t->dir)) return weft__err(err, EINVAL, "%s: is a process of another trace's", t->dir);
    if (!t->has_end) return weft__err(err, EINVAL, "%s: the recording was cut short: how the run failed is not known", t->dir);
    if (weft__trace_parts(t->dir))
        return weft__err(err, EOPNOTSUPP, "%s: has several processes: only runs of one process can be simplified", t->dir);
    if (t->end.kind == WEFT_END_EXIT && (t->end.code == 0 || t->end.code == ok) && !fail_if)
        return weft__err(err, EINVAL, "%s: this run did not fail: it ended with status %u (--fail-if says what else is a failure)", t->dir, t->end.code);
    int r = weft__modules_read(t, err);
    return r < 0 ? r : weft__program_unchanged(t, err);
}

/* The folder for the result: new, or one of ours. */
static int result_dir(const char *option, const char *trace, char **out, struct weft_err *err) {
    struct weft_strbuf b = {0}, own = {0};
    struct stat st;
    if (option)
        weft__strbuf_puts(&b, option);
    else {
        char *real = realpath(trace, NULL);
        if (!real) return weft__err(err, errno, "%s: %s", trace, strerror(errno));
        weft__strbuf_printf(&b, "%s-simple", real);
        free(real);
    }
    while (b.len > 1 && b.s[b.len - 1] == '/') b.s[--b.len] = 0;
    weft__strbuf_printf(&own, "%s/simplified", b.s);
    int r = 0;
    if (lstat(b.s, &st) == 0 && access(own.s, F_OK) < 0 && (!S_ISDIR(st.st_mode) || rmdir(b.s) < 0))
        r = weft__err(err, EEXIST, "%s: exists already", b.s);
    weft__strbuf_fini(&own);
    if (r < 0)
        weft__strbuf_fini(&b);
    else
        *out = b.s;
    return r;
}

static uint64_t what_is_asked(const struct simplify *x, const struct weft_trace *t) {
    uint64_t h = weft_hash_more(t->header.hash, &t->end.hash, sizeof t->end.hash);
    h = weft_hash_more(h, &x->trial.ok, sizeof x->trial.ok);
    if (x->fail_if) h = weft_hash_more(h, x->fail_if, strlen(x->fail_if));
    h = weft_hash_more(h, &(uint64_t){x->no_slice}, 8);
    for (size_t i = 0; i < x->nrepeats; i++) h = weft_hash_more(h, x->repeat[i], strlen(x->repeat[i]));
    return weft_hash(&h, sizeof h);
}

struct begin {
    struct weft_trial trial;
    struct weft_judged judged;
    char why[512];
    const struct weft_state *trace;
    const char *dir;
};

/* Aside; its turns stay beside the recording. */
static int begin(void *ctx, struct weft_err *err) {
    struct begin *b = ctx;
    struct weft_state *s = NULL;
    char *why = NULL;
    int r = weft__trial_first(&b->trial, b->trace, b->dir, &b->judged, &why, err);
    if (why) snprintf(b->why, sizeof b->why, "%s", why);
    return r == 0 ? weft__trial_open(&b->trial, b->dir, &b->judged, &s, err) : r;
}

/* From the first steered run to the end; the exit status. */
static int search(struct simplify *x) {
    struct weft_strbuf first = {0}, order = {0}, text = {0};
    struct weft_err *err = &x->err;
    int status = WEFT_FAILED;
    weft__strbuf_printf(&first, "%s/first", x->pool.work);
    weft__strbuf_printf(&order, "%s/order", x->pool.work);
    struct begin b = {.trial = x->trial, .trace = x->trace, .dir = first.s};
    uint64_t until_us = x->pool.until_us;
    if (until_us < x->begun_us + BEGIN_US) x->pool.until_us = x->begun_us + BEGIN_US;
    int r = weft__pool_aside(&x->pool, begin, &b, sizeof b, err);
    x->pool.until_us = until_us;
    x->trial = b.trial;
    if (r == 1) {
        weft__warn("%s: cannot be simplified: when its threads take turns as they did, %s", x->trace->dir, b.why);
        status = 1;
        goto out;
    }
    if (r == -ETIME) r = weft__err(err, ETIME, "%s: the time is over before its first steered run is (--budget)", x->trace->dir);
    if (r == 0 && !x->trial.orders) weft__warn("it passes in no non-preemptive order that was tried (%s): what is left out is judged by the failure alone", x->trial.why);
    if (r == 0) r = weft__trial_open(&x->trial, first.s, &b.judged, &x->first, err);
    if (r == 0) r = weft__trial_open(&x->trial, first.s, &b.judged, &x->search.now, err);
    if (r < 0) {
        if (r != -EINTR) weft__fail(err);
        goto out;
    }
    x->trace->size.accesses = x->first->size.accesses; /* it is the same run */
    x->result = (struct weft_result){.origin = x->trace->dir, .before = &x->trace->size, .first = x->first, .any_order = !x->trial.orders};
    x->result.search = &x->search;
    publish(x, NULL);
    if (x->error == 0) r = weft__search(&x->search, err);
    if (x->error < 0) r = x->error;
    wipe(x);
    if (r < 0 && r != -EINTR && r != -ETIME) { /* what was published before stays */
        weft__fail(err);
        goto out;
    }
    x->result.whole = r == 0;
    struct weft_state *passing = weft__trial_order(&x->trial, x->search.now, order.s);
    x->result.order = passing;
    if (r == 0) measure_relevant(x);
    weft__result_text(&x->result, &text);
    publish(x, &text);
    weft__state_free(passing);
    if (x->error < 0) {
        weft__fail(&x->err);
        goto out;
    }
    fputs(text.s, stdout);
    if (r == -EINTR || r == -ETIME)
        weft__warn("%s: %s is what there is so far; the same command goes on from here", r == -EINTR ? "stopped" : "the time is over", x->dir);
    else
        weft__warn("%s: see weft report %s", x->dir, x->dir);
    status = weft__flush(0);
out:
    weft__strbuf_fini(&first);
    weft__strbuf_fini(&order);
    weft__strbuf_fini(&text);
    x->result.whole &= status == 0;
    return status;
}

enum { O_BUDGET = 256, O_JOBS, O_FAIL_IF, O_OK, O_REPEAT, O_NO_SLICE };

int weft__cmd_simplify(int argc, char **argv) {
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},        {"budget", required_argument, NULL, O_BUDGET},
                                            {"jobs", required_argument, NULL, O_JOBS},       {"fail-if", required_argument, NULL, O_FAIL_IF},
                                            {"ok", required_argument, NULL, O_OK},           {"repeat", required_argument, NULL, O_REPEAT},
                                            {"no-slice", no_argument, NULL, O_NO_SLICE},     {0}};
    struct simplify x = {.tty = isatty(2), .begun_us = weft__now_us()};
    struct weft_strbuf work = {0};
    struct weft_trace *t = NULL;
    struct weft_order *order = NULL;
    const char *out = NULL;
    uint64_t budget = BUDGET_US, jobs = 0;
    size_t cap = 0;
    char *name = NULL;
    int status = WEFT_FAILED;
    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
        switch (o) {
        case 'o': out = optarg; break;
        case O_BUDGET:
            if (!(budget = weft__time_of(optarg))) return weft__usage("simplify", "--budget wants a time, as in 30, 10m or 2h, not '%s'", optarg);
            break;
        case O_JOBS:
            if (!(jobs = weft__number_of(optarg, WEFT_JOBS_MAX)))
                return weft__usage("simplify", "--jobs wants a number from 1 to %d, not '%s'", WEFT_JOBS_MAX, optarg);
            break;
        case O_FAIL_IF: x.fail_if = optarg; break;
        case O_OK:
            if (!(x.trial.ok = (uint32_t)weft__number_of(optarg, 255))) return weft__usage("simplify", "--ok wants a status from 1 to 255, not '%s'", optarg);
            break;
        case O_NO_SLICE: x.no_slice = true; break;
        case O_REPEAT:
            if (!strrchr(optarg, ':')) return weft__usage("simplify", "--repeat wants FILE:LINE, not '%s'", optarg);
            x.repeat = weft__grow(x.repeat, &cap, x.nrepeats + 1, sizeof *x.repeat);
            x.repeat[x.nrepeats++] = optarg;
            break;
        case ':': return weft__usage("simplify", "%s needs a value", argv[optind - 1]);
        default: return weft__usage("simplify", "there is no option %s", argv[optind - 1]);
        }
    }
    if (argc - optind > 1) return weft__usage("simplify", "one trace at a time");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!jobs) jobs = cores > 0 ? (uint64_t)cores : 1;
    if (weft__store_find(argv[optind], &name, &x.err) < 0 || weft__trace_open(name, &t, &x.err) < 0 || usable(t, x.fail_if, x.trial.ok, &x.err) < 0 ||
        result_dir(out, name, &x.dir, &x.err) < 0) {
        weft__fail(&x.err);
        weft__trace_close(t);
        goto out;
    }
    uint64_t what = what_is_asked(&x, t);
    char *why;
    int r = replay(t->dir, &order, &why, &x.err);
    if (why) r = weft__err(&x.err, EBADMSG, "it does not replay: %s", why);
    free(why);
    if (r < 0) weft__trace_close(t);
    if (r < 0 || weft__state_new(t, order, what, &x.trace, &x.err) < 0) {
        weft__fail(&x.err);
        goto out;
    }
    x.trial.order = order;
    x.trial.symbols = x.symbols = weft__symbols_new(t);
    weft__strbuf_printf(&work, "%s.work", x.dir);
    if (x.fail_if) x.trial.fails = command_says;
    x.trial.ctx = &x;
    x.pool = (struct weft_pool){.one = weft__trial_one, .open = weft__trial_open, .tick = on_tick, .ctx = &x, .work = work.s, .jobs = (unsigned)jobs,
                                .until_us = x.begun_us + budget};
    x.search = (struct weft_search){.judge = &x.pool.judge, .repeats = repeats, .relevant = x.no_slice ? NULL : relevant_turns, .ctx = &x, .clock = weft__now_us, .progress = on_progress, .user = &x};
    if (weft__pool_open(&x.pool, what, &x.err) < 0)
        weft__fail(&x.err);
    else
        status = search(&x);
    weft__state_free(x.first);
    weft__state_free(x.search.now);
    weft__pool_close(&x.pool, x.result.whole || status == 1);
    if (x.pool.stopped) status = weft__status_repeat(WEFT_END_SIGNAL, (uint32_t)x.pool.stopped);
out:
    weft__symbols_free(x.symbols);
    weft__state_free(x.trace);
    weft__order_free(order);
    weft__strbuf_fini(&work);
    free(x.repeat);
    free(x.dir);
    free(name);
    return status;
}
