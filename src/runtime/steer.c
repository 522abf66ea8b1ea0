/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recording with a schedule of weft's own choice (weft record --chaos): one thread runs at a time, the one that has the
 * baton, and who gets it next is decided at events: checked accesses and operations of the runtime. So a race shows that
 * needs a preemption between two accesses, however short the way from one to the other is.
 *
 * A thread without the baton is at an event, with what it owns lent to all (weft__rec_lend), or outside; so nobody has to ask
 * anybody, and edges are found as in any other recording. What is recorded is an ordinary trace.
 *
 * To see every access, the thread's id (tls.me) is poisoned: no check passes. Blocking operations go outside, as always; the
 * baton goes on to the next thread meanwhile, and who comes back waits for it.
 *
 *   random   at an event, with a probability that the run's seed chooses (one for accesses, one for operations on locks and the like:
 *            many bugs are between two critical sections), any thread that is ready goes on; in every other run any of a few, and others only when those have ended, wait, or have run for long: among a hundred threads the two or three that a bug needs would
 *            hardly ever meet
 *   pct      Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs: threads have random
 *            priorities, the highest one that is ready runs, and at d - 1 random events (of as many as an earlier run had) the
 *            running thread's priority drops below all others
 *
 * A thread that only waits in a loop, runs for long without an end, or yields, lets all others go first; one that sleeps is
 * outside meanwhile. One that waits for another thread does not do so in the kernel: see below, waits.
 *
 * In a steered run (turns.c) the baton goes round by other rules: there this file has the baton only. */
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <linux/futex.h>

#define SLICE 256      /* ticks after which a thread looks whether it has run for too long */
#define LONG 20000     /* events, or ticks, in a row: others are to have their turn */
#define FLOOR (1 << 30) /* priorities from here on are those of the beginning */
#define FEW 4u

enum { AWAY = 0, READY, RUNS };

static struct {
    int lock;
    int over;       /* everybody runs */
    uint32_t baton; /* slot of the thread that runs; 0: nobody could */
    uint32_t top;   /* slots from here on are unused */
    uint64_t rng;
    uint64_t events;
    uint64_t change[WEFT_CHAOS_DEPTH]; /* events at which priorities change, in order */
    uint32_t changes, depth;
    int32_t lowest; /* priority given so far */
    uint32_t odds[2]; /* random: log2 of one in how many: at operations, at accesses */
    uint32_t few;   /* random: only so many take part, those with the highest priority; 0: all */
} steer;

static uint64_t next_random(void) {
    uint64_t x = steer.rng;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    steer.rng = x;
    return x * 0x2545f4914f6cdd1dull >> 16;
}

void weft__steer_open(void) {
    const struct weft_control *c = weft__control;
    if (!c->chaos) return;
    weft__steering = (int)c->chaos;
    if (weft__given) return;
    uint64_t most = c->chaos_events ? c->chaos_events : 10000;
    steer.rng = weft_hash(&c->seed, sizeof c->seed) | 1;
    steer.odds[1] = 2 + (uint32_t)(next_random() % 9);
    steer.odds[0] = next_random() % 2 ? steer.odds[1] : 1 + (uint32_t)(next_random() % 2);
    steer.few = next_random() % 2 ? 0 : 2 + (uint32_t)(next_random() % (FEW - 1));
    if (c->chaos == WEFT_CHAOS_PCT) steer.few = 0;
    steer.lowest = FLOOR;
    steer.depth = c->chaos_depth < WEFT_CHAOS_DEPTH ? (uint32_t)c->chaos_depth : WEFT_CHAOS_DEPTH;
    for (uint32_t i = 0; i < steer.depth; i++) {
        uint64_t at = 1 + next_random() % most;
        uint32_t k = i;
        for (; k && steer.change[k - 1] > at; k--) steer.change[k] = steer.change[k - 1];
        steer.change[k] = at;
    }
}

/* In a forked process, of which t is all there is. */
void weft__steer_forked(struct weft_thread *t) {
    if (!weft__steering) return;
    for (uint32_t s = 1; s < steer.top; s++)
        if (weft__threads[s]) weft__threads[s]->steer = AWAY, weft__threads[s]->blocked.kind = weft__threads[s]->waits = 0;
    steer.lock = steer.over = 0;
    steer.baton = t->slot;
    t->steer = RUNS;
}

/* ---- who is next; all under the lock --------------------------------------------------------------------------- */

/* The `most` ready ones with the highest priority, or t, if it is among them. */
static struct weft_thread *choose_of(uint32_t most, struct weft_thread *t) {
    struct weft_thread *best[FEW];
    uint32_t n = 0;
    for (uint32_t s = 1; s < steer.top; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || (o->steer != READY && o != t)) continue;
        uint32_t i = n < most ? n++ : most;
        for (; i && best[i - 1]->priority < o->priority; i--)
            if (i < most) best[i] = best[i - 1];
        if (i < most) best[i] = o;
    }
    return n ? best[next_random() % n] : NULL;
}

/* NULL: none, or t, which runs. */
static struct weft_thread *choose(struct weft_thread *t) {
    struct weft_thread *best = NULL;
    uint32_t ready = 0;
    uint32_t few = weft__steering == WEFT_CHAOS_PCT ? 1 : steer.few;
    if (few)
        best = choose_of(few, t);
    else
        for (uint32_t s = 1; s < steer.top; s++) {
            struct weft_thread *o = weft__threads[s];
            if (o && o != t && o->steer == READY && next_random() % ++ready == 0) best = o;
        }
    return best == t ? NULL : best;
}

void weft__baton_pass(struct weft_thread *o) {
    __atomic_store_n(&steer.baton, o ? o->slot : 0, __ATOMIC_RELEASE);
    if (!o) return;
    o->steer = RUNS;
    __atomic_store_n(&o->has_baton, 1, __ATOMIC_RELEASE);
    weft__raw(SYS_futex, &o->has_baton, FUTEX_WAKE_PRIVATE, 1);
}

void weft__baton_wait(struct weft_thread *t) {
    while (!__atomic_load_n(&t->has_baton, __ATOMIC_ACQUIRE)) weft__raw(SYS_futex, &t->has_baton, FUTEX_WAIT_PRIVATE, 0, 0);
    if (!steer.few) t->in_a_row = 0; /* a few that hand it to one another keep it from all others, as one does */
}

struct weft_thread *weft__baton_none(struct weft_thread *(*choose)(void)) {
    weft__lock(&steer.lock);
    struct weft_thread *o = choose();
    if (!o) __atomic_store_n(&steer.baton, 0, __ATOMIC_RELEASE);
    weft__unlock(&steer.lock);
    return o;
}

void weft__baton_ask(struct weft_thread *t, int ready) {
    weft__lock(&steer.lock);
    t->steer = ready;
    if (!steer.baton) weft__baton_pass(t);
    weft__unlock(&steer.lock);
    weft__baton_wait(t);
}

/* ---- hooks of owner.c ------------------------------------------------------------------------------------------ */

static void ready(struct weft_thread *t) {
    if (t->slot >= steer.top) steer.top = t->slot + 1;
    if (!t->priority) t->priority = FLOOR + 1 + (int32_t)(next_random() % FLOOR);
    t->steer = READY;
    __atomic_store_n(&t->has_baton, steer.over, __ATOMIC_RELEASE);
    if (steer.over) weft__raw(SYS_futex, &t->has_baton, FUTEX_WAKE_PRIVATE, 1);
}

/* t comes inside, and may have to wait for that. */
void weft__steer_in(struct weft_thread *t) {
    if (weft__given) {
        weft__turns_begin(t);
        return;
    }
    weft__lock(&steer.lock);
    if (t->steer == AWAY) {
        ready(t);
        if (!steer.baton && !steer.over) weft__baton_pass(choose(NULL));
    }
    weft__unlock(&steer.lock);
    weft__baton_wait(t);
}

/* c is about to be created. It is ready from now on, whenever the kernel lets it begin: on a busy machine its creator may be done by
 * then. */
void weft__steer_born(struct weft_thread *c) {
    weft__lock(&steer.lock);
    c->priority = 0; /* perhaps its slot was another thread's */
    c->blocked.kind = c->waits = 0;
    ready(c);
    weft__unlock(&steer.lock);
}
void weft__steer_unborn(struct weft_thread *c) {
    weft__lock(&steer.lock);
    c->steer = AWAY;
    weft__unlock(&steer.lock);
}

/* t is outside. */
void weft__steer_out(struct weft_thread *t) {
    if (weft__given) return; /* it goes on, whatever it does there */
    weft__lock(&steer.lock);
    t->steer = AWAY;
    if (!steer.over) t->has_baton = 0;
    if (steer.baton == t->slot) weft__baton_pass(choose(NULL));
    weft__unlock(&steer.lock);
}

/* Unlocks. */
static void hand_on(struct weft_thread *t, struct weft_thread *o, uint64_t site) {
    t->has_baton = 0;
    t->steer = READY;
    weft__rec_lend(t, site);
    weft__baton_pass(o);
    weft__unlock(&steer.lock);
    weft__baton_wait(t);
    weft__rec_back(t);
}

/* Another one goes on; last: t lets all others that are ready go first. */
static void go_on(struct weft_thread *t, uint64_t site, int last) {
    weft__lock(&steer.lock);
    if (last) {
        t->priority = --steer.lowest;
        t->in_a_row = 0;
    }
    struct weft_thread *o = choose(t);
    if (!o || steer.over) {
        weft__unlock(&steer.lock);
        return;
    }
    hand_on(t, o, site);
}

/* t is IN, at (clock, site), and holds nothing. */
void weft__steer_event(struct weft_thread *t, uint64_t site) {
    if (weft__given) {
        weft__turns_event(t, site);
        return;
    }
    uint64_t n = ++steer.events;
    __atomic_store_n(&weft__root->events, n, __ATOMIC_RELAXED);
    if (unlikely(++t->in_a_row > LONG))
        go_on(t, site, 1);
    else if (weft__steering == WEFT_CHAOS_PCT) {
        int drop = 0;
        while (steer.changes < steer.depth && n >= steer.change[steer.changes]) steer.changes++, drop = 1;
        /* Who is ready changes only as others come inside: it does not have to be seen at once. */
        if (drop || !(n & 15)) go_on(t, site, drop);
    } else if (!(next_random() & ((1u << steer.odds[site != 0]) - 1)))
        go_on(t, site, 0);
}

/* At a tick, at (clock, 0). */
uint64_t weft__steer_tick(struct weft_thread *t) {
    if (weft__given) return weft__turns_tick(t);
    t->in_a_row += SLICE;
    if (t->in_a_row > LONG) go_on(t, 0, 1);
    return t->tls->clock + SLICE;
}

void weft__steer_yield(struct weft_thread *t) {
    if (weft__given)
        weft__turns_yield(t);
    else
        go_on(t, 0, 1);
}

/* t yields, at (clock, 0): all others go first. It stays ready: outside it would be for as long as the kernel likes, and who goes on meanwhile
 * could not be preempted by it. 0: nobody else is ready; who is away may need the processor. */
int weft__steer_lets(struct weft_thread *t) {
    weft__lock(&steer.lock);
    struct weft_thread *o = steer.over ? NULL : choose(NULL);
    if (!o) {
        weft__unlock(&steer.lock);
        return 0;
    }
    t->priority = --steer.lowest;
    t->in_a_row = 0;
    hand_on(t, o, 0);
    return 1;
}

void weft__steer_end(void) {
    if (weft__given) return;
    weft__lock(&steer.lock);
    steer.over = 1;
    for (uint32_t s = 1; s < steer.top; s++) {
        if (!weft__threads[s] || (weft__threads[s]->steer == AWAY && weft__threads[s]->blocked.kind)) continue;
        __atomic_store_n(&weft__threads[s]->has_baton, 1, __ATOMIC_RELEASE);
        weft__raw(SYS_futex, &weft__threads[s]->has_baton, FUTEX_WAKE_PRIVATE, 1);
    }
    weft__unlock(&steer.lock);
}

/* ---- waits ------------------------------------------------------------------------------------------------------
 * Who waits for another thread (a lock, a condition variable, its end) is ready again as soon as that one lets it, and not when the
 * kernel has come round to waking it: on a busy machine, or on one core, who lets others go would be done with all its work before
 * anybody else is seen to be ready. */

#define PIECE 100000000 /* ns: it looks for itself then; code that was not built with weft may have let go */

int weft__steers(void) { return weft__given || (weft__steering && !__atomic_load_n(&steer.over, __ATOMIC_ACQUIRE)); }

static void watch(struct weft_thread *t, int kind, const void *object) {
    t->blocked.woken = 0;
    t->blocked.object = object;
    t->blocked.kind = kind;
}

static void wake(struct weft_thread *o) {
    o->blocked.woken = 1;
    if (o->steer == AWAY) ready(o);
}

/* Somebody may be ready where nobody was. */
static void unlock_and_go(void) {
    if (!steer.baton && !steer.over) weft__baton_pass(choose(NULL));
    weft__unlock(&steer.lock);
}

/* Outside, until the baton comes: 0; or before that ETIMEDOUT, EINTR, ERESTART. */
static int sleep_until(struct weft_thread *t, clockid_t clock, const struct timespec *until) {
    int k = t->blocked.kind, point = k == WEFT_WAIT_COND || k == WEFT_WAIT_SEM || k == WEFT_WAIT_JOIN;
    long r = 0;
    weft__lock(&steer.lock);
    int woken = t->blocked.woken;
    if (!woken && steer.over) t->has_baton = 0;
    weft__unlock(&steer.lock);
    if (woken) return 0;
    weft__outside(t);
    while (!__atomic_load_n(&t->has_baton, __ATOMIC_ACQUIRE) && !r)
        r = weft__wait_at(t, point, &t->has_baton, 0, 0, clock, until);
    weft__inside(t);
    return t->blocked.woken ? 0 : r == -ETIMEDOUT ? ETIMEDOUT : r == -EINTR ? EINTR : r ? ERESTART : 0;
}

void weft__steer_wait_end(struct weft_thread *t) {
    weft__lock(&steer.lock);
    t->blocked.kind = t->waits = 0;
    weft__unlock(&steer.lock);
}

static int not_a_time(const struct timespec *ts) { return ts && (ts->tv_nsec < 0 || ts->tv_nsec > 999999999); }

int weft__steer_block(struct weft_thread *t, int kind, const void *object, clockid_t clock, const struct timespec *until) {
    if (weft__given) return weft__turns_block(t, kind, object, until);
    if (not_a_time(until)) return EINVAL;
    if (until && until->tv_sec < 0) return ETIMEDOUT;
    weft__lock(&steer.lock);
    int over = steer.over; /* then others may have let go since it was tried */
    if (!over) watch(t, kind, object);
    weft__unlock(&steer.lock);
    if (over) return 0;
    struct timespec piece;
    int last = weft__piece(clock, until, PIECE, &piece), r = sleep_until(t, clock, &piece);
    weft__steer_wait_end(t);
    return r == ETIMEDOUT && !last ? 0 : r;
}

void weft__steer_release(const void *object) {
    if (weft__given) {
        weft__turns_release(object);
        return;
    }
    weft__lock(&steer.lock);
    for (uint32_t s = 1; s < steer.top; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->blocked.kind && o->blocked.object == object && !o->blocked.woken && !o->waits) wake(o);
    }
    unlock_and_go();
}

void weft__steer_wait_begin(struct weft_thread *t, int kind, const void *object) {
    if (weft__given) {
        weft__turns_wait_begin(t, kind, object);
        return;
    }
    weft__lock(&steer.lock);
    watch(t, kind, object);
    t->waits = kind;
    weft__unlock(&steer.lock);
}

int weft__steer_wait(struct weft_thread *t, clockid_t clock, const struct timespec *until) {
    if (weft__given) return weft__turns_wait(t, until);
    int r = not_a_time(until) ? EINVAL : until && until->tv_sec < 0 ? ETIMEDOUT : 0;
    while (!r && !t->blocked.woken) r = sleep_until(t, clock, until);
    weft__steer_wait_end(t);
    return r;
}

/* Any of them may be the one. */
int weft__steer_wake(const void *object, int n) {
    if (weft__given) return weft__turns_wake(object, n);
    int woken = 0;
    weft__lock(&steer.lock);
    for (; woken < n; woken++) {
        struct weft_thread *best = NULL;
        uint32_t found = 0;
        for (uint32_t s = 1; s < steer.top; s++) {
            struct weft_thread *o = weft__threads[s];
            if (!o || !o->waits || o->blocked.object != object || o->blocked.woken) continue;
            if (next_random() % ++found == 0) best = o;
        }
        if (!best) break;
        wake(best);
    }
    unlock_and_go();
    return woken;
}

/* t has ended: who waits for its end, or for a robust mutex that it leaves behind, goes on. */
void weft__steer_over(struct weft_thread *t) {
    if (weft__given) {
        weft__turns_release(t);
        weft__turns_over(t);
        return;
    }
    weft__lock(&steer.lock);
    for (uint32_t s = 1; s < steer.top; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || o->blocked.woken) continue;
        if (o->blocked.kind == WEFT_WAIT_JOIN ? o->blocked.object == t
                                              : o->blocked.kind == WEFT_WAIT_MUTEX && weft__mutex_owner(o->blocked.object) == t->tid)
            wake(o);
    }
    unlock_and_go();
}
