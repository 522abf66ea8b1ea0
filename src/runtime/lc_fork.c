/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fork, vfork and the handlers of pthread_atfork, which run on the program's stack, as the program's code. libc must not
 * call them: before the fork they take locks of threads that would stand still by then. */
#include "runtime.h"
#include "sys.h"
#include <errno.h>

long weft__on_rt(void *fn, ...);
long weft__fork_rt(void);

#define HANDLERS 256
static struct handler {
    void (*prepare)(void), (*parent)(void), (*child)(void);
} handlers[HANDLERS];
static long count;
static int lock;

/* n: 0: how many there are. Else one more. */
static long list_rt(struct handler *h) {
    int was = 0;
    struct weft_thread *t = weft__enter(&was);
    weft__lock(&lock);
    if (t) weft__order(t, &lock);
    long n = count;
    if (h && n < HANDLERS) handlers[count++] = *h;
    weft__unlock(&lock);
    if (t) weft__leave(t, was);
    return n;
}

WEFT_API int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) {
    struct handler h = {prepare, parent, child};
    (void)dso;
    return weft__on_rt((void *)list_rt, &h) < HANDLERS ? 0 : ENOMEM;
}
WEFT_API int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return __register_atfork(prepare, parent, child, NULL);
}

static int forked(int with_handlers) {
    long n = with_handlers ? weft__on_rt((void *)list_rt, (void *)NULL) : 0;
    for (long i = n; i-- > 0;)
        if (handlers[i].prepare) handlers[i].prepare();
    long r = weft__on_rt((void *)weft__fork_rt);
    for (long i = 0; i < n; i++) {
        void (*f)(void) = r ? handlers[i].parent : handlers[i].child;
        if (f) f();
    }
    if (r >= 0) return (int)r;
    errno = (int)-r;
    return -1;
}
WEFT_API int fork(void) { return forked(1); }
WEFT_API int vfork(void) { return forked(1); }
WEFT_API int _Fork(void) { return forked(0); }
