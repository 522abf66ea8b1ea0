/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Iterations of loops that are left out.
 *
 * Where the body of a loop begins, the program asks whether to leave it out (src/pass/loops/repeat.c): by a comparison of the thread's
 * id with WEFT_POISON, which is so in a steered recording, and in replay in the ticks that have items. In a recording that is steered
 * the answer is weft__steer_repeat's, and is logged; in replay it is what was logged. It makes no tick and no event: each iteration has
 * a tick of its own, so (tick, site) names it. */
#include "runtime.h"

/* To test weft: one in eight is left out. */
static int at_random(struct weft_thread *t, uint64_t site, uint32_t flags) {
    uint64_t x = t->rng;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    t->rng = x;
    if (x >> 20 & 7) return 0;
    weft__log_item(t, WEFT_ITEM_REPEAT, flags | WEFT_REPEAT_LEFT_OUT, &site, 8, NULL, 0);
    return 1;
}

static int recorded(struct weft_thread *t, uint64_t site) {
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == t->tls->clock; i++)
        if (i->kind == WEFT_S_REPEAT && i->site == site) {
            __atomic_store_n(&i->kind, 0, __ATOMIC_RELEASE);
            return 1;
        }
    return 0;
}

WEFT_HIDDEN void weft__enter_repeat(uint64_t a, uint64_t b, uint64_t site) {
    struct weft_thread *t = weft__self();
    int left_out = 0;
    (void)a;
    (void)b;
    if (t && weft__mode == WEFT_REPLAY)
        left_out = recorded(t, site);
    else if (t && weft__given)
        left_out = weft__steer_repeat(t, site, (uint32_t)t->tls->saved[10]);
    else if (t && weft__mode == WEFT_RECORD && weft__control->options & WEFT_OPT_LEAVE_OUT)
        left_out = at_random(t, site, (uint32_t)t->tls->saved[10]);
    __weft_tls.saved[9] = (uint64_t)left_out;
}
