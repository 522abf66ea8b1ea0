/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a va_list looks like: made of words in memory, and walked by code that may not use vector registers. */
#ifndef WEFT_ARCH_VA_H
#define WEFT_ARCH_VA_H

#include <stdarg.h>
#include <stdint.h>

struct weft__va {
    unsigned gp_offset, fp_offset; /* of the next register arguments in `saved`; 48 and 176: all have been used */
    char *stack, *saved;
};
_Static_assert(sizeof(struct weft__va) == sizeof(va_list), "va_list");

/* All register arguments have been used: the rest is in memory, a word each (two for a long double, aligned). */
static inline void weft__va_words(va_list ap, void *arg) {
    struct weft__va v = {48, 176, arg, 0};
    __builtin_memcpy(ap, &v, sizeof v);
}

/* The next argument, without vector registers. */
static inline uint64_t weft__va_next(struct weft__va *v, unsigned *offset, unsigned end, unsigned step) {
    char *p = v->stack;
    if (*offset < end) {
        p = v->saved + *offset;
        *offset += step;
    } else
        v->stack += 8;
    return *(uint64_t *)(void *)p;
}
/* An integer or a pointer; */
static inline uint64_t weft__va_word(struct weft__va *v) { return weft__va_next(v, &v->gp_offset, 48, 8); }
/* the bits of a double; */
static inline uint64_t weft__va_double(struct weft__va *v) { return weft__va_next(v, &v->fp_offset, 176, 16); }
/* where a long double is: two words, aligned. */
static inline const uint64_t *weft__va_long_double(struct weft__va *v) {
    uint64_t *p = (uint64_t *)(((uintptr_t)v->stack + 15) & ~(uintptr_t)15);
    v->stack = (char *)(p + 2);
    return p;
}

#endif
