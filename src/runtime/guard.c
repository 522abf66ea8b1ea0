/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Guards of C++ function-local statics (Itanium C++ ABI 3.3.3): byte 0 is set when the object exists (the program tests it
 * inline), byte 1 while somebody makes it. Here instead of in libstdc++ because who makes it must be the same in replay: each
 * look at the guard is an owned access at a tick of its own, so a thread that waits looks as often as it did. */
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
    return __atomic_exchange_n(&g[1], 1, __ATOMIC_ACQ_REL) ? -1 : 1;
}

WEFT_HIDDEN int weft__guard_acquire(unsigned char *g) {
    int r;
    while ((r = look(g)) < 0) {
        int was;
        struct weft_thread *t = weft__enter(&was);
        if (t) weft__outside(t);
        weft__raw(SYS_sched_yield);
        if (t) {
            weft__inside(t);
            weft__leave(t, was);
        }
    }
    return r;
}
WEFT_WRAP(__cxa_guard_acquire, weft__guard_acquire);

static void set(unsigned char *g, int made) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (t) weft__take(t, g, 8);
    if (made) __atomic_store_n(&g[0], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&g[1], 0, __ATOMIC_RELEASE);
    if (t) weft__leave(t, was);
}
WEFT_HIDDEN void weft__guard_release(unsigned char *g) { set(g, 1); }
WEFT_HIDDEN void weft__guard_abort(unsigned char *g) { set(g, 0); }
WEFT_WRAP(__cxa_guard_release, weft__guard_release);
WEFT_WRAP(__cxa_guard_abort, weft__guard_abort);
