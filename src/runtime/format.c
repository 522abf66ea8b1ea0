/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The arguments of a printf call, as a copy: the format, a va_list, and the strings that it points to, in a buffer of the
 * caller's. libc allocates and may even make system calls in the middle of a printf (many numbered arguments, %m), which give
 * away what was taken; it does not matter when nothing of the program's memory is read there.
 *
 * All that is copied is taken as one group. Which ranges there are follows from the format, which may itself be shared. So
 * the format is taken first, then followed, then everything is taken; if that had to wait, the format may have been lost and
 * changed, and all of it is done again.
 *
 * Arguments have numbers, given ("%2$s") or counted, as libc counts them: first the width's, then the precision's, then the
 * value. With given ones, a first walk over the format finds the kind of each, before precisions can be fetched, and with them
 * how much of each string is read. An argument that the format passes over is an int. Where %n goes is replaced by a word in
 * the buffer.
 *
 * What a conversion that the program has registered takes only its own function knows, with what is behind its pointers: a
 * format that has one is refused, once there are threads (before, libc is called as it is).
 *
 * This runs on the runtime's stack: what the program may find below its stack pointer is not touched. */
#include "format.h"
#include "runtime.h"
#include "sys.h"

#define ARGUMENTS 4096 /* NL_ARGMAX */
enum kind { WORD, DOUBLE, LONG_DOUBLE };
struct argument {
    unsigned char kind;
    unsigned char width; /* of a string's characters; 0: not a string */
    unsigned char count; /* %n: bytes */
    size_t most;         /* characters of the string that may be read */
    size_t length;       /* that are there, without the end; SIZE_MAX: not copied */
};
struct walk {
    struct format f;
    int counted;  /* arguments without a given number so far */
    int n;        /* highest number so far */
    int numbered; /* some were given */
    int message;  /* there is a %m */
    struct argument arg[ARGUMENTS + 1];
    struct weft__va start, now;
    int next; /* number of the argument that `now` is at */
};
struct spec {
    int precision;          /* -1: none */
    int precision_arg, arg; /* 0: none */
    int len;
    unsigned conversion;
};

static unsigned char registered[256]; /* letters of register_printf_specifier and its relatives */
WEFT_HIDDEN void weft__format_registered(unsigned letter) {
    if (letter < sizeof registered) __atomic_store_n(&registered[letter], 1, __ATOMIC_RELAXED);
}

static int argument(struct walk *w, long position, enum kind kind) {
    long n = position ? position : ++w->counted;
    w->numbered |= position > 0;
    if (n > ARGUMENTS) weft__refuse("not supported: a format with more than %d arguments", ARGUMENTS);
    while (w->n < n) w->arg[++w->n] = (struct argument){0};
    w->arg[n].kind = (unsigned char)kind;
    return (int)n;
}
/* At '*'. */
static int star(struct walk *w, size_t *i) {
    ++*i;
    return argument(w, format_position(&w->f, i), WORD);
}

/* The conversion that begins after the '%' before *i; *i is left at its last letter. */
static struct spec parse(struct walk *w, size_t *i) {
    const struct format *f = &w->f;
    struct spec s = {.precision = -1};
    long position = format_position(f, i);
    for (unsigned c; (c = format_at(f, *i)) == '-' || c == '+' || c == ' ' || c == '#' || c == '0' || c == '\'' || c == 'I';) ++*i;
    if (format_at(f, *i) == '*')
        star(w, i);
    else
        format_number(f, i);
    if (format_at(f, *i) == '.') {
        ++*i;
        if (format_at(f, *i) == '*')
            s.precision_arg = star(w, i);
        else
            s.precision = (int)format_number(f, i);
    }
    while (format_length(format_at(f, *i), &s.len)) ++*i;
    s.conversion = format_at(f, *i);
    if (s.conversion < sizeof registered && __atomic_load_n(&registered[s.conversion], __ATOMIC_RELAXED))
        weft__refuse("not supported: %s in a format, which is the program's own (register_printf_specifier)",
                     (char[]){'%', (char)s.conversion, 0});
    switch (s.conversion) {
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'b': case 'B': case 'c': case 'C':
    case 's': case 'S': case 'p': case 'n':
        s.arg = argument(w, position, WORD);
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        s.arg = argument(w, position, s.len == 2 ? LONG_DOUBLE : DOUBLE);
        break;
    case 'm': w->message = 1; break;
    default: break; /* %%, or nothing that libc knows */
    }
    return s;
}

/* Argument n, which is a word. */
static uint64_t value(struct walk *w, int n) {
    if (n < w->next) {
        w->now = w->start;
        w->next = 1;
    }
    for (; w->next < n; w->next++) switch (w->arg[w->next].kind) {
        case WORD: weft__va_word(&w->now); break;
        case DOUBLE: weft__va_double(&w->now); break;
        default: weft__va_long_double(&w->now);
        }
    w->next++;
    return weft__va_word(&w->now);
}

static void follow(struct walk *w) {
    w->n = w->numbered = w->message = 0;
    for (int known = 0; known < 2; known++) {
        w->counted = 0;
        for (size_t i = 0; i < w->f.n; i++) {
            if (format_at(&w->f, i) != '%') continue;
            i++;
            struct spec s = parse(w, &i);
            if (w->numbered && !known) continue;
            struct argument *a = &w->arg[s.arg];
            if (s.precision_arg) s.precision = (int)value(w, s.precision_arg);
            if (s.conversion == 's' || s.conversion == 'S') {
                int wide = s.len > 0 || s.conversion == 'S';
                /* The precision counts what is written: a wide format's narrow strings may have several bytes for each. */
                size_t most = s.precision < 0 ? SIZE_MAX : (size_t)s.precision * (w->f.width == 4 && !wide ? 16 : 1);
                if (most > a->most) a->most = most;
                a->width = wide ? 4 : 1;
            } else if (s.conversion == 'n')
                a->count = (unsigned char)format_int_size(s.len);
        }
        if (!w->numbered) return;
    }
}

static void take(struct weft_thread *t, struct walk *w) {
    for (int k = 1; k <= w->n; k++) {
        struct argument *a = &w->arg[k];
        if (a->width) weft__group_add(t, (const void *)value(w, k), a->most, a->width, 0);
    }
}

/* The parts of the buffer, one after the other. */
struct parts {
    char *at;
    size_t n;
};
static void *part(struct parts *p, size_t n) {
    void *r = p->at + p->n;
    p->n += (n + 15) & ~15ul;
    return r;
}

/* Copies; gives the size that the buffer must have. Twice: the first time (at == NULL) nothing but that. */
static size_t lay(struct walk *w, struct weft_args *out, char *at) {
    struct parts p = {at, 0};
    struct weft__va v = w->start;
    size_t fmt = (w->f.n + 1) * (unsigned)w->f.width;
    uint64_t *area = part(&p, 24ul * (unsigned)w->n), *slot = area;
    void *f = part(&p, fmt);
    struct weft_count *last = NULL;
    if (at) {
        weft__copy(f, w->f.f, fmt - (unsigned)w->f.width);
        for (int i = 0; i < w->f.width; i++) ((char *)f)[fmt - 1 - (unsigned)i] = 0;
    }
    for (int k = 1; k <= w->n; k++) {
        struct argument *a = &w->arg[k];
        uint64_t x;
        if (a->kind == LONG_DOUBLE) {
            const uint64_t *d = weft__va_long_double(&v);
            if ((slot - area) % 2) slot++;
            if (at) slot[0] = d[0], slot[1] = d[1];
            slot += 2;
            continue;
        }
        x = a->kind == DOUBLE ? weft__va_double(&v) : weft__va_word(&v);
        if (a->width && x) {
            const char *s = (const char *)x;
            int whole;
            if (!at) a->length = weft__group_length(s, a->width, a->most, &whole);
            if (!at && !whole) a->length = SIZE_MAX; /* libc is to fault, not we */
            if (a->length != SIZE_MAX) {
                size_t bytes = a->length * a->width;
                char *d = part(&p, bytes + a->width);
                if (at) {
                    weft__copy(d, s, bytes);
                    for (int i = 0; i < a->width; i++) d[bytes + (unsigned)i] = 0;
                    x = (uint64_t)d;
                }
            }
        } else if (a->count && x) {
            struct weft_count *c = part(&p, sizeof *c);
            if (at) {
                *c = (struct weft_count){last, (void *)x, a->count, 0};
                last = c;
                x = (uint64_t)&c->value;
            }
        }
        if (at) *slot = x;
        slot++;
    }
    if (at) {
        out->fmt = f;
        out->area = area;
        out->counts = last;
        out->message = w->message;
    }
    return p.n;
}

/* 0, or how much room it takes. */
WEFT_HIDDEN size_t weft__t_take_format(struct weft_args *out) {
    struct weft_thread *t = weft__active();
    struct walk w;
    if (t) weft__tick(t);
    int record = t && weft__mode == WEFT_RECORD, whole;
    do {
        if (record) {
            weft__group_begin(t);
            weft__group_add(t, out->given, SIZE_MAX, out->width, 0);
            while (weft__group_pass(t)) {}
        }
        w.f = (struct format){out->given, weft__group_length(out->given, out->width, SIZE_MAX, &whole), out->width};
        w.start = w.now = out->list;
        w.next = 1;
        follow(&w);
        if (record) take(t, &w);
    } while (record && weft__group_pass(t));
    size_t need = lay(&w, out, NULL);
    if (need > out->room) return need;
    lay(&w, out, out->buf);
    if (!whole) out->fmt = (void *)out->given; /* libc is to fault, not we */
    return 0;
}
