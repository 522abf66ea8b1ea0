/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the compiler may call by itself; libc's versions use vector registers, which the stubs do not save. */
#include "runtime.h"
#include "sys.h"

WEFT_HIDDEN void *memcpy(void *d, const void *s, size_t n) {
    weft__copy(d, s, n);
    return d;
}
WEFT_HIDDEN void *memset(void *d, int c, size_t n) {
    void *r = d;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return r;
}
WEFT_HIDDEN void *memmove(void *d, const void *s, size_t n) {
    char *a = d;
    const char *b = s;
    if (a <= b || a >= b + n) {
        weft__copy(d, s, n);
    } else
        while (n--) a[n] = b[n];
    return d;
}
