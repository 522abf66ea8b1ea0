/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stream functions of wchar.h: wrappers as lc_streams.c describes. */
#include "lc_stdio.h"

/* ---- formatted */

/* As weft__text, but libc does not say how much room it needs. */
WEFT_HIDDEN wchar_t *weft__wide_text(struct weft_print *p, wchar_t *small, int *length) {
    for (size_t room = SMALL / 4;; room *= 4) {
        wchar_t *b = room == SMALL / 4 ? small : malloc(room * sizeof *b);
        if (!b) return NULL;
        va_list ap;
        if (p->a.message) messages(1);
        weft__print_args(p, ap);
        int r = p->chk < 0 ? REAL(vswprintf)(b, room, p->a.fmt, ap) : REAL(__vswprintf_chk)(b, room, p->chk, room, p->a.fmt, ap);
        int e = errno;
        if (p->a.message) messages(0);
        if (r >= 0) {
            *length = r;
            return b;
        }
        if (b != small) free(b);
        if (e == EILSEQ || room > 1 << 26) return NULL;
    }
}
static int print(FILE *f, int chk, const wchar_t *fmt, va_list ap) {
    if (!ordered()) return chk < 0 ? REAL(vfwprintf)(f, fmt, ap) : REAL(__vfwprintf_chk)(f, chk, fmt, ap);
    BEGIN(f);
    struct weft_print p;
    wchar_t small[SMALL / 4], *b;
    int r = -1, k = 0, failed = 0;
    if (weft__print_begin(&p, chk, fmt, 4, ap)) {
        if ((b = weft__wide_text(&p, small, &r))) {
            weft__stream_touch(f);
            do { /* up to the end, or a zero in the middle */
                failed |= REAL(fputws)(b + k, f) < 0;
                while (b[k]) k++;
                if (k < r) failed |= REAL(fputwc)(b[k++], f) == WEOF;
            } while (k < r);
            if (b != small) free(b);
            if (failed) r = -1;
        } else { /* libc writes as far as it comes */
            va_list own;
            weft__print_args(&p, own);
            r = p.chk < 0 ? REAL(vfwprintf)(f, p.a.fmt, own) : REAL(__vfwprintf_chk)(f, p.chk, p.a.fmt, own);
        }
        weft__print_end(&p, b != NULL);
    }
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

SCANS(, w, wchar_t, 1)
SCANS(__isoc99_, w, wchar_t, 0)
SCANS(__isoc23_, w, wchar_t, 0)

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
    wchar_t small[SMALL / 4], *b;
    BEGIN(f);
    b = weft__copy_of(s, 4, small, SMALL);
    weft__stream_touch(f);
    int r = REAL(fputws)(b ? b : s, f);
    if (b != small) free(b);
    END(f);
    return r;
}
WEFT_API int fputws(const wchar_t *s, FILE *f) { return ordered() ? put_string(s, f) : REAL(fputws)(s, f); }
WEFT_API int fputws_unlocked(const wchar_t *s, FILE *f) { return ordered() ? put_string(s, f) : REAL(fputws_unlocked)(s, f); }

LINES(wchar_t, fgetws)

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
