/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams: an operation on a FILE is an operation on an object, like one on a mutex; its own lock makes that safe.
 *
 * Each wrapper: begin (tick; take the stream's lock, outside if it must wait; comes after the stream's last operation), take
 * the program's memory that libc will read, the real function, end (tick; last operation; give the lock back). Bytes that
 * libc would write into the program's memory go through a buffer of our own and are copied in as owned accesses, because the
 * thread may be outside, in read(), in the middle of the real function. The wrappers run on the program's stack and take the
 * same way in record and replay. Before the first thread is created streams need no order: the real functions are called. */
#define _GNU_SOURCE
#define __NO_INLINE__ 1 /* no inline versions from the headers: they are defined here */
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

long weft__on_rt(void *fn, ...);
extern WEFT_HIDDEN int weft__threaded;

/*    X(result, name, parameters)                                                                                      */
#define REALS(X)                                                                                                       \
    X(int, vfprintf, (FILE *, const char *, va_list))                                                                  \
    X(int, __vfprintf_chk, (FILE *, int, const char *, va_list))                                                       \
    X(int, vfscanf, (FILE *, const char *, va_list))                                                                   \
    X(int, fputs, (const char *, FILE *))                                                                              \
    X(int, puts, (const char *))                                                                                       \
    X(int, fputc, (int, FILE *))                                                                                       \
    X(int, fgetc, (FILE *))                                                                                            \
    X(int, ungetc, (int, FILE *))                                                                                      \
    X(char *, fgets, (char *, int, FILE *))                                                                            \
    X(size_t, fread, (void *, size_t, size_t, FILE *))                                                                 \
    X(size_t, fwrite, (const void *, size_t, size_t, FILE *))                                                          \
    X(int, fflush, (FILE *))                                                                                           \
    X(int, fclose, (FILE *))                                                                                           \
    X(FILE *, freopen, (const char *, const char *, FILE *))                                                           \
    X(int, fseek, (FILE *, long, int))                                                                                 \
    X(int, fseeko, (FILE *, off_t, int))                                                                               \
    X(long, ftell, (FILE *))                                                                                           \
    X(off_t, ftello, (FILE *))                                                                                         \
    X(void, rewind, (FILE *))                                                                                          \
    X(int, feof, (FILE *))                                                                                             \
    X(int, ferror, (FILE *))                                                                                           \
    X(void, clearerr, (FILE *))                                                                                        \
    X(int, setvbuf, (FILE *, char *, int, size_t))                                                                     \
    X(ssize_t, getdelim, (char **, size_t *, int, FILE *))                                                             \
    X(void, perror, (const char *))                                                                                    \
    X(void, flockfile, (FILE *))                                                                                       \
    X(int, ftrylockfile, (FILE *))                                                                                     \
    X(void, funlockfile, (FILE *))
static struct {
#define WEFT_X(r, name, p) r(*name) p;
    REALS(WEFT_X)
#undef WEFT_X
} real;

__attribute__((constructor(101))) static void resolve(void) {
#define WEFT_X(r, name, p) real.name = (r(*) p)dlsym(RTLD_NEXT, #name);
    REALS(WEFT_X)
#undef WEFT_X
}
#define REAL(name) (__builtin_expect(!real.name, 0) ? (resolve(), real.name) : real.name)

/* ---- begin and end */

static long begin_rt(FILE *f) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return 0;
    if (weft__mode == WEFT_RECORD) {
        if (REAL(ftrylockfile)(f) != 0) {
            weft__outside(t);
            REAL(flockfile)(f);
            weft__inside(t);
        }
    } else
        REAL(flockfile)(f);
    weft__order(t, f);
    return was;
}

static void end_rt(FILE *f, long was) {
    int w;
    struct weft_thread *t = weft__enter(&w);
    if (!t) return;
    weft__order(t, f);
    REAL(funlockfile)(f);
    weft__leave(t, (int)was);
}

/* 0: no order is needed here. */
static int ordered(void) { return weft__mode != WEFT_NATIVE && weft__threaded && __weft_tls.self && !__weft_tls.depth; }

#define BEGIN(f) long was_ = weft__on_rt((void *)begin_rt, f)
#define END(f) weft__on_rt((void *)end_rt, f, was_)

static void take_rt(const void *p, size_t n) {
    struct weft_thread *t = weft__active();
    if (t) weft__take(t, p, n);
}
static void take_str_rt(const char *s, size_t max) {
    struct weft_thread *t = weft__active();
    if (t) weft__take_string(t, s, max);
}
static void take(const void *p, size_t n) { weft__on_rt((void *)take_rt, p, n); }
static void take_str(const char *s, size_t max) { weft__on_rt((void *)take_str_rt, s, max); }
/* Several strings are taken as a group (take.c). */
void weft__t_take_begin(void);
void weft__t_take_str(const char *s);
void weft__t_take_range(const void *p, size_t n, int write);
void weft__t_take_end(void);
static void group_str(const char *s, size_t max) {
    if (max == SIZE_MAX)
        weft__on_rt((void *)weft__t_take_str, s);
    else {
        size_t n = 0;
        while (n < max && s[n]) n++;
        weft__on_rt((void *)weft__t_take_range, s, n < max ? n + 1 : max, 0L);
    }
}

/* Into the program's memory, at a tick of its own. */
static void put_rt(void *d, const void *s, size_t n) {
    struct weft_thread *t = weft__active();
    if (!t) return;
    weft__tick(t);
    weft__take(t, d, n);
    __builtin_memcpy(d, s, n);
}
static void put_tick(void) {
    struct weft_thread *t = weft__active();
    if (t) weft__tick(t);
}
static void put(void *d, const void *s, size_t n) {
    if (n) weft__on_rt((void *)put_rt, d, s, n);
}

/* And out of it. */
static void get(void *d, const void *s, size_t n) {
    weft__on_rt((void *)put_tick);
    take(s, n);
    __builtin_memcpy(d, s, n);
}

/* The strings among the arguments of a printf. */
static void group_format(const char *f, va_list ap) {
    group_str(f, SIZE_MAX);
    for (; *f; f++) {
        if (*f != '%') continue;
        f++;
        long prec = -1;
        int len = 0; /* 1: long, 2: long long/size, 3: long double */
        while (*f && (*f == '-' || *f == '+' || *f == ' ' || *f == '#' || *f == '0' || *f == '\'' || *f == 'I')) f++;
        if (*f == '*') {
            (void)va_arg(ap, int);
            f++;
        } else
            while (*f >= '0' && *f <= '9') f++;
        if (*f == '$') return; /* positions: not followed; the strings are read as they are */
        if (*f == '.') {
            f++;
            prec = 0;
            if (*f == '*') {
                prec = va_arg(ap, int);
                f++;
            } else
                while (*f >= '0' && *f <= '9') prec = prec * 10 + (*f++ - '0');
        }
        for (;; f++) {
            if (*f == 'l')
                len++;
            else if (*f == 'j' || *f == 'z' || *f == 't' || *f == 'q' || *f == 'Z')
                len = 2;
            else if (*f == 'L')
                len = 3;
            else if (*f != 'h')
                break;
        }
        switch (*f) {
        case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'c': case 'C':
            if (len)
                (void)va_arg(ap, long);
            else
                (void)va_arg(ap, int);
            break;
        case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
            if (len == 3)
                (void)va_arg(ap, long double);
            else
                (void)va_arg(ap, double);
            break;
        case 's': {
            const char *s = va_arg(ap, const char *);
            if (s && !len) group_str(s, prec < 0 ? SIZE_MAX : (size_t)prec);
            break;
        }
        case 'S': case 'p': case 'n': (void)va_arg(ap, void *); break;
        case 0: return;
        default: break; /* %% and %m */
        }
    }
}

static void take_format(const char *f, va_list ap) {
    weft__on_rt((void *)weft__t_take_begin);
    group_format(f, ap);
    weft__on_rt((void *)weft__t_take_end);
}

static int print(FILE *f, const char *fmt, va_list ap) {
    if (!ordered()) return REAL(vfprintf)(f, fmt, ap);
    BEGIN(f);
    va_list copy;
    va_copy(copy, ap);
    take_format(fmt, copy);
    va_end(copy);
    int r = REAL(vfprintf)(f, fmt, ap);
    END(f);
    return r;
}

static int print_chk(FILE *f, int flag, const char *fmt, va_list ap) {
    if (!ordered()) return REAL(__vfprintf_chk)(f, flag, fmt, ap);
    BEGIN(f);
    va_list copy;
    va_copy(copy, ap);
    take_format(fmt, copy);
    va_end(copy);
    int r = REAL(__vfprintf_chk)(f, flag, fmt, ap);
    END(f);
    return r;
}

#define VARARGS(call)                                                                                                  \
    va_list ap;                                                                                                        \
    va_start(ap, fmt);                                                                                                 \
    int r = call;                                                                                                      \
    va_end(ap);                                                                                                        \
    return r
WEFT_API int printf(const char *fmt, ...) { VARARGS(print(stdout, fmt, ap)); }
WEFT_API int fprintf(FILE *f, const char *fmt, ...) { VARARGS(print(f, fmt, ap)); }
WEFT_API int vprintf(const char *fmt, va_list ap) { return print(stdout, fmt, ap); }
WEFT_API int vfprintf(FILE *f, const char *fmt, va_list ap) { return print(f, fmt, ap); }
WEFT_API int __printf_chk(int flag, const char *fmt, ...) { VARARGS(print_chk(stdout, flag, fmt, ap)); }
WEFT_API int __fprintf_chk(FILE *f, int flag, const char *fmt, ...) { VARARGS(print_chk(f, flag, fmt, ap)); }
WEFT_API int __vprintf_chk(int flag, const char *fmt, va_list ap) { return print_chk(stdout, flag, fmt, ap); }
WEFT_API int __vfprintf_chk(FILE *f, int flag, const char *fmt, va_list ap) { return print_chk(f, flag, fmt, ap); }

/* ---- scanf: the targets are written by libc while the stream is ours */
static int scan(FILE *f, const char *fmt, va_list ap) {
    if (!ordered()) return REAL(vfscanf)(f, fmt, ap);
    BEGIN(f);
    take_str(fmt, SIZE_MAX);
    int r = REAL(vfscanf)(f, fmt, ap);
    END(f);
    return r;
}
/* The headers give scanf the symbol of its C99 form; both are wanted. */
#define SCAN(sym, ...)                                                                                                 \
    int weft__##sym __VA_ARGS__ __asm__(#sym) WEFT_API;                                                                \
    int weft__##sym __VA_ARGS__
SCAN(scanf, (const char *fmt, ...)) { VARARGS(scan(stdin, fmt, ap)); }
SCAN(fscanf, (FILE * f, const char *fmt, ...)) { VARARGS(scan(f, fmt, ap)); }
SCAN(vfscanf, (FILE * f, const char *fmt, va_list ap)) { return scan(f, fmt, ap); }
SCAN(__isoc99_scanf, (const char *fmt, ...)) { VARARGS(scan(stdin, fmt, ap)); }
SCAN(__isoc99_fscanf, (FILE * f, const char *fmt, ...)) { VARARGS(scan(f, fmt, ap)); }
SCAN(__isoc99_vfscanf, (FILE * f, const char *fmt, va_list ap)) { return scan(f, fmt, ap); }

/* ---- characters and blocks */

#define SIMPLE(type, name, params, f, args)                                                                            \
    WEFT_API type name params {                                                                                        \
        if (!ordered() || !(f)) return REAL(name) args;                                                                \
        BEGIN(f);                                                                                                      \
        type r = REAL(name) args;                                                                                      \
        END(f);                                                                                                        \
        return r;                                                                                                      \
    }
#define SIMPLE_AS(type, name, as, params, f, args)                                                                     \
    WEFT_API type name params {                                                                                        \
        if (!ordered()) return REAL(as) args;                                                                          \
        BEGIN(f);                                                                                                      \
        type r = REAL(as) args;                                                                                        \
        END(f);                                                                                                        \
        return r;                                                                                                      \
    }
SIMPLE(int, fputc, (int c, FILE *f), f, (c, f))
SIMPLE(int, fgetc, (FILE * f), f, (f))
SIMPLE(int, ungetc, (int c, FILE *f), f, (c, f))
SIMPLE(int, feof, (FILE * f), f, (f))
SIMPLE(int, ferror, (FILE * f), f, (f))
SIMPLE(int, fseek, (FILE * f, long o, int w), f, (f, o, w))
SIMPLE(int, fseeko, (FILE * f, off_t o, int w), f, (f, o, w))
SIMPLE(long, ftell, (FILE * f), f, (f))
SIMPLE(off_t, ftello, (FILE * f), f, (f))
SIMPLE(int, setvbuf, (FILE * f, char *b, int m, size_t n), f, (f, b, m, n))
#undef putc
#undef getc
#undef putchar
#undef getchar
SIMPLE_AS(int, putc, fputc, (int c, FILE *f), f, (c, f))
SIMPLE_AS(int, getc, fgetc, (FILE * f), f, (f))
SIMPLE_AS(int, putchar, fputc, (int c), stdout, (c, stdout))
SIMPLE_AS(int, getchar, fgetc, (void), stdin, (stdin))
SIMPLE_AS(int, _IO_putc, fputc, (int c, FILE *f), f, (c, f))
SIMPLE_AS(int, _IO_getc, fgetc, (FILE * f), f, (f))
SIMPLE_AS(int, fseeko64, fseeko, (FILE * f, off_t o, int w), f, (f, o, w))
SIMPLE_AS(off_t, ftello64, ftello, (FILE * f), f, (f))

WEFT_API int fflush(FILE *f) {
    if (!ordered()) return REAL(fflush)(f);
    if (f) {
        BEGIN(f);
        int r = REAL(fflush)(f);
        END(f);
        return r;
    }
    BEGIN(stdout);
    int r = REAL(fflush)(NULL);
    END(stdout);
    return r;
}

WEFT_API void rewind(FILE *f) {
    if (!ordered()) {
        REAL(rewind)(f);
        return;
    }
    BEGIN(f);
    REAL(rewind)(f);
    END(f);
}
WEFT_API void clearerr(FILE *f) {
    if (!ordered()) {
        REAL(clearerr)(f);
        return;
    }
    BEGIN(f);
    REAL(clearerr)(f);
    END(f);
}
WEFT_API void setbuf(FILE *f, char *b) { setvbuf(f, b, b ? _IOFBF : _IONBF, BUFSIZ); }
WEFT_API void setlinebuf(FILE *f) { setvbuf(f, NULL, _IOLBF, 0); }

static void order_rt(const void *o) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return;
    weft__order(t, o);
    weft__leave(t, was);
}
/* The stream is gone afterwards: ordered before, without its lock. */
WEFT_API int fclose(FILE *f) {
    if (ordered()) weft__on_rt((void *)order_rt, f);
    return REAL(fclose)(f);
}
WEFT_API FILE *freopen(const char *p, const char *m, FILE *f) {
    if (ordered()) weft__on_rt((void *)order_rt, f);
    return REAL(freopen)(p, m, f);
}

WEFT_API int fputs(const char *s, FILE *f) {
    if (!ordered()) return REAL(fputs)(s, f);
    BEGIN(f);
    take_str(s, SIZE_MAX);
    int r = REAL(fputs)(s, f);
    END(f);
    return r;
}
WEFT_API int puts(const char *s) {
    if (!ordered()) return REAL(puts)(s);
    BEGIN(stdout);
    take_str(s, SIZE_MAX);
    int r = REAL(puts)(s);
    END(stdout);
    return r;
}
WEFT_API void perror(const char *s) {
    if (!ordered()) {
        REAL(perror)(s);
        return;
    }
    BEGIN(stderr);
    REAL(perror)(s);
    END(stderr);
}

WEFT_API size_t fwrite(const void *p, size_t size, size_t n, FILE *f) {
    if (!ordered()) return REAL(fwrite)(p, size, n, f);
    BEGIN(f);
    size_t bytes;
    if (!__builtin_mul_overflow(size, n, &bytes)) take(p, bytes);
    size_t r = REAL(fwrite)(p, size, n, f);
    END(f);
    return r;
}

/* A private buffer for n bytes; small ones on the stack. */
#define SMALL 4096
#define BUFFER(n)                                                                                                      \
    char small_[SMALL], *buf_ = small_;                                                                                \
    if ((n) > SMALL) buf_ = malloc(n)
#define UNBUFFER                                                                                                       \
    if (buf_ != small_) free(buf_)

WEFT_API size_t fread(void *p, size_t size, size_t n, FILE *f) {
    size_t bytes;
    if (!ordered() || __builtin_mul_overflow(size, n, &bytes) || !bytes) return REAL(fread)(p, size, n, f);
    BUFFER(bytes);
    if (!buf_) return REAL(fread)(p, size, n, f);
    BEGIN(f);
    size_t got = REAL(fread)(buf_, 1, bytes, f);
    put(p, buf_, got);
    END(f);
    UNBUFFER;
    return got / size;
}

WEFT_API char *fgets(char *s, int n, FILE *f) {
    if (!ordered() || n <= 1) return REAL(fgets)(s, n, f);
    BUFFER((size_t)n);
    if (!buf_) return REAL(fgets)(s, n, f);
    BEGIN(f);
    char *r = REAL(fgets)(buf_, n, f);
    if (r) {
        size_t k = 0;
        while (buf_[k]) k++;
        put(s, buf_, k + 1);
    }
    END(f);
    UNBUFFER;
    return r ? s : NULL;
}

WEFT_API ssize_t getdelim(char **line, size_t *cap, int delim, FILE *f) {
    if (!ordered()) return REAL(getdelim)(line, cap, delim, f);
    char *own = NULL;
    size_t own_cap = 0;
    BEGIN(f);
    ssize_t r = REAL(getdelim)(&own, &own_cap, delim, f);
    if (r >= 0) {
        char *at;
        size_t room;
        get(&at, line, sizeof at);
        get(&room, cap, sizeof room);
        if (!at || room < (size_t)r + 1) {
            char *q = realloc(at, (size_t)r + 1 < 120 ? 120 : (size_t)r + 1);
            if (q) {
                size_t c = (size_t)r + 1 < 120 ? 120 : (size_t)r + 1;
                at = q;
                put(line, &q, sizeof q);
                put(cap, &c, sizeof c);
            } else
                r = -1;
        }
        if (r >= 0) put(at, own, (size_t)r + 1);
    }
    END(f);
    free(own);
    return r;
}
WEFT_API ssize_t __getdelim(char **line, size_t *cap, int delim, FILE *f) { return getdelim(line, cap, delim, f); }
WEFT_API ssize_t getline(char **line, size_t *cap, FILE *f) { return getdelim(line, cap, '\n', f); }

/* ---- the program's own locking of a stream: the lock is held between, recursively */
WEFT_API void flockfile(FILE *f) {
    if (!ordered()) {
        REAL(flockfile)(f);
        return;
    }
    BEGIN(f);
    (void)was_;
}
WEFT_API void funlockfile(FILE *f) {
    if (!ordered()) {
        REAL(funlockfile)(f);
        return;
    }
    long was_ = 0;
    END(f);
}

/* ---- the end of the process: libc flushes all streams after the last exit handler, without their locks. From here on the
 * standard ones are this thread's, so what is flushed is what was there. (The runtime's destructor runs last.) */
__attribute__((destructor(101))) static void last(void) {
    if (!ordered()) return;
    weft__on_rt((void *)begin_rt, stdout);
    weft__on_rt((void *)begin_rt, stderr);
}
