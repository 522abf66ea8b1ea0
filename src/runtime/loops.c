/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops that look at their memory before they begin (src/pass/rewrite/ranges.c), take what is missing, and then run in a copy that does not check it, as
 * long as the thread has all of it.
 *
 * What a thread has it can only lose where it comes to the runtime. At the tick of the loop's head it leaves the copy then. In the middle of the loop, at a
 * miss of something else, or when a handler has run after a fault, it cannot: so it takes all of it again, at that very position (weft__rec_loop), and
 * leaves the copy at the next tick.
 *
 * Which of the two copies a thread is in is not known from the program alone. When it is not the one without checks, the trace says so. */
#include "runtime.h"
#include "sys.h"

/* Replay: whether the trace has it here. */
static int recorded(struct weft_thread *t, uint32_t what) {
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == t->tls->clock; i++)
        if (i->kind == WEFT_S_LOOP && i->a == what) {
            __atomic_store_n(&i->kind, 0, __ATOMIC_RELEASE);
            return 1;
        }
    return 0;
}

static void leave(struct weft_thread *t, uint32_t what) {
    weft__log_item(t, WEFT_ITEM_LOOP, what, NULL, 0, NULL, 0);
    t->tls->fast = 0;
}

void weft__loop_tick(struct weft_thread *t, int interrupted) {
    if (weft__mode == WEFT_REPLAY) {
        if (recorded(t, WEFT_LOOP_LEFT) || weft__accesses) t->tls->fast = 0;
    } else if (t->tls->fast && weft__mode == WEFT_RECORD) {
        if (interrupted || t->loop_lost || !weft__rec_loop_has(t)) leave(t, WEFT_LOOP_LEFT);
        t->loop_lost = 0;
    }
}

/* A loop is about to begin, whose ranges are in tls.range, and does not have all of them, or they are too many lines (0). For reports every access is to be
 * seen, and the loop itself has the checks. That there are too many is a matter of what the program computes: replay comes here as well, and needs no
 * item for it (older traces have one). */
WEFT_HIDDEN void weft__enter_range(uint64_t line, uint64_t lines, uint64_t site) {
    struct weft_thread *t = weft__self();
    (void)line;
    if (!t) return;
    int too_many = !((uint32_t)lines & ~WEFT_RANGE_WRITE);
    if (weft__mode == WEFT_REPLAY) {
        if (t->tls->me == WEFT_POISON) weft__gate_miss(t, site);
        if (recorded(t, WEFT_LOOP_NOT) || too_many || weft__accesses) t->tls->fast = 0;
    } else if (too_many)
        t->tls->fast = 0;
    else if (weft__mode == WEFT_RECORD && t->tls->fast && (weft__steering || !weft__rec_loop_begin(t, site))) {
        leave(t, WEFT_LOOP_NOT);
        weft__rec_again(t, site);
    }
}
