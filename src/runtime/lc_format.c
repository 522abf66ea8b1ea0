/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* printf and scanf: formats say what memory of the program is read and written. Both for narrow and for wide formats; `w` is
 * the size of a format's characters.
 *
 * printf: the strings among the arguments are taken as a group with the format; then the text is made in a buffer of our
 * own, in one go, and only then written to the stream, which may have to go to the kernel in the middle.
 *
 * scanf: the thread may be outside, in read(), between two conversions. So libc gets a format and targets of our own, and
 * what it has converted is copied to the program's targets afterwards: strings through the `m` modifier, since their length
 * is not known before; characters with %n around them, since at the end of the file there may be fewer. */
#include "lc_stdio.h"
#include "va.h"

static unsigned at(const void *f, int w, size_t i) {
    return w == 1 ? ((const unsigned char *)f)[i] : ((const unsigned *)f)[i];
}
static int digit(unsigned c) { return c >= '0' && c <= '9'; }

/* ---- printf */

void weft__t_take_begin(void);
void weft__t_take_range(const void *p, size_t n, int write);
void weft__t_take_strn(const void *s, size_t n, int width);
void weft__t_take_end(void);
static void group_str(const void *s, size_t max, int width) {
    weft__on_rt((void *)weft__t_take_strn, s, max, (long)width);
}

static void group_format(const void *f, int w, va_list ap) {
    group_str(f, SIZE_MAX, w);
    for (size_t i = 0; at(f, w, i); i++) {
        if (at(f, w, i) != '%') continue;
        i++;
        long prec = -1;
        int len = 0; /* -1: short, 1: long, 2: long long/size, 3: long double */
        for (unsigned c; (c = at(f, w, i)) && (c == '-' || c == '+' || c == ' ' || c == '#' || c == '0' || c == '\'' || c == 'I');)
            i++;
        if (at(f, w, i) == '*') {
            (void)va_arg(ap, int);
            i++;
        } else
            while (digit(at(f, w, i))) i++;
        if (at(f, w, i) == '$') return; /* positions: not followed; the strings are read as they are */
        if (at(f, w, i) == '.') {
            i++;
            prec = 0;
            if (at(f, w, i) == '*') {
                prec = va_arg(ap, int);
                i++;
            } else
                while (digit(at(f, w, i))) prec = prec * 10 + (long)(at(f, w, i++) - '0');
        }
        for (;; i++) {
            unsigned c = at(f, w, i);
            if (c == 'l')
                len++;
            else if (c == 'j' || c == 'z' || c == 't' || c == 'q' || c == 'Z')
                len = 2;
            else if (c == 'L')
                len = 3;
            else if (c == 'h')
                len--;
            else
                break;
        }
        switch (at(f, w, i)) {
        case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'c': case 'C':
            if (len > 0)
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
        case 's': case 'S': {
            const void *s = va_arg(ap, const void *);
            int wide = len > 0 || at(f, w, i) == 'S';
            /* The precision counts what is written: a wide format's narrow strings may have several bytes for each. */
            size_t max = prec < 0 ? SIZE_MAX : w == 4 && !wide ? (size_t)prec * 16 : (size_t)prec;
            group_str(s, max, wide ? 4 : 1);
            break;
        }
        case 'n':
            weft__on_rt((void *)weft__t_take_range, va_arg(ap, void *), len > 0 ? 8L : len == 0 ? 4L : len == -1 ? 2L : 1L, 1L);
            break;
        case 'p': (void)va_arg(ap, void *); break;
        case 0: return;
        default: break; /* %% and %m */
        }
    }
}

WEFT_HIDDEN void weft__take_format(const void *fmt, int w, va_list ap) {
    va_list copy;
    va_copy(copy, ap);
    weft__on_rt((void *)weft__t_take_begin);
    group_format(fmt, w, copy);
    weft__on_rt((void *)weft__t_take_end);
    va_end(copy);
}

/* The text in `small`, which has SMALL bytes, or allocated; NULL: an error of the format, or no memory. */
WEFT_HIDDEN char *weft__text(int chk, const char *fmt, va_list ap, char *small, int *length) {
    char *b = small;
    for (size_t room = SMALL;;) { /* allocating may tick: what was taken is taken again, and may be longer by then */
        va_list again;
        va_copy(again, ap);
        weft__take_format(fmt, 1, ap);
        int r = chk < 0 ? REAL(vsnprintf)(b, room, fmt, again) : REAL(__vsnprintf_chk)(b, room, chk, room, fmt, again);
        va_end(again);
        if (r >= 0 && (size_t)r < room) {
            *length = r;
            return b;
        }
        if (b != small) free(b);
        if (r < 0) return NULL;
        room = (size_t)r + 1;
        if (!(b = malloc(room))) return NULL;
    }
}
WEFT_HIDDEN int weft__print(FILE *f, int chk, const char *fmt, va_list ap) {
    if (!ordered()) return chk < 0 ? REAL(vfprintf)(f, fmt, ap) : REAL(__vfprintf_chk)(f, chk, fmt, ap);
    BEGIN(f);
    char small[SMALL];
    int r;
    char *b = weft__text(chk, fmt, ap, small, &r);
    if (b) {
        weft__stream_touch(f);
        if (r ? REAL(fwrite)(b, 1, (size_t)r, f) != (size_t)r : REAL(fputs)("", f) < 0) r = -1;
        if (b != small) free(b);
    } else /* libc writes as far as it comes */
        r = chk < 0 ? REAL(vfprintf)(f, fmt, ap) : REAL(__vfprintf_chk)(f, chk, fmt, ap);
    END(f);
    return r;
}

/* ---- scanf */

#define TARGETS 32
#define LENGTH 512
struct target {
    enum { BYTES, STRING, WIDE_STRING, CHARS, WIDE_CHARS, COUNT, DIRECT } kind;
    void *to;
    size_t n; /* BYTES: size; CHARS, WIDE_CHARS: room */
    union {
        char bytes[16];
        void *p;
    } own;
    int from, till; /* CHARS: %n before and after */
};
struct plan {
    size_t n, targets, args;
    struct target target[TARGETS];
    void *arg[3 * TARGETS];
    union {
        char narrow[LENGTH];
        wchar_t wide[LENGTH];
    } fmt;
};
static void emit(struct plan *s, int w, unsigned c) {
    if (s->n >= LENGTH) return;
    if (w == 1)
        s->fmt.narrow[s->n++] = (char)c;
    else
        s->fmt.wide[s->n++] = (wchar_t)c;
}
static void copy(struct plan *s, const void *f, int w, size_t from, size_t to) {
    for (; from < to; from++) emit(s, w, at(f, w, from));
}

/* 0: not for us (positions, too long); libc gets what the program gave. `old`: %as is a string that is allocated. */
static int make_plan(struct plan *s, const void *f, int w, va_list ap, int old) {
    s->n = s->targets = s->args = 0;
    size_t i = 0;
    for (unsigned c; (c = at(f, w, i)); i++) {
        if (c != '%') {
            emit(s, w, c);
            continue;
        }
        size_t start = i++, mods, conv;
        int quiet = 0, len = 0, m = 0;
        size_t width = 0;
        for (; (c = at(f, w, i)) == '*' || c == '\'' || c == 'I'; i++) quiet |= c == '*';
        for (; digit(at(f, w, i)); i++) width = width * 10 + at(f, w, i) - '0';
        if (at(f, w, i) == '$') return 0;
        for (mods = i;; i++) {
            c = at(f, w, i);
            unsigned next = c ? at(f, w, i + 1) : 0;
            if (c == 'l')
                len++;
            else if (c == 'h')
                len--;
            else if (c == 'j' || c == 'z' || c == 't' || c == 'q' || c == 'Z' || c == 'L')
                len = 2;
            else if (c == 'm' || (old && c == 'a' && (next == 's' || next == 'S' || next == '[')))
                m = 1;
            else
                break;
        }
        conv = i;
        if (!c) {
            copy(s, f, w, start, i);
            break;
        }
        if (c == '[') {
            i++;
            if (at(f, w, i) == '^') i++;
            if (at(f, w, i) == ']') i++;
            while (at(f, w, i) && at(f, w, i) != ']') i++;
            if (!at(f, w, i)) return 0;
        }
        if (c == '%' || quiet) {
            copy(s, f, w, start, i + 1);
            continue;
        }
        if (s->targets == TARGETS) return 0;
        struct target *t = &s->target[s->targets];
        *t = (struct target){.kind = BYTES, .n = 8, .from = -1, .till = -1};
        int string = c == 's' || c == 'S' || c == '[', wide = len > 0 || c == 'S' || c == 'C';
        void *own = &t->own;
        switch (c) {
        case 'n': t->kind = COUNT; __attribute__((fallthrough));
        case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
            t->n = len > 0 ? 8 : len == 0 ? 4 : len == -1 ? 2 : 1;
            if (c == 'n') __builtin_memset(t->own.bytes, 0xff, 8);
            break;
        case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
            t->n = len >= 2 ? 10 : len == 1 ? 8 : 4;
            break;
        case 'p': break;
        case 's': case 'S': case '[':
            if (!m) t->kind = wide ? WIDE_STRING : STRING;
            break;
        case 'c': case 'C':
            if (m) break;
            t->kind = wide ? WIDE_CHARS : w == 1 ? CHARS : DIRECT; /* of a wide stream: some bytes for each, nobody counts */
            t->n = width ? width : 1;
            if (t->kind != DIRECT) {
                if (!(own = t->own.p = malloc(t->n * 4))) return 0;
                if (wide) __builtin_memset(own, 0xff, t->n * 4);
            }
            break;
        default: /* libc stops here */
            copy(s, f, w, start, i + 1);
            goto done;
        }
        s->targets++;
        t->to = va_arg(ap, void *);
        if (t->kind == CHARS) {
            emit(s, w, '%'), emit(s, w, 'n');
            s->arg[s->args++] = &t->from;
        }
        copy(s, f, w, start, mods);
        if (string && !m) emit(s, w, 'm');
        copy(s, f, w, mods, conv);
        copy(s, f, w, conv, i + 1);
        s->arg[s->args++] = t->kind == DIRECT ? t->to : own;
        if (t->kind == CHARS) {
            emit(s, w, '%'), emit(s, w, 'n');
            s->arg[s->args++] = &t->till;
        }
    }
done:
    if (s->n >= LENGTH) return 0;
    emit(s, w, 0);
    return 1;
}

/* What the first r conversions gave goes to the program, in the order of the format. */
static void deliver(struct plan *s, int r) {
    for (size_t i = 0; i < s->targets; i++) {
        struct target *t = &s->target[i];
        size_t n = 0;
        if (t->kind == COUNT) {
            long long unset = -1;
            if (__builtin_memcmp(t->own.bytes, &unset, t->n)) weft__io_put(t->to, t->own.bytes, t->n);
            continue;
        }
        if (r-- > 0) switch (t->kind) {
            case BYTES: weft__io_put(t->to, t->own.bytes, t->n); break;
            case STRING:
                while (((char *)t->own.p)[n++]) {}
                weft__io_put(t->to, t->own.p, n);
                break;
            case WIDE_STRING:
                while (((wchar_t *)t->own.p)[n++]) {}
                weft__io_put(t->to, t->own.p, n * 4);
                break;
            case CHARS: weft__io_put(t->to, t->own.p, t->till < 0 ? t->n : (size_t)(t->till - t->from)); break;
            case WIDE_CHARS:
                while (n < t->n && ((wchar_t *)t->own.p)[n] != -1) n++;
                weft__io_put(t->to, t->own.p, n * 4);
                break;
            default: break;
            }
    }
}
static void discard(struct plan *s) {
    for (size_t i = 0; i < s->targets; i++)
        if (s->target[i].kind != BYTES && s->target[i].kind != COUNT && s->target[i].kind != DIRECT) free(s->target[i].own.p);
}

WEFT_HIDDEN int weft__scan(FILE *f, const void *fmt, va_list ap, int w, weft_scan_fn *real, int old) {
    if (!ordered()) return real(f, fmt, ap);
    BEGIN_INPUT(f, 0);
    struct plan s;
    va_list given, own;
    va_copy(given, ap);
    weft__io_take_str(fmt, SIZE_MAX, w);
    int r;
    if (make_plan(&s, fmt, w, given, old)) {
        weft__va_pointers(own, s.arg);
        weft__stream_touch(f);
        r = real(f, &s.fmt, own);
        deliver(&s, r);
    } else
        r = real(f, fmt, ap);
    discard(&s);
    va_end(given);
    END_INPUT(f);
    return r;
}
