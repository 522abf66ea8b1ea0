/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* printf and scanf: formats say what memory of the program is read and written. Both for narrow and for wide formats; `w` is
 * the size of a format's characters.
 *
 * printf: libc gets a copy of the format and of all that it leads to (format.c); the text is made in a buffer of our own, and
 * only then written: to the stream, which may have to go to the kernel in the middle, or to the program's memory.
 *
 * scanf: the thread may be outside, in read(), between two conversions, and libc allocates. So libc gets a format and
 * targets of our own, and from sscanf a copy of the string; what it has converted is copied to the program's targets
 * afterwards: strings through the `m` modifier, since their length is not known before; characters with %n around them, since
 * at the end of the file there may be fewer. Numbered arguments are looked up here, so libc sees none. */
#include "format.h"
#include "lc_stdio.h"
#include "va.h"
#include <string.h>

/* ---- printf */

static int writable(const void *p) {
    char *line = NULL;
    size_t room = 0;
    int w = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && getline(&line, &room, maps) > 0) {
        char *e;
        unsigned long from = strtoul(line, &e, 16), to = strtoul(e + 1, &e, 16);
        if ((uintptr_t)p >= from && (uintptr_t)p < to) w = e[2] == 'w';
    }
    free(line);
    if (maps) fclose(maps);
    return w;
}

size_t weft__t_take_format(struct weft_args *a);
WEFT_HIDDEN int weft__print_begin(struct weft_print *p, int chk, const void *fmt, int w, va_list ap) {
    p->error = errno;
    p->chk = chk > 0 ? chk : -1;
    p->a = (struct weft_args){.given = fmt, .width = w, .buf = p->small, .room = sizeof p->small};
    __builtin_memcpy(&p->a.list, ap, sizeof p->a.list);
    while ((p->a.room = (size_t)weft__on_rt((void *)weft__t_take_format, &p->a))) { /* more than there is */
        if (p->a.buf != p->small) free(p->a.buf);
        if (!(p->a.buf = malloc(p->a.room))) return 0;
    }
    /* Fortified functions end the program at a %n, unless the format is in memory that cannot be written to; its copy is. */
    if (p->chk > 0 && p->a.counts && !writable(fmt)) p->chk = -1;
    return 1;
}
WEFT_HIDDEN void weft__print_args(struct weft_print *p, va_list ap) {
    weft__va_words(ap, p->a.area);
    errno = p->error; /* for %m */
}
WEFT_HIDDEN void weft__print_end(struct weft_print *p, int done) {
    for (struct weft_count *c = p->a.counts; done && c; c = c->next) weft__io_put(c->to, &c->value, c->n);
    if (p->a.buf != p->small) free(p->a.buf);
}

WEFT_HIDDEN char *weft__text(struct weft_print *p, char *small, int *length) {
    char *b = small;
    for (size_t room = SMALL;;) {
        va_list ap;
        if (p->a.message) messages(1);
        weft__print_args(p, ap);
        int r = p->chk < 0 ? REAL(vsnprintf)(b, room, p->a.fmt, ap) : REAL(__vsnprintf_chk)(b, room, p->chk, room, p->a.fmt, ap);
        if (p->a.message) messages(0);
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
    struct weft_print p;
    char small[SMALL], *b;
    int r = -1;
    if (weft__print_begin(&p, chk, fmt, 1, ap)) {
        if ((b = weft__text(&p, small, &r))) {
            weft__stream_touch(f);
            if (r ? REAL(fwrite)(b, 1, (size_t)r, f) != (size_t)r : REAL(fputs)("", f) < 0) r = -1;
            if (b != small) free(b);
        } else { /* libc writes as far as it comes */
            va_list own;
            weft__print_args(&p, own);
            r = p.chk < 0 ? REAL(vfprintf)(f, p.a.fmt, own) : REAL(__vfprintf_chk)(f, p.chk, p.a.fmt, own);
        }
        weft__print_end(&p, b != NULL);
    }
    END(f);
    return r;
}

/* ---- scanf */

struct target {
    enum { BYTES, STRING, WIDE_STRING, CHARS, WIDE_CHARS, MULTIBYTE, COUNT } kind;
    void *to;
    size_t n; /* BYTES, COUNT: size; of the characters: how many there may be */
    union {
        _Alignas(16) char bytes[16];
        long count; /* -1: libc did not come here */
        void *p;
    } own;
    int from, till; /* CHARS: %n before and after */
};
/* One block of memory with all that libc gets. */
struct plan {
    size_t targets, args, n;
    struct target *target;
    void **arg;
    void *fmt;
    int w;
};
static void emit(struct plan *s, unsigned c) {
    if (s->w == 1)
        ((char *)s->fmt)[s->n++] = (char)c;
    else
        ((wchar_t *)s->fmt)[s->n++] = (wchar_t)c;
}
static void emit_text(struct plan *s, const char *text) {
    while (*text) emit(s, (unsigned char)*text++);
}
static void copy(struct plan *s, const struct format *f, size_t from, size_t to) {
    for (; from < to; from++) emit(s, format_at(f, from));
}
static void discard(struct plan *s) {
    for (size_t i = 0; i < s->targets; i++)
        if (s->target[i].kind != BYTES && s->target[i].kind != COUNT) free(s->target[i].own.p);
    free(s);
}

static struct plan *new_plan(const struct format *f) {
    size_t most = 0;
    for (size_t i = 0; i < f->n; i++) most += format_at(f, i) == '%';
    /* A conversion grows by "%n%n" and an 'm' or 'l' at the most. */
    size_t length = f->n + 5 * most + 1;
    struct plan *s = malloc(sizeof *s + 16 + most * (sizeof *s->target + 3 * sizeof *s->arg) + length * (size_t)f->width);
    if (!s) return NULL;
    *s = (struct plan){.w = f->width};
    s->target = (struct target *)(((uintptr_t)(s + 1) + 15) & ~15ul);
    s->arg = (void **)(s->target + most);
    s->fmt = s->arg + 3 * most;
    return s;
}

/* The format is ours. `old`: %as is a string that is allocated. NULL: no memory. */
static struct plan *make_plan(const struct format *f, va_list ap, int old) {
    struct plan *s = new_plan(f);
    struct weft__va first;
    if (!s) return NULL;
    __builtin_memcpy(&first, ap, sizeof first);
    size_t i = 0;
    for (unsigned c; (c = format_at(f, i)); i++) {
        if (c != '%') {
            emit(s, c);
            continue;
        }
        i++;
        long position = format_position(f, &i);
        size_t start = i, mods, conv;
        int quiet = 0, len = 0, m = 0;
        for (; (c = format_at(f, i)) == '*' || c == '\'' || c == 'I'; i++) quiet |= c == '*';
        size_t width = (size_t)format_number(f, &i);
        for (mods = i;; i++) {
            c = format_at(f, i);
            unsigned next = format_at(f, i + 1);
            if (c == 'm' || (old && c == 'a' && (next == 's' || next == 'S' || next == '[')))
                m = 1;
            else if (!format_length(c, &len))
                break;
        }
        conv = i;
        int string = c == 's' || c == 'S' || c == '[', wide = len > 0 || c == 'S' || c == 'C';
        if (c == '[') {
            i++;
            if (format_at(f, i) == '^') i++;
            if (format_at(f, i) == ']') i++;
            while (format_at(f, i) && format_at(f, i) != ']') i++;
            if (!format_at(f, i)) c = 0; /* libc stops here */
        }
        if (c == '%' || quiet || !c) {
            emit(s, '%');
            copy(s, f, start, c ? i + 1 : i);
            if (!c) break;
            continue;
        }
        struct target *t = &s->target[s->targets];
        *t = (struct target){.kind = BYTES, .n = 8, .from = -1, .till = -1};
        void *own = &t->own;
        switch (c) {
        case 'n':
            t->kind = COUNT;
            t->own.count = -1;
            __attribute__((fallthrough));
        case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'b': case 'B': t->n = format_int_size(len); break;
        case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
            t->n = len >= 2 ? 10 : len == 1 ? 8 : 4;
            break;
        case 'p': break;
        case 's': case 'S': case '[':
            if (!m) t->kind = wide ? WIDE_STRING : STRING;
            break;
        case 'c': case 'C':
            if (m) break;
            /* From a wide stream nobody says how many bytes there were: so they are made of the characters here. */
            t->kind = wide ? WIDE_CHARS : s->w == 1 ? CHARS : MULTIBYTE;
            t->n = width ? width : 1;
            size_t bytes = t->n * (sizeof(wchar_t) + (t->kind == MULTIBYTE ? 16 : 0)); /* MB_LEN_MAX */
            if (!(own = t->own.p = malloc(bytes))) {
                discard(s);
                return NULL;
            }
            __builtin_memset(own, 0xff, bytes);
            break;
        default: /* libc stops here */
            emit(s, '%');
            copy(s, f, start, i + 1);
            goto done;
        }
        s->targets++;
        if (position) {
            struct weft__va v = first;
            while (--position) weft__va_word(&v);
            t->to = (void *)weft__va_word(&v);
        } else
            t->to = va_arg(ap, void *);
        if (t->kind == CHARS) {
            emit_text(s, "%n");
            s->arg[s->args++] = &t->from;
        }
        emit(s, '%');
        copy(s, f, start, mods);
        if (t->kind == COUNT)
            emit(s, 'l');
        else {
            if (string && !m) emit(s, 'm');
            if (t->kind == MULTIBYTE) emit(s, 'l');
            copy(s, f, mods, conv);
        }
        copy(s, f, conv, i + 1);
        s->arg[s->args++] = own;
        if (t->kind == CHARS) {
            emit_text(s, "%n");
            s->arg[s->args++] = &t->till;
        }
    }
done:
    emit(s, 0);
    return s;
}

/* What the first r conversions gave goes to the program, in the order of the format. */
static void deliver(struct plan *s, int r) {
    for (size_t i = 0; i < s->targets; i++) {
        struct target *t = &s->target[i];
        size_t n = 0;
        if (t->kind == COUNT) {
            if (t->own.count >= 0) weft__io_put(t->to, t->own.bytes, t->n);
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
            case MULTIBYTE: {
                const wchar_t *c = t->own.p;
                char *bytes = (char *)t->own.p + t->n * sizeof *c;
                mbstate_t state;
                __builtin_memset(&state, 0, sizeof state);
                for (size_t k = 0, m; k < t->n && c[k] != -1 && (m = wcrtomb(bytes + n, c[k], &state)) != (size_t)-1; k++) n += m;
                weft__io_put(t->to, bytes, n);
                break;
            }
            default: break;
            }
    }
}

/* from: a stream, or the copy of a string. */
static int scan(void *from, int stream, const void *fmt, va_list ap, int w, weft_scan_fn *real, int old) {
    _Alignas(16) char small[512];
    va_list given, own;
    int r = EOF;
    struct format f = {weft__copy_of(fmt, w, small, sizeof small), 0, w};
    if (!f.f) return EOF;
    f.n = w == 1 ? strlen(f.f) : wcslen(f.f);
    va_copy(given, ap);
    struct plan *s = make_plan(&f, given, old);
    va_end(given);
    if (s) {
        weft__va_words(own, s->arg);
        if (stream) weft__stream_touch(from);
        r = real(from, s->fmt, own);
        deliver(s, r);
        discard(s);
    }
    if (f.f != small) free((void *)f.f);
    return r;
}
WEFT_HIDDEN int weft__scan(FILE *f, const void *fmt, va_list ap, int w, weft_scan_fn *real, int old) {
    if (!ordered()) return real(f, fmt, ap);
    BEGIN_INPUT(f, 0);
    int r = scan(f, 1, fmt, ap, w, real, old);
    END_INPUT(f);
    return r;
}
WEFT_HIDDEN int weft__scan_string(const void *s, const void *fmt, va_list ap, int w, weft_scan_fn *real, int old) {
    if (!inside()) return real((void *)s, fmt, ap);
    _Alignas(16) char small[1024];
    void *own = weft__copy_of(s, w, small, sizeof small);
    int r = own ? scan(own, 0, fmt, ap, w, real, old) : EOF;
    if (own != small) free(own);
    return r;
}
