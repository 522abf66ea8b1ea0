/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One candidate: does it show the same bug? (LEAN, definition 2.) It has to fail in the same way when its threads take their turns, and
 * to pass in orders without preemptions: so it is the order that makes it fail, and what was left out did not break the program. Three
 * such orders are tried with the whole program; those in which that passes, the candidate has to pass as well. (One of them is not
 * enough: main without the iterations in which it joins its threads still passes if it runs first.)
 *
 * To pass is to end normally and to come by the failing place. That counts only if the whole program comes there in a run that passes: it
 * may be what the program does when a check has failed. If the whole program passes in none of the orders, only the failure counts; of one that is
 * stuck, also whether what is waited for had been signalled (or a thread that waits for one that was removed would be the result). */
#include "simplify/simplify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX (16u << 20)
#define TIMEOUT_US 10000000ull
#define MANY 200000u /* iterations: then, while all threads are there, they are only counted */

/* The last bytes of a file; new memory. */
static char *tail_of(const char *path, size_t *n) {
    struct weft_err err;
    char *all = NULL;
    *n = 0;
    if (weft__file_read(path, OUTPUT_MAX, &all, n, &err) < 0) return weft__strdup("");
    return all;
}

static void remove_run(const char *dir) {
    static const char *const suffix[] = {".out", ".err"};
    weft__folder_remove(dir);
    for (size_t i = 0; i < 2; i++) {
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s%s", dir, suffix[i]);
        unlink(path.s);
        weft__strbuf_fini(&path);
    }
}

/* Its failure; *by_command: what --fail-if says. */
static void look_at(const struct weft_trial *trial, const char *dir, const struct weft_ending *e, struct weft_failure *f, bool *by_command) {
    struct weft_strbuf out = {0}, errors = {0};
    size_t n;
    weft__strbuf_printf(&out, "%s.out", dir);
    weft__strbuf_printf(&errors, "%s.err", dir);
    char *text = tail_of(errors.s, &n);
    weft__failure_of(e, text, n, trial->symbols, f);
    *by_command = trial->fails && trial->fails(trial->ctx, out.s, errors.s);
    free(text);
    weft__strbuf_fini(&out);
    weft__strbuf_fini(&errors);
}

static bool alike(const struct weft_trial *trial, const struct weft_failure *f, bool by_command) {
    if (trial->fails) return by_command && f->kind == trial->failure.kind && f->code == trial->failure.code;
    if (!trial->orders && f->signalled != trial->failure.signalled) return false;
    return weft__failure_same(f, &trial->failure);
}

/* Ticks are not time, but a thread that waits in a loop uses them up. A run without preemptions may go on for long where the trace ends: it
 * gets as many as the whole program needs, or, as long as that is not known, very many. */
static uint64_t bound_of(const struct weft_trial *trial, const struct weft_state *s, enum weft_chaos how) {
    if (how == WEFT_CHAOS_ALONE) return trial->ticks ? 2 * trial->ticks + 250000 : 64 * s->size.ticks + 16000000;
    return s->size.ticks + s->size.ticks / 2 + 250000 + 40000 * s->tree.n; /* each may wait in a loop once or twice, and go on for long there */
}

static struct weft_steered steer(const struct weft_trial *trial, const struct weft_candidate *c, enum weft_chaos how, enum weft_next next) {
    return (struct weft_steered){.from = c->from->t, .tree = &c->tree, .turns = c->turns, .nturns = c->nturns, .how = how, .next = next,
                                 .bound = bound_of(trial, c->from, how), .watch = trial->failure.last_site,
                                 .nwatch = how == WEFT_CHAOS_ALONE ? trial->failure.last_sites : 0, .timeout_us = trial->timeout_us,
                                 .plain = c->plain || how == WEFT_CHAOS_ALONE, .counted = c->from->plain};
}

/* Threads that were created, and that nobody joined. (Whether they have come to their start when the program ends depends on the order.) */
static int loose_threads(const char *dir, uint64_t *out, struct weft_err *err) {
    struct weft_trace *t;
    struct weft_cursor c;
    struct weft_item i;
    int64_t error;
    int r = weft__trace_open(dir, &t, err);
    if (r < 0) return r;
    *out = 0;
    weft__cursor_open(&c, t, 0);
    c.skim = true;
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        if (i.kind != WEFT_ITEM_INPUT || i.size < 8) continue;
        memcpy(&error, i.data, 8);
        if (i.op == WEFT_OP_THREAD_CREATE) *out += error ? -1ull : 1; /* one that failed comes twice */
        if (i.op == WEFT_OP_THREAD_JOIN && i.size >= 24) *out -= error == 0;
    }
    weft__cursor_close(&c);
    weft__trace_close(t);
    return r;
}

/* The recording stays. */
static int alone(const struct weft_trial *trial, const struct weft_candidate *c, enum weft_next next, const char *dir, enum weft_verdict *out,
                 bool *hung, bool *watched, uint64_t *loose, struct weft_strbuf *why, struct weft_err *err) {
    struct weft_steered s = steer(trial, c, WEFT_CHAOS_ALONE, next);
    struct weft_ending e;
    struct weft_failure f;
    bool by_command;
    int r = weft__steered_run(&s, dir, &e, err);
    if (r < 0) return r;
    *out = WEFT_UNRESOLVED;
    *hung |= e.outcome == WEFT_OUT_RUNNING;
    if (e.outcome != WEFT_OUT_ENDED) {
        if (why) weft__strbuf_puts(why, *e.message ? e.message : "it did not come to an end");
        return 0;
    }
    look_at(trial, dir, &e, &f, &by_command);
    *watched = e.watched > 0;
    bool good = e.kind == WEFT_END_EXIT && (e.code == 0 || e.code == trial->ok) && !by_command;
    *out = good ? WEFT_PASSES : WEFT_FAILS;
    if (why && !good) weft__failure_text(&f, why);
    return good ? loose_threads(dir, loose, err) : 0;
}

static int open_state(const struct weft_trial *trial, const char *dir, uint64_t key, struct weft_state **out, struct weft_err *err) {
    struct weft_trace *t;
    int r = weft__trace_open(dir, &t, err);
    return r < 0 ? r : weft__state_new(t, trial->order, key, out, err);
}

#define ORDERS 3
static const enum weft_next order[ORDERS] = {WEFT_NEXT_CHILD, WEFT_NEXT_PARENT, WEFT_NEXT_TURNS};

/* Those of the orders (bits) that pass; *by: of these, those that come by the failing place. first: this is the whole program; otherwise one
 * that does not is enough to know, and an order in which threads are not joined that were joined before does not pass: then it would be
 * what comes after them that fails, for want of the join. *hung: time had a say in it. */
static int alone_all(struct weft_trial *trial, const struct weft_candidate *c, const char *dir, unsigned orders, bool first, unsigned *pass,
                     unsigned *by, bool *hung, struct weft_err *err) {
    struct weft_strbuf path = {0};
    int r = 0;
    uint64_t ticks = 0;
    weft__strbuf_printf(&path, "%s.alone", dir);
    *pass = *by = 0;
    *hung = false;
    for (unsigned i = 0; i < ORDERS && r == 0; i++) {
        enum weft_verdict v = WEFT_UNRESOLVED;
        bool watched = false;
        uint64_t loose = 0;
        if (!(orders >> order[i] & 1)) continue;
        struct weft_strbuf why = {0};
        r = alone(trial, c, order[i], path.s, &v, hung, &watched, &loose, first ? &why : NULL, err);
        if (why.s) snprintf(trial->why, sizeof trial->why, "%s", why.s);
        weft__strbuf_fini(&why);
        if (r == 0 && first && v == WEFT_PASSES) {
            struct weft_state *s;
            if ((r = open_state(trial, path.s, 0, &s, err)) == 0) {
                if (s->size.ticks > ticks) ticks = s->size.ticks;
                weft__state_free(s);
            }
        }
        remove_run(path.s);
        if (r < 0) break;
        if (first) trial->loose[order[i]] = loose;
        if (loose > trial->loose[order[i]]) v = WEFT_FAILS;
        if (v == WEFT_PASSES) *pass |= 1u << order[i];
        if (v == WEFT_PASSES && (watched || !trial->failure.last_sites)) *by |= 1u << order[i];
        if (!first && !(*by >> order[i] & 1)) break;
    }
    if (first) trial->ticks = ticks;
    weft__strbuf_fini(&path);
    return r;
}

/* Runs it once more: then its turns are known by what the threads do before they end. Positions alone would not fit any more where
 * something is left out that makes a thread take a longer way. The turns are kept beside the recording, for a search that goes on. */
static int measure(const struct weft_trial *trial, struct weft_state *state, const char *dir, bool *same, struct weft_err *err) {
    struct weft_strbuf path = {0}, turns = {0};
    struct weft_candidate c;
    struct weft_ending e;
    struct weft_failure f;
    struct weft_err none;
    bool by_command;
    char *kept = NULL;
    size_t n = 0;
    int r = 0;
    *same = true;
    weft__candidate_init(&c, state);
    weft__candidate_close(&c);
    struct weft_steered s = steer(trial, &c, WEFT_CHAOS_TURNS, WEFT_NEXT_TURNS);
    size_t size = c.nturns * sizeof *s.measured;
    weft__strbuf_printf(&turns, "%s.turns", dir);
    if (weft__file_read(turns.s, size, &kept, &n, &none) == 0 && n == size) {
        s.measured = (struct weft_turn *)(void *)kept;
        goto known;
    }
    free(kept);
    weft__strbuf_printf(&path, "%s.again", dir);
    remove_run(path.s);
    s.measured = weft__alloc(size + sizeof *s.measured);
    r = weft__steered_run(&s, path.s, &e, err);
    if (r == 0 && e.outcome == WEFT_OUT_ENDED) look_at(trial, path.s, &e, &f, &by_command);
    *same = r == 0 && e.outcome == WEFT_OUT_ENDED && alike(trial, &f, by_command);
    remove_run(path.s);
    if (*same) r = weft__file_write(turns.s, (const char *)s.measured, size, err);
    if (!*same || r < 0) goto out;
known:
    free(state->turns);
    state->turns = s.measured;
    state->nturns = c.nturns;
    s.measured = NULL;
out:
    free(s.measured);
    weft__strbuf_fini(&path);
    weft__strbuf_fini(&turns);
    weft__candidate_fini(&c);
    return r;
}

/* Whether it passes in these orders; *yes: it does. */
static int sound(struct weft_trial *trial, const struct weft_candidate *c, const char *dir, unsigned orders, bool *yes, struct weft_judged *out, struct weft_err *err) {
    unsigned pass, by;
    bool hung;
    int r = alone_all(trial, c, dir, orders, false, &pass, &by, &hung, err);
    *yes = by == orders;
    out->forget = hung;
    /* An order that goes by the turns says nothing of others. */
    if (!*yes && !hung && orders == trial->orders && !(orders & 1u << WEFT_NEXT_TURNS)) out->unsound = weft__candidate_program(c);
    return r;
}

int weft__trial_one(void *ctx, const struct weft_candidate *c, const char *dir, struct weft_judged *out, struct weft_err *err) {
    struct weft_trial *trial = ctx;
    struct weft_steered s = steer(trial, c, WEFT_CHAOS_TURNS, WEFT_NEXT_TURNS);
    struct weft_ending e;
    struct weft_failure f;
    struct weft_state *state = NULL;
    bool by_command, yes = true;
    /* Where nothing more is left out, orders that do not depend on the turns pass as they did. */
    unsigned orders = c->wanted != WEFT_SOUND && weft__candidate_whole(c) ? trial->orders & 1u << WEFT_NEXT_TURNS : trial->orders;
    bool before = c->wanted == WEFT_SOUND || bound_of(trial, c->from, WEFT_CHAOS_ALONE) < (c->sound_first ? 4 : 1) * s.bound / 2; /* what is shorter first */
    int r = 0;
    *out = (struct weft_judged){.verdict = WEFT_PASSES};
    if (before) r = sound(trial, c, dir, orders, &yes, out, err);
    if (r < 0 || !yes) return r;
    out->verdict = WEFT_FAILS;
    if (c->wanted == WEFT_SOUND) return 0;
    out->verdict = WEFT_UNRESOLVED;
    r = weft__steered_run(&s, dir, &e, err);
    if (r < 0) return r;
    out->forget |= e.outcome == WEFT_OUT_RUNNING;
    if (e.outcome != WEFT_OUT_ENDED) return 0;
    look_at(trial, dir, &e, &f, &by_command);
    out->verdict = WEFT_PASSES;
    if (!alike(trial, &f, by_command)) return 0;
    if ((r = open_state(trial, dir, 0, &state, err)) < 0) return r;
    out->plain = state->plain = c->plain;
    out->size = state->size;
    out->size.accesses = e.accesses;
    out->size.iterations = e.iterations;
    yes = weft__size_wanted(c->wanted, &out->size, &c->from->size);
    if (yes && !before) r = sound(trial, c, dir, orders, &yes, out, err);
    /* If it does not fail in the same way when its threads take its own turns, nothing that is made of it would. */
    if (yes && r == 0) r = measure(trial, state, dir, &yes, err);
    if (yes && r == 0) out->verdict = WEFT_FAILS;
    weft__state_free(state);
    return r;
}

int weft__trial_open(void *ctx, const char *dir, const struct weft_judged *j, struct weft_state **out, struct weft_err *err) {
    const struct weft_trial *trial = ctx;
    struct weft_state *s;
    int r = open_state(trial, dir, j->key, &s, err);
    if (r < 0) return r;
    s->plain = j->plain;
    bool same;
    if ((r = measure(trial, s, dir, &same, err)) < 0) {
        weft__state_free(s);
        return r;
    }
    s->size.accesses = j->size.accesses;
    s->size.iterations = j->size.iterations;
    *out = s;
    return r;
}

/* The trace's own fatal signal: where it was raised; 0: not known, or it was sent. */
static int crash_of(struct weft_trace *t, uint64_t *ip, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item i;
    int r;
    *ip = 0;
    weft__cursor_open(&c, t, 0);
    c.skim = true;
    while ((r = weft__cursor_next(&c, &i, err)) > 0) {
        struct weft_crash_item crash;
        if (i.kind != WEFT_ITEM_CRASH || i.size < sizeof crash || i.op != t->end.code) continue;
        memcpy(&crash, i.data, sizeof crash);
        *ip = crash.code > 0 ? crash.ip : 0;
    }
    weft__cursor_close(&c);
    return r;
}

static char *differs(const struct weft_trial *trial, const struct weft_state *trace, uint64_t ip, const struct weft_ending *e, bool by_command) {
    static const char *const what[] = {"did not come to an end", "", "", "", "was refused", "needs an input that the trace does not have", "goes on for too long"};
    struct weft_strbuf b = {0};
    const struct weft_trace_end *end = &trace->t->end;
    if (e->outcome != WEFT_OUT_ENDED) {
        weft__strbuf_printf(&b, "it %s", e->outcome < sizeof what / sizeof *what ? what[e->outcome] : what[0]);
        if (*e->message) weft__strbuf_printf(&b, ": %s", e->message);
    } else if (e->kind != end->kind || e->code != end->code || (ip && e->ip && trial->failure.ip != ip)) {
        struct weft_failure f = {.kind = end->kind, .code = end->code, .crash = ip != 0, .ip = ip};
        weft__strbuf_puts(&b, "it ended with ");
        weft__failure_text(&trial->failure, &b);
        weft__strbuf_puts(&b, ", not with ");
        weft__failure_text(&f, &b);
    } else if (trial->fails && !by_command)
        weft__strbuf_puts(&b, "--fail-if says that it did not fail");
    return b.s;
}

int weft__trial_first(struct weft_trial *trial, const struct weft_state *trace, const char *dir, struct weft_judged *out, char **why,
                      struct weft_err *err) {
    struct weft_candidate c;
    struct weft_ending e;
    struct weft_failure f;
    bool by_command = false;
    struct weft_state *first = NULL;
    unsigned pass, by;
    bool hung;
    uint64_t ip, begun = weft__now_us();
    int r = crash_of(trace->t, &ip, err);
    if (r < 0) return r;
    if (ip) ip = weft__failure_place(trial->symbols, ip);
    weft__candidate_init(&c, trace);
    weft__candidate_close(&c);
    struct weft_steered s = steer(trial, &c, WEFT_CHAOS_TURNS, WEFT_NEXT_TURNS);
    s.timeout_us = 0;
    s.most = MANY;
    remove_run(dir);
    r = weft__steered_run(&s, dir, &e, err);
    if (r == 0 && e.outcome == WEFT_OUT_BOUND && e.iterations > MANY) {
        s.plain = true;
        s.most = 0;
        remove_run(dir);
        r = weft__steered_run(&s, dir, &e, err);
    }
    if (r == 0) {
        look_at(trial, dir, &e, &f, &by_command);
        trial->failure = f;
        *why = differs(trial, trace, ip, &e, by_command);
        r = *why ? 1 : open_state(trial, dir, trace->id, &first, err);
    }
    weft__candidate_fini(&c);
    if (r != 0) {
        remove_run(dir);
        return r;
    }
    *out = (struct weft_judged){.key = trace->id, .plain = s.plain, .size = {.accesses = e.accesses, .iterations = e.iterations}};
    trial->timeout_us = TIMEOUT_US + 20 * (weft__now_us() - begun);
    first->plain = s.plain;
    weft__candidate_init(&c, first);
    weft__candidate_close(&c);
    r = alone_all(trial, &c, dir, (1u << ORDERS) - 1, true, &pass, &by, &hung, err);
    if (!by) trial->failure.last_sites = 0; /* what comes after a check that failed, say */
    trial->orders = by ? by : pass;
    /* One that goes by the turns says something of this order only; the others, of the program. */
    if (trial->orders & ~(1u << WEFT_NEXT_TURNS)) trial->orders &= ~(1u << WEFT_NEXT_TURNS);
    weft__candidate_fini(&c);
    weft__state_free(first);
    return r;
}

struct weft_state *weft__trial_order(const struct weft_trial *trial, const struct weft_state *s, const char *dir) {
    struct weft_candidate c;
    struct weft_state *out = NULL;
    struct weft_err err;
    enum weft_verdict v = WEFT_UNRESOLVED;
    bool watched, hung = false;
    uint64_t loose;
    if (!trial->orders) return NULL;
    enum weft_next next = trial->orders >> WEFT_NEXT_PARENT & 1 ? WEFT_NEXT_PARENT : trial->orders >> WEFT_NEXT_CHILD & 1 ? WEFT_NEXT_CHILD : WEFT_NEXT_TURNS;
    weft__candidate_init(&c, s);
    weft__candidate_close(&c);
    remove_run(dir);
    if (alone(trial, &c, next, dir, &v, &hung, &watched, &loose, NULL, &err) == 0 && v == WEFT_PASSES && open_state(trial, dir, 0, &out, &err) < 0) out = NULL;
    weft__candidate_fini(&c);
    size_t n = 0;
    for (size_t i = 0; out && i < out->nturns; i++)
        if (!out->tree.list[out->turns[i].thread].removed) out->turns[n++] = out->turns[i];
    if (out) out->nturns = weft__turns_join(out->turns, n);
    return out;
}
