/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stream functions of wchar.h: wrappers as lc_streams.c describes. */
#include "lc_stdio.h"

/* ---- formatted */

/* As weft__text, but libc does not say how much room it needs. */
static wchar_t *text(int chk, const wchar_t *fmt, va_list ap, wchar_t *small, int *length) {
    int e = errno;
    for (size_t room = SMALL / 4;; room *= 4) {
        wchar_t *b = room == SMALL / 4 ? small : malloc(room * sizeof *b);
        if (!b) return NULL;
        va_list again;
        va_copy(again, ap);
        weft__take_format(fmt, 4, ap);
        errno = e; /* for %m */
        int r = chk < 0 ? REAL(vswprintf)(b, room, fmt, again) : REAL(__vswprintf_chk)(b, room, chk, room, fmt, again);
        va_end(again);
        if (r >= 0) {
            *length = r;
            return b;
        }
        if (b != small) free(b);
        if (errno == EILSEQ || room > 1 << 26) return NULL;
    }
}
static int print(FILE *f, int chk, const wchar_t *fmt, va_list ap) {
    if (!ordered()) return chk < 0 ? REAL(vfwprintf)(f, fmt, ap) : REAL(__vfwprintf_chk)(f, chk, fmt, ap);
    BEGIN(f);
    wchar_t small[SMALL / 4], *b;
    int r, k = 0, failed = 0;
    if ((b = text(chk, fmt, ap, small, &r))) {
        weft__stream_touch(f);
        do { /* up to the end, or a zero in the middle */
            failed |= REAL(fputws)(b + k, f) < 0;
            while (b[k]) k++;
            if (k < r) failed |= REAL(fputwc)(b[k++], f) == WEOF;
        } while (k < r);
        if (b != small) free(b);
        if (failed) r = -1;
    } else /* libc writes as far as it comes */
        r = chk < 0 ? REAL(vfwprintf)(f, fmt, ap) : REAL(__vfwprintf_chk)(f, chk, fmt, ap);
    END(f);
    return r;
}
WEFT_API int wprintf(const wchar_t *fmt, ...) { VARARGS(print(stdout, -1, fmt, ap)); }
WEFT_API int fwprintf(FILE *f, const wchar_t *fmt, ...) { VARARGS(print(f, -1, fmt, ap)); }
WEFT_API int vwprintf(const wchar_t *fmt, va_list ap) { return print(stdout, -1, fmt, ap); }
WEFT_API int vfwprintf(FILE *f, const wchar_t *fmt, va_list ap) { return print(f, -1, fmt, ap); }
WEFT_API int __wprintf_chk(int chk, const wchar_t *fmt, ...) { VARARGS(print(stdout, chk, fmt, ap)); }
WEFT_API int __fwprintf_chk(FILE *f, int chk, const wchar_t *fmt, ...) { VARARGS(print(f, chk, fmt, ap)); }
WEFT_API int __vwprintf_chk(int chk, const wchar_t *fmt, va_list ap) { return print(stdout, chk, fmt, ap); }
WEFT_API int __vfwprintf_chk(FILE *f, int chk, const wchar_t *fmt, va_list ap) { return print(f, chk, fmt, ap); }

#define SCANS(prefix, old)                                                                                             \
    SYMBOL(int, prefix##wscanf, (const wchar_t *fmt, ...)) {                                                           \
        VARARGS(weft__scan(stdin, fmt, ap, 4, REAL(prefix##vfwscanf), old));                                           \
    }                                                                                                                  \
    SYMBOL(int, prefix##fwscanf, (FILE * f, const wchar_t *fmt, ...)) {                                                \
        VARARGS(weft__scan(f, fmt, ap, 4, REAL(prefix##vfwscanf), old));                                               \
    }                                                                                                                  \
    SYMBOL(int, prefix##vwscanf, (const wchar_t *fmt, va_list ap)) {                                                   \
        return weft__scan(stdin, fmt, ap, 4, REAL(prefix##vfwscanf), old);                                             \
    }                                                                                                                  \
    SYMBOL(int, prefix##vfwscanf, (FILE * f, const wchar_t *fmt, va_list ap)) {                                        \
        return weft__scan(f, fmt, ap, 4, REAL(prefix##vfwscanf), old);                                                 \
    }
SCANS(, 1)
SCANS(__isoc99_, 0)
SCANS(__isoc23_, 0)

/* ---- characters */

SIMPLE_INPUT(wint_t, fgetwc, (FILE * f), f, 1, (f))
SIMPLE_INPUT(wint_t, getwc, (FILE * f), f, 1, (f))
SIMPLE_INPUT(wint_t, getwchar, (void), stdin, 1, ())
SIMPLE_INPUT(wint_t, fgetwc_unlocked, (FILE * f), f, 1, (f))
SIMPLE_INPUT(wint_t, getwc_unlocked, (FILE * f), f, 1, (f))
SIMPLE_INPUT(wint_t, getwchar_unlocked, (void), stdin, 1, ())
SIMPLE(wint_t, ungetwc, (wint_t c, FILE *f), f, (c, f))
SIMPLE_INPUT(wint_t, __wuflow, (FILE * f), f, 1, (f))
SIMPLE(wint_t, __woverflow, (FILE * f, wint_t c), f, (f, c))
SIMPLE(wint_t, fputwc, (wchar_t c, FILE *f), f, (c, f))
SIMPLE(wint_t, putwc, (wchar_t c, FILE *f), f, (c, f))
SIMPLE(wint_t, putwchar, (wchar_t c), stdout, (c))
SIMPLE(wint_t, fputwc_unlocked, (wchar_t c, FILE *f), f, (c, f))
SIMPLE(wint_t, putwc_unlocked, (wchar_t c, FILE *f), f, (c, f))
SIMPLE(wint_t, putwchar_unlocked, (wchar_t c), stdout, (c))
SIMPLE(int, fwide, (FILE * f, int mode), f, (f, mode))

/* ---- strings */

static int put_string(const wchar_t *s, FILE *f) {
    wchar_t small[SMALL / 4], *b = small;
    size_t n = 0;
    BEGIN(f);
    for (size_t room = SMALL / 4;; room *= 4) {
        if (room > SMALL / 4 && !(b = malloc(room * sizeof *b))) break;
        weft__io_take_str(s, room, 4); /* after malloc, which may tick */
        for (n = 0; n < room && (b[n] = s[n]); n++) {}
        if (n < room) break;
        if (b != small) free(b);
    }
    weft__stream_touch(f);
    int r = REAL(fputws)(b ? b : s, f);
    if (b != small) free(b);
    END(f);
    return r;
}
WEFT_API int fputws(const wchar_t *s, FILE *f) { return ordered() ? put_string(s, f) : REAL(fputws)(s, f); }
WEFT_API int fputws_unlocked(const wchar_t *s, FILE *f) { return ordered() ? put_string(s, f) : REAL(fputws_unlocked)(s, f); }

static wchar_t *get_line(wchar_t *s, size_t room, int n, FILE *f, int chk) {
    if (n <= 1) return chk ? REAL(__fgetws_chk)(s, room, n, f) : REAL(fgetws)(s, n, f);
    BUFFER((size_t)n * sizeof *s);
    wchar_t *b = (wchar_t *)(void *)buf_;
    if (!b) return REAL(fgetws)(s, n, f);
    BEGIN_INPUT(f, 0);
    wchar_t *r = chk ? REAL(__fgetws_chk)(b, room, n, f) : REAL(fgetws)(b, n, f);
    if (r) {
        size_t k = 0;
        while (b[k]) k++;
        weft__io_put(s, b, (k + 1) * sizeof *b);
    }
    END_INPUT(f);
    UNBUFFER;
    return r ? s : NULL;
}
WEFT_API wchar_t *fgetws(wchar_t *s, int n, FILE *f) { return ordered() ? get_line(s, 0, n, f, 0) : REAL(fgetws)(s, n, f); }
WEFT_API wchar_t *fgetws_unlocked(wchar_t *s, int n, FILE *f) {
    return ordered() ? get_line(s, 0, n, f, 0) : REAL(fgetws_unlocked)(s, n, f);
}
WEFT_API wchar_t *__fgetws_chk(wchar_t *s, size_t room, int n, FILE *f) {
    return ordered() ? get_line(s, room, n, f, 1) : REAL(__fgetws_chk)(s, room, n, f);
}
WEFT_API wchar_t *__fgetws_unlocked_chk(wchar_t *s, size_t room, int n, FILE *f) {
    return ordered() ? get_line(s, room, n, f, 1) : REAL(__fgetws_unlocked_chk)(s, room, n, f);
}

/* ---- a locale's conversions: libc loads them when they are first needed, under a lock of its own, and allocates memory
 * meanwhile, for which it may have to wait in replay; others that need them wait for it natively. So they are loaded as soon
 * as there is a locale: calls of these are ordered among each other (hidden_state in the pass). */
static void load(void) {
    wchar_t c;
    mbstate_t s;
    __builtin_memset(&s, 0, sizeof s);
    if (weft__mode != WEFT_NATIVE) mbrtowc(&c, "a", 1, &s);
}
WEFT_API char *setlocale(int category, const char *name) {
    char *r = REAL(setlocale)(category, name);
    if (name && r) load();
    return r;
}
WEFT_API locale_t uselocale(locale_t l) {
    locale_t r = REAL(uselocale)(l);
    if (l && r) load();
    return r;
}
