/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What of a trace is relevant: the run is followed (weft__step_all) in a child of weft's, as a debugger is one (weft_launch); what leads to
 * the failure is marked there, and its positions come back through a memory file.
 *
 * The failure is what the thread that ended the process was doing: the instruction that crashed, or the call by which it ended. Of a run
 * that was stuck it is what the threads wait for that wait for each other; or if there are none, all that wait. A lock under which
 * something relevant was done is relevant as well, but not what it depends on. */
#include "slice/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROOM (1ull << 20) /* accesses between two stops */

struct slicing {
    struct weft_stepping s;
    int fd; /* memory file for the result */
};
struct head { /* of the memory file: then ranges, then pcs */
    int32_t error; /* -errno; 0: none */
    uint32_t zero;
    uint64_t steps, instructions, relevant, unknown, nranges, npcs;
    char text[sizeof((struct weft_err *)0)->text];
};

static uint64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

/* ---- in the child: what leads to the failure ---- */

static int by_position(const void *a, const void *b) {
    const struct weft_relevant_range *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->site != y->site) return x->site < y->site ? -1 : 1;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}
static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Slots are used again: the last that had it. */
static struct weft_follow_thread *last_of(const struct weft_stepping *s, uint32_t slot) {
    for (size_t i = s->nthreads; i-- > 0;)
        if (weft__follow_slot_of(s->threads[i]) == slot) return s->threads[i];
    return NULL;
}

static int mark(struct weft_stepping *s, struct weft_err *err) {
    const struct weft_sched *end = (const void *)(s->schedule->map + s->schedule->control->sched_off);
    for (size_t i = 0; i < s->nthreads; i++) weft__follow_end(&s->f, s->threads[i]);
    if (end->end_kind != WEFT_END_STUCK) {
        struct weft_follow_thread *t = last_of(s, end->end_slot);
        weft_node n = t ? weft__follow_at(t) : 0;
        if (!n) return weft__err(err, EINVAL, "%s: which instruction failed is not known", s->t->dir);
        weft__graph_mark(&s->f.graph, n);
        return 0;
    }
    for (uint64_t i = 0; i < s->shared->nwaits; i++) {
        struct weft_follow_thread *t = last_of(s, s->shared->wait[i].slot);
        if (!t) continue;
        weft__follow_wait(&s->f, t, s->shared->wait[i].object);
        weft__graph_mark(&s->f.graph, weft__follow_at(t));
    }
    return s->shared->nwaits ? 0 : weft__err(err, EINVAL, "%s: who waits for what is not known", s->t->dir);
}

struct ranges {
    struct weft_relevant_range *list;
    size_t n, cap;
};

/* The thread's part of its slot's ticks: the k-th of the slot's is that in the trace. */
static void add(struct ranges *r, const struct weft_stepping *s, const struct weft_tree *tree, uint32_t thread, uint64_t from, uint64_t to, uint64_t site) {
    uint32_t slot = weft__follow_slot_of(s->threads[thread - 1]), nth = 0;
    for (uint32_t i = 0; i < thread - 1; i++) nth += weft__follow_slot_of(s->threads[i]) == slot;
    for (size_t i = 0; i < tree->n; i++) {
        const struct weft_tree_thread *t = &tree->list[i];
        if (t->slot != slot || nth--) continue;
        if (from < t->from_tick) from = t->from_tick;
        if (to > t->to_tick && t->ended) to = t->to_tick;
        break;
    }
    if (to < from) return;
    r->list = weft__grow(r->list, &r->cap, r->n + 1, sizeof *r->list);
    r->list[r->n++] = (struct weft_relevant_range){.slot = slot, .from = from, .to = to, .site = site};
}

static int by_tick(const void *a, const void *b) {
    const struct weft_relevant_range *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Something of the slot begins after `from` and before `to`; sorted by tick. */
static bool any_between(const struct ranges *r, uint32_t slot, uint64_t from, uint64_t to) {
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->list[mid].slot < slot || (r->list[mid].slot == slot && r->list[mid].from <= from))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->n && r->list[lo].slot == slot && r->list[lo].from < to;
}

/* Locks around what is relevant. */
static void add_locks(struct ranges *r, const struct weft_stepping *s, const struct weft_tree *tree) {
    struct ranges sorted = {.list = weft__alloc((r->n + 1) * sizeof *r->list), .n = r->n};
    const struct weft_follow_lock *l = s->f.locks;
    if (r->n) memcpy(sorted.list, r->list, r->n * sizeof *r->list);
    qsort(sorted.list, sorted.n, sizeof *sorted.list, by_tick);
    for (size_t i = 0; i < s->f.nlocks; i++) {
        size_t k = i + 1;
        if (!l[i].got) continue;
        while (k < s->f.nlocks && (l[k].thread != l[i].thread || l[k].object != l[i].object)) k++;
        uint64_t to = k < s->f.nlocks ? l[k].tick : UINT64_MAX;
        if (!any_between(&sorted, weft__follow_slot_of(s->threads[l[i].thread - 1]), l[i].tick, to)) continue;
        add(r, s, tree, l[i].thread, l[i].tick, l[i].tick, 0);
        if (k < s->f.nlocks) add(r, s, tree, l[i].thread, to, to, 0);
    }
    free(sorted.list);
}

static int collect(struct weft_stepping *s, struct head *head, struct ranges *r, uint64_t **pcs, struct weft_err *err) {
    struct weft_tree tree = {0};
    const struct weft_graph *g = &s->f.graph;
    int e = weft__tree_make((struct weft_trace *)s->t, NULL, &tree, err);
    if (e < 0) return e;
    bool *relevant = weft__alloc(s->f.code.n + 1), *place = weft__alloc(s->f.nplaces + 1);
    for (weft_node n = 1; n < g->n; n++) {
        uint32_t insn = weft__graph_insn(g, n);
        head->instructions += insn != 0;
        if (!weft__graph_marked(g, n)) continue;
        head->relevant += insn != 0;
        relevant[insn] = true;
        place[weft__graph_place(g, n)] = true;
    }
    for (size_t i = 1; i < s->f.nplaces; i++)
        if (place[i]) add(r, s, &tree, s->f.places[i].thread, s->f.places[i].tick, s->f.places[i].tick, s->f.places[i].site);
    for (size_t i = 0; i < s->f.nranges; i++)
        if (weft__graph_marked(g, s->f.ranges[i].node)) add(r, s, &tree, s->f.ranges[i].thread, s->f.ranges[i].from, s->f.ranges[i].to, 0);
    add_locks(r, s, &tree);
    qsort(r->list, r->n, sizeof *r->list, by_position);
    *pcs = weft__alloc((s->f.code.n + 1) * sizeof **pcs);
    for (size_t i = 1; i < s->f.code.n; i++)
        if (relevant[i] && s->f.zone(s->f.ctx, s->f.code.list[i].pc) == WEFT_ZONE_PROGRAM) (*pcs)[head->npcs++] = s->f.code.list[i].pc;
    qsort(*pcs, head->npcs, sizeof **pcs, by_number);
    head->nranges = r->n;
    head->steps = s->steps;
    head->unknown = s->f.unknown;
    weft__tree_fini(&tree);
    free(relevant);
    free(place);
    return 0;
}

static void child(void *ctx, pid_t pid) {
    struct slicing *x = ctx;
    struct weft_err err = {0};
    struct head head = {0};
    struct ranges r = {0};
    uint64_t *pcs = NULL;
    x->s.pid = pid;
    head.error = weft__step_all(&x->s, &err);
    if (head.error == 0) head.error = mark(&x->s, &err);
    if (head.error == 0) head.error = collect(&x->s, &head, &r, &pcs, &err);
    if (head.error) head.nranges = head.npcs = 0;
    memcpy(head.text, err.text, sizeof head.text);
    int e = weft__write_all(x->fd, &head, sizeof head);
    if (e == 0 && head.nranges) e = weft__write_all(x->fd, r.list, head.nranges * sizeof *r.list);
    if (e == 0 && head.npcs) e = weft__write_all(x->fd, pcs, head.npcs * sizeof *pcs);
    _exit(e < 0);
}

/* ---- in weft ---- */

static void waits(void *ctx, const struct weft_thread_view *t) {
    struct weft_slice_shared *o = ctx;
    if (o->nwaits == WEFT_SLICE_WAITS) return;
    for (uint64_t i = 0; i < o->nwaits; i++)
        if (o->wait[i].slot == t->slot) return;
    o->wait[o->nwaits].slot = t->slot;
    o->wait[o->nwaits++].object = t->wait.object;
}

static void on_cycle(void *ctx, const struct weft_thread_view *const *list, size_t n) {
    for (size_t i = 0; i < n; i++) waits(ctx, list[i]);
}

/* It stands where it was stuck; the answer is there before it goes on to its end. */
static void on_stuck(void *ctx, pid_t pid) {
    struct slicing *x = ctx;
    const struct weft_threads *w = &x->s.schedule->control->threads;
    struct weft_thread_view *threads;
    struct weft_hold *holds;
    size_t n = weft__threads_read(pid, w, &threads), nholds = weft__holds_read(pid, w->holds, w->nholds, &holds);
    if (!weft__cycles(threads, n, holds, nholds, on_cycle, x->s.shared))
        for (size_t i = 0; i < n; i++)
            if (threads[i].wait.kind) waits(x->s.shared, &threads[i]);
    free(threads);
    free(holds);
}

static int take(struct slicing *x, struct weft_slice *out, struct weft_err *err) {
    struct head head;
    if (lseek(x->fd, 0, SEEK_SET) < 0 || read(x->fd, &head, sizeof head) != sizeof head)
        return weft__err(err, EPROTO, "%s: could not be followed: the process that did so has died", x->s.t->dir);
    if (head.error) return weft__err(err, -head.error, "%s", head.text);
    *out = (struct weft_slice){.steps = head.steps, .unknown = head.unknown, .npcs = head.npcs,
                               .relevant = {.instructions = head.instructions, .relevant = head.relevant, .n = head.nranges}};
    size_t a = head.nranges * sizeof *out->relevant.ranges, b = head.npcs * sizeof *out->pcs;
    out->relevant.ranges = weft__alloc(a + 1);
    out->pcs = weft__alloc(b + 1);
    if (read(x->fd, out->relevant.ranges, a) == (ssize_t)a && read(x->fd, out->pcs, b) == (ssize_t)b) return 0;
    weft__slice_fini(out);
    return weft__err(err, EPROTO, "%s: what is relevant could not be written down", x->s.t->dir);
}

int weft__slice_make(struct weft_trace *t, struct weft_schedule *schedule, struct weft_launch *launch, uint64_t most, bool single, struct weft_slice *out,
                     struct weft_err *err) {
    struct slicing x = {.s = {.t = t, .schedule = schedule, .most = most, .single = single}, .fd = -1};
    struct weft_accesses *list = NULL;
    uint64_t begun = now_us();
    int status, debugger;
    if (t->has_end && t->end.kind == WEFT_END_EXIT && t->end.code == 0)
        return weft__err(err, EINVAL, "%s: this run did not fail: there is nothing that it could depend on", t->dir);
    if (weft__trace_parts(t->dir)) return weft__err(err, EOPNOTSUPP, "%s: has several processes: only runs of one process can be sliced", t->dir);
    int r = weft__accesses_open(schedule, t, ROOM, &list, err);
    if (r < 0) return r;
    x.s.list = list;
    x.s.shared = mmap(NULL, sizeof *x.s.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    x.fd = memfd_create("weft-slice", MFD_CLOEXEC);
    if (x.s.shared == MAP_FAILED || x.fd < 0) {
        r = weft__err(err, errno, "no memory for what is relevant: %s", strerror(errno));
        goto out;
    }
    weft__schedule_reset(schedule);
    schedule->control->debug = WEFT_DEBUG_WANTED;
    launch->quiet = true;
    launch->debug = schedule->control;
    launch->debugger = child;
    launch->debugger_status = &debugger;
    launch->stuck = on_stuck;
    launch->ctx = &x;
    r = weft__launch(launch, &status, err);
    if (r == 0) r = take(&x, out, err);
    if (r == 0 && schedule->control->outcome != WEFT_OUT_ENDED) {
        weft__slice_fini(out);
        r = weft__err(err, EBADMSG, "%s: the replay differs: %.500s", t->dir, schedule->control->message);
    }
    if (r == 0) out->time_us = now_us() - begun;
out:
    if (x.fd >= 0) close(x.fd);
    if (x.s.shared != MAP_FAILED) munmap(x.s.shared, sizeof *x.s.shared);
    munmap(list, list->size);
    return r;
}

void weft__slice_fini(struct weft_slice *s) {
    weft__relevant_fini(&s->relevant);
    free(s->pcs);
    *s = (struct weft_slice){0};
}

/* ---- events ---- */

struct measuring {
    const struct weft_relevant *s;
    struct weft_slice_size *all, *relevant;
    bool *in; /* blocks with something relevant */
    size_t cap;
    bool *threads; /* by slot: relevant, and counted */
    size_t slots;
};

static void see(void *ctx, const struct weft_item *i, size_t block) {
    struct measuring *m = ctx;
    size_t had = m->cap, slots = m->slots;
    if (block >= m->cap) {
        m->in = weft__grow(m->in, &m->cap, block + 1, sizeof *m->in);
        memset(m->in + had, 0, m->cap - had);
    }
    if (i->slot >= m->slots) {
        m->threads = weft__grow(m->threads, &m->slots, (size_t)i->slot + 1, sizeof *m->threads);
        memset(m->threads + slots, 0, m->slots - slots);
    }
    if (!weft__relevant_counts(i)) return;
    m->all->events++;
    if (i->kind == WEFT_ITEM_START) {
        bool removed = i->op && i->size; /* weft simplify does not count it either */
        m->all->threads += !removed;
        m->threads[i->slot] = removed;
    }
    if (!weft__relevant_has(m->s, i)) return;
    m->relevant->events++;
    m->relevant->threads += !m->threads[i->slot];
    m->threads[i->slot] = true;
    m->in[block] = true;
}

int weft__slice_measure(struct weft_trace *t, const struct weft_relevant *s, struct weft_slice_size *all, struct weft_slice_size *relevant,
                        struct weft_err *err) {
    struct weft_blocks b;
    *all = *relevant = (struct weft_slice_size){0};
    struct measuring m = {.s = s, .all = all, .relevant = relevant};
    int r = weft__blocks_make(t, NULL, &b, see, &m, err);
    if (r < 0) goto out;
    const struct weft_block *last = NULL;
    for (size_t i = 0; i < b.n; i++) {
        if (!m.in[i]) continue;
        if (last && last->slot != b.list[i].slot) {
            relevant->switches++;
            relevant->preemptive += last->preempted;
        }
        last = &b.list[i];
    }
    all->switches = b.switches;
    all->preemptive = b.preemptive;
    weft__blocks_fini(&b);
out:
    free(m.in);
    free(m.threads);
    return r;
}
