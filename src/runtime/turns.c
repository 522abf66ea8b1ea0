/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A steered run (struct weft_given): who runs. It is a recording in which one thread runs at a time, as with --chaos, but nothing is
 * left to chance: inputs come from a trace (given.c), and no thread waits in the kernel. What would block is tried; if it cannot be
 * had, the thread is *blocked* until somebody releases it, and the baton goes on. So who can go on is always known, the same turns
 * give the same run, and when nobody can, the run is stuck: a deadlock, or a wake-up that was lost.
 *
 * Turns. A turn is a thread and a position (struct weft_turn). The thread has the baton until it stands there, or is beyond it (then it has
 * taken another way), or cannot go on. Where it stands is known by what it has done since its iteration of a loop began. A turn is dropped if its thread is blocked or has ended. One that is still to be
 * created is created first: its creator goes on, or whom that one waits for. But a thread that
 * waits with a time limit, and gets a turn, or has one that goes on, has waited for long enough: that is all the clock there is. When the turns are used
 * up, a thread goes on until it waits.
 *
 * A thread that waits alone (WEFT_CHAOS_ALONE) is one that is blocked, yields, sleeps, spins, or goes on for very long; it lets all
 * others go first. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <time.h>

#define SLICE 4096   /* ticks after which the bound is looked at */
#define LONG 200000  /* ticks in a row, or events, alone: others are to have their turn; */
#define SPINNING 3   /* for the second one that goes on for so long half of that is enough, and so on: where one waits in a loop, all may. After the last turn, weft_given's `longer` */
#define YIELDS 1000  /* in a turn: as well */

enum { AWAY = 0, READY, RUNS };

static struct {
    uint64_t turn;   /* the one that runs, or is next */
    uint64_t count;  /* for stamps and tickets */
    uint64_t ticks;  /* of all threads */
    int away;         /* threads that wait for foreign code */
    uint64_t begun;   /* the turn that is looked at, + 1, */
    uint64_t before;  /* ticks of all threads before it, */
    uint32_t yields;  /* and how often its thread has yielded; */
    uint64_t measured; /* the turn of which the length is known, + 1 */
    uint64_t length;
    uint64_t passed;  /* the turn whose position was passed, + 1 */
    uint64_t nearing; /* the turn that ends at a place, + 1, */
    uint64_t came;    /* and how often its thread has come there */
    struct weft_thread *finishing; /* goes on, though it has no turn, */
    uint64_t finish;  /* from this clock */
    int spinning;     /* so many threads have gone on for that long, up to SPINNING */
    int changed;      /* turns that are still those of the trace, by its ticks, are in an order in which each thread is created in time: its creator stands where
                         it does so, at least. These are not */
} run;

static const struct weft_turn *turns(void) { return (const struct weft_turn *)(weft__file + weft__trace->turns_off); }
static int by_turns(void) { return weft__steering == WEFT_CHAOS_TURNS && run.turn < weft__trace->turns; }

static struct weft_thread *with_number(uint32_t number) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->steer != AWAY && o->number == number) return o;
    }
    return NULL;
}

/* Where t called. */
static uint64_t place(const struct weft_thread *t) { return t->called_at ? t->called_at : weft__caller(); }

static int can_run(const struct weft_thread *o) { return o && o->steer != AWAY && !o->blocked.kind; }

static void unblock(struct weft_thread *o) { o->blocked.kind = 0; }
static void time_out(struct weft_thread *o) {
    o->blocked.woken = 2;
    unblock(o);
}

/* ---- who is next ------------------------------------------------------------------------------------------------ */

/* The first turn of the thread from here on. */
static uint64_t next_turn(const struct weft_thread *o) {
    for (uint64_t i = run.turn; i < weft__trace->turns; i++)
        if (turns()[i].thread == o->number) return i;
    return UINT64_MAX;
}

static int before(const struct weft_thread *a, const struct weft_thread *b) {
    if (a->stamp != b->stamp) return a->stamp < b->stamp;
    if (weft__trace->next == WEFT_NEXT_CHILD) return a->born_at > b->born_at;
    if (weft__trace->next == WEFT_NEXT_TURNS) {
        uint64_t x = next_turn(a), y = next_turn(b);
        if (x != y) return x < y;
    }
    return a->born_at < b->born_at;
}

static int earlier(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Nobody can go on: the first whose time is over. */
static struct weft_thread *timed(void) {
    struct weft_thread *best = NULL;
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->steer != AWAY && o->blocked.kind && o->blocked.until && (!best || earlier(o->blocked.until, best->blocked.until))) best = o;
    }
    if (best) time_out(best);
    return best;
}

static struct weft_thread *choose_alone(void) {
    struct weft_thread *best = NULL;
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (can_run(o) && (!best || before(o, best))) best = o;
    }
    return best;
}

static struct weft_thread *waits_for(const struct weft_thread *o, uint64_t *from);

/* The turn's thread is still to be created: who has to go on for that. NULL: it does not come, or that is not known. */
static struct weft_thread *maker(uint32_t number) {
    const struct weft_given_thread *g = weft__given_thread(number);
    for (; number && !g->born && !g->removed; g = weft__given_thread(number = g->parent)) {
        struct weft_thread *o = with_number(g->parent);
        if (!o) continue;
        uint64_t now = o->counted + (uint64_t)o->shift; /* by the trace's clock; it may not have begun yet, and has none of its own then */
        if (now > g->made || (!run.changed && now < g->made)) return NULL;
        for (uint32_t hops = 0; o && !can_run(o) && hops < weft__slots; hops++) o = waits_for(o, &(uint64_t){0});
        return can_run(o) ? o : NULL;
    }
    return NULL;
}

/* Who has a turn is blocked, and may wait for what another one was just doing when the process ended: a trace says how far that one is known to
 * have come, and not whether the kernel had done its call (a pipe was written to, a thread woken). It does that to the end, once. */
static struct weft_thread *finisher(void) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (can_run(o) && !o->finished && next_turn(o) == UINT64_MAX && weft__given_thread(o->number)->cut != UINT64_MAX) return o;
    }
    return NULL;
}
static struct weft_thread *finishes(struct weft_thread *o) {
    if (!o) return NULL;
    o->finished = 1;
    run.finishing = o;
    run.finish = o->tls->clock;
    return o;
}

/* NULL: nobody can go on. */
static struct weft_thread *choose(void) {
    run.finishing = NULL;
    for (; by_turns(); run.turn++) {
        struct weft_thread *o = with_number(turns()[run.turn].thread);
        if (!o && (o = maker(turns()[run.turn].thread))) return o;
        if (!o) continue;
        if (o->blocked.kind && o->blocked.until) time_out(o);
        if (can_run(o)) return o;
        if ((o = finishes(finisher()))) return o;
    }
    struct weft_thread *o = choose_alone();
    if (!o) o = timed();
    return o;
}

/* ---- nobody: the run is stuck ------------------------------------------------------------------------------------ */

/* Whom o waits for, one after the other; NULL: that is not known, or no more. libc keeps a mutex's owner by its number in the kernel. */
static struct weft_thread *waits_for(const struct weft_thread *o, uint64_t *from) {
    if (o->blocked.kind == WEFT_WAIT_RDLOCK || o->blocked.kind == WEFT_WAIT_WRLOCK) return weft__holder(o->blocked.object, from);
    if ((*from)++) return NULL;
    if (o->blocked.kind == WEFT_WAIT_JOIN) return (struct weft_thread *)(uintptr_t)o->blocked.object;
    if (o->blocked.kind != WEFT_WAIT_MUTEX) return NULL;
    int owner = weft__mutex_owner(o->blocked.object);
    for (uint32_t s = 1; owner && s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s]->tid == owner) return weft__threads[s];
    return NULL;
}

static int in_circle(const struct weft_thread *o) {
    static uint16_t list[WEFT_MAX_SLOT + 2]; /* whom it waits for, and whom they wait for */
    static uint8_t seen[WEFT_MAX_SLOT + 2];
    uint32_t n = 0;
    weft__zero(seen, sizeof seen);
    list[n++] = (uint16_t)o->slot;
    for (uint32_t i = 0; i < n; i++) {
        const struct weft_thread *x = weft__threads[list[i]], *w;
        for (uint64_t from = 0; x->blocked.kind && (w = waits_for(x, &from));) {
            if (w == o) return 1;
            if (!seen[w->slot]) list[n++] = (uint16_t)w->slot;
            seen[w->slot] = 1;
        }
    }
    return 0;
}

static uint64_t times(const struct weft_came_to *to, uint64_t where);

/* Condition variables and the like that somebody has signalled; they wait in vain who came too late, or were too many. */
static struct weft_came_to signalled = {.stretch = 1};

/* The message is what tells one such end from another: where the threads of the circle wait, or if there is none, all that do not
 * wait for the end of another; each place once, in order; a + if what they wait for had been signalled. */
static void name_places(void) {
    char *at = weft__control->message, *end = at + sizeof weft__control->message - 40;
    int circle = 0;
    for (uint32_t s = 1; s < weft__slots; s++) circle |= weft__threads[s] && weft__threads[s]->blocked.kind && in_circle(weft__threads[s]);
    *at = 0;
    for (uint64_t low = 0; at < end;) {
        const struct weft_thread *best = NULL;
        for (uint32_t s = 1; s < weft__slots; s++) {
            const struct weft_thread *o = weft__threads[s];
            if (!o || o->steer == AWAY || !o->blocked.kind || o->blocked.site <= low) continue;
            if (circle ? !in_circle(o) : o->blocked.kind == WEFT_WAIT_JOIN) continue;
            if (!best || o->blocked.site < best->blocked.site) best = o;
        }
        if (!best) break;
        int was = best->waits && times(&signalled, (uint64_t)(uintptr_t)best->blocked.object);
        at += weft__format(at, (size_t)(end - at) + 40, "%d@0x%lx%s ", best->blocked.kind, best->blocked.site, was ? "+" : "");
        low = best->blocked.site;
    }
}

/* How far everybody had come goes into the stream of one that still lives; all stand still. */
__attribute__((noreturn)) static void stuck(struct weft_thread *t) {
    struct weft_thread *w = NULL;
    name_places();
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s]->steer != AWAY && weft__threads[s]->blocked.kind) w = weft__threads[s];
    if (w) {
        uint64_t clock = w->tls->clock;
        weft__note_reached(w);
        weft__log_item(w, WEFT_ITEM_REACHED, w->slot, &clock, 8, NULL, 0);
    }
    weft__control->last_site = t->last_site;
    weft__control->last_slot = t->slot;
    weft__control->exit_kind = WEFT_END_STUCK;
    weft__control->exit_code = WEFT_STUCK_STATUS;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
    weft__raw(SYS_exit_group, WEFT_STUCK_STATUS);
    __builtin_unreachable();
}

/* ---- the baton --------------------------------------------------------------------------------------------------- */

static void count_ticks(struct weft_thread *t) {
    run.ticks += t->tls->clock - t->counted;
    t->counted = t->tls->clock;
    if (weft__trace->bound && run.ticks > weft__trace->bound)
        weft__bound("it went on for more than %lu ticks", weft__trace->bound);
}

/* t stands at (clock, site): o goes on. */
static void hand_over(struct weft_thread *t, struct weft_thread *o, uint64_t site) {
    if (o == t) {
        t->in_a_row = 0;
        t->has_baton = 1;
        return;
    }
    t->steer = READY;
    weft__rec_lend(t, site);
    if (o) weft__baton_pass(o);
    weft__baton_wait(t);
    weft__rec_back(t);
}

/* NULL: nobody can, but somebody is away, and gets the baton when it comes back. */
static struct weft_thread *choose_or_none(struct weft_thread *t) {
    struct weft_thread *o = choose();
    if (o) return o;
    if (!__atomic_load_n(&run.away, __ATOMIC_ACQUIRE)) stuck(t);
    return weft__baton_none(choose);
}

static void next_one(struct weft_thread *t, uint64_t site) {
    t->has_baton = 0;
    hand_over(t, choose_or_none(t), site);
}

/* It has no turns: it ends at once, when it was created. */
static int is_removed(const struct weft_thread *c) { return c->number != WEFT_NO_NUMBER && weft__given_thread(c->number)->removed; }

/* ---- where a thread is, by what it has done ------------------------------------------------------------------- */

struct weft_came {
    uint64_t where, times;
    uint64_t clock; /* of the last time */
    uint64_t stretch;
};

static struct weft_came *entry(const struct weft_came_to *to, uint64_t where) {
    uint32_t i = (uint32_t)(where * 0x9e3779b97f4a7c15ull >> 40) & (to->room - 1);
    while (to->list[i].stretch == to->stretch && to->list[i].where != where) i = (i + 1) & (to->room - 1);
    return &to->list[i];
}

static void come(struct weft_came_to *to, uint64_t where, uint64_t clock) {
    if (2 * to->n >= to->room) {
        struct weft_came *old = to->list;
        uint32_t n = to->room;
        to->room = n ? 2 * n : 64;
        to->list = weft__rt_map(to->room * sizeof *old);
        for (uint32_t i = 0; i < n; i++)
            if (old[i].stretch == to->stretch) *entry(to, old[i].where) = old[i];
        if (n) weft__raw(SYS_munmap, old, n * sizeof *old);
    }
    struct weft_came *c = entry(to, where);
    if (c->stretch != to->stretch) {
        *c = (struct weft_came){where, 0, 0, to->stretch};
        to->n++;
    }
    c->times++;
    c->clock = clock;
    to->last = where;
}

static void begin(struct weft_came_to *to, uint64_t clock) {
    to->stretch++; /* from 1: a new table has none of it */
    to->n = 0;
    to->last = 0;
    to->begun = clock;
}

static uint64_t times(const struct weft_came_to *to, uint64_t where) {
    const struct weft_came *c = to->room ? entry(to, where) : NULL;
    return c && c->stretch == to->stretch ? c->times : 0;
}

/* Another iteration has begun. Nobody asks where the thread is when there are no turns left, nor signals: then it takes no tick. */
static void come_to_pass(struct weft_thread *t, uint32_t passes) {
    t->passes = passes;
    if (!by_turns() && !weft__trace->signals) return;
    begin(&t->ops, t->tls->clock);
    begin(&t->accesses, t->tls->clock);
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED); /* its turn may end in it, and where it is in the trace may be elsewhere */
}

static void come_to_event(struct weft_thread *t, uint64_t where, int op) {
    if (op) {
        come(&t->ops, where, t->tls->clock);
        begin(&t->accesses, t->tls->clock);
    } else
        come(&t->accesses, where, t->tls->clock);
    if (turns()[run.turn].where == where || turns()[run.turn].op == where)
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED); /* its end may have come near */
}

/* The turn that is known to end by what t does: -1: it is beyond that; 0: not there yet; 1: it is there, after this clock and before the next
 * operation; 2: not there yet, but before the next operation. */
static int ends_at(const struct weft_thread *t, const struct weft_turn *n, uint64_t *clock) {
    if (t->passes != n->pass) return t->passes > n->pass ? -1 : 0;
    if (n->op && times(&t->ops, n->op) != n->op_nth) return times(&t->ops, n->op) > n->op_nth ? -1 : 0;
    if (t->ops.last != n->op) return -1;
    *clock = t->accesses.begun + n->after;
    if (!n->where) return t->accesses.last ? -1 : 1;
    if (times(&t->accesses, n->where) != n->nth) return times(&t->accesses, n->where) > n->nth ? -1 : 2;
    *clock = entry(&t->accesses, n->where)->clock + n->after;
    return 1;
}

static int until_it_waits(const struct weft_turn *n) { return n->tick == UINT64_MAX && n->done; }

/* The turn's thread has it. */
static void turn_begins(void) {
    if (run.begun == run.turn + 1) return;
    run.begun = run.turn + 1;
    run.before = run.ticks;
    run.yields = 0;
}

/* Ticks that the trace has for the turn, which is the one that runs; for one without an end, of all its thread's. */
static uint64_t length_of(const struct weft_turn *n) {
    const struct weft_given_thread *g = weft__given_thread(n->thread);
    uint64_t from = g->tick;
    if (run.measured == run.turn + 1) return run.length;
    run.measured = run.turn + 1;
    if (n->tick == UINT64_MAX) return run.length = g->last - from;
    for (const struct weft_turn *o = turns(); o < n; o++)
        if (o->thread == n->thread && o->tick != UINT64_MAX) from = o->tick;
    return run.length = n->tick > from ? n->tick - from : 0;
}

static int too_long(const struct weft_turn *n) {
    uint64_t ticks = run.ticks - run.before;
    return ticks > weft__trace->longer && ticks - weft__trace->longer > 2 * length_of(n);
}

/* It has yielded once more. In the trace it may have done so for long in this turn. */
static int in_vain(const struct weft_thread *t, const struct weft_turn *n) {
    if (n->thread == t->number && until_it_waits(n)) return 1;
    return ++run.yields >= YIELDS && (n->thread != t->number || run.ticks - run.before > length_of(n));
}

/* The clock of the last event. */
static uint64_t since(const struct weft_thread *t) { return t->accesses.last ? entry(&t->accesses, t->accesses.last)->clock : t->accesses.begun; }

/* t's turn ends here. */
static void turn_ends(const struct weft_thread *t, uint64_t site) {
    struct weft_turn *n = (struct weft_turn *)&turns()[run.turn++];
    if (n->thread != t->number || n->known || n->tick == UINT64_MAX) return;
    n->known = 1;
    n->done = 0;
    n->site = site;
    n->pass = t->passes;
    n->op = t->ops.last;
    n->op_nth = n->op ? times(&t->ops, n->op) : 0;
    n->where = t->accesses.last;
    n->nth = n->where ? times(&t->accesses, n->where) : 0;
    n->after = t->tls->clock - since(t);
}

/* Of a turn that ends at a place: that is before this access, whatever came before it (a loop may have been gone through or not); or after the last event. */
static int at_place(const struct weft_thread *t, const struct weft_turn *n) {
    return n->site || (t->accesses.last == n->where && (n->where || t->ops.last == n->op));
}

/* op: t is about to do an operation. */
static int turn_over(const struct weft_thread *t, uint64_t site, int op) {
    const struct weft_turn *n = &turns()[run.turn];
    uint64_t now = weft__trace_clock(t), end;
    if (t == run.finishing) return site || (op && t->tls->clock > run.finish);
    turn_begins();
    if (n->thread != t->number) {
        if (maker(n->thread) != t) return 1;
        run.turn += (uint64_t)too_long(n);
        return n != &turns()[run.turn];
    }
    if (too_long(n)) return 1;
    if (until_it_waits(n)) return n->done == 2 && now > weft__given_thread(t->number)->cut;
    if (n->known == 2) {
        if (!at_place(t, n)) return 0;
        if (!n->site && n->nth == 1 && !op) return t->tls->clock >= since(t) + n->after; /* it ended between two events */
        if (!(site || op) || site != n->site) return 0;
        if (run.nearing != run.turn + 1) run.came = 0;
        run.nearing = run.turn + 1;
        return ++run.came >= n->nth;
    }
    if (n->known) {
        int there = ends_at(t, n, &end);
        if (there == 2) return op;
        if (there <= 0 || t->tls->clock != end) return there < 0 || (there && (op || t->tls->clock > end));
        return op || site == n->site || !n->site;
    }
    if (now > n->tick) return 1;
    if (now < n->tick) return 0;
    if (!n->done) return site == n->site || !n->site;
    if (!n->site) return site != 0;
    if (run.passed == run.turn + 1) return 1;
    if (site == n->site) run.passed = run.turn + 1;
    return 0;
}

/* Who waits in a loop does so where that begins again. Alone, it is stopped at a tick therefore, if one comes soon: between two accesses
 * it would be a preemption, and might be what the program fails by. */
static int went_on_for_long(struct weft_thread *t, int event) {
    uint64_t most = weft__steering == WEFT_CHAOS_ALONE ? LONG >> run.spinning : weft__trace->longer;
    if (t->in_a_row <= most) return 0;
    if (weft__steering != WEFT_CHAOS_ALONE || !event || t->in_a_row > 2 * most) return 1;
    __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED);
    return 0;
}

/* Where t stands, its turn may be over, or it may have gone on for too long. */
static void look(struct weft_thread *t, uint64_t site, int op) {
    /* It may stand here for several turns: a position can come after several others. */
    while (by_turns()) {
        if (!turn_over(t, site, op) || is_removed(t)) return;
        if (turns()[run.turn].thread == t->number) turn_ends(t, site);
        next_one(t, site);
    }
    if (went_on_for_long(t, site || op)) {
        run.spinning += run.spinning < SPINNING;
        t->stamp = ++run.count;
        next_one(t, site);
    }
}

void weft__turns_event(struct weft_thread *t, uint64_t site) {
    count_ticks(t);
    t->in_a_row++;
    int op = !site && t->called_at != WEFT_IN_HEAP;
    look(t, site, op);
    __atomic_store_n(&weft__root->events, weft__root->events + 1, __ATOMIC_RELAXED);
    if (!site && !op) return;
    if (op) site = place(t);
    if (by_turns()) come_to_event(t, site, op);
    if (!weft__in_weft_code(site)) return;
    t->last_site = site;
    const uint64_t *w = (const uint64_t *)(weft__file + weft__trace->watch_off);
    for (uint64_t i = 0; i < weft__trace->watch; i++) weft__control->watched += site >= w[2 * i] && site < w[2 * i + 1];
}

/* At a tick: gives the next one at which to come here. */
uint64_t weft__turns_tick(struct weft_thread *t) {
    t->in_a_row += (uint32_t)(t->tls->clock - t->counted);
    count_ticks(t);
    look(t, 0, 0);
    uint64_t now = weft__trace_clock(t), at = now + SLICE, due = weft__given_signal_tick(t);
    if (by_turns() && turns()[run.turn].thread == t->number) {
        const struct weft_turn *n = &turns()[run.turn];
        uint64_t end = n->tick;
        if (n->known) end = n->known == 1 && ends_at(t, n, &end) == 1 ? end + (uint64_t)t->shift : n->known == 2 && !n->site && at_place(t, n) ? now + 1 : at;
        if (end <= now) end = now + 1;
        if (end < at) at = end;
    }
    if (due > now && due < at) at = due;
    return at - (uint64_t)t->shift;
}

void weft__turns_yield(struct weft_thread *t) {
    if (by_turns()) { /* turns say when; but who yields again and again waits for others */
        const struct weft_turn *n = &turns()[run.turn];
        turn_begins();
        if (!in_vain(t, n)) return;
        run.turn++;
    }
    t->stamp = ++run.count;
    next_one(t, 0);
}

/* t is about to get what it may have waited for when the process ended, and was stuck: then it did not get it because somebody else waited, too. So all others go
 * first. */
void weft__turns_last(struct weft_thread *t) {
    if (weft__steering == WEFT_CHAOS_ALONE || by_turns() || t->number == WEFT_NO_NUMBER || weft__trace_clock(t) < weft__given_thread(t->number)->cut) return;
    weft__rec_release(t);
    t->stamp = ++run.count;
    next_one(t, 0);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void weft__turns_open(struct weft_thread *t) {
    t->number = 0;
    t->steer = RUNS;
    t->has_baton = 1;
    begin(&t->ops, 0);
    begin(&t->accesses, 0);
    t->born_at = ++run.count;
    for (uint64_t i = 0; i < weft__trace->turns; i++) run.changed |= turns()[i].known || until_it_waits(&turns()[i]); /* before any of them ends */
}

void weft__turns_born(struct weft_thread *c) {
    c->has_baton = 0;
    c->stamp = 0;
    c->blocked.kind = 0;
    c->waits = 0;
    c->counted = c->last_clock;
    c->finished = 0;
    c->shift = 0;
    c->first_given = c->last_given = c->last_lent = c->passes = c->in_a_row = 0;
    begin(&c->ops, c->last_clock);
    begin(&c->accesses, c->last_clock);
    c->rows = NULL; /* the former one's stay mapped: they are few bytes */
    c->last_site = c->called_at = 0;
    c->last_time = (struct timespec){0, 0};
    c->born_at = ++run.count;
    c->steer = READY;
    if (c->number != WEFT_NO_NUMBER) weft__given_thread(c->number)->born = 1;
    if (c->number != WEFT_NO_NUMBER && weft__given_thread(c->number)->removed) weft__given_removed(c);
}
void weft__turns_unborn(struct weft_thread *c) { c->steer = AWAY; }
void weft__turns_child(struct weft_thread *t, struct weft_thread *c) {
    if (!is_removed(c) && (weft__steering != WEFT_CHAOS_ALONE || weft__trace->next != WEFT_NEXT_CHILD)) return;
    t->has_baton = 0;
    hand_over(t, c, 0);
}

/* A new thread, in the beginning. All others come back by other ways. */
void weft__turns_begin(struct weft_thread *t) {
    if (t->steer == RUNS) return;
    weft__baton_wait(t);
}

/* The last thing that it does with the baton; who waits for its end was released. After one that was removed its creator goes on, as if
 * nothing had been. */
void weft__turns_over(struct weft_thread *t) {
    struct weft_thread *o = is_removed(t) ? weft__threads[t->parent] : NULL;
    count_ticks(t);
    t->steer = AWAY;
    for (uint32_t s = 1; s < weft__slots; s++) { /* robust mutexes that it leaves behind */
        struct weft_thread *o = weft__threads[s];
        if (o && o->steer != AWAY && o->blocked.kind == WEFT_WAIT_MUTEX && weft__mutex_owner(o->blocked.object) == t->tid) unblock(o);
    }
    if (by_turns() && turns()[run.turn].thread == t->number) turn_ends(t, 0);
    if (!can_run(o)) o = choose_or_none(t);
    if (o) weft__baton_pass(o);
}

/* Code that was not built with weft has locks of its own: there is no knowing when they are free. */
void weft__turns_away(struct weft_thread *t, int away) {
    if (!away) {
        __atomic_fetch_sub(&run.away, 1, __ATOMIC_ACQ_REL);
        weft__baton_ask(t, READY);
        return;
    }
    t->has_baton = 0;
    t->steer = AWAY;
    __atomic_fetch_add(&run.away, 1, __ATOMIC_ACQ_REL);
    struct weft_thread *o = choose_or_none(t);
    if (o) weft__baton_pass(o);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static int interrupted(struct weft_thread *t) {
    return (t->cancel_pending && !t->cancel_state && !t->cancelled) || weft__signal_due(t, WEFT_AT_BLOCKED);
}

static void block(struct weft_thread *t, int kind, const void *object, const struct timespec *until) {
    t->blocked.kind = kind;
    t->blocked.object = object;
    t->blocked.site = place(t);
    t->blocked.until = until;
    t->blocked.ticket = ++run.count;
    t->in_a_row = 0;
    if (by_turns() && turns()[run.turn].thread == t->number && (turns()[run.turn].done || until || !finisher())) turn_ends(t, 0);
    weft__rec_release(t);
    next_one(t, 0);
}

/* Its turn goes on, so it does not wait: if there is a limit, its time is over. */
static int goes_on(const struct weft_thread *t, const struct timespec *until) {
    return until && by_turns() && turns()[run.turn].thread == t->number;
}

int weft__turns_block(struct weft_thread *t, int kind, const void *object, const struct timespec *until) {
    t->blocked.woken = 0;
    if (interrupted(t)) return EINTR;
    if (goes_on(t, until)) return ETIMEDOUT;
    block(t, kind, object, until);
    return t->blocked.woken == 2 ? ETIMEDOUT : interrupted(t) ? EINTR : 0;
}

void weft__turns_release(const void *object) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->steer != AWAY && o->blocked.kind && o->blocked.object == object && !o->waits) unblock(o);
    }
}

int weft__turns_waits_at(const void *object) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->steer != AWAY && o->waits && o->blocked.object == object && !o->blocked.woken) return 1;
    }
    return 0;
}

/* o is to look up: it is cancelled. */
void weft__turns_kick(struct weft_thread *o) {
    if (o->steer != AWAY && o->blocked.kind) unblock(o);
}

void weft__turns_wait_begin(struct weft_thread *t, int kind, const void *object) {
    t->waits = kind;
    t->blocked.woken = 0;
    t->blocked.object = object;
    t->blocked.ticket = ++run.count;
}

/* A signal may come before or after the time is over, and the wait does not tell. By the trace's turns it is as it was there. */
void weft__turns_time_out(struct weft_thread *t, int op, uint64_t ahead) {
    if (by_turns() && weft__given_at(t, op, weft__trace_clock(t) + ahead) == ETIMEDOUT) t->blocked.woken = 2;
}

int weft__turns_wait(struct weft_thread *t, const struct timespec *until) {
    if (!t->blocked.woken && goes_on(t, until)) t->blocked.woken = 2;
    while (!t->blocked.woken && !interrupted(t)) block(t, t->waits, t->blocked.object, until);
    int woken = t->blocked.woken;
    t->waits = 0;
    return woken == 1 ? 0 : woken == 2 ? ETIMEDOUT : EINTR;
}

/* The one whose turn comes first: it is the one that was woken in the trace. Else who has waited longest. */
int weft__turns_wake(const void *object, int n) {
    int woken = 0;
    come(&signalled, (uint64_t)(uintptr_t)object, 0);
    for (; woken < n; woken++) {
        struct weft_thread *best = NULL;
        for (uint32_t s = 1; s < weft__slots; s++) {
            struct weft_thread *o = weft__threads[s];
            if (!o || o->steer == AWAY || !o->waits || o->blocked.object != object || o->blocked.woken) continue;
            uint64_t x = best ? next_turn(o) : 0, y = best ? next_turn(best) : 0;
            if (!best || x < y || (x == y && o->blocked.ticket < best->blocked.ticket)) best = o;
        }
        if (!best) break;
        best->blocked.woken = 1;
        unblock(best);
    }
    return woken;
}

/* ---- iterations of loops ----------------------------------------------------------------------------------------- */

/* The next one of the trace's that this may be: those inside an iteration that is left out do not come, and a loop may end earlier than
 * in the trace; but it may also go on for longer, before the loop around it does. g->passes: none. */
static uint64_t next_pass(const struct weft_thread *t, const struct weft_given_thread *g, uint64_t loop) {
    const struct weft_pass *p = (const struct weft_pass *)(weft__file + g->passes_off);
    uint64_t i = t->passes;
    while (i < g->passes && p[i].rank > loop) i++;
    return i < g->passes && p[i].rank == loop ? i : g->passes;
}

/* By rank; g->loops: it is none of the trace's. */
static uint64_t loop_at(const struct weft_given_thread *g, uint64_t site, uint32_t frame) {
    const struct weft_given_loop *l = (const struct weft_given_loop *)(weft__file + g->loops_off);
    uint64_t other = g->loops;
    for (uint64_t k = 0; k < g->loops; k++) {
        if (l[k].site == site && l[k].frame == frame) return k;
        if (l[k].site == site && !l[k].frame) other = k;
    }
    return other;
}

/* Whether the iteration that begins is one that is left out every time. Called at each. */
static int left_out_always(struct weft_thread *t, const struct weft_given_thread *g, uint64_t k) {
    const struct weft_given_loop *l = (const struct weft_given_loop *)(weft__file + g->loops_off);
    if (k == g->loops) return 0;
    if (!t->rows) t->rows = weft__rt_map(g->loops * sizeof *t->rows);
    for (uint64_t i = k + 1; i < g->loops; i++) t->rows[i] = 0;
    uint64_t number = t->rows[k]++;
    return number < l[k].leaves && weft__file[l[k].leaves_off + number];
}

int weft__steer_repeat(struct weft_thread *t, uint64_t site, uint32_t frame, uint32_t flags) {
    struct {
        uint64_t site, times;
    } r = {site, 0};
    int left = weft__left_one(t, site, frame); /* first, as in replay: these may come where the trace has no more of them */
    if (t->number != WEFT_NO_NUMBER) {
        const struct weft_given_thread *g = weft__given_thread(t->number);
        const struct weft_pass *p = (const struct weft_pass *)(weft__file + g->passes_off);
        uint64_t loop = loop_at(g, site, frame), i = loop < g->loops ? next_pass(t, g, loop) : g->passes;
        int always = left_out_always(t, g, loop);
        if (i >= g->passes) {
            r.times = (uint64_t)(always && !left);
            if (weft__trace->counted) come_to_pass(t, t->passes + 1);
        } else {
            come_to_pass(t, (uint32_t)i + 1);
            t->shift = (int64_t)(p[i].tick - t->tls->clock);
            for (; !left && i < g->passes && (p[i].rank != loop || p[i].skip); i++) r.times += p[i].rank == loop;
        }
    }
    if (left) return 1;
    flags |= frame << WEFT_REPEAT_FRAME_SHIFT;
    weft__control->iterations += !r.times;
    if (weft__trace->most && weft__control->iterations > weft__trace->most) weft__bound("there are more than %lu iterations", weft__trace->most);
    if (r.times) {
        weft__log_item(t, WEFT_ITEM_REPEAT, flags | WEFT_REPEAT_LEFT_OUT, &r, sizeof r, NULL, 0);
        weft__left_more(t, site, frame, r.times - 1);
    } else if (!weft__trace->plain)
        weft__log_item(t, WEFT_ITEM_REPEAT, flags, &site, 8, NULL, 0);
    return r.times != 0;
}
