/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* std::random_device: libstdc++ executes rdrand or rdseed, which nobody can record from outside. Its numbers come from the
 * kernel instead, as an input. */
#include "real.h"
#include "runtime.h"
#include "sys.h"

WEFT_HIDDEN unsigned weft__random_device(void *self) {
    (void)self;
    unsigned v = 0;
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t || WEFT_LIVE) weft__raw(SYS_getrandom, &v, sizeof v, 0);
    if (!t) return v;
    v = (unsigned)weft__input(t, WEFT_OP_CPU, (int64_t)v, NULL, 0);
    weft__leave(t, was);
    return v;
}
WEFT_WRAP(_ZNSt13random_device9_M_getvalEv, weft__random_device);
