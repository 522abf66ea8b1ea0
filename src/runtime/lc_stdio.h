/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the wrappers of stream functions share. The rules are at the top of lc_streams.c. */
#ifndef WEFT_LC_STDIO_H
#define WEFT_LC_STDIO_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define __NO_INLINE__ 1 /* no inline versions from the headers: they are defined here */
#include "format.h"
#include "runtime.h"
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <wchar.h>
#undef putc
#undef getc
#undef putchar
#undef getchar

long weft__on_rt(void *fn, ...);

/* ---- libc's own versions: X(result, name, parameters) */
#define WEFT_STDIO_REALS(X)                                                                                            \
    X(int, vsprintf, (char *, const char *, va_list))                                                                  \
    X(int, __vsprintf_chk, (char *, int, size_t, const char *, va_list))                                               \
    X(int, vasprintf, (char **, const char *, va_list))                                                                \
    X(int, __vasprintf_chk, (char **, int, const char *, va_list))                                                     \
    X(int, vsnprintf, (char *, size_t, const char *, va_list))                                                         \
    X(int, __vsnprintf_chk, (char *, size_t, int, size_t, const char *, va_list))                                      \
    X(int, vfprintf, (FILE *, const char *, va_list))                                                                  \
    X(int, __vfprintf_chk, (FILE *, int, const char *, va_list))                                                       \
    X(int, vdprintf, (int, const char *, va_list))                                                                     \
    X(int, __vdprintf_chk, (int, int, const char *, va_list))                                                          \
    X(int, vswprintf, (wchar_t *, size_t, const wchar_t *, va_list))                                                   \
    X(int, __vswprintf_chk, (wchar_t *, size_t, int, size_t, const wchar_t *, va_list))                                \
    X(int, vfwprintf, (FILE *, const wchar_t *, va_list))                                                              \
    X(int, __vfwprintf_chk, (FILE *, int, const wchar_t *, va_list))                                                   \
    X(int, vfscanf, (void *, const void *, va_list))                                                                   \
    X(int, __isoc99_vfscanf, (void *, const void *, va_list))                                                          \
    X(int, vfwscanf, (void *, const void *, va_list))                                                                  \
    X(int, __isoc99_vfwscanf, (void *, const void *, va_list))                                                         \
    X(int, vsscanf, (void *, const void *, va_list))                                                                   \
    X(int, __isoc99_vsscanf, (void *, const void *, va_list))                                                          \
    X(int, vswscanf, (void *, const void *, va_list))                                                                  \
    X(int, __isoc99_vswscanf, (void *, const void *, va_list))                                                         \
    X(int, register_printf_specifier, (int, void *, void *))                                                           \
    X(int, register_printf_function, (int, void *, void *))                                                            \
    X(int, register_printf_modifier, (const wchar_t *))                                                                \
    X(int, fputs, (const char *, FILE *))                                                                              \
    X(int, fputs_unlocked, (const char *, FILE *))                                                                     \
    X(int, puts, (const char *))                                                                                       \
    X(int, fputc, (int, FILE *))                                                                                       \
    X(int, putc, (int, FILE *))                                                                                        \
    X(int, _IO_putc, (int, FILE *))                                                                                    \
    X(int, putchar, (int))                                                                                             \
    X(int, fputc_unlocked, (int, FILE *))                                                                              \
    X(int, putc_unlocked, (int, FILE *))                                                                               \
    X(int, putchar_unlocked, (int))                                                                                    \
    X(int, __overflow, (FILE *, int))                                                                                  \
    X(int, putw, (int, FILE *))                                                                                        \
    X(int, fgetc, (FILE *))                                                                                            \
    X(int, getc, (FILE *))                                                                                             \
    X(int, _IO_getc, (FILE *))                                                                                         \
    X(int, getchar, (void))                                                                                            \
    X(int, fgetc_unlocked, (FILE *))                                                                                   \
    X(int, getc_unlocked, (FILE *))                                                                                    \
    X(int, getchar_unlocked, (void))                                                                                   \
    X(int, __uflow, (FILE *))                                                                                          \
    X(int, getw, (FILE *))                                                                                             \
    X(int, ungetc, (int, FILE *))                                                                                      \
    X(char *, gets, (char *))                                                                                          \
    X(char *, fgets, (char *, int, FILE *))                                                                            \
    X(char *, fgets_unlocked, (char *, int, FILE *))                                                                   \
    X(char *, __fgets_chk, (char *, size_t, int, FILE *))                                                              \
    X(char *, __fgets_unlocked_chk, (char *, size_t, int, FILE *))                                                     \
    X(ssize_t, getdelim, (char **, size_t *, int, FILE *))                                                             \
    X(size_t, fread, (void *, size_t, size_t, FILE *))                                                                 \
    X(size_t, fread_unlocked, (void *, size_t, size_t, FILE *))                                                        \
    X(size_t, __fread_chk, (void *, size_t, size_t, size_t, FILE *))                                                   \
    X(size_t, __fread_unlocked_chk, (void *, size_t, size_t, size_t, FILE *))                                          \
    X(size_t, fwrite, (const void *, size_t, size_t, FILE *))                                                          \
    X(size_t, fwrite_unlocked, (const void *, size_t, size_t, FILE *))                                                 \
    X(int, fflush, (FILE *))                                                                                           \
    X(int, fflush_unlocked, (FILE *))                                                                                  \
    X(void, _IO_doallocbuf, (FILE *))                                                                                  \
    X(void, _flushlbf, (void))                                                                                         \
    X(void, __fpurge, (FILE *))                                                                                        \
    X(int, fseek, (FILE *, long, int))                                                                                 \
    X(int, fseeko, (FILE *, off_t, int))                                                                               \
    X(int, fseeko64, (FILE *, off_t, int))                                                                             \
    X(long, ftell, (FILE *))                                                                                           \
    X(off_t, ftello, (FILE *))                                                                                         \
    X(off_t, ftello64, (FILE *))                                                                                       \
    X(void, rewind, (FILE *))                                                                                          \
    X(int, fgetpos, (FILE *, fpos_t *))                                                                                \
    X(int, fgetpos64, (FILE *, fpos64_t *))                                                                            \
    X(int, fsetpos, (FILE *, const fpos_t *))                                                                          \
    X(int, fsetpos64, (FILE *, const fpos64_t *))                                                                      \
    X(int, feof, (FILE *))                                                                                             \
    X(int, ferror, (FILE *))                                                                                           \
    X(void, clearerr, (FILE *))                                                                                        \
    X(int, feof_unlocked, (FILE *))                                                                                    \
    X(int, ferror_unlocked, (FILE *))                                                                                  \
    X(void, clearerr_unlocked, (FILE *))                                                                               \
    X(int, setvbuf, (FILE *, char *, int, size_t))                                                                     \
    X(void, setbuf, (FILE *, char *))                                                                                  \
    X(void, setbuffer, (FILE *, char *, size_t))                                                                       \
    X(void, setlinebuf, (FILE *))                                                                                      \
    X(int, __fsetlocking, (FILE *, int))                                                                               \
    X(int, __freading, (FILE *))                                                                                       \
    X(int, __fwriting, (FILE *))                                                                                       \
    X(size_t, __fpending, (FILE *))                                                                                    \
    X(size_t, __fbufsize, (FILE *))                                                                                    \
    X(wint_t, fgetwc, (FILE *))                                                                                        \
    X(wint_t, getwc, (FILE *))                                                                                         \
    X(wint_t, getwchar, (void))                                                                                        \
    X(wint_t, fgetwc_unlocked, (FILE *))                                                                               \
    X(wint_t, getwc_unlocked, (FILE *))                                                                                \
    X(wint_t, getwchar_unlocked, (void))                                                                               \
    X(wint_t, ungetwc, (wint_t, FILE *))                                                                               \
    X(wint_t, __wuflow, (FILE *))                                                                                      \
    X(wint_t, __woverflow, (FILE *, wint_t))                                                                           \
    X(wint_t, fputwc, (wchar_t, FILE *))                                                                               \
    X(wint_t, putwc, (wchar_t, FILE *))                                                                                \
    X(wint_t, putwchar, (wchar_t))                                                                                     \
    X(wint_t, fputwc_unlocked, (wchar_t, FILE *))                                                                      \
    X(wint_t, putwc_unlocked, (wchar_t, FILE *))                                                                       \
    X(wint_t, putwchar_unlocked, (wchar_t))                                                                            \
    X(wchar_t *, fgetws, (wchar_t *, int, FILE *))                                                                     \
    X(wchar_t *, fgetws_unlocked, (wchar_t *, int, FILE *))                                                            \
    X(wchar_t *, __fgetws_chk, (wchar_t *, size_t, int, FILE *))                                                       \
    X(wchar_t *, __fgetws_unlocked_chk, (wchar_t *, size_t, int, FILE *))                                              \
    X(int, fputws, (const wchar_t *, FILE *))                                                                          \
    X(int, fputws_unlocked, (const wchar_t *, FILE *))                                                                 \
    X(char *, setlocale, (int, const char *))                                                                          \
    X(locale_t, uselocale, (locale_t))                                                                                 \
    X(int, fwide, (FILE *, int))                                                                                       \
    X(void, perror, (const char *))                                                                                    \
    X(void, psignal, (int, const char *))                                                                              \
    X(void, vwarn, (const char *, va_list))                                                                            \
    X(void, vwarnx, (const char *, va_list))                                                                           \
    X(void, verr, (int, const char *, va_list))                                                                        \
    X(void, verrx, (int, const char *, va_list))                                                                       \
    X(FILE *, fopen, (const char *, const char *))                                                                     \
    X(FILE *, fopen64, (const char *, const char *))                                                                   \
    X(FILE *, fdopen, (int, const char *))                                                                             \
    X(FILE *, tmpfile, (void))                                                                                         \
    X(FILE *, tmpfile64, (void))                                                                                       \
    X(FILE *, fmemopen, (void *, size_t, const char *))                                                                \
    X(FILE *, open_memstream, (char **, size_t *))                                                                     \
    X(FILE *, open_wmemstream, (wchar_t **, size_t *))                                                                 \
    X(FILE *, fopencookie, (void *, const char *, cookie_io_functions_t))                                              \
    X(FILE *, freopen, (const char *, const char *, FILE *))                                                           \
    X(FILE *, freopen64, (const char *, const char *, FILE *))                                                         \
    X(int, fclose, (FILE *))                                                                                           \
    X(int, fcloseall, (void))                                                                                          \
    X(void, flockfile, (FILE *))                                                                                       \
    X(int, ftrylockfile, (FILE *))                                                                                     \
    X(void, funlockfile, (FILE *))                                                                                     \
    /* Not in every libc. The loader allocates a message of what is missing: with the program's malloc, if it has one. */\
    X(int, __isoc23_vfscanf, (void *, const void *, va_list))                                                          \
    X(int, __isoc23_vfwscanf, (void *, const void *, va_list))                                                         \
    X(int, __isoc23_vsscanf, (void *, const void *, va_list))                                                          \
    X(int, __isoc23_vswscanf, (void *, const void *, va_list))
struct weft_stdio {
#define WEFT_X(r, name, p) r(*name) p;
    WEFT_STDIO_REALS(WEFT_X)
#undef WEFT_X
};
extern WEFT_HIDDEN struct weft_stdio weft__stdio;
WEFT_HIDDEN void weft__stdio_resolve(void);
#define REAL(name) (__builtin_expect(!weft__stdio.flockfile, 0) ? (weft__stdio_resolve(), weft__stdio.name) : weft__stdio.name)

/* ---- lc_streams.c: an operation on a stream, and the program's memory that it touches */
extern WEFT_HIDDEN int weft__threaded;
/* 0: no order is needed here. */
static inline int ordered(void) {
    return weft__mode != WEFT_NATIVE && weft__threaded && __weft_tls.self && !__weft_tls.depth;
}
/* For what touches memory of the program only: foreign code goes on outside, and races there are its own. */
static inline int inside(void) { return ordered() && !__weft_tls.outside; }
/* Bits of FILE._flags. */
#define UNBUFFERED 0x0002
#define FAILED 0x0020
#define NO_WRITES 0x0008 /* only read */
#define LINKED 0x0080 /* on libc's list, so that fflush(NULL) is for it */
#define LINE_BUF 0x0200
#define FILEBUF 0x2000 /* over a file or a cookie */
static inline int weft__over_file(FILE *f) { return f->_flags & FILEBUF && f->_fileno >= 0; }
/* n more bytes go into the stream's buffer, and no system call is made for them. */
static inline int fits(FILE *f, size_t n) {
    return weft__over_file(f) && !(f->_flags & (UNBUFFERED | LINE_BUF)) && f->_mode < 0 && f->_IO_write_end > f->_IO_write_ptr &&
           (size_t)(f->_IO_write_end - f->_IO_write_ptr) >= n;
}
WEFT_HIDDEN long weft__stream_begin(FILE *f);
WEFT_HIDDEN void weft__stream_end(FILE *f, long was);
WEFT_HIDDEN void weft__stream_touch(FILE *f); /* again, after other memory was taken */
WEFT_HIDDEN void weft__stream_publish(FILE *f); /* a memory stream's address and size, after libc has written them */
WEFT_HIDDEN int weft__flush_all(void);
WEFT_HIDDEN void weft__io_take(const void *p, size_t n);             /* each at a tick of its own */
WEFT_HIDDEN void weft__io_take_str(const void *s, size_t max, int width); /* at most max characters */
WEFT_HIDDEN void weft__io_put(void *d, const void *s, size_t n);
WEFT_HIDDEN void weft__io_get(void *d, const void *s, size_t n);
/* A string's copy that is ours: in `small`, which has `room` bytes, or allocated; NULL: no memory. */
WEFT_HIDDEN void *weft__copy_of(const void *s, int width, void *small, size_t room);
/* The same for input. */
WEFT_HIDDEN long weft__input_begin(FILE *f, int one);
WEFT_HIDDEN void weft__input_end(FILE *f, long was);
#define BEGIN_INPUT(f, one) long was_ = weft__input_begin(f, one)
#define END_INPUT(f) weft__input_end(f, was_)
#define BEGIN(f) long was_ = weft__stream_begin(f)
#define END(f) weft__stream_end(f, was_)

/* libc looks up the texts of errors under locks of its own, and allocates and reads files meanwhile: one after the other. */
void weft__t_serial_begin(const void *object);
void weft__t_serial_end(const void *object);
static inline void messages(int begin) {
    weft__on_rt(begin ? (void *)weft__t_serial_begin : (void *)weft__t_serial_end, (void *)WEFT_SERIAL_MESSAGES);
}

/* ---- lc_format.c: width is the size of the format's characters */
struct weft_print { /* a printf call: its arguments as a copy */
    struct weft_args a;
    int chk; /* < 0: not fortified, or no longer */
    int error;
    _Alignas(16) char small[1024];
};
WEFT_HIDDEN int weft__print_begin(struct weft_print *p, int chk, const void *fmt, int width, va_list ap); /* 0: no memory */
WEFT_HIDDEN void weft__print_args(struct weft_print *p, va_list ap); /* for one call of libc, with the copy of the format */
WEFT_HIDDEN void weft__print_end(struct weft_print *p, int done);    /* done: %n is delivered */
/* The text in `small`, which has SMALL bytes, or allocated; NULL: an error of the format, or no memory. */
WEFT_HIDDEN char *weft__text(struct weft_print *p, char *small, int *length);
WEFT_HIDDEN int weft__print(FILE *f, int chk, const char *fmt, va_list ap); /* chk < 0: not fortified */
typedef int weft_scan_fn(void *, const void *, va_list); /* from a stream, or from a string */
WEFT_HIDDEN int weft__scan(FILE *f, const void *fmt, va_list ap, int width, weft_scan_fn *real, int old);
WEFT_HIDDEN int weft__scan_string(const void *s, const void *fmt, va_list ap, int width, weft_scan_fn *real, int old);

/* ---- lc_wstdio.c */
WEFT_HIDDEN wchar_t *weft__wide_text(struct weft_print *p, wchar_t *small, int *length);

/* ---- regular wrappers */
#define SIMPLE(type, name, params, f, args)                                                                            \
    WEFT_API type name params {                                                                                        \
        if (!ordered() || !(f)) return REAL(name) args;                                                                \
        BEGIN(f);                                                                                                      \
        type r = REAL(name) args;                                                                                      \
        END(f);                                                                                                        \
        return r;                                                                                                      \
    }
#define SIMPLE_INPUT(type, name, params, f, one, args)                                                                 \
    WEFT_API type name params {                                                                                        \
        if (!ordered()) return REAL(name) args;                                                                        \
        BEGIN_INPUT(f, one);                                                                                           \
        type r = REAL(name) args;                                                                                      \
        END_INPUT(f);                                                                                                  \
        return r;                                                                                                      \
    }
#define SIMPLE_VOID(name, params, f, args)                                                                             \
    WEFT_API void name params {                                                                                        \
        if (!ordered()) {                                                                                              \
            REAL(name) args;                                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        BEGIN(f);                                                                                                      \
        REAL(name) args;                                                                                               \
        END(f);                                                                                                        \
    }
#define VARARGS(call)                                                                                                  \
    va_list ap;                                                                                                        \
    va_start(ap, fmt);                                                                                                 \
    int r = call;                                                                                                      \
    va_end(ap);                                                                                                        \
    return r
/* The headers give some functions the symbol of another standard's form: defined by symbol. */
#define SYMBOL(type, sym, ...)                                                                                         \
    type weft__##sym __VA_ARGS__ __asm__(#sym) WEFT_API;                                                               \
    type weft__##sym __VA_ARGS__

/* A private buffer for n bytes; small ones on the stack. NULL: no memory. */
#define SMALL 4096
#define BUFFER(n)                                                                                                      \
    _Alignas(16) char small_[SMALL], *buf_ = small_;                                                                   \
    if ((n) > SMALL) buf_ = malloc(n)
#define UNBUFFER                                                                                                       \
    if (buf_ != small_) free(buf_)

/* The scanf family of a standard; x: nothing or w; `old`: %as allocates. */
#define SCANS(prefix, x, type, old)                                                                                    \
    SYMBOL(int, prefix##x##scanf, (const type *fmt, ...)) {                                                            \
        VARARGS(weft__scan(stdin, fmt, ap, sizeof(type), REAL(prefix##vf##x##scanf), old));                            \
    }                                                                                                                  \
    SYMBOL(int, prefix##f##x##scanf, (FILE * f, const type *fmt, ...)) {                                               \
        VARARGS(weft__scan(f, fmt, ap, sizeof(type), REAL(prefix##vf##x##scanf), old));                                \
    }                                                                                                                  \
    SYMBOL(int, prefix##s##x##scanf, (const type *s, const type *fmt, ...)) {                                          \
        VARARGS(weft__scan_string(s, fmt, ap, sizeof(type), REAL(prefix##vs##x##scanf), old));                         \
    }                                                                                                                  \
    SYMBOL(int, prefix##v##x##scanf, (const type *fmt, va_list ap)) {                                                  \
        return weft__scan(stdin, fmt, ap, sizeof(type), REAL(prefix##vf##x##scanf), old);                              \
    }                                                                                                                  \
    SYMBOL(int, prefix##vf##x##scanf, (FILE * f, const type *fmt, va_list ap)) {                                       \
        return weft__scan(f, fmt, ap, sizeof(type), REAL(prefix##vf##x##scanf), old);                                  \
    }                                                                                                                  \
    SYMBOL(int, prefix##vs##x##scanf, (const type *s, const type *fmt, va_list ap)) {                                  \
        return weft__scan_string(s, fmt, ap, sizeof(type), REAL(prefix##vs##x##scanf), old);                           \
    }

/* fgets or fgetws, and its relatives. chk: libc stops the program if the line is longer than room. */
#define LINES(type, name)                                                                                              \
    static type *get_line(type *s, size_t room, int n, FILE *f, int chk) {                                             \
        if (n <= 1) return chk ? REAL(__##name##_chk)(s, room, n, f) : REAL(name)(s, n, f);                            \
        BUFFER((size_t)n * sizeof *s);                                                                                 \
        type *b = (type *)(void *)buf_;                                                                                \
        if (!b) return REAL(name)(s, n, f);                                                                            \
        BEGIN_INPUT(f, 0);                                                                                             \
        type *r = chk ? REAL(__##name##_chk)(b, room, n, f) : REAL(name)(b, n, f);                                     \
        if (r) {                                                                                                       \
            size_t k = 0;                                                                                              \
            while (b[k]) k++;                                                                                          \
            weft__io_put(s, b, (k + 1) * sizeof *b);                                                                   \
        }                                                                                                              \
        END_INPUT(f);                                                                                                  \
        UNBUFFER;                                                                                                      \
        return r ? s : NULL;                                                                                           \
    }                                                                                                                  \
    WEFT_API type *name(type *s, int n, FILE *f) { return ordered() ? get_line(s, 0, n, f, 0) : REAL(name)(s, n, f); } \
    WEFT_API type *name##_unlocked(type *s, int n, FILE *f) {                                                          \
        return ordered() ? get_line(s, 0, n, f, 0) : REAL(name##_unlocked)(s, n, f);                                   \
    }                                                                                                                  \
    WEFT_API type *__##name##_chk(type *s, size_t room, int n, FILE *f) {                                              \
        return ordered() ? get_line(s, room, n, f, 1) : REAL(__##name##_chk)(s, room, n, f);                           \
    }                                                                                                                  \
    WEFT_API type *__##name##_unlocked_chk(type *s, size_t room, int n, FILE *f) {                                     \
        return ordered() ? get_line(s, room, n, f, 1) : REAL(__##name##_unlocked_chk)(s, room, n, f);                  \
    }

#endif
