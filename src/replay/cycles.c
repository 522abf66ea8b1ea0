/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which threads of a process that is stuck wait for each other. A thread waits for a thread if that has locked what it wants, is to end, or
 * runs the routine of a pthread_once; a reader also for who wants to write, where that one comes first (a lock that prefers writers). A cycle of these is a deadlock; each thread is in one at most, as it waits for one thing, unless
 * several read. */
#include "replay/replay.h"

#include <stdlib.h>

bool weft__hold_blocks(const struct weft_wait *w, const struct weft_hold *h) {
    if (h->object != w->object) return false;
    switch (w->kind) {
    case WEFT_WAIT_MUTEX:
    case WEFT_WAIT_SPIN:
    case WEFT_WAIT_ONCE: return h->kind == w->kind;
    case WEFT_WAIT_RDLOCK: return h->kind == WEFT_WAIT_WRLOCK;
    case WEFT_WAIT_WRLOCK: return h->kind == WEFT_WAIT_WRLOCK || h->kind == WEFT_WAIT_RDLOCK;
    default: return false;
    }
}

bool weft__wait_first(const struct weft_wait *w, const struct weft_wait *o) {
    return w->kind == WEFT_WAIT_RDLOCK && o->kind == WEFT_WAIT_WRLOCK && o->object == w->object;
}

struct search {
    const struct weft_thread_view *threads;
    const struct weft_hold *holds;
    size_t nthreads, nholds;
    weft_cycle_fn *found;
    void *ctx;
    size_t cycles;
    const struct weft_thread_view **at; /* the way here */
    size_t n;
    bool *done; /* by index: all that it leads to is known */
};

static const struct weft_thread_view *thread(const struct search *s, uint64_t slot) {
    for (size_t i = 0; i < s->nthreads; i++)
        if (s->threads[i].slot == slot) return &s->threads[i];
    return NULL;
}

static void follow(struct search *s, const struct weft_thread_view *x) {
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i] == x) {
            s->found(s->ctx, s->at + i, s->n - i);
            s->cycles++;
            return;
        }
    if (s->done[x - s->threads]) return;
    bool held = false;
    s->at[s->n++] = x;
    if (x->wait.kind == WEFT_WAIT_JOIN && thread(s, x->wait.object)) follow(s, thread(s, x->wait.object));
    for (size_t i = 0; i < s->nholds; i++) {
        if (!weft__hold_blocks(&x->wait, &s->holds[i])) continue;
        held = true;
        if (s->holds[i].holder == WEFT_HOLDER_HERE && thread(s, s->holds[i].slot)) follow(s, thread(s, s->holds[i].slot));
    }
    for (size_t i = 0; i < s->nthreads && !held; i++)
        if (weft__wait_first(&x->wait, &s->threads[i].wait)) follow(s, &s->threads[i]);
    s->n--;
    s->done[x - s->threads] = true;
}

size_t weft__cycles(const struct weft_thread_view *threads, size_t nthreads, const struct weft_hold *holds, size_t nholds, weft_cycle_fn *found,
                    void *ctx) {
    struct search s = {.threads = threads, .nthreads = nthreads, .holds = holds, .nholds = nholds, .found = found, .ctx = ctx,
                       .at = weft__alloc((nthreads + 1) * sizeof *s.at), .done = weft__alloc(nthreads + 1)};
    for (size_t i = 0; i < nthreads; i++) follow(&s, &threads[i]);
    free(s.at);
    free(s.done);
    return s.cycles;
}
