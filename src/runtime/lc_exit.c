/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* exit and quick_exit: the first thread that calls one runs the handlers and ends the process; others, who come meanwhile,
 * wait for that (as in newer versions of libc; in older ones they run handlers too, in an order that nobody knows). Who is
 * first is an ordered operation. That main returns is a call of exit as well (weft__rewrite_early).
 *
 * abort: without the lock that libc has around it, which two threads would get in another order in replay. */
#include "real.h"
#include "runtime.h"
#include <signal.h>

long weft__on_rt(void *fn, ...);
int pause(void);

static int exit_lock;
static const char exit_object;
static struct weft_thread *first;

static long begin(void) {
    int was, mine;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return 1;
    weft__lock(&exit_lock);
    weft__order(t, &exit_object);
    if (!first) first = t;
    mine = first == t; /* a handler may call exit again */
    weft__unlock(&exit_lock);
    weft__leave(t, was);
    return mine;
}

WEFT_API void exit(int status) {
    if (!weft__on_rt((void *)begin))
        for (;;) pause();
    weft__real.exit(status);
    __builtin_unreachable();
}
WEFT_API void quick_exit(int status) {
    if (!weft__on_rt((void *)begin))
        for (;;) pause();
    weft__real.quick_exit(status);
    __builtin_unreachable();
}

WEFT_API void abort(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGABRT);
    signal(SIGABRT, SIG_DFL); /* its handler came back */
    raise(SIGABRT);
    __builtin_trap();
}
