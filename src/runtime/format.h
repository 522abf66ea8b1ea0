/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading the formats of printf and scanf, and printf's arguments as a copy. */
#ifndef WEFT_FORMAT_H
#define WEFT_FORMAT_H

#include "va.h"
#include <limits.h>
#include <stddef.h>

struct format {
    const void *f;
    size_t n;  /* characters: beyond them there is nothing but 0 */
    int width; /* of a character */
};
static inline unsigned format_at(const struct format *f, size_t i) {
    if (i >= f->n) return 0;
    return f->width == 1 ? ((const unsigned char *)f->f)[i] : ((const unsigned *)f->f)[i];
}
static inline int format_digit(const struct format *f, size_t i) {
    unsigned c = format_at(f, i);
    return c >= '0' && c <= '9';
}
/* Digits, if any; a number that is too large is INT_MAX. */
static inline long format_number(const struct format *f, size_t *i) {
    long n = 0;
    for (; format_digit(f, *i); ++*i) {
        n = n * 10 + (long)(format_at(f, *i) - '0');
        if (n > INT_MAX) n = INT_MAX;
    }
    return n;
}
/* "N$": N; else 0, and nothing has been read. */
static inline long format_position(const struct format *f, size_t *i) {
    size_t k = *i;
    long n = format_number(f, &k);
    if (!n || format_at(f, k) != '$') return 0;
    *i = k + 1;
    return n;
}
/* A length modifier's letter adds to `len`: in the end -2 char, -1 short, 0 int, 1 long and the like, 2 long long or long
 * double. 0: not such a letter. */
static inline int format_length(unsigned c, int *len) {
    switch (c) {
    case 'h': --*len; return 1;
    case 'l': ++*len; return 1;
    case 'j': case 'z': case 't': case 'Z': *len = 1; return 1;
    case 'q': case 'L': *len = 2; return 1;
    default: return 0;
    }
}
/* Bytes of an integer. */
static inline size_t format_int_size(int len) { return len > 0 ? 8 : len == 0 ? 4 : len == -1 ? 2 : 1; }

/* ---- format.c */
struct weft_count { /* what %n gave */
    struct weft_count *next;
    void *to;
    size_t n;
    long value; /* its low n bytes */
};
struct weft_args {
    const void *given; /* the program's format, of characters of this width, */
    int width;
    struct weft__va list; /* and its arguments */
    char *buf;            /* aligned to 16 */
    size_t room;
    void *fmt; /* in the buffer: the same as a copy */
    void *area;
    struct weft_count *counts;
    int message; /* there is a %m */
};
__attribute__((visibility("hidden"))) void weft__format_registered(unsigned letter); /* it is the program's own */

#endif
