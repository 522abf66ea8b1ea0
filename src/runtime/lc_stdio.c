/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stream functions of stdio.h for bytes: wrappers as lc_streams.c describes. fileno has none: it never waits for the
 * stream's lock, so it must not here; the number it gives changes with freopen only. */
#include "lc_stdio.h"
#include <assert.h>
#include <err.h>
#include <error.h>
#include <libintl.h>
#include <string.h>
#include <unistd.h>

/* ---- formatted */

WEFT_API int printf(const char *fmt, ...) { VARARGS(weft__print(stdout, -1, fmt, ap)); }
WEFT_API int fprintf(FILE *f, const char *fmt, ...) { VARARGS(weft__print(f, -1, fmt, ap)); }
WEFT_API int vprintf(const char *fmt, va_list ap) { return weft__print(stdout, -1, fmt, ap); }
WEFT_API int vfprintf(FILE *f, const char *fmt, va_list ap) { return weft__print(f, -1, fmt, ap); }
WEFT_API int __printf_chk(int chk, const char *fmt, ...) { VARARGS(weft__print(stdout, chk, fmt, ap)); }
WEFT_API int __fprintf_chk(FILE *f, int chk, const char *fmt, ...) { VARARGS(weft__print(f, chk, fmt, ap)); }
WEFT_API int __vprintf_chk(int chk, const char *fmt, va_list ap) { return weft__print(stdout, chk, fmt, ap); }
WEFT_API int __vfprintf_chk(FILE *f, int chk, const char *fmt, va_list ap) { return weft__print(f, chk, fmt, ap); }

/* No stream of the program, but memory of it. */
static int print_fd(int fd, int chk, const char *fmt, va_list ap) {
    struct weft_print p;
    char small[SMALL], *b;
    int n, done = 0;
    if (!weft__print_begin(&p, chk, fmt, 1, ap)) return -1;
    if ((b = weft__text(&p, small, &n))) {
        for (ssize_t r; done < n && (r = write(fd, b + done, (size_t)(n - done))) >= 0;) done += (int)r;
        if (b != small) free(b);
    } else {
        va_list own;
        weft__print_args(&p, own);
        done = n = p.chk < 0 ? REAL(vdprintf)(fd, p.a.fmt, own) : REAL(__vdprintf_chk)(fd, p.chk, p.a.fmt, own);
    }
    weft__print_end(&p, b != NULL);
    return done < n ? -1 : n;
}
WEFT_API int vdprintf(int fd, const char *fmt, va_list ap) {
    return inside() ? print_fd(fd, -1, fmt, ap) : REAL(vdprintf)(fd, fmt, ap);
}
WEFT_API int __vdprintf_chk(int fd, int chk, const char *fmt, va_list ap) {
    return inside() ? print_fd(fd, chk, fmt, ap) : REAL(__vdprintf_chk)(fd, chk, fmt, ap);
}
WEFT_API int dprintf(int fd, const char *fmt, ...) { VARARGS(vdprintf(fd, fmt, ap)); }
WEFT_API int __dprintf_chk(int fd, int chk, const char *fmt, ...) { VARARGS(__vdprintf_chk(fd, chk, fmt, ap)); }

SCANS(, , char, 1)
SCANS(__isoc99_, , char, 0)
SCANS(__isoc23_, , char, 0)

/* ---- characters, positions, states */

SIMPLE(int, fputc, (int c, FILE *f), f, (c, f))
SIMPLE(int, putc, (int c, FILE *f), f, (c, f))
SIMPLE(int, _IO_putc, (int c, FILE *f), f, (c, f))
SIMPLE(int, putchar, (int c), stdout, (c))
SIMPLE(int, fputc_unlocked, (int c, FILE *f), f, (c, f))
SIMPLE(int, putc_unlocked, (int c, FILE *f), f, (c, f))
SIMPLE(int, putchar_unlocked, (int c), stdout, (c))
SIMPLE(int, __overflow, (FILE * f, int c), f, (f, c))
SIMPLE(int, putw, (int c, FILE *f), f, (c, f))
SIMPLE_INPUT(int, fgetc, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, getc, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, _IO_getc, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, getchar, (void), stdin, 1, ())
SIMPLE_INPUT(int, fgetc_unlocked, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, getc_unlocked, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, getchar_unlocked, (void), stdin, 1, ())
SIMPLE_INPUT(int, __uflow, (FILE * f), f, 1, (f))
SIMPLE_INPUT(int, getw, (FILE * f), f, 0, (f))
SIMPLE(int, ungetc, (int c, FILE *f), f, (c, f))
SIMPLE(int, feof, (FILE * f), f, (f))
SIMPLE(int, ferror, (FILE * f), f, (f))
SIMPLE(int, feof_unlocked, (FILE * f), f, (f))
SIMPLE(int, ferror_unlocked, (FILE * f), f, (f))
SIMPLE_VOID(clearerr, (FILE * f), f, (f))
SIMPLE_VOID(clearerr_unlocked, (FILE * f), f, (f))
SIMPLE(int, fseek, (FILE * f, long o, int w), f, (f, o, w))
SIMPLE(int, fseeko, (FILE * f, off_t o, int w), f, (f, o, w))
SIMPLE(int, fseeko64, (FILE * f, off_t o, int w), f, (f, o, w))
SIMPLE(long, ftell, (FILE * f), f, (f))
SIMPLE(off_t, ftello, (FILE * f), f, (f))
SIMPLE(off_t, ftello64, (FILE * f), f, (f))
SIMPLE_VOID(rewind, (FILE * f), f, (f))
SIMPLE_VOID(__fpurge, (FILE * f), f, (f))
SIMPLE(int, __fsetlocking, (FILE * f, int t), f, (f, t))
SIMPLE(int, __freading, (FILE * f), f, (f))
SIMPLE(int, __fwriting, (FILE * f), f, (f))
SIMPLE(size_t, __fpending, (FILE * f), f, (f))
SIMPLE(size_t, __fbufsize, (FILE * f), f, (f))

#define POSITION(get, set, type)                                                                                       \
    WEFT_API int get(FILE *f, type *p) {                                                                               \
        if (!ordered()) return REAL(get)(f, p);                                                                        \
        type own;                                                                                                      \
        BEGIN(f);                                                                                                      \
        __builtin_memset(&own, 0, sizeof own);                                                                         \
        int r = REAL(get)(f, &own);                                                                                    \
        if (!r) weft__io_put(p, &own, sizeof own);                                                                     \
        END(f);                                                                                                        \
        return r;                                                                                                      \
    }                                                                                                                  \
    WEFT_API int set(FILE *f, const type *p) {                                                                         \
        if (!ordered()) return REAL(set)(f, p);                                                                        \
        type own;                                                                                                      \
        BEGIN(f);                                                                                                      \
        weft__io_get(&own, p, sizeof own);                                                                             \
        int r = REAL(set)(f, &own);                                                                                    \
        END(f);                                                                                                        \
        return r;                                                                                                      \
    }
POSITION(fgetpos, fsetpos, fpos_t)
POSITION(fgetpos64, fsetpos64, fpos64_t)

/* A memory stream's address and size are the program's from here on. */
static int flush(FILE *f, int (*real)(FILE *)) {
    if (!ordered()) {
        int r = real(f);
        if (f) weft__stream_publish(f);
        return r;
    }
    if (!f) return weft__flush_all();
    BEGIN(f);
    int r = real(f);
    weft__stream_publish(f);
    END(f);
    return r;
}
WEFT_API int fflush(FILE *f) { return flush(f, REAL(fflush)); }
WEFT_API int fflush_unlocked(FILE *f) { return flush(f, REAL(fflush_unlocked)); }

#define BUFFERING(type, name, params, args, result)                                                                    \
    WEFT_API type name params {                                                                                        \
        int o = ordered();                                                                                             \
        long was = o ? weft__stream_begin(f) : 0;                                                                      \
        result REAL(name) args;                                                                                        \
        weft__stream_publish(f);                                                                                       \
        if (o) weft__stream_end(f, was);
BUFFERING(int, setvbuf, (FILE * f, char *b, int m, size_t n), (f, b, m, n), int r =) return r; }
BUFFERING(void, setbuf, (FILE * f, char *b), (f, b), ) }
BUFFERING(void, setbuffer, (FILE * f, char *b, size_t n), (f, b, n), ) }
BUFFERING(void, setlinebuf, (FILE * f), (f), ) }

/* ---- strings and blocks out */

static int put_string(const char *s, FILE *f, int (*real)(const char *, FILE *), int (*line)(const char *)) {
    char small[SMALL], *b;
    BEGIN(f);
    if (!(b = weft__copy_of(s, 1, small, SMALL))) b = (char *)s;
    weft__stream_touch(f);
    int r = real ? real(b, f) : line(b);
    if (b != small && b != s) free(b);
    END(f);
    return r;
}
WEFT_API int fputs(const char *s, FILE *f) {
    return ordered() ? put_string(s, f, REAL(fputs), NULL) : REAL(fputs)(s, f);
}
WEFT_API int fputs_unlocked(const char *s, FILE *f) {
    return ordered() ? put_string(s, f, REAL(fputs_unlocked), NULL) : REAL(fputs_unlocked)(s, f);
}
WEFT_API int puts(const char *s) { return ordered() ? put_string(s, stdout, NULL, REAL(puts)) : REAL(puts)(s); }

static size_t put_block(const void *p, size_t size, size_t n, FILE *f) {
    size_t bytes, r;
    if (__builtin_mul_overflow(size, n, &bytes) || !bytes) return REAL(fwrite)(p, size, n, f);
    BEGIN(f);
    if (fits(f, bytes)) {
        weft__io_take(p, bytes);
        r = REAL(fwrite)(p, size, n, f);
    } else {
        BUFFER(bytes);
        if (buf_) weft__io_get(buf_, p, bytes);
        weft__stream_touch(f);
        r = REAL(fwrite)(buf_ ? buf_ : p, size, n, f);
        UNBUFFER;
    }
    END(f);
    return r;
}
WEFT_API size_t fwrite(const void *p, size_t size, size_t n, FILE *f) {
    return ordered() ? put_block(p, size, n, f) : REAL(fwrite)(p, size, n, f);
}
WEFT_API size_t fwrite_unlocked(const void *p, size_t size, size_t n, FILE *f) {
    return ordered() ? put_block(p, size, n, f) : REAL(fwrite_unlocked)(p, size, n, f);
}

/* ---- and in */

static size_t get_block(void *p, size_t size, size_t n, FILE *f) {
    size_t bytes;
    if (__builtin_mul_overflow(size, n, &bytes) || !bytes) return REAL(fread)(p, size, n, f);
    BUFFER(bytes);
    if (!buf_) return REAL(fread)(p, size, n, f);
    BEGIN_INPUT(f, 0);
    size_t got = REAL(fread)(buf_, 1, bytes, f);
    weft__io_put(p, buf_, got);
    END_INPUT(f);
    UNBUFFER;
    return got / size;
}
WEFT_API size_t fread(void *p, size_t size, size_t n, FILE *f) {
    return ordered() ? get_block(p, size, n, f) : REAL(fread)(p, size, n, f);
}
WEFT_API size_t fread_unlocked(void *p, size_t size, size_t n, FILE *f) {
    return ordered() ? get_block(p, size, n, f) : REAL(fread_unlocked)(p, size, n, f);
}
#define FREAD_CHK(name)                                                                                                \
    WEFT_API size_t name(void *p, size_t room, size_t size, size_t n, FILE *f) {                                       \
        size_t bytes;                                                                                                  \
        if (!ordered() || __builtin_mul_overflow(size, n, &bytes) || bytes > room) return REAL(name)(p, room, size, n, f); \
        return get_block(p, size, n, f);                                                                               \
    }
FREAD_CHK(__fread_chk)
FREAD_CHK(__fread_unlocked_chk)

LINES(char, fgets)
SYMBOL(char *, gets, (char *s)) {
    if (!ordered()) return REAL(gets)(s);
    char *own = NULL;
    size_t room = 0;
    BEGIN_INPUT(stdin, 0);
    ssize_t r = REAL(getdelim)(&own, &room, '\n', stdin);
    if (r > 0) {
        if (own[r - 1] == '\n') own[--r] = 0;
        weft__io_put(s, own, (size_t)r + 1);
    } else
        s = NULL;
    END_INPUT(stdin);
    free(own);
    return s;
}

WEFT_API ssize_t getdelim(char **line, size_t *cap, int delim, FILE *f) {
    if (!ordered()) return REAL(getdelim)(line, cap, delim, f);
    char *own = NULL;
    size_t own_cap = 0;
    BEGIN_INPUT(f, 0);
    ssize_t r = REAL(getdelim)(&own, &own_cap, delim, f);
    if (r >= 0) {
        char *at;
        size_t room;
        weft__io_get(&at, line, sizeof at);
        weft__io_get(&room, cap, sizeof room);
        if (!at || room < (size_t)r + 1) {
            char *q = realloc(at, (size_t)r + 1 < 120 ? 120 : (size_t)r + 1);
            if (q) {
                size_t c = (size_t)r + 1 < 120 ? 120 : (size_t)r + 1;
                at = q;
                weft__io_put(line, &q, sizeof q);
                weft__io_put(cap, &c, sizeof c);
            } else
                r = -1;
        }
        if (r >= 0) weft__io_put(at, own, (size_t)r + 1);
    }
    END_INPUT(f);
    free(own);
    return r;
}
WEFT_API ssize_t __getdelim(char **line, size_t *cap, int delim, FILE *f) { return getdelim(line, cap, delim, f); }
WEFT_API ssize_t getline(char **line, size_t *cap, FILE *f) { return getdelim(line, cap, '\n', f); }

/* ---- messages: to stderr */

/* libc reads the string after some system calls, and errno before. */
#define MESSAGE(name, params, args)                                                                                    \
    WEFT_API void name params {                                                                                        \
        const char *given = s;                                                                                         \
        char small[SMALL];                                                                                             \
        int o = ordered(), e = errno;                                                                                  \
        long was = o ? weft__stream_begin(stderr) : 0;                                                                 \
        if (o && s && !(s = weft__copy_of(s, 1, small, SMALL))) s = given;                                             \
        if (o) messages(1);                                                                                            \
        errno = e;                                                                                                     \
        REAL(name) args;                                                                                               \
        if (o) messages(0);                                                                                            \
        if (s != small && s != given) free((char *)s);                                                                 \
        if (o) weft__stream_end(stderr, was);                                                                          \
    }
MESSAGE(perror, (const char *s), (s))
MESSAGE(psignal, (int sig, const char *s), (sig, s))
#define WARNING(name)                                                                                                  \
    WEFT_API void name(const char *fmt, va_list ap) {                                                                  \
        if (!ordered() || !fmt) {                                                                                      \
            REAL(name)(fmt, ap);                                                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        struct weft_print p;                                                                                           \
        va_list own;                                                                                                   \
        BEGIN(stderr);                                                                                                 \
        if (weft__print_begin(&p, -1, fmt, 1, ap)) {                                                                   \
            weft__print_args(&p, own);                                                                                 \
            messages(1);                                                                                               \
            errno = p.error;                                                                                           \
            REAL(name)(p.a.fmt, own);                                                                                  \
            messages(0);                                                                                               \
            weft__print_end(&p, 1);                                                                                    \
        }                                                                                                              \
        END(stderr);                                                                                                   \
    }
WARNING(vwarn)
WARNING(vwarnx)
#define WITH_VARARGS(call)                                                                                             \
    {                                                                                                                  \
        va_list ap;                                                                                                    \
        va_start(ap, fmt);                                                                                             \
        call;                                                                                                          \
        va_end(ap);                                                                                                    \
    }
WEFT_API void warn(const char *fmt, ...) WITH_VARARGS(vwarn(fmt, ap))
WEFT_API void warnx(const char *fmt, ...) WITH_VARARGS(vwarnx(fmt, ap))
/* As libc defines them; exit handlers run when the stream is free again. */
WEFT_API void verr(int status, const char *fmt, va_list ap) {
    vwarn(fmt, ap);
    exit(status);
}
WEFT_API void verrx(int status, const char *fmt, va_list ap) {
    vwarnx(fmt, ap);
    exit(status);
}
WEFT_API void err(int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    verr(status, fmt, ap);
}
WEFT_API void errx(int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    verrx(status, fmt, ap);
}

/* libc's error() also flushes stdout, natively and with stderr locked; so it is done here, in order. */
static void complain(int status, int e, const char *file, unsigned line, int located, const char *fmt, va_list ap) {
    static const char *last_file;
    static unsigned last_line;
    fflush(stdout);
    int o = ordered();
    long was = o ? weft__stream_begin(stderr) : 0;
    int again = located && error_one_per_line && last_line == line &&
                (file == last_file || (last_file && file && !__builtin_strcmp(file, last_file)));
    if (located && error_one_per_line) {
        last_file = file;
        last_line = line;
    }
    if (!again) {
        if (error_print_progname)
            error_print_progname();
        else
            fprintf(stderr, located ? "%s:" : "%s: ", program_invocation_name);
        if (located && file)
            fprintf(stderr, "%s:%u: ", file, line);
        else if (located)
            fprintf(stderr, " ");
        vfprintf(stderr, fmt, ap);
        error_message_count++;
        char text[1024];
        if (e) {
            if (o) messages(1);
            const char *s = strerror_r(e, text, sizeof text);
            if (o) messages(0);
            fprintf(stderr, ": %s", s);
        }
        fputc('\n', stderr);
        fflush(stderr);
    }
    if (o) weft__stream_end(stderr, was);
    if (status && !again) exit(status);
}
WEFT_API void error(int status, int e, const char *fmt, ...) WITH_VARARGS(complain(status, e, NULL, 0, 0, fmt, ap))
WEFT_API void error_at_line(int status, int e, const char *file, unsigned line, const char *fmt, ...)
    WITH_VARARGS(complain(status, e, file, line, 1, fmt, ap))

/* ---- assertions: libc's own way to stderr and to abort has locks that replay would give in another order */

static void failed(const char *text, const char *file, unsigned line, const char *function, const char *what) {
    const char *name = program_invocation_short_name;
    int o = ordered(), length;
    if (o) messages(1);
    text = dgettext("libc", text);
    if (o) messages(0);
    fprintf(stderr, text, name, *name ? ": " : "", file, line, function ? function : "", function ? ": " : "", what, &length);
    fflush(stderr);
    abort();
}
WEFT_API void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
    failed("%s%s%s:%u: %s%sAssertion `%s' failed.\n%n", file, line, function, what);
    __builtin_unreachable();
}
WEFT_API void __assert(const char *what, const char *file, int line) {
    __assert_fail(what, file, (unsigned)line, NULL);
}
WEFT_API void __assert_perror_fail(int e, const char *file, unsigned line, const char *function) {
    char text[1024];
    int o = ordered();
    if (o) messages(1);
    const char *what = strerror_r(e, text, sizeof text);
    if (o) messages(0);
    failed("%s%s%s:%u: %s%sUnexpected error: %s.\n%n", file, line, function, what);
    __builtin_unreachable();
}
