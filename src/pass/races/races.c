/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Puts the race detector together: who runs what, then the summaries, then the pairs.
 *
 * Threads are abstract: main with the static initialisers; one per call that starts a start routine; one for what atexit
 * was given, if it may run on another thread than main; and one, which is many, for all that code outside may call at any
 * time. Each call that starts threads adds those, and all that they start in turn, to what is alive.
 *
 * What is assumed, beyond what points-to assumes (solve.c): a mutex is unlocked by the thread that locked it, as POSIX
 * demands (plan `races` sees to that at run time); a pthread_join that gets a joinable thread succeeds; a lock that fails does so only for mutexes that are robust
 * or have a protocol. Memory errors break all of it; what is freed counts as written. */
#include "races.h"

static void add_root(struct weft_races *r, uint32_t function, unsigned thread, uint64_t alive) {
    for (uint32_t i = 0; i < r->roots; i++)
        if (r->root[i].function == function && r->root[i].thread == thread && r->root[i].alive == alive) return;
    WEFT_GROW(r->root, r->roots, r->root_room);
    r->root[r->roots++] = (struct weft_race_root){function, (uint8_t)thread, alive};
}

static void find_roots(struct weft_races *r) {
    struct weft_facts *f = r->f;
    const uint64_t all = ~0ull, early = f->threads.initialiser_starts ? all : f->threads.exports ? 1ull << WEFT_THREAD_OUTSIDE : 0;
    r->threads = WEFT_THREAD_FIRST;
    for (unsigned i = 0; i < 64; i++)
        r->thread[i] = (struct weft_race_thread){UINT32_MAX, UINT32_MAX, i == WEFT_THREAD_OUTSIDE || i == WEFT_THREAD_OVERFLOW};
    for (uint32_t i = 0; i < f->functions; i++) {
        if (!f->function[i].defined) continue;
        if (!f->opt.shared_library && !strcmp(weft__ir_name(f->function[i].fn), "main"))
            add_root(r, i, WEFT_THREAD_MAIN, early);
        if (f->function[i].exposed) add_root(r, i, WEFT_THREAD_OUTSIDE, all);
    }
    for (uint32_t i = 0; i < r->p->entries; i++) {
        const struct weft_entry *e = &r->p->entry[i];
        switch (e->effect) {
        case WEFT_EFF_CALL:
        case WEFT_EFF_TOUCH:
            if (e->call != UINT32_MAX) break; /* a callback: it is among the callees */
            if (f->opt.shared_library)
                add_root(r, e->function, WEFT_THREAD_OUTSIDE, all);
            else
                add_root(r, e->function, WEFT_THREAD_MAIN, early);
            break;
        case WEFT_EFF_THREAD: {
            unsigned t = r->threads < WEFT_THREAD_OVERFLOW ? r->threads++ : WEFT_THREAD_OVERFLOW;
            if (t < WEFT_THREAD_OVERFLOW) r->thread[t] = (struct weft_race_thread){e->function, e->call, 0};
            add_root(r, e->function, t, all); /* until weft__pairs_find knows better */
            r->call_starts[e->call] |= 1ull << t;
            break;
        }
        case WEFT_EFF_LATER:
            add_root(r, e->function, WEFT_THREAD_OUTSIDE, all);
            break;
        default: {
            int elsewhere = (f->threads.mask[e->function] >> WEFT_BIT_EXIT) & 1;
            add_root(r, e->function, elsewhere ? WEFT_THREAD_EXIT : WEFT_THREAD_MAIN, all);
        }
        }
    }
}

/* A thread that is started may start others, and so on. */
static void find_starts(struct weft_races *r) {
    struct weft_facts *f = r->f;
    uint64_t *below = weft__an_alloc(NULL, f->functions + 1, sizeof *below), of[64] = {0};
    memset(below, 0, (f->functions + 1) * sizeof *below);
    for (size_t i = 0; i < f->calls; i++)
        if (f->call[i].starts && !r->call_starts[i]) r->call_starts[i] = ~0ull; /* who knows what */
    for (int again = 1; again;) {
        again = 0;
        for (size_t i = f->calls; i-- > 0;) {
            uint64_t s = r->call_starts[i];
            for (uint32_t t = 0; t < f->call[i].targets; t++) {
                uint32_t to = f->target[f->call[i].target + t];
                s |= to == f->node_unknown ? ~0ull : below[to];
            }
            again |= (s & ~below[f->call[i].caller]) != 0;
            below[f->call[i].caller] |= s;
        }
    }
    for (uint32_t i = 0; i < r->roots; i++)
        of[r->root[i].thread] |= below[r->root[i].function];
    for (int again = 1; again;) {
        again = 0;
        for (int t = 0; t < 64; t++)
            for (int u = 0; u < 64; u++)
                if ((of[t] >> u & 1) && (of[u] & ~of[t])) of[t] |= of[u], again = 1;
    }
    for (size_t i = 0; i < f->calls; i++) {
        uint64_t s = r->call_starts[i];
        if (!s) continue;
        s |= 1ull << WEFT_THREAD_OUTSIDE | 1ull << WEFT_THREAD_EXIT | of[WEFT_THREAD_OUTSIDE] | of[WEFT_THREAD_EXIT];
        for (int t = 0; t < 64; t++)
            if (r->call_starts[i] >> t & 1) s |= of[t];
        r->call_starts[i] = s;
    }
    free(below);
}

static int is_used(struct weft_races *r, const char *name) {
    LLVMValueRef fn = LLVMGetNamedFunction(r->f->module, name);
    return fn && LLVMGetFirstUse(fn);
}

struct weft_races *weft__races_new(struct weft_facts *f, int plan, struct weft_weak *weak) {
    struct weft_races *r = weft__an_alloc(NULL, 1, sizeof *r);
    WEFT_CHECK(f->points);
    *r = (struct weft_races){.f = f, .p = f->points, .plan = (uint8_t)plan, .weak = weak};
    r->call_starts = weft__an_alloc(NULL, f->calls + 1, sizeof *r->call_starts);
    memset(r->call_starts, 0, (f->calls + 1) * sizeof *r->call_starts);
    r->lock_may_fail = is_used(r, "pthread_mutexattr_setrobust") || is_used(r, "pthread_mutexattr_setprotocol");
    find_roots(r);
    find_starts(r);
    weft__lockset_init(r);
    weft__address_init(r);
    weft__joins_find(r);
    weft__summary_all(r);
    if (!r->gave_up) weft__pairs_find(r);
    return r;
}

void weft__races_free(struct weft_races *r) {
    for (uint32_t i = 0; i < r->f->functions; i++) {
        free(r->summary[i].list);
        weft__map_fini(&r->summary[i].first);
    }
    for (uint32_t i = 0; r->result && i < r->result->classes; i++)
        free(r->result->class[i].side);
    if (r->result) free(r->result->class), free(r->result->race);
    free(r->result);
    weft__map_fini(&r->access_at);
    weft__map_fini(&r->join_at);
    weft__map_fini(&r->join_edge);
    weft__map_fini(&r->sure);
    weft__address_fini(r);
    weft__lockset_fini(r);
    free(r->looked), free(r->summary), free(r->access), free(r->root), free(r->call_starts), free(r->join);
    free(r);
}
