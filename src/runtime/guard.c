/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Guards of C++ function-local statics (Itanium C++ ABI 3.3.3): byte 0 is set when the object exists (the program tests it
 * inline), byte 1 while somebody makes it. Here instead of in libstdc++ because who makes it must be the same in replay: each
 * look at the guard is an owned access at a tick of its own, so a thread that waits looks as often as it did.
 *
 * Statics of code that was not built with weft are another matter: that code tests byte 0 itself, unordered, so how often it
 * comes here depends on timing. Only the call that gets to make the object leaves a trace: an input, with a tick, that names
 * the guard. In replay a thread whose next tick has that input makes the object; all others wait until it is there. */
#include "real.h"
#include "runtime.h"
#include "sys.h"

static int look(unsigned char *g) {
    int was, r;
    struct weft_thread *t = weft__enter(&was);
    if (t) {
        weft__take(t, g, 8);
        r = g[0] ? 0 : g[1] ? -1 : 1;
        if (r == 1) g[1] = 1;
        weft__leave(t, was);
        return r;
    }
    if (__atomic_load_n(&g[0], __ATOMIC_ACQUIRE)) return 0;
    if (__atomic_exchange_n(&g[1], 1, __ATOMIC_ACQ_REL)) return -1;
    if (likely(!__atomic_load_n(&g[0], __ATOMIC_ACQUIRE))) return 1;
    __atomic_store_n(&g[1], 0, __ATOMIC_RELEASE); /* somebody made it between the two looks */
    return 0;
}

static int foreign_lock;

static int foreign_acquire(struct weft_thread *t, unsigned char *g) {
    for (;;) {
        if (__atomic_load_n(&g[0], __ATOMIC_ACQUIRE)) return 0;
        if (weft__mode == WEFT_RECORD) {
            weft__lock(&foreign_lock);
            int mine = !g[0] && !g[1];
            if (mine) g[1] = 1;
            weft__unlock(&foreign_lock);
            if (mine) break;
            if (unlikely(weft__given)) {
                weft__turns_block(t, WEFT_WAIT_ONCE, g, NULL);
                continue;
            }
        } else if (weft__gate_next_is(t, WEFT_OP_ONCE, &g, sizeof g))
            break;
        weft__raw(SYS_sched_yield);
    }
    int was;
    weft__enter(&was);
    uint64_t a = (uint64_t)(uintptr_t)g;
    weft__result(t, WEFT_OP_ONCE, 1, &a, sizeof a);
    weft__leave(t, was);
    return 1;
}

WEFT_HIDDEN int weft__guard_acquire(unsigned char *g) {
    int r;
    struct weft_thread *self = weft__active();
    if (self && !weft__in_weft_code(weft__caller())) return foreign_acquire(self, g);
    while ((r = look(g)) < 0) {
        int was;
        struct weft_thread *t = weft__enter(&was);
        if (t && unlikely(weft__given))
            weft__turns_block(t, WEFT_WAIT_ONCE, g, NULL);
        else {
            if (t) weft__outside(t);
            weft__raw(SYS_sched_yield);
            if (t) weft__inside(t);
        }
        if (t) weft__leave(t, was);
    }
    return r;
}
WEFT_WRAP(__cxa_guard_acquire, weft__guard_acquire);

static void set(unsigned char *g, int made) {
    int was;
    struct weft_thread *t = weft__active() && weft__in_weft_code(weft__caller()) ? weft__enter(&was) : NULL;
    if (t) weft__take(t, g, 8);
    if (made) __atomic_store_n(&g[0], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&g[1], 0, __ATOMIC_RELEASE);
    if (unlikely(weft__given)) weft__turns_release(g);
    if (t) weft__leave(t, was);
}
WEFT_HIDDEN void weft__guard_release(unsigned char *g) { set(g, 1); }
WEFT_HIDDEN void weft__guard_abort(unsigned char *g) { set(g, 0); }
WEFT_WRAP(__cxa_guard_release, weft__guard_release);
WEFT_WRAP(__cxa_guard_abort, weft__guard_abort);
