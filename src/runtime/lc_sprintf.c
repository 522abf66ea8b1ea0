/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* printf to memory: the text is made as for a stream (weft__text), and then copied to the program's memory at a position of
 * its own. So a text that is printed over its own arguments comes out as from a copy of them. */
#include "lc_stdio.h"

__attribute__((noreturn)) void __chk_fail(void);

/* At most n bytes, with the NUL; fortified: at most room, or the program is stopped. */
static int print_to(char *d, size_t n, size_t room, int chk, const char *fmt, va_list ap) {
    struct weft_print p;
    char small[SMALL], *b;
    int r;
    if (!weft__print_begin(&p, chk, fmt, 1, ap)) return -1;
    size_t k = 0;
    if ((b = weft__text(&p, small, &r)))
        k = (size_t)r < n ? (size_t)r : n - 1;
    else { /* as far as libc comes */
        va_list own;
        weft__print_args(&p, own);
        r = REAL(vsnprintf)(b = small, n < SMALL ? n : SMALL, p.a.fmt, own);
        while (n && b[k]) k++;
    }
    if (n) {
        if (k >= room) __chk_fail();
        b[k] = 0;
        weft__io_put(d, b, k + 1);
    }
    if (b != small) free(b);
    weft__print_end(&p, r >= 0);
    return r;
}
WEFT_API int vsnprintf(char *d, size_t n, const char *fmt, va_list ap) {
    return inside() ? print_to(d, n, SIZE_MAX, -1, fmt, ap) : REAL(vsnprintf)(d, n, fmt, ap);
}
WEFT_API int __vsnprintf_chk(char *d, size_t n, int chk, size_t room, const char *fmt, va_list ap) {
    if (!inside() || room < n) return REAL(__vsnprintf_chk)(d, n, chk, room, fmt, ap);
    return print_to(d, n, SIZE_MAX, chk, fmt, ap);
}
WEFT_API int vsprintf(char *d, const char *fmt, va_list ap) {
    return inside() ? print_to(d, SIZE_MAX, SIZE_MAX, -1, fmt, ap) : REAL(vsprintf)(d, fmt, ap);
}
WEFT_API int __vsprintf_chk(char *d, int chk, size_t room, const char *fmt, va_list ap) {
    return inside() ? print_to(d, SIZE_MAX, room, chk, fmt, ap) : REAL(__vsprintf_chk)(d, chk, room, fmt, ap);
}
WEFT_API int snprintf(char *d, size_t n, const char *fmt, ...) { VARARGS(vsnprintf(d, n, fmt, ap)); }
WEFT_API int __snprintf_chk(char *d, size_t n, int chk, size_t room, const char *fmt, ...) {
    VARARGS(__vsnprintf_chk(d, n, chk, room, fmt, ap));
}
WEFT_API int sprintf(char *d, const char *fmt, ...) { VARARGS(vsprintf(d, fmt, ap)); }
WEFT_API int __sprintf_chk(char *d, int chk, size_t room, const char *fmt, ...) {
    VARARGS(__vsprintf_chk(d, chk, room, fmt, ap));
}

/* ---- to memory that is allocated */

static int print_new(char **to, int chk, const char *fmt, va_list ap) {
    struct weft_print p;
    char small[SMALL], *b, *d = NULL;
    int r;
    if (!weft__print_begin(&p, chk, fmt, 1, ap)) return -1;
    if ((b = weft__text(&p, small, &r)) && (d = malloc((size_t)r + 1))) {
        weft__io_put(d, b, (size_t)r + 1);
        weft__io_put(to, &d, sizeof d);
    }
    if (b != small) free(b);
    weft__print_end(&p, d != NULL);
    return d ? r : -1;
}
WEFT_API int vasprintf(char **to, const char *fmt, va_list ap) {
    return inside() ? print_new(to, -1, fmt, ap) : REAL(vasprintf)(to, fmt, ap);
}
WEFT_API int __vasprintf_chk(char **to, int chk, const char *fmt, va_list ap) {
    return inside() ? print_new(to, chk, fmt, ap) : REAL(__vasprintf_chk)(to, chk, fmt, ap);
}
WEFT_API int asprintf(char **to, const char *fmt, ...) { VARARGS(vasprintf(to, fmt, ap)); }
WEFT_API int __asprintf_chk(char **to, int chk, const char *fmt, ...) { VARARGS(__vasprintf_chk(to, chk, fmt, ap)); }

/* ---- wide */

static int print_wide(wchar_t *d, size_t n, int chk, const wchar_t *fmt, va_list ap) {
    struct weft_print p;
    wchar_t small[SMALL / 4], *b;
    int r;
    if (!weft__print_begin(&p, chk, fmt, 4, ap)) return -1;
    if ((b = weft__wide_text(&p, small, &r)) && (size_t)r < n)
        weft__io_put(d, b, ((size_t)r + 1) * sizeof *d);
    else { /* what libc itself makes when it does not fit */
        va_list own;
        BUFFER(n * sizeof *d);
        wchar_t *cut = (wchar_t *)(void *)buf_;
        r = -1;
        if (cut && n) {
            cut[n - 1] = 0;
            weft__print_args(&p, own);
            r = REAL(vswprintf)(cut, n, p.a.fmt, own);
            weft__io_put(d, cut, b ? n * sizeof *d : (wcslen(cut) + 1) * sizeof *d);
        }
        UNBUFFER;
    }
    if (b != small) free(b);
    weft__print_end(&p, r >= 0);
    return r;
}
WEFT_API int vswprintf(wchar_t *d, size_t n, const wchar_t *fmt, va_list ap) {
    return inside() ? print_wide(d, n, -1, fmt, ap) : REAL(vswprintf)(d, n, fmt, ap);
}
WEFT_API int __vswprintf_chk(wchar_t *d, size_t n, int chk, size_t room, const wchar_t *fmt, va_list ap) {
    if (!inside() || room < n) return REAL(__vswprintf_chk)(d, n, chk, room, fmt, ap);
    return print_wide(d, n, chk, fmt, ap);
}
WEFT_API int swprintf(wchar_t *d, size_t n, const wchar_t *fmt, ...) { VARARGS(vswprintf(d, n, fmt, ap)); }
WEFT_API int __swprintf_chk(wchar_t *d, size_t n, int chk, size_t room, const wchar_t *fmt, ...) {
    VARARGS(__vswprintf_chk(d, n, chk, room, fmt, ap));
}

/* ---- conversions of the program's own: which letters mean something else than in libc (format.c refuses these) */

WEFT_API int register_printf_specifier(int letter, void *print, void *arguments) {
    weft__format_registered((unsigned)letter);
    return REAL(register_printf_specifier)(letter, print, arguments);
}
WEFT_API int register_printf_function(int letter, void *print, void *arguments) {
    weft__format_registered((unsigned)letter);
    return REAL(register_printf_function)(letter, print, arguments);
}
WEFT_API int register_printf_modifier(const wchar_t *text) {
    weft__format_registered((unsigned)*text);
    return REAL(register_printf_modifier)(text);
}
