/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replay: a thread runs freely to the next position that has an item, and there does what the item says.
 *
 * The launcher has laid each thread's items flat and sorted by tick (struct weft_sched). The clock's limit is the tick of
 * the next item. In that tick the id is poisoned, so every check comes here and sites are compared; a thread meets a site
 * at most once in a tick, so matching by site is exact. What is due at a position: REACHED flags are set, then WAITs are
 * waited for, and what other processes wrote is put into memory (in the order of the stream), then the access or operation
 * happens; DONE flags are set at the thread's next miss or tick, when it has surely happened. An item whose tick goes by without having been met is a divergence.
 *
 * Flags are futex words: 0 not yet, 1 set, 2 not yet and somebody sleeps. */
#include "runtime.h"
#include "sys.h"
#include <linux/futex.h>
#include <linux/time_types.h>

int weft__kernel_sigaction(int sig, void *handler, unsigned long flags, uint64_t mask);

static uint32_t *flags;
static int ending;   /* one of them ends the process */
static int watched;  /* one of the threads that are through looks after the end */
static int progress; /* advances whenever anybody gets past a gate: the stuck check watches it */

/* Where every thread that could run has a core, whoever is waited for is about to come, and a sleep would cost more; else a
 * spin takes its core away from it. And shorter after spins in vain: something else has the cores. */
static int awake, cores;
#define SPIN 2000
#define SPIN_CROWDED 60
/* In a crowd whoever is waited for is most likely ready, and has no core: it gets this one. It is there sooner than a sleeper would be woken, and whoever waits here need not be
 * woken either. (Two loops of OpenMP, 3,000 times, 4 threads on 2 busy cores: 1.2 s of processor time and 4 s for a replay with sleeps alone, 0.25 and 1 s with this.) */
#define YIELDS 16
void weft__gate_awake(int more) { __atomic_fetch_add(&awake, more, __ATOMIC_RELAXED); }

/* Those who slept are counted as awake by who wakes them: they need a core from now on. */
static void set_flag(uint32_t f) {
    if (__atomic_exchange_n(&flags[f], 1, __ATOMIC_ACQ_REL) == 2)
        weft__gate_awake((int)weft__raw(SYS_futex, &flags[f], FUTEX_WAKE_PRIVATE, 1 << 30));
}

/* Whether everybody waits: at a gate for a flag that is not set, or beyond what is known, or for the end, or for a lock.
 * sum: of who waits for which flag, or where for a lock; locks: how many of those. A thread that was woken and has not run yet
 * does not wait, however long it is kept from running: that may be by a debugger. Whether a lock is free cannot be seen. */
static int all_wait(uint64_t *sum, int *locks) {
    *sum = 0;
    *locks = 0;
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || !o->alive) continue;
        int w = __atomic_load_n(&o->waiting, __ATOMIC_ACQUIRE);
        uint32_t f = o->waiting_flag;
        if (!w || (w == 1 && __atomic_load_n(&flags[f], __ATOMIC_ACQUIRE) == 1)) return 0;
        if (w == 4 && weft__control->debug) return 0;
        if (w == 1) *sum = weft_hash_more(*sum ^ s, &f, sizeof f);
        if (w == 4) *sum = weft_hash_more(*sum ^ s, &o->tls->clock, sizeof o->tls->clock), ++*locks;
    }
    return 1;
}

/* All threads that are still to do something wait: the replay cannot go on. Looked at twice: who waits for the same flag both
 * times did so in between, since flags stay set; so at that moment everybody waited. Who is at a lock may be about to get it; so
 * it must have been there the last time too that the caller, who comes every two seconds, looked. (One that does nothing but
 * lock and unlock was taken to be stuck in every third replay or so that took 8 s.) */
static void check_stuck(int seen_progress, uint64_t *last) {
    uint64_t before, after, was = *last;
    int locks;
    *last = 0;
    if (ending || __atomic_load_n(&progress, __ATOMIC_ACQUIRE) != seen_progress) return; /* before all threads look at all threads */
    if (!all_wait(&before, &locks) || !all_wait(&after, &locks) || before != after) return;
    *last = before;
    if (locks && before != was) return;
    if (__atomic_load_n(&progress, __ATOMIC_ACQUIRE) != seen_progress) return;
    static char buf[3900];
    size_t n = 0;
    for (uint32_t s = 1; s < weft__slots && n < sizeof buf - 120; s++) {
        struct weft_thread *o = weft__threads[s];
        if (o && o->alive && (o->waiting == 1 || o->waiting == 4))
            n += weft__format(buf + n, sizeof buf - n, o->waiting == 1 ? "%sthread %u at tick %lu @0x%lx" : "%sthread %u at tick %lu, for a lock of libc or a library",
                              n ? "; " : "", s, o->tls->clock, o->waiting_site);
    }
    weft__stuck("all threads wait, so this run differs from the recorded one: %s", buf);
}

static void wait_flag(struct weft_thread *t, uint32_t f, uint64_t site) {
    int spin = weft__control->debug ? 1 : SPIN >> t->vain; /* it may be stepped through */
    for (int i = 0; i < spin; i++) {
        if (__atomic_load_n(&flags[f], __ATOMIC_ACQUIRE) == 1) {
            t->vain -= t->vain > 0;
            return;
        }
        if (i > SPIN_CROWDED && __atomic_load_n(&awake, __ATOMIC_RELAXED) > cores) break;
        weft__pause();
    }
    t->vain += t->vain < 4;
    for (int i = 0; i < YIELDS && !weft__control->debug; i++) {
        weft__raw(SYS_sched_yield);
        if (__atomic_load_n(&flags[f], __ATOMIC_ACQUIRE) == 1) return;
    }
    t->waiting_flag = f;
    t->waiting_site = site;
    __atomic_store_n(&t->waiting, 1, __ATOMIC_SEQ_CST);
    for (uint64_t stuck = 0;;) {
        int seen = __atomic_load_n(&progress, __ATOMIC_ACQUIRE);
        uint32_t z = 0;
        __atomic_compare_exchange_n(&flags[f], &z, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (z == 1) break;
        struct __kernel_timespec ts = {2, 0};
        weft__gate_awake(-1);
        long r = weft__raw(SYS_futex, &flags[f], FUTEX_WAIT_PRIVATE, 2, &ts);
        if (r) weft__gate_awake(1);
        if (r == -110) check_stuck(seen, &stuck);
    }
    __atomic_store_n(&t->waiting, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&progress, 1, __ATOMIC_ACQ_REL);
}

/* The thread waits in the kernel for a lock of code that was not built with weft: on, then off. */
void weft__gate_foreign_wait(struct weft_thread *t, int on) {
    weft__gate_awake(on ? -1 : 1);
    __atomic_store_n(&t->waiting, on ? 4 : 0, __ATOMIC_SEQ_CST);
    if (!on) __atomic_fetch_add(&progress, 1, __ATOMIC_ACQ_REL);
}

/* Whether the thread has still to do something that is known. Its items are its own, but only ever go from due to met. */
static int unfinished(struct weft_thread *o) {
    struct weft_tls *s = __atomic_load_n(&o->tls, __ATOMIC_ACQUIRE);
    if (!s) return o->items < o->items_end; /* created, not started */
    if (__atomic_load_n(&s->clock, __ATOMIC_ACQUIRE) < o->final_tick) return 1;
    for (struct weft_sched_item *i = o->items; i < o->items_end; i++)
        if (__atomic_load_n(&i->kind, __ATOMIC_ACQUIRE)) return 1;
    return 0;
}

/* The recording was cut and all of it has been replayed: end as it did. */
static void end_if_all_done(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    if (s->end_slot) return; /* a thread ends the process by itself */
    for (uint32_t k = 1; k < weft__slots; k++) {
        struct weft_thread *o = weft__threads[k];
        if (o && o != t && o->alive && __atomic_load_n(&o->waiting, __ATOMIC_SEQ_CST) != 2 && unfinished(o)) return;
    }
    if (__atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL)) return; /* another thread is at it, or stopped on its way by a debugger */
    __weft_debug_hook(WEFT_DEBUG_END, t->slot, t->tls->clock, 0);
    weft__gate_end_process(s);
}

/* As the recorded process ended. */
void weft__gate_end_process(const struct weft_sched *s) {
    static int once;
    if (s->end_kind == WEFT_END_STUCK) {
        if (__atomic_exchange_n(&once, 1, __ATOMIC_ACQ_REL)) /* another thread is at it: it ends the process */
            for (;;) weft__raw(SYS_pause);
        weft__tell_stuck();
    }
    weft__control->exit_kind = s->end_kind;
    weft__control->exit_code = s->end_code;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
    if (s->end_kind == WEFT_END_SIGNAL) {
        uint64_t set = 1ul << (s->end_code - 1);
        weft__kernel_sigaction((int)s->end_code, NULL, 0, 0);
        weft__raw(SYS_rt_sigprocmask, 1 /* SIG_UNBLOCK */, &set, 0, 8);
        weft__raw(SYS_tgkill, weft__raw(SYS_getpid), weft__raw(SYS_gettid), s->end_code); /* before it goes on, under a debugger too */
    }
    weft__raw(SYS_exit_group, s->end_code);
    __builtin_unreachable();
}

/* A thread beyond what is known of it: it must not disturb the others. */
void weft__gate_park(struct weft_thread *t) {
    __atomic_store_n(&t->waiting, 2, __ATOMIC_SEQ_CST);
    end_if_all_done(t);
    __atomic_fetch_add(&progress, 1, __ATOMIC_ACQ_REL);
    weft__raw(SYS_futex, &progress, FUTEX_WAKE_PRIVATE, 1 << 30);
    static int never;
    weft__gate_awake(-1);
    /* The last one to be done need not come here: it may exit, or wait for one of us. So one of us goes on looking. And if
     * nobody has got on for as long as wait_flag() would wait, they may wait for a lock that one of us has. */
    struct __kernel_timespec ts = {0, 2000000}, *now_and_then = __atomic_exchange_n(&watched, 1, __ATOMIC_RELAXED) ? NULL : &ts;
    uint64_t stuck = 0;
    for (int seen = 0, looks = 0;; looks++) {
        weft__raw(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, now_and_then);
        if (!now_and_then) continue;
        end_if_all_done(t);
        int now = __atomic_load_n(&progress, __ATOMIC_ACQUIRE);
        if (now != seen) looks = 0;
        seen = now;
        if (looks == 1000) {
            check_stuck(seen, &stuck);
            looks = 0;
        }
    }
}

/* Sets the DONE flags of the position before. */
static void settle(struct weft_thread *t) {
    if (t->cur_tick == WEFT_NEVER) return;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick <= t->cur_tick; i++)
        if (i->kind == WEFT_S_DONE && i->tick == t->cur_tick && i->site == t->cur_site) {
            if (unlikely(weft__proves)) weft__prove_mark(t, i->a);
            set_flag(i->a);
            i->kind = 0;
        }
    t->cur_tick = WEFT_NEVER;
}

/* At (clock, site). */
static void at(struct weft_thread *t, uint64_t site) {
    uint64_t now = t->tls->clock;
    int done = 0;
    struct weft_sched_item *i;
    uint32_t step = 0;
    /* The waits in their order; before each, what other processes wrote and the flags that are due after those before it. */
    for (struct weft_sched_item *w = t->items;; w++) {
        for (i = w; i < t->items_end && i->tick == now && !(i->site == site && i->kind == WEFT_S_WAIT); i++)
            if (i->kind == WEFT_S_MEMORY && i->site == site) {
                weft__shm_apply(weft__gate_data(i), i->size);
                i->kind = 0;
            }
        for (i = t->items; i < t->items_end && i->tick == now; i++) {
            if (i->site != site) continue;
            if (i->kind == WEFT_S_REACHED && i->size <= step) {
                if (unlikely(weft__proves)) weft__prove_mark(t, i->a);
                set_flag(i->a);
                i->kind = 0;
            } else if (i->kind == WEFT_S_DONE)
                done = 1;
        }
        while (w < t->items_end && w->tick == now && !(w->site == site && w->kind == WEFT_S_WAIT)) w++;
        if (w >= t->items_end || w->tick != now) break;
        wait_flag(t, w->a, site);
        if (unlikely(weft__proves)) weft__prove_wait(t, w->a);
        w->kind = 0;
        step++;
    }
    if (done) {
        t->cur_tick = now;
        t->cur_site = site;
    }
}

static int anything_left(struct weft_thread *t) {
    for (struct weft_sched_item *i = t->items; i < t->items_end; i++)
        if (i->kind) return 1;
    return 0;
}

static const char *missed_name(const struct weft_sched_item *i) {
    return i->kind == WEFT_S_INPUT ? "an input" : i->kind == WEFT_S_MEMORY ? "an access of what another process wrote" : i->kind == WEFT_S_REPEAT ? "an iteration of a loop that was left out," : i->kind == WEFT_S_LOOP ? "a loop" : i->kind == WEFT_S_WAIT ? "an access that waited" : "an access that others waited for";
}

/* Drop the items of past ticks: all must have been met. */
static void pass(struct weft_thread *t, uint64_t now) {
    while (t->items < t->items_end && t->items->tick < now) {
        if (t->items->kind && !(t->items->kind == WEFT_S_INPUT && t->items->item == WEFT_ITEM_REACHED)) {
            weft__diverged("thread %u passed tick %lu without %s that the recording has there, at @0x%lx (op %u)", t->slot,
                           t->items->tick, missed_name(t->items), t->items->site, t->items->a);
        }
        t->items++;
    }
}

/* In this tick every check comes here, that of a weak lock too. */
static void poison(struct weft_tls *s, int on) {
    s->me = on ? WEFT_POISON : 0;
    s->weak = on ? ~0ull : 0;
}

static void arm(struct weft_thread *t) {
    struct weft_tls *s = t->tls;
    uint64_t now = s->clock;
    if (t->items < t->items_end && t->items->tick == now) {
        poison(s, 1);
        s->limit = now + 1;
    } else if (t->items < t->items_end) {
        poison(s, weft__accesses);
        s->limit = t->items->tick;
    } else {
        poison(s, weft__accesses);
        if (t->open_end)
            s->limit = WEFT_NEVER;
        else {
            /* Known only up to final_tick: every miss and the next tick come here, to stop. */
            s->limit = now < t->final_tick ? t->final_tick : now + 1;
            if (now >= t->final_tick) poison(s, 1);
        }
    }
}

/* A debugger may change these words too, while the thread is stopped: it says what for first, and that is looked at last. */
void weft__gate_arm(struct weft_thread *t) {
    arm(t);
    if (unlikely(t->left)) t->tls->me = WEFT_POISON; /* loops are to ask */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (likely(!__weft_debug.stop_tick) || t->slot != __weft_debug.stop_slot) return;
    struct weft_tls *s = t->tls;
    uint64_t stop = __weft_debug.stop_tick;
    if (s->clock < stop && s->limit > stop) s->limit = stop;
    if (s->clock == stop && __weft_debug.stop_site) {
        poison(s, 1);
        s->limit = stop + 1;
    }
}

void weft__gate_tick(struct weft_thread *t) {
    uint64_t now = t->tls->clock;
    settle(t);
    pass(t, now);
    if (unlikely(t->items == t->items_end && !t->open_end && now > t->final_tick)) weft__gate_park(t);
    at(t, 0);
    weft__debug_at(t, 0);
    weft__gate_arm(t);
}

/* An operation of the runtime begins at this tick: if nothing is known of the thread from here on, it was not done. */
void weft__gate_operation(struct weft_thread *t) {
    if (unlikely(!t->open_end && t->tls->clock >= t->final_tick && t->cur_tick == WEFT_NEVER && !anything_left(t)))
        weft__gate_park(t);
}

void weft__gate_miss(struct weft_thread *t, uint64_t site) {
    uint64_t now = t->tls->clock;
    settle(t);
    int cut = !t->open_end && now >= t->final_tick;
    if (unlikely(cut && !anything_left(t))) weft__gate_park(t);
    at(t, site);
    /* Reached, and nothing is known beyond, not even that the access here was done: then it must not be. */
    if (unlikely(cut && t->cur_tick == WEFT_NEVER && !anything_left(t))) weft__gate_park(t);
    weft__debug_at(t, site);
}

void weft__gate_end(struct weft_thread *t) { settle(t); }

/* The input that the recording has at this tick. */
struct weft_sched_item *weft__gate_input(struct weft_thread *t, int item, int64_t op) {
    if (weft__given) return weft__given_input(t, item, op);
    uint64_t now = t->tls->clock;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == now; i++)
        if (i->kind == WEFT_S_INPUT) {
            if ((int)i->item != item || (op >= 0 && i->a != op)) return NULL;
            i->kind = 0;
            return i;
        }
    /* The recording was cut while this thread was in the call: it is known no further. */
    if (unlikely(!t->open_end && now >= t->final_tick && !unfinished(t))) weft__gate_park(t);
    return NULL;
}

int weft__gate_next_is(struct weft_thread *t, int op, const void *data, size_t n) {
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick <= t->tls->clock + 1; i++)
        if (i->tick == t->tls->clock + 1 && i->kind == WEFT_S_INPUT) {
            const char *d = weft__gate_data(i), *e = data;
            if (i->item != WEFT_ITEM_INPUT || i->a != (uint32_t)op || i->size != 8 + n) return 0;
            for (size_t k = 0; k < n; k++)
                if (d[8 + k] != e[k]) return 0;
            return 1;
        }
    return 0;
}

/* The operation of the next input at this tick; 0: there is none. */
uint32_t weft__gate_op(struct weft_thread *t) {
    if (weft__given) return weft__given_op(t);
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == t->tls->clock; i++)
        if (i->kind == WEFT_S_INPUT) return i->item == WEFT_ITEM_INPUT ? i->a : 0;
    return 0;
}

const void *weft__gate_data(const struct weft_sched_item *i) { return weft__file + i->data; }

static void finish(struct weft_thread *t) {
    settle(t);
    __atomic_store_n(&t->waiting, 3, __ATOMIC_SEQ_CST);
    weft__gate_awake(-1);
    uint64_t stuck = 0;
    for (int quiet = 0;;) {
        int seen = __atomic_load_n(&progress, __ATOMIC_ACQUIRE), busy = 0;
        for (uint32_t s = 1; s < weft__slots; s++) {
            struct weft_thread *o = weft__threads[s];
            if (!o || o == t || !o->alive) continue;
            int w = __atomic_load_n(&o->waiting, __ATOMIC_ACQUIRE);
            if (w == 2) continue;
            /* Nothing more is known of it: wherever it is, it has done its part when it is past its last item. */
            if (!unfinished(o)) continue;
            busy = 1;
        }
        if (!busy) return;
        struct __kernel_timespec ts = {0, 1000000};
        long r = weft__raw(SYS_futex, &progress, FUTEX_WAIT_PRIVATE, seen, &ts);
        if (r == -110 && ++quiet > 3000) {
            check_stuck(seen, &stuck);
            quiet = 0;
        }
        if (r != -110) quiet = 0;
    }
}

/* The process is about to end in this thread: let all others finish their recorded parts first (LEAP 2.5). */
void weft__gate_finish(struct weft_thread *t) {
    finish(t);
    __atomic_store_n(&t->waiting, 0, __ATOMIC_SEQ_CST);
    __weft_debug_hook(WEFT_DEBUG_END, t->slot, t->tls->clock, 0);
}

void weft__gate_forked(struct weft_thread *t) {
    weft__accesses_forked();
    weft__prove_forked();
    progress = watched = ending = 0;
    awake = 1;
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s]) weft__gate_open(weft__threads[s]);
    (void)t;
}

void weft__gate_open(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    flags = (uint32_t *)(weft__file + s->flags_off);
    if (!cores) {
        uint64_t set[128];
        long n = weft__raw(SYS_sched_getaffinity, 0, sizeof set, set);
        for (long i = 0; i < n / 8; i++) cores += __builtin_popcountl(set[i]);
    }
    t->cur_tick = WEFT_NEVER;
    t->items = t->items_end = NULL;
    t->final_tick = 0;
    t->open_end = 0;
    if (t->slot < s->slots) {
        struct weft_sched_slot *sl = (struct weft_sched_slot *)(s + 1) + t->slot;
        t->items = (struct weft_sched_item *)(weft__file + sl->items_off);
        t->items_end = t->items + sl->items;
        t->final_tick = sl->final_tick;
        t->open_end = (int)sl->open_end;
    }
}
