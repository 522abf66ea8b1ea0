/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Iterations of loops that are left out.
 *
 * Where the body of a loop begins, the program asks whether to leave it out (src/pass/loops/repeat.c): by a comparison of the thread's
 * id with WEFT_POISON, which is so in a steered recording, and in replay in the ticks that have items. In a recording that is steered
 * the answer is weft__steer_repeat's, and is logged; in replay it is what was logged. It makes no tick and no event: each iteration has
 * a tick of its own, so (tick, site) names it. */
#include "runtime.h"
#include "sys.h"

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

/* How deep it is in the thread's stack: the same in every run that comes there in the same way, and in every thread. */
static uint32_t frame_of(const struct weft_thread *t) {
    uint64_t top = t->stack_map ? (uint64_t)(uintptr_t)t->stack_map + t->stack_size : 0;
    uint32_t f = (uint32_t)((top - t->tls->saved[0]) >> 4) & WEFT_REPEAT_FRAME_MASK;
    return f ? f : 1;
}

/* Iterations of one loop that are left out one after the other are logged once. They may belong to several times that the program came
 * to the loop, so several loops may have some left. */
int weft__left_one(struct weft_thread *t, uint64_t site, uint32_t frame) {
    for (uint32_t k = 0; t->left && k < t->nlefts; k++)
        if (t->lefts[k].site == site && (!t->lefts[k].frame || t->lefts[k].frame == frame) && t->lefts[k].times) {
            t->lefts[k].times--;
            t->left--;
            return 1;
        }
    return 0;
}
void weft__left_more(struct weft_thread *t, uint64_t site, uint32_t frame, uint64_t times) {
    uint32_t k = 0;
    while (k < t->nlefts && (t->lefts[k].site != site || t->lefts[k].frame != frame)) k++;
    if (k == t->lefts_room) {
        uint32_t room = k ? 2 * k : 64;
        struct weft_left *n = weft__rt_map(room * sizeof *n);
        if (k) weft__copy(n, t->lefts, k * sizeof *n);
        t->lefts = n;
        t->lefts_room = room;
    }
    if (k == t->nlefts) t->lefts[t->nlefts++] = (struct weft_left){site, 0, frame};
    t->lefts[k].times += times;
    t->left += times;
}

static int recorded(struct weft_thread *t, uint64_t site) {
    if (weft__left_one(t, site, frame_of(t))) return 1;
    for (struct weft_sched_item *i = t->items; i < t->items_end && i->tick == t->tls->clock; i++)
        if (i->kind == WEFT_S_REPEAT && i->site == site) {
            weft__left_more(t, site, i->a >> WEFT_REPEAT_FRAME_SHIFT, i->size - 1);
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
        left_out = weft__steer_repeat(t, site, frame_of(t), (uint32_t)t->tls->saved[10]);
    else if (t && weft__mode == WEFT_RECORD && weft__control->options & WEFT_OPT_LEAVE_OUT)
        left_out = at_random(t, site, (uint32_t)t->tls->saved[10]);
    __weft_tls.saved[9] = (uint64_t)left_out;
}
