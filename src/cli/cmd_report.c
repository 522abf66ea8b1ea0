/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft report: what a run did and why it failed, as text, JSON or a page.
 *
 * What the trace has (threads, events, their order) is read from it. For the rest the run is replayed, with every access in a list
 * (struct weft_accesses): once to see the end and to find the accesses that are to blame, and once more with stops at these, for their
 * stacks and values. Where it cannot be replayed, the report says so and has the rest. */
#include "cli/cli.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM (1ull << 21) /* accesses that are kept */
#define FRAMES 64

struct collecting {
    struct weft_report *r;
    struct weft_rerun run;
    struct weft_accesses *list;
    bool again; /* this is the second replay */
    uint32_t blamed; /* slot of the thread whose last accesses are looked at: who ended the process, or waits for a signal; 0: none */
};

static bool is_module(const struct weft_frame_view *f, const char *name) { return strncmp(f->module, name, strlen(name)) == 0; }
static bool is_program(const struct weft_frame_view *f) {
    return *f->module && !is_module(f, "libweft-") && !is_module(f, "libc.so") && !is_module(f, "libstdc++.so") && !is_module(f, "ld-linux") &&
           !is_module(f, "[") && strcmp(f->function, "_start") != 0;
}

static void read_stack(struct weft_report *r, pid_t pid, pid_t tid, struct weft_stack *out) {
    struct weft_frame_view f[FRAMES];
    struct weft_stacks *s = weft__stacks_open(pid);
    size_t n = weft__stacks_read(s, tid, f, FRAMES);
    for (size_t i = 0; i < n; i++)
        if (is_program(&f[i])) weft__stack_add(r, out, f[i].pc, f[i].function);
    weft__stacks_close(s);
}

/* The bytes that the accesses have in common, or those of its place, as a number. */
static void read_value(struct weft_report *r, pid_t pid, struct weft_seen *s) {
    char path[64];
    uint64_t at = r->race.addr;
    uint32_t n = r->race.size;
    if (r->race.other && (s->a.addr >= at + n || s->a.addr + (s->a.what & WEFT_ACC_SIZE) <= at)) at = r->race.other, n = r->race.other_size;
    if (n > 8) n = 8;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    if (mem >= 0 && pread(mem, &s->value, n, (off_t)at) == (ssize_t)n) s->bytes = n;
    if (mem >= 0) close(mem);
}

static void on_look(void *ctx, pid_t pid, pid_t tid, unsigned which) {
    struct collecting *c = ctx;
    struct weft_report *r = c->r;
    if (which == WEFT_LOOK_END) {
        if (!c->again) read_stack(r, pid, tid, &r->stack);
    } else if (which < r->race.n && !r->seen[which].looked) {
        r->seen[which].looked = true;
        read_stack(r, pid, tid, &r->seen[which].stack);
        read_value(r, pid, &r->seen[which]);
    }
}

static void on_stuck(void *ctx, pid_t pid) {
    struct collecting *c = ctx;
    struct weft_schedule *part = weft__rerun_part(&c->run.schedule, pid);
    struct weft_strbuf text = {0};
    if (c->again) return;
    if (c->r->stuck) weft__strbuf_puts(&text, c->r->stuck);
    free(c->r->stuck);
    if (part) weft__strbuf_printf(&text, "in %s:\n", part->trace->dir);
    weft__stuck_text(part ? part->trace : c->r->t, part ? part->control : c->run.schedule.control, pid, &text);
    c->r->stuck = text.s;
    if (part || (text.s && strstr(text.s, "deadlock: "))) return;
    /* No cycle: perhaps somebody missed its signal. */
    struct weft_thread_view *threads;
    size_t n = weft__threads_read(pid, &c->run.schedule.control->threads, &threads);
    for (size_t i = n; i-- > 0;)
        if (threads[i].wait.kind == WEFT_WAIT_COND || (threads[i].wait.kind == WEFT_WAIT_SEM && !c->blamed)) c->blamed = threads[i].slot;
    free(threads);
}

/* 0: it was the same run. */
static int replay(struct collecting *c) {
    struct weft_err err;
    int status;
    weft__schedule_reset(&c->run.schedule);
    if (weft__launch(&c->run.launch, &status, &err) < 0) {
        weft__strbuf_printf(&c->r->notes, "it could not be replayed: %s\n", err.text);
        return -1;
    }
    char *why = weft__rerun_judge(&c->run, status);
    if (!why) return 0;
    weft__strbuf_printf(&c->r->notes, "%s\n", why);
    free(why);
    return -1;
}

/* The list in its order: the ring begins where it will be written next. */
static struct weft_access *unroll(const struct weft_accesses *l, uint64_t *n) {
    *n = l->next < l->room ? l->next : l->room;
    struct weft_access *out = weft__alloc((*n + 1) * sizeof *out);
    for (uint64_t i = 0; i < *n; i++) out[i] = l->ring[(l->next - *n + i) % l->room];
    return out;
}

static char *name_of(struct weft_report *r, uint64_t addr) {
    char *name = weft__symbols_variable(r->symbols, addr, r->race.size);
    if (name) return name;
    struct weft_strbuf b = {0};
    const char *what = addr >= 0x100000000000ull && addr < WEFT_PLACE_PROGRAM ? "the heap" : addr >= WEFT_STACKS_BASE && addr < WEFT_PLACE_LOW ? "a stack" : "memory";
    weft__strbuf_printf(&b, "%s, 0x%llx", what, (unsigned long long)addr);
    return b.s;
}

/* Replays once more, with stops at the accesses that are to blame, for their stacks and values. */
static void look_at_race(struct collecting *c, const struct weft_access *list) {
    struct weft_report *r = c->r;
    r->variable = name_of(r, r->race.addr);
    if (r->race.other) {
        char *other = name_of(r, r->race.other);
        struct weft_strbuf both = {0};
        weft__strbuf_printf(&both, "%s and %s", other, r->variable);
        free(other);
        free(r->variable);
        r->variable = both.s;
    }
    memset(c->list->stop, 0, sizeof c->list->stop);
    c->list->stops = r->race.n;
    c->list->next = 0;
    for (size_t i = 0; i < r->race.n; i++) {
        r->seen[i].a = list[r->race.index[i]];
        c->list->stop[i] = r->seen[i].a;
        c->list->stop[i].what = 0;
    }
    c->again = true;
    if (replay(c) < 0) return;
    for (size_t i = 0; i < r->race.n; i++)
        if (!r->seen[i].stack.n && r->seen[i].a.site) weft__stack_add(r, &r->seen[i].stack, r->seen[i].a.site - 1, NULL);
}

static void blame(struct collecting *c) {
    struct weft_report *r = c->r;
    uint64_t n;
    struct weft_access *list = unroll(c->list, &n);
    r->accesses = c->list->next;
    r->looked_at = n;
    for (uint64_t i = n; i-- > 0 && r->slot;)
        if (list[i].slot == r->slot && list[i].site) {
            weft__place_of(r, list[i].site, &r->last);
            break;
        }
    if (r->slot) c->blamed = r->slot;
    if (r->failed && c->blamed) weft__race_find(list, n, c->blamed, true, &r->race);
    if (r->race.kind) look_at_race(c, list);
    bool early = r->race.kind == WEFT_RACE_EARLY || r->race.kind == WEFT_RACE_HALVES || r->race.kind == WEFT_RACE_UNFINISHED;
    const struct weft_seen *last = &r->seen[r->race.n ? r->race.n - 1 : 0];
    if (early && last->bytes && last->value) { /* what is not zero was there from the start */
        weft__report_forget_race(r);
        weft__race_find(list, n, c->blamed, false, &r->race);
        if (r->race.kind) look_at_race(c, list);
    }
    if (r->accesses > n)
        weft__strbuf_printf(&r->notes, "the search for races looked at the last %llu of %llu accesses\n", (unsigned long long)n,
                            (unsigned long long)r->accesses);
    free(list);
}

static void see_relevant(struct weft_report *r, const struct weft_item *i, size_t block) {
    size_t had = r->relevant_cap;
    if (block >= had) {
        r->relevant_in = weft__grow(r->relevant_in, &r->relevant_cap, block + 1, sizeof *r->relevant_in);
        memset(r->relevant_in + had, 0, (r->relevant_cap - had) * sizeof *r->relevant_in);
    }
    bool relevant = weft__relevant_has(&r->relevant, i);
    r->relevant_of += weft__relevant_counts(i);
    r->relevant_events += relevant;
    r->relevant_in[block] += relevant;
}

/* Who ended the process, and how. */
static void see_item(void *ctx, const struct weft_item *i, size_t block) {
    struct weft_report *r = ctx;
    weft__counts_add(&r->counts, i);
    if (r->sliced) see_relevant(r, i, block);
    if (i->kind != WEFT_ITEM_CRASH || i->size < sizeof r->crash) return;
    if (r->crashed && r->t->has_end && i->op != r->t->end.code) return;
    r->crashed = true;
    memcpy(&r->crash, i->data, sizeof r->crash);
}

static int collect(struct weft_report *r, bool with_replay, struct weft_err *err) {
    struct weft_trace *t = r->t;
    struct collecting c = {.r = r, .run = {.t = t, .schedule = {.fd = -1}}};
    struct weft_strbuf status = {0};
    int e = weft__modules_read(t, err);
    if (e == 0 && (e = weft__relevant_read(t->dir, &r->relevant, err)) == 0) r->sliced = true;
    if (e >= 0) e = weft__blocks_make(t, NULL, &r->blocks, see_item, r, err);
    if (e >= 0) e = weft__report_order(r, err);
    if (e < 0) return e;
    r->symbols = weft__symbols_new(t);
    if (t->has_end)
        weft__status_text(&status, t->end.kind, t->end.code);
    else
        weft__strbuf_puts(&status, t->recording ? "still being recorded" : "the recording was cut short");
    r->status = status.s;
    r->simplified = weft__store_simplified(t->dir, "simplified");
    r->removed = weft__store_simplified(t->dir, "simplified.txt");
    /* It may have failed only by what it wrote (--fail-if); what was simplified has failed. */
    char *command = weft__store_simplified(t->dir, "failed");
    r->failed = t->has_end && (t->end.kind != WEFT_END_EXIT || t->end.code != 0 || r->simplified || command);
    free(command);
    if (r->blocks.left) weft__strbuf_printf(&r->notes, "%llu threads have events that the order does not lead to\n", (unsigned long long)r->blocks.left);
    if (r->counts.lost) weft__strbuf_printf(&r->notes, "%s: what came after that is not known\n", weft__lost_text(r->counts.lost_by));
    if (weft__trace_parts(t->dir)) weft__strbuf_puts(&r->notes, "this is the first process alone; the folders in the trace are the others\n");
    if (!with_replay) {
        weft__strbuf_puts(&r->notes, "it was not replayed: there are no stacks, values and races\n");
    } else if (weft__rerun_prepare(&c.run, err) < 0 || weft__accesses_open(&c.run.schedule, c.run.t, ROOM, &c.list, err) < 0) {
        weft__strbuf_printf(&r->notes, "it could not be replayed: %s\n", err->text);
    } else {
        c.run.launch.quiet = true;
        c.run.launch.stuck = on_stuck;
        c.run.launch.look = on_look;
        c.run.launch.ctx = &c;
        r->slot = ((struct weft_sched *)(c.run.schedule.map + c.run.schedule.control->sched_off))->end_slot;
        if (replay(&c) == 0) blame(&c);
    }
    if (c.list) munmap(c.list, c.list->size);
    weft__schedule_fini(&c.run.schedule);
    return 0;
}

int weft__cmd_report(int argc, char **argv) {
    static const struct option options[] = {
        {"text", no_argument, NULL, 't'}, {"json", no_argument, NULL, 'j'}, {"no-replay", no_argument, NULL, 'n'}, {0}};
    const char *page = NULL;
    bool json = false, text = false, with_replay = true;
    struct weft_err err;
    struct weft_report r = {0};
    char *dir = NULL;
    int ret = WEFT_FAILED;
    if (weft__asks_help(argc, argv)) return 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
        if (o == ':') return weft__usage("report", "%s needs a value", argv[optind - 1]);
        if (o == '?') return weft__usage("report", "there is no option %s", argv[optind - 1]);
        if (o == 'o') page = optarg;
        json |= o == 'j';
        text |= o == 't';
        with_replay &= o != 'n';
    }
    if (argc - optind > 1) return weft__usage("report", "one trace at a time");
    if (json && text) return weft__usage("report", "--text or --json, not both");
    if (weft__store_find(argv[optind], &dir, &err) < 0 || weft__trace_open(dir, &r.t, &err) < 0 || collect(&r, with_replay, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    if (page) {
        FILE *f = fopen(page, "w");
        int e = f ? weft__report_html(&r, f, &err) : weft__err(&err, errno, "%s: %s", page, strerror(errno));
        if (f && fclose(f) != 0 && e == 0) e = weft__err(&err, errno, "%s: %s", page, strerror(errno));
        if (e < 0) {
            weft__fail(&err);
            goto out;
        }
    }
    if (json)
        weft__report_json(&r, stdout);
    else if (text || !page)
        weft__report_text(&r, stdout);
    ret = weft__flush(0);
out:
    weft__report_fini(&r);
    weft__trace_close(r.t);
    free(dir);
    return ret;
}
