/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pthread_once, call_once: the routine runs on the program's stack, and may be left by an exception, cancellation or
 * pthread_exit, after which another call runs it again. Compiled with -fexceptions for that. */
#include "runtime.h"

long weft__on_rt(void *fn, ...);
int weft__once_begin(int *o);
void weft__once_end(int *o, int done);

struct run {
    int *o;
    int done;
};
static void end(struct run *r) { weft__on_rt((void *)weft__once_end, r->o, r->done); }

static int once(int *o, void (*routine)(void)) {
    if ((int)weft__on_rt((void *)weft__once_begin, o)) {
        __attribute__((cleanup(end))) struct run r = {o, 0};
        routine();
        r.done = 1;
    }
    return 0;
}
WEFT_API int pthread_once(int *o, void (*routine)(void)) { return once(o, routine); }
WEFT_API void call_once(int *o, void (*routine)(void)) { once(o, routine); }
