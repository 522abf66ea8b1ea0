/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A steered run: what of a trace it is given (struct weft_given) goes into the memory file behind the control block; then it is launched
 * and recorded as any other run. */
#include "replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEAST_PATIENCE 1000 /* ticks */
#define MOST_PATIENCE 20000

/* ---- what it is given ---- */

struct given {
    struct weft_given head;
    struct weft_given_thread *threads;
    struct weft_sched_item *items; /* of all threads, thread after thread */
    size_t nitems, items_cap;
    uint8_t *data;
    size_t ndata, data_cap;
    struct weft_removed_barrier *barriers;
    size_t nbarriers, barriers_cap;
    struct weft_given_loop *loops; /* of all threads */
    size_t nloops, loops_cap;
    uint8_t *leaves;
    size_t nleaves, leaves_cap;
};

/* What each loop of the thread leaves out every time. Bits in `leaves` until it is done: 1 it was left out, 2 it was not. */
static void add_loops(struct given *g, const struct weft_tree_thread *t, struct weft_given_thread *out) {
    uint64_t *row = NULL; /* by rank: length of the longest one; then where it is now */
    size_t n = 0, cap = 0;
    for (size_t k = 0; k < t->npasses; k++)
        if (t->pass[k].rank >= n) n = t->pass[k].rank + 1;
    row = weft__grow(row, &cap, n + 1, sizeof *row);
    out->loops_off = g->nloops;
    out->loops = n;
    g->loops = weft__grow(g->loops, &g->loops_cap, g->nloops + n, sizeof *g->loops);
    struct weft_given_loop *l = g->loops + g->nloops;
    g->nloops += n;
    memset(l, 0, n * sizeof *l);
    for (int turn = 0; turn < 2; turn++) {
        memset(row, 0, n * sizeof *row);
        for (size_t k = 0; k < t->npasses; k++) {
            const struct weft_pass *p = &t->pass[k];
            memset(row + p->rank + 1, 0, (n - p->rank - 1) * sizeof *row);
            if (turn)
                g->leaves[l[p->rank].leaves_off + row[p->rank]] |= p->skip ? 1 : 2;
            else
                l[p->rank].site = p->site, l[p->rank].frame = p->frame;
            if (++row[p->rank] > l[p->rank].leaves) l[p->rank].leaves = row[p->rank];
        }
        for (size_t i = 0; i < n && !turn; i++) {
            l[i].leaves_off = g->nleaves;
            g->leaves = weft__grow(g->leaves, &g->leaves_cap, g->nleaves + l[i].leaves, 1);
            memset(g->leaves + g->nleaves, 0, l[i].leaves);
            g->nleaves += l[i].leaves;
        }
    }
    for (size_t i = n ? l[0].leaves_off : 0; n && i < g->nleaves; i++) g->leaves[i] = g->leaves[i] == 1;
    free(row);
}

/* Joins yield what they did, unless that lies in memory that only this thread can have made. */
static uint64_t value_of(const struct weft_tree_thread *t) {
    uint64_t stack = WEFT_STACKS_BASE + t->slot * WEFT_STACK_SLOT, heap = WEFT_HEAP_BASE + t->slot * WEFT_HEAP_SLOT, v = t->value;
    if (v >= stack && v < stack + WEFT_STACK_SLOT) return 0;
    if (v >= heap && v < heap + WEFT_HEAP_SLOT) return 0;
    return v;
}

static void add_barrier(struct given *g, uint64_t object, uint64_t rounds) {
    g->barriers = weft__grow(g->barriers, &g->barriers_cap, g->nbarriers + 1, sizeof *g->barriers);
    g->barriers[g->nbarriers++] = (struct weft_removed_barrier){object, rounds};
}

/* If the end of the process kept it from that, it would have come again; and to where its siblings came. */
static void add_barriers(struct given *g, const struct weft_tree *tree, const struct weft_tree_thread *t) {
    size_t from = g->nbarriers;
    for (size_t i = 0; i < t->nbarriers; i++) add_barrier(g, t->barrier[i].object, t->ended ? t->barrier[i].rounds : UINT64_MAX);
    for (size_t k = 1; k < tree->n && !t->ended; k++)
        for (size_t i = 0; i < tree->list[k].nbarriers && tree->list[k].parent == t->parent; i++) {
            bool has = false;
            for (size_t j = from; j < g->nbarriers; j++) has |= g->barriers[j].object == tree->list[k].barrier[i].object;
            if (!has) add_barrier(g, tree->list[k].barrier[i].object, UINT64_MAX);
        }
}

/* Thread k is removed: it comes to its barriers, and so do the threads that it would have made. */
static void removed(struct given *g, const struct weft_tree *tree, uint32_t k) {
    for (uint32_t i = k; i < tree->n; i++) {
        uint32_t up = i;
        while (up > k) up = tree->list[up].parent;
        if (up == k) add_barriers(g, tree, &tree->list[i]);
    }
}

/* The iteration in which the thread was created may be left out: of some loop of its parent the last one before that is. */
static bool never_made(const struct weft_tree *tree, const struct weft_tree_thread *t) {
    const struct weft_tree_thread *p = &tree->list[t->parent];
    for (size_t i = 0; i < p->npasses && p->pass[i].tick <= t->made_tick; i++) {
        bool last = p->pass[i].skip;
        for (size_t k = i + 1; k < p->npasses && p->pass[k].tick <= t->made_tick && last; k++) last = p->pass[k].site != p->pass[i].site;
        if (last) return true;
    }
    return false;
}

/* What no thread tells that is created: from the beginning on. The main thread's START has it. */
static void gone(struct given *g, const struct weft_tree *tree) {
    struct weft_given_thread *last = &g->threads[tree->n];
    *last = (struct weft_given_thread){.cut = UINT64_MAX, .removed = 2, .barriers_off = g->nbarriers};
    for (size_t i = 0; i < tree->ngone; i++) add_barrier(g, tree->gone[i].object, tree->gone[i].rounds);
    for (uint32_t k = 1; k < tree->n; k++)
        if (tree->list[k].removed && !tree->list[tree->list[k].parent].removed && never_made(tree, &tree->list[k])) removed(g, tree, k);
    last->barriers = g->nbarriers - last->barriers_off;
}

static void add(struct given *g, const struct weft_item *i, uint64_t site) {
    g->items = weft__grow(g->items, &g->items_cap, g->nitems + 1, sizeof *g->items);
    g->data = weft__grow(g->data, &g->data_cap, g->ndata + i->size + 8, 1);
    g->items[g->nitems++] = (struct weft_sched_item){.tick = i->tick, .site = site, .kind = WEFT_S_INPUT, .a = (uint32_t)i->op,
                                                      .item = i->kind, .size = (uint32_t)i->size, .data = g->ndata};
    memcpy(g->data + g->ndata, i->data, i->size);
    g->ndata += (i->size + 7) & ~7ull;
}

/* The number of the next child of thread `parent` that was made in this slot; *seen counts those that are behind. */
static uint32_t child_of(const struct weft_tree *tree, uint32_t parent, uint32_t slot, uint32_t *seen) {
    for (uint32_t k = 1; k < tree->n; k++)
        if (tree->list[k].parent == parent && tree->list[k].slot == slot && !seen[k]) {
            seen[k] = 1;
            return k;
        }
    return UINT32_MAX;
}

static int gather(const struct weft_steered *s, struct given *g, struct weft_err *err) {
    const struct weft_tree *tree = s->tree;
    uint32_t *seen = weft__alloc((tree->n + 1) * sizeof *seen);
    int r = 0;
    g->threads = weft__alloc((tree->n + 1) * sizeof *g->threads); /* the last one: for those that are gone */
    for (uint32_t k = 0; k < tree->n && r == 0; k++) {
        const struct weft_tree_thread *t = &tree->list[k];
        struct weft_cursor c;
        struct weft_item i;
        g->threads[k] = (struct weft_given_thread){.tick = t->from_tick, .last = t->to_tick, .made = t->made_tick, .parent = t->parent, .cut = t->ended ? UINT64_MAX : t->to_tick, .slot = t->slot, .removed = t->removed, .value = value_of(t),
                                                    .items_off = g->nitems, .passes = t->npasses};
        g->threads[k].barriers_off = g->nbarriers;
        if (t->removed && !never_made(tree, t)) removed(g, tree, k);
        g->threads[k].barriers = g->nbarriers - g->threads[k].barriers_off;
        add_loops(g, t, &g->threads[k]);
        weft__cursor_open(&c, s->from, t->slot);
        while ((r = weft__cursor_next(&c, &i, err)) > 0) {
            uint64_t site = 0;
            if (i.tick < t->from_tick || i.tick > t->to_tick) continue;
            if (i.kind == WEFT_ITEM_INPUT && i.op == WEFT_OP_THREAD_CREATE && i.size == 12) {
                uint32_t slot;
                int64_t error;
                memcpy(&error, i.data, 8);
                memcpy(&slot, i.data + 8, 4);
                if (error) continue;
                site = child_of(tree, k, slot, seen);
            } else if (i.kind == WEFT_ITEM_SIGNAL && i.size >= 132) {
                uint32_t place;
                memcpy(&place, i.data + 128, 4);
                site = place;
                g->head.signals++;
            } else if (i.kind != WEFT_ITEM_INPUT)
                continue;
            add(g, &i, site);
        }
        weft__cursor_close(&c);
        g->threads[k].items = g->nitems - g->threads[k].items_off;
    }
    gone(g, tree);
    free(seen);
    return r;
}

/* For who takes another way than in the trace. One who waits in a loop uses all of it up; and of a short run nothing is far from its end. */
static uint64_t patience(const struct weft_tree *tree) {
    uint64_t ticks = 0;
    for (size_t k = 0; k < tree->n; k++) ticks += tree->list[k].to_tick - tree->list[k].from_tick;
    ticks = LEAST_PATIENCE + 2 * ticks;
    return ticks < MOST_PATIENCE ? ticks : MOST_PATIENCE;
}

/* Lays it out behind the control block of m. */
static int lay_out(const struct weft_steered *s, struct given *g, struct weft_schedule *m, struct weft_err *err) {
    const struct weft_tree *tree = s->tree;
    size_t passes = 0;
    for (size_t k = 0; k < tree->n; k++) passes += tree->list[k].npasses;
    uint64_t at = weft__page_up(sizeof(struct weft_control));
    uint64_t threads = at + sizeof g->head, turns = threads + (tree->n + 1) * sizeof *g->threads, pass = turns + s->nturns * sizeof *s->turns;
    uint64_t barriers = pass + passes * sizeof(struct weft_pass), items = barriers + g->nbarriers * sizeof *g->barriers, data = items + g->nitems * sizeof *g->items;
    uint64_t loops = (data + g->ndata + 7) & ~7ull, watch = loops + g->nloops * sizeof *g->loops;
    uint64_t leaves = watch + s->nwatch * sizeof *s->watch;
    int r = weft__schedule_grow(m, weft__page_up(leaves + g->nleaves + 1), err);
    if (r < 0) return r;
    g->head.threads_off = threads;
    g->head.threads = tree->n + 1;
    g->head.turns_off = turns;
    g->head.turns = s->nturns;
    g->head.next = s->next;
    g->head.bound = s->bound;
    g->head.watch_off = watch;
    g->head.watch = s->nwatch;
    g->head.plain = s->plain;
    g->head.counted = s->counted;
    g->head.recorded = s->from->header.start_time;
    g->head.most = s->most;
    g->head.longer = patience(tree);
    for (size_t i = 0; i < g->nitems; i++) g->items[i].data += data;
    for (size_t k = 0; k < tree->n; k++) {
        struct weft_given_thread *t = &g->threads[k];
        t->items_off = items + t->items_off * sizeof *g->items;
        t->barriers_off = barriers + t->barriers_off * sizeof *g->barriers;
        t->loops_off = loops + t->loops_off * sizeof *g->loops;
        t->passes_off = pass;
        if (t->passes) memcpy(m->map + pass, tree->list[k].pass, t->passes * sizeof(struct weft_pass));
        pass += t->passes * sizeof(struct weft_pass);
    }
    g->threads[tree->n].barriers_off = barriers + g->threads[tree->n].barriers_off * sizeof *g->barriers;
    memcpy(m->map + at, &g->head, sizeof g->head);
    memcpy(m->map + threads, g->threads, (tree->n + 1) * sizeof *g->threads);
    if (s->nturns) memcpy(m->map + turns, s->turns, s->nturns * sizeof *s->turns);
    if (g->nbarriers) memcpy(m->map + barriers, g->barriers, g->nbarriers * sizeof *g->barriers);
    if (g->nitems) memcpy(m->map + items, g->items, g->nitems * sizeof *g->items);
    if (g->ndata) memcpy(m->map + data, g->data, g->ndata);
    for (size_t i = 0; i < g->nloops; i++) g->loops[i].leaves_off += leaves;
    if (g->nloops) memcpy(m->map + loops, g->loops, g->nloops * sizeof *g->loops);
    if (s->nwatch) memcpy(m->map + watch, s->watch, s->nwatch * sizeof *s->watch);
    if (g->nleaves) memcpy(m->map + leaves, g->leaves, g->nleaves);
    m->control->map_size = m->size;
    m->control->given_off = at;
    m->control->chaos = s->how;
    return 0;
}

/* ---- how it ended ---- */

struct seen {
    const struct weft_steered *s;
    struct weft_ending *out;
};

/* Its own modules only: where libc aborts is the same everywhere. */
static void on_look(void *ctx, pid_t pid, pid_t tid, unsigned which) {
    struct seen *v = ctx;
    struct weft_frame_view frames[64];
    if (which != WEFT_LOOK_END) return;
    struct weft_stacks *k = weft__stacks_open(pid);
    size_t n = weft__stacks_read(k, tid, frames, 64);
    v->out->frames = 0;
    for (size_t i = 0; i < n && v->out->frames < WEFT_ENDING_FRAMES; i++)
        for (size_t m = 0; m < v->s->from->nmodules; m++) {
            const struct weft_module *mod = &v->s->from->modules[m];
            if (mod->weft && frames[i].pc >= mod->base && frames[i].pc < mod->base + mod->size) v->out->frame[v->out->frames++] = frames[i].pc;
        }
    weft__stacks_close(k);
}

static int crash_of(const char *dir, struct weft_ending *out, struct weft_err *err) {
    struct weft_trace *t;
    struct weft_cursor c;
    struct weft_item i;
    struct weft_crash_item crash;
    int r = weft__trace_open(dir, &t, err);
    if (r < 0) return r;
    weft__cursor_open(&c, t, out->slot ? out->slot : 0);
    while ((r = weft__cursor_next(&c, &i, err)) > 0)
        if (i.kind == WEFT_ITEM_CRASH && i.size == sizeof crash) {
            memcpy(&crash, i.data, sizeof crash);
            out->ip = crash.ip;
            out->addr = crash.addr;
            out->si_code = crash.code;
            out->slot = i.slot;
        }
    weft__cursor_close(&c);
    weft__trace_close(t);
    return r;
}

/* ---- the run ---- */

static int run(const struct weft_steered *s, struct weft_schedule *m, const char *dir, struct weft_ending *out, struct weft_err *err) {
    struct weft_trace *f = s->from;
    struct weft_follow *follow = NULL;
    struct weft_counts counts;
    struct seen seen = {s, out};
    struct weft_watch watch = {.all_us = s->timeout_us};
    int lock = -1, status = 0;
    struct weft_trace_start start = {.program = f->program, .cwd = f->cwd, .argv = f->argv, .env = f->env, .seed = f->header.seed,
                                     .stack_limit = f->header.stack_limit, .start_time = f->header.start_time};
    memcpy(start.at_random, f->header.at_random, sizeof start.at_random);
    int r = weft__trace_create(dir, &start, &lock, err);
    if (r == 0) r = weft__follow_open(dir, m->control, &follow, err);
    struct weft_launch launch = {.program = f->program, .cwd = access(f->cwd, X_OK) == 0 ? f->cwd : NULL, .argv = f->argv, .env = f->env,
                                 .at_random = f->header.at_random, .stack_limit = f->header.stack_limit, .no_stdin = true,
                                 .output = dir, .may_interrupt = true, .control = m, .look = on_look, .ctx = &seen,
                                 .watch = s->timeout_us ? &watch : NULL};
    if (r == 0) r = weft__launch(&launch, &status, err);
    if (r == 0) {
        const struct weft_control *c = m->control;
        out->outcome = c->outcome;
        out->kind = c->exit_kind;
        out->code = c->exit_code;
        out->slot = (uint32_t)c->last_slot;
        out->last_site = c->last_site;
        out->watched = c->watched;
        out->accesses = c->events;
        out->iterations = c->iterations;
        snprintf(out->message, sizeof out->message, "%.*s", (int)sizeof out->message - 1, c->message);
        r = weft__follow_seal(follow, out->kind ? out->kind : WEFT_END_SIGNAL, out->kind ? out->code : 9, 0, NULL, NULL, &counts, err);
        if (c->log_full && r == 0) r = weft__err(err, (int)c->log_full, "%s: %s", dir, strerror((int)c->log_full));
    }
    weft__follow_close(follow);
    if (lock >= 0) close(lock);
    if (r == 0 && out->outcome == WEFT_OUT_ENDED && out->kind == WEFT_END_SIGNAL) r = crash_of(dir, out, err);
    return r;
}

int weft__steered_run(const struct weft_steered *s, const char *dir, struct weft_ending *out, struct weft_err *err) {
    struct weft_schedule m = {.fd = -1};
    struct given g = {0};
    struct weft_strbuf streams = {0};
    char *path = NULL;
    *out = (struct weft_ending){0};
    int r = weft__modules_read(s->from, err);
    if (r == 0 && mkdir(dir, 0777) < 0) r = weft__err(err, errno, "%s: %s", dir, strerror(errno));
    if (r == 0 && !(path = realpath(dir, NULL))) r = weft__err(err, errno, "%s: %s", dir, strerror(errno));
    if (r == 0) {
        weft__strbuf_printf(&streams, "%s/streams", path);
        r = weft__record_control(streams.s, s->from->header.seed, &m, err);
    }
    if (r == 0) r = gather(s, &g, err);
    if (r == 0) r = lay_out(s, &g, &m, err);
    if (r == 0) r = run(s, &m, path, out, err);
    if (r == 0 && s->measured && s->nturns) memcpy(s->measured, m.map + g.head.turns_off, s->nturns * sizeof *s->turns);
    weft__schedule_fini(&m);
    weft__strbuf_fini(&streams);
    free(path);
    free(g.threads);
    free(g.items);
    free(g.barriers);
    free(g.loops);
    free(g.leaves);
    free(g.data);
    return r;
}
