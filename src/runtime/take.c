/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that a call of an external function touches is taken before the call, as a group: every line of every range is
 * the thread's own at the same time, after a pass over all of them in which it did not have to wait. Then the function
 * runs, with the thread inside, so nobody takes them away until its next tick.
 *
 *   __weft_take_begin(); __weft_take_range(p, n, write); __weft_take_str(s); ... __weft_take_end(); call
 *
 * __weft_take_strn is for strncpy and the like: up to the NUL, and at most n bytes. __weft_take_until is for those that stop somewhere else (memchr, strtol, strstr):
 * a parser calls them again and again with all the rest of its buffer, and to take that each time would make its time quadratic.
 *
 * The position is that of the tick that begin makes. In replay only that tick counts. The list of a group's ranges lives in
 * the thread's structure and grows as needed. (printf's formats are followed in format.c.) */
#define _GNU_SOURCE
#include "alloc.h"
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <ctype.h>
#include <string.h>

#define TABLE ((uint16_t *)WEFT_TABLE_ADDR)

/* ---- groups */

void weft__group_begin(struct weft_thread *t) { t->nranges = 0; }
void weft__group_add(struct weft_thread *t, const void *p, size_t n, int width, int write) {
    if (!p || !n || weft__constant(p)) return;
    if (unlikely(t->nranges == t->ranges_room)) {
        uint32_t room = t->ranges_room ? t->ranges_room * 2 : 128;
        struct weft_range *r = weft__rt_map(room * sizeof *r);
        if (t->ranges) {
            weft__copy(r, t->ranges, t->nranges * sizeof *r);
            weft__raw(SYS_munmap, t->ranges, t->ranges_room * sizeof *r);
        }
        t->ranges = r;
        t->ranges_room = room;
    }
    t->ranges[t->nranges++] = (struct weft_range){p, n, width, write, WEFT_UNTIL_NUL, 0, 0};
}

/* In replay there is nothing to take: the tick has waited. */
static inline struct weft_thread *taker(void) { return weft__mode == WEFT_RECORD ? weft__self() : NULL; }

static inline void tick(void) {
    struct weft_thread *t = weft__active();
    if (likely(t != NULL)) weft__tick(t);
}

WEFT_HIDDEN void weft__t_take_begin(void) {
    tick();
    struct weft_thread *t = taker();
    if (t) weft__group_begin(t);
}
WEFT_WRAP(__weft_take_begin, weft__t_take_begin);

static void add(const void *p, size_t n, int width, int write) {
    struct weft_thread *t = taker();
    if (unlikely(weft__accesses) && (t = weft__self())) { /* of a string, what is touched for sure */
        if (!weft__constant(p)) weft__access_range(t, p, width && n ? (size_t)width : n, write);
        return;
    }
    if (t) weft__group_add(t, p, n, width, write);
}
WEFT_HIDDEN void weft__t_take_range(const void *p, size_t n, int write) {
    int common;
    if (unlikely(write == 2) && n && taker() && (weft__shm_real(p, &common), common)) /* the pass says 2 of an atomic */
        weft__refuse("an atomic operation on memory that processes share, in inline assembly, cannot be recorded yet");
    add(p, n, 0, write != 0);
}
WEFT_WRAP(__weft_take_range, weft__t_take_range);
WEFT_HIDDEN void weft__t_take_str(const char *s) { add(s, SIZE_MAX, 1, 0); }
WEFT_WRAP(__weft_take_str, weft__t_take_str);
WEFT_HIDDEN void weft__t_take_wcs(const char *s) { add(s, SIZE_MAX, 4, 0); }
WEFT_WRAP(__weft_take_wcs, weft__t_take_wcs);
/* A string that is written as far as it goes, in characters of that size. */
WEFT_HIDDEN void weft__t_take_written(const void *s, int width) { add(s, SIZE_MAX, width, 1); }
WEFT_WRAP(__weft_take_written, weft__t_take_written);
/* At most n characters of a string. */
WEFT_HIDDEN void weft__t_take_strn(const void *s, size_t n, int width) { add(s, n, width, 0); }
WEFT_HIDDEN void weft__t_take_bytes(const char *s, size_t n) { add(s, n, 1, 0); }
WEFT_WRAP(__weft_take_strn, weft__t_take_bytes);
/* At most n bytes, as far as `until` says. A string that says so (what; many bytes of it) was taken before, in the same group. */
WEFT_HIDDEN void weft__t_take_until(const void *p, size_t n, int until, uint64_t what, size_t many) {
    struct weft_thread *t = taker();
    uint32_t had = t ? t->nranges : 0;
    int both = until >= WEFT_UNTIL_OTHER;
    if (both && unlikely(weft__accesses)) add((const void *)what, n, 1, 0);
    if (both && weft__constant(p)) {
        const void *q = (const void *)what;
        what = (uint64_t)(uintptr_t)p;
        p = q;
    }
    add(p, n, 1, 0);
    if (!t || t->nranges == had) return;
    t->ranges[had].until = until;
    t->ranges[had].what = what;
    t->ranges[had].many = many;
}
WEFT_WRAP(__weft_take_until, weft__t_take_until);
/* The object that p points into: the whole heap block, much of a shared mapping, else the line. */
#define MOST (64ul << 10)
WEFT_HIDDEN void weft__t_take_object(const void *p) {
    void *start;
    size_t size;
    if (!p) return;
    if (weft__heap_extent(p, &start, &size))
        add(start, size, 0, 1);
    else if (unlikely(weft__shm_any) && taker() && (size = weft__shm_rest(p, MOST)))
        add(p, size, 0, 1);
    else
        add(p, 1, 0, 1);
}
WEFT_WRAP(__weft_take_object, weft__t_take_object);

size_t weft__group_length(const void *s, int width, size_t most, int *whole) {
    uint64_t p = (uint64_t)(uintptr_t)s;
    size_t n = 0;
    *whole = 1;
    for (; n < most; n++, p += (unsigned)width) {
        if ((!n || !(p & 4095)) && !weft__peek(p)) {
            *whole = 0;
            break;
        }
        if (width == 1 ? !*(const char *)p : !*(const int *)p) break;
    }
    return n;
}

#define EACH_BYTE 0x0101010101010101ul
/* Whether one of two bytes is found from p on, up to the end of its line or n bytes. A word at a time, and none that does not lie in the line: strings may
 * be long. */
static int ends_in_line(uint64_t p, size_t n, uint64_t a, uint64_t b) {
    uint64_t at = p & ~7ul, stop = (p | (WEFT_LINE - 1)) + 1, before = (1ul << (p & 7) * 8) - 1, w, found;
    if (n < stop - p) stop = p + n;
    for (;; before = 0) {
        __builtin_memcpy(&w, (const void *)at, 8);
        uint64_t x = (w ^ a * EACH_BYTE) | before, y = (w ^ b * EACH_BYTE) | before;
        found = ((x - EACH_BYTE) & ~x) | ((y - EACH_BYTE) & ~y);
        if ((found &= EACH_BYTE << 7)) return at + (unsigned)__builtin_ctzl(found) / 8 < stop;
        if ((at += 8) >= stop) return 0;
    }
}

/* Bytes at which a function goes on: those of `skip` first, as many as there are, and then those of `on`. */
struct span {
    int skips;
    uint64_t skip[4], on[4];
};
static int is_in(const uint64_t set[4], unsigned char c) { return set[c >> 6] >> (c & 63) & 1; }
static void put(uint64_t set[4], const char *s, int in) {
    for (int first = 1; (!first && ((uint64_t)(uintptr_t)s & 4095)) || weft__peek((uint64_t)(uintptr_t)s); s++, first = 0) {
        unsigned char c = (unsigned char)*s;
        if (!c) return;
        set[c >> 6] = in ? set[c >> 6] | 1ul << (c & 63) : set[c >> 6] & ~(1ul << (c & 63));
    }
}
/* What is beyond ASCII may be white space or a decimal point of the locale. No more than these can be part of a number, in whatever base. */
#define BITS(from, to) (~0ul << ((from) & 63) & ~0ul >> (63 - ((to) & 63)))
#define BIT(c) BITS(c, c)
static const struct span number = {
    .skips = 1,
    .skip = {BITS('\t', '\r') | BIT(' '), 0, ~0ul, ~0ul},
    .on = {BITS('\'', ')') | BITS('+', '.') | BITS('0', '9'), BITS('A', 'Z') | BIT('_') | BITS('a', 'z'), ~0ul, ~0ul},
};
static void span_of(struct span *s, int until, uint64_t what) {
    *s = (struct span){0};
    if (until == WEFT_UNTIL_NUMBER)
        *s = number;
    else if (until == WEFT_UNTIL_ONE_OF) {
        s->on[0] = ~1ul;
        s->on[1] = s->on[2] = s->on[3] = ~0ul;
        put(s->on, (const char *)what, 0);
    } else
        put(s->on, (const char *)what, 1);
}
static int leaves_in_line(struct span *s, uint64_t p, size_t n) {
    uint64_t stop = (p | (WEFT_LINE - 1)) + 1;
    if (n < stop - p) stop = p + n;
    for (; s->skips && p < stop; p += (unsigned)s->skips) s->skips = is_in(s->skip, *(const unsigned char *)p);
    for (; p < stop; p++)
        if (!is_in(s->on, *(const unsigned char *)p)) return 1;
    return 0;
}

static int take_bytes(struct weft_thread *t, uint64_t p, size_t n, int write, int until, uint64_t what) {
    int waited = 0, fresh = 1, spans = until >= WEFT_UNTIL_ONE_OF;
    uint64_t a = until == WEFT_UNTIL_NUL ? 0 : what & 0xff, b = until == WEFT_UNTIL_BYTE ? a : 0;
    struct span s;
    if (spans) span_of(&s, until, what);
    while (n) {
        if ((fresh || !(p & 4095)) && !weft__peek(p)) return waited;
        fresh = 0;
        waited |= weft__rec_take(t, p, 1, 0, write);
        if (spans ? leaves_in_line(&s, p, n) : ends_in_line(p, n, a, b)) return waited;
        uint64_t k = WEFT_LINE - (p & (WEFT_LINE - 1));
        if (n <= k) return waited;
        n -= k;
        p += k;
    }
    return waited;
}

/* What the other string is compared with, as the function does it. */
static int same(unsigned char a, unsigned char b, int folded) { return a == b || (folded && tolower(a) == tolower(b)); }

static int has_folded(const unsigned char *p, size_t n, const unsigned char *what, size_t many) {
    for (size_t k, i = 0; i + many <= n; i++) {
        for (k = 0; k < many && same(p[i + k], what[k], 1); k++) {}
        if (k == many) return 1;
    }
    return 0;
}
/* As far as it takes to find what is looked for: more and more lines are taken before they are searched, so that the time does not grow with its length. */
static int take_match(struct weft_thread *t, uint64_t p, size_t n, int until, uint64_t what, size_t many) {
    int waited = 0, whole;
    if (until != WEFT_UNTIL_BYTES) many = weft__group_length((const void *)(uintptr_t)what, 1, SIZE_MAX, &whole);
    else if (!many || !weft__peek(what) || !weft__peek(what + many - 1))
        return 0;
    for (uint64_t from = p, at = p, due = p + WEFT_LINE, end = n > -p ? -1ul : p + n; at < end;) {
        if ((at == p || !(at & 4095)) && !weft__peek(at)) return waited;
        waited |= weft__rec_take(t, at, 1, 0, 0);
        if (until != WEFT_UNTIL_BYTES && ends_in_line(at, end - at, 0, 0)) return waited;
        at = (at | (WEFT_LINE - 1)) + 1;
        if (at > end) at = end;
        if (at < due || at - from < many) continue;
        const unsigned char *s = (const unsigned char *)(uintptr_t)from;
        if (until == WEFT_UNTIL_FOLDED ? has_folded(s, at - from, (const void *)(uintptr_t)what, many) : memmem(s, at - from, (const void *)(uintptr_t)what, many) != NULL)
            return waited;
        from = at - many + 1;
        due = at + (at - p < 4096 ? at - p : 4096) + many;
    }
    return waited;
}

/* Two strings, as far as they are the same. */
static int take_both(struct weft_thread *t, uint64_t p, uint64_t q, size_t n, int folded) {
    int waited = 0, constant = weft__constant((const void *)(uintptr_t)q);
    for (uint64_t at = 0, p_has = 0, q_has = 0; at < n; at++) {
        if (at == p_has) {
            if ((!at || !((p + at) & 4095)) && !weft__peek(p + at)) return waited;
            waited |= weft__rec_take(t, p + at, 1, 0, 0);
            p_has = at + WEFT_LINE - ((p + at) & (WEFT_LINE - 1));
        }
        if (at == q_has) {
            if ((!at || !((q + at) & 4095)) && !weft__peek(q + at)) return waited;
            if (!constant) waited |= weft__rec_take(t, q + at, 1, 0, 0);
            q_has = at + WEFT_LINE - ((q + at) & (WEFT_LINE - 1));
        }
        unsigned char a = *(const unsigned char *)(p + at), b = *(const unsigned char *)(q + at);
        if (!a || !same(a, b, folded)) return waited;
    }
    return waited;
}

/* One pass over a string; its lines are taken as far as it goes. */
static int take_string(struct weft_thread *t, const struct weft_range *r) {
    int waited = 0, fresh = 1, width = r->width, write = r->write;
    uint64_t p = (uint64_t)(uintptr_t)r->p;
    size_t n = r->n;
    if (r->until >= WEFT_UNTIL_OTHER) return take_both(t, p, r->what, n, r->until == WEFT_UNTIL_OTHER_FOLDED);
    if (r->until >= WEFT_UNTIL_BYTES) return take_match(t, p, n, r->until, r->what, r->many);
    if (width == 1) return take_bytes(t, p, n, write, r->until, r->what);
    for (; n; p += (unsigned)width, n--) {
        if (fresh || !(p & (WEFT_LINE - 1))) {
            if ((fresh || !(p & 4095)) && !weft__peek(p)) return waited;
            waited |= weft__rec_take(t, p, 1, 0, write);
            fresh = 0;
        }
        if (!*(const int *)p) return waited;
    }
    return waited;
}

int weft__group_pass(struct weft_thread *t) {
    int waited = 0;
    for (uint32_t i = 0; i < t->nranges; i++) {
        struct weft_range *r = &t->ranges[i];
        waited |= r->width ? take_string(t, r) : weft__rec_take(t, (uint64_t)(uintptr_t)r->p, r->n, 0, r->write);
    }
    return waited | weft__rec_again(t, 0);
}

static int owned(const void *p, size_t n) {
    uint16_t me = __weft_tls.me;
    uint64_t a = (uint64_t)(uintptr_t)p >> WEFT_LINE_SHIFT, b = ((uint64_t)(uintptr_t)p + n - 1) >> WEFT_LINE_SHIFT;
    for (; a <= b; a++)
        if (TABLE[a & (WEFT_TABLE_ENTRIES - 1)] != me) return 0;
    return 1;
}

WEFT_HIDDEN void weft__t_take_end(void) {
    struct weft_thread *t = taker();
    if (!t) return;
    for (uint32_t i = 0; i < t->nranges; i++)
        if (t->ranges[i].width || !owned(t->ranges[i].p, t->ranges[i].n)) {
            while (weft__group_pass(t)) {}
            return;
        }
    if (unlikely(weft__rec_again(t, 0))) /* it has answered when it began */
        while (weft__group_pass(t)) {}
}
WEFT_WRAP(__weft_take_end, weft__t_take_end);

/* ---- block operations: a tick per block, so that a long one neither keeps others waiting nor starves. What is copied at once other threads see as a whole;
 * natively they may see half of it: so the copy of a struct has two parts. */

#define BLOCK 4096ul
static inline size_t part(size_t left, size_t all) {
    return left > BLOCK ? BLOCK : left == all && all > WEFT_LINE ? all / 2 + 7 & ~7ul : left;
}
static void take2_slow(const void *d, size_t n, const void *s) {
    struct weft_thread *t = weft__active();
    if (!t) return;
    if (unlikely(weft__steering) && !weft__given) weft__steer_event(t, 0);
    weft__take2(t, d, n, s, s ? n : 0);
}
static inline void take2(const void *d, const void *s, size_t n) {
    if (weft__mode == WEFT_RECORD && __weft_tls.self && !(owned(d, n) && (!s || owned(s, n))))
        take2_slow(d, n, s);
    if (unlikely(weft__accesses)) take2_slow(d, n, s);
}

/* Memory that the program has protected, and makes accessible when a handler of its own is told (collectors of garbage do so to see what
 * is written), or that lies behind the end of a file: the access has to fail on the program's stack. So if there is such a handler,
 * what is about to be copied is tried first. If something cannot be accessed the operation is left, and the program's stack
 * made so that weft__block_again does that access, and then the rest. */
extern int weft__fault_handlers WEFT_HIDDEN;
extern const char weft__block_again[] WEFT_HIDDEN;

/* Whether p, n bytes and no more than a page, cannot be accessed somewhere; `at`: where. */
static int absent(const void *p, size_t n, int (*can)(uint64_t), uint64_t *at) {
    uint64_t from = (uint64_t)(uintptr_t)p, last = from + n - 1;
    *at = from;
    if (!can(from)) return 1;
    *at = last & ~4095ul;
    return last >> 12 != from >> 12 && !can(last);
}
static __attribute__((noinline)) int leave_at(const char *frame, char *d, const char *s, size_t n, const uint64_t call[4], void *result, int copies) {
    struct weft_tls *tls = &__weft_tls;
    uint64_t *top = (uint64_t *)tls->rt_sp; /* weft__switch: six registers, the program's stack pointer, rbx, the way back */
    if (tls->depth != 1 || frame + 8 != (const char *)(top - 9) || top[-7] != tls->saved[0]) return 0;
    uint64_t at;
    int written = !copies || !absent(s, n, weft__peek, &at);
    if (written && !absent(d, n, weft__poke, &at)) return 0;
    uint64_t *sp = (uint64_t *)top[-7];
    *--sp = (uint64_t)(uintptr_t)result;
    for (int i = 3; i >= 0; i--) *--sp = call[i];
    *--sp = (uint64_t)written;
    *--sp = at;
    *--sp = (uint64_t)(uintptr_t)weft__block_again;
    top[-7] = (uint64_t)(uintptr_t)sp;
    return 1;
}
/* Of a wrapped operation, with k bytes to do at d and s; what is left of it, this included, is the call that follows. */
#define LEFT(copies, d, s, k, ...)                                                                                     \
    (unlikely(weft__fault_handlers) && (k) &&                                                                          \
     leave_at(__builtin_frame_address(0), d, s, k, (const uint64_t[4]){__VA_ARGS__}, result, copies))
#define W(x) (uint64_t)(uintptr_t)(x)
void *__weft_memcpy(void *, const void *, size_t);
void *__weft_memmove(void *, const void *, size_t);
void *__weft_memset(void *, int, size_t);

extern void *(*weft__real_memcpy)(void *, const void *, size_t);
extern void *(*weft__real_memmove)(void *, const void *, size_t);
extern void *(*weft__real_memset)(void *, int, size_t);

WEFT_HIDDEN void *weft__t_memcpy(void *d, const void *s, size_t n) {
    char *a = d;
    const char *b = s;
    size_t all = n;
    void *result = d;
    do {
        size_t k = part(n, all);
        tick();
        if (k) take2(a, b, k);
        if (LEFT(1, a, b, k, W(__weft_memcpy), W(a), W(b), n)) return d;
        weft__real_memcpy(a, b, k);
        a += k;
        b += k;
        n -= k;
    } while (n);
    return d;
}
WEFT_WRAP(__weft_memcpy, weft__t_memcpy);
WEFT_HIDDEN void *weft__t_memmove(void *d, const void *s, size_t n) {
    char *a = d;
    const char *b = s;
    size_t all = n;
    void *result = d;
    if (a <= b || a >= b + n) {
        do {
            size_t k = part(n, all);
            tick();
            if (k) take2(a, b, k);
            if (LEFT(1, a, b, k, W(__weft_memmove), W(a), W(b), n)) return d;
            weft__real_memmove(a, b, k);
            a += k;
            b += k;
            n -= k;
        } while (n);
    } else
        do {
            size_t k = n < BLOCK ? n : BLOCK;
            n -= k;
            tick();
            take2(a + n, b + n, k);
            if (LEFT(1, a + n, b + n, k, W(__weft_memmove), W(a), W(b), n + k)) return d;
            weft__real_memmove(a + n, b + n, k);
        } while (n);
    return d;
}
WEFT_WRAP(__weft_memmove, weft__t_memmove);
WEFT_HIDDEN void *weft__t_memset(void *d, int c, size_t n) {
    char *a = d;
    void *result = d;
    do {
        size_t k = n < BLOCK ? n : BLOCK;
        tick();
        if (k) take2(a, NULL, k);
        if (LEFT(0, a, NULL, k, W(__weft_memset), W(a), W((unsigned)c), n)) return d;
        weft__real_memset(a, c, k);
        a += k;
        n -= k;
    } while (n);
    return d;
}
WEFT_WRAP(__weft_memset, weft__t_memset);

/* ---- calls that are ordered among each other: libc functions with a state behind them, and what the user names with
 * -weft-serialize. The lock is there in record only, and recursive: such a function may call back. */

#define SERIALS 64
static struct {
    int lock;
    int depth;
    struct weft_thread *owner;
} serials[SERIALS + 1]; /* the last one: the loader's */

/* What other threads had is given up; a lock of the forking thread stays its own. */
void weft__take_forked(void) {
    for (unsigned k = 0; k <= SERIALS; k++)
        if (serials[k].owner != weft__self()) {
            serials[k].owner = NULL;
            serials[k].depth = serials[k].lock = 0;
        }
}

static const char loader;
static unsigned serial_of(const void *object) {
    return object == &loader ? SERIALS : ((uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 58;
}

/* t, at (clock, 0), is to have it alone. Not patient: it goes on without it after PATIENCE. */
#define PATIENCE (weft__steering ? 20000 : 2000) /* ms; with --chaos who has it may have to wait for its turn */
static void serial_take(struct weft_thread *t, const void *object, int patient) {
    unsigned k = serial_of(object);
    if (weft__mode == WEFT_RECORD) {
        int has = __atomic_load_n(&serials[k].owner, __ATOMIC_RELAXED) == t;
        if (!has) {
            while (unlikely(weft__given) && serials[k].owner) weft__turns_block(t, WEFT_WAIT_STREAM, &serials[k], NULL);
            int free = 0;
            has = __atomic_compare_exchange_n(&serials[k].lock, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
            if (!has) {
                weft__outside(t);
                has = weft__lock_within(&serials[k].lock, patient ? 0 : PATIENCE);
                weft__inside(t);
            }
            if (has) __atomic_store_n(&serials[k].owner, t, __ATOMIC_RELAXED);
        }
        if (has) {
            serials[k].depth++;
            t->serials++;
        }
    }
    weft__order(t, object);
}
static void serial_give(struct weft_thread *t, const void *object) {
    unsigned k = serial_of(object);
    weft__order(t, object);
    if (weft__mode != WEFT_RECORD || serials[k].owner != t) return;
    t->serials--;
    if (--serials[k].depth) return;
    __atomic_store_n(&serials[k].owner, NULL, __ATOMIC_RELAXED);
    weft__unlock(&serials[k].lock);
    if (unlikely(weft__given)) weft__turns_release(&serials[k]);
}

/* The loader has a lock for what it knows of thread-local memory. libc takes it to make a thread, and to load or unload a library, but not while constructors and
 * destructors run: these may wait for threads that make threads. So who makes a thread has this one meanwhile, and who loads has it where it is outside,
 * not in what was built with weft and is called back; then who gets the loader's lock first is as it was. A constructor that was not built with weft,
 * and waits for a thread that makes one, has it too long: nobody waits for ever. */
void weft__loader_take(struct weft_thread *t) { serial_take(t, &loader, 0); }
void weft__loader_give(struct weft_thread *t) { serial_give(t, &loader); }

/* libc's fork wants a lock that who looks up a name has for a moment, across system calls, in which it would be stopped. */
void weft__names_take(struct weft_thread *t) { serial_take(t, (void *)WEFT_SERIAL_NAMES, 0); }
void weft__names_give(struct weft_thread *t) { serial_give(t, (void *)WEFT_SERIAL_NAMES); }

WEFT_HIDDEN void weft__t_serial_begin(const void *object) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return;
    serial_take(t, object, 1);
    if (object != (void *)WEFT_SERIAL_LOADING) return;
    t->loads++;
    if (!t->has_loader) { /* now: not all such calls are made outside */
        t->has_loader = 1;
        weft__tick(t);
        weft__loader_take(t);
    }
}
WEFT_HIDDEN void weft__t_serial_end(const void *object) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return;
    if (object == (void *)WEFT_SERIAL_LOADING) {
        t->loads -= t->loads != 0;
        weft__loader_lets(t);
    }
    serial_give(t, object);
    weft__leave(t, was);
}

/* The destructor of a thread-local variable: libc notes it under the lock that dlopen and its like have from beginning to end, constructors included. */
WEFT_HIDDEN int weft__t_cxa_thread_atexit(void (*fn)(void *), void *object, void *module) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return weft__real.__cxa_thread_atexit_impl(fn, object, module);
    serial_take(t, (void *)WEFT_SERIAL_LOADING, 0);
    weft__tick(t);
    weft__outside(t); /* code that was not built with weft may load a library */
    if (weft__mode == WEFT_REPLAY) t->waiting = 4;
    int r = weft__real.__cxa_thread_atexit_impl(fn, object, module);
    if (weft__mode == WEFT_REPLAY) t->waiting = 0;
    weft__inside(t);
    weft__tick(t);
    serial_give(t, (void *)WEFT_SERIAL_LOADING);
    weft__leave(t, was);
    return r;
}
WEFT_WRAP(__cxa_thread_atexit_impl, weft__t_cxa_thread_atexit);

/* An exception left ordered calls: give up what this thread still has. */
WEFT_HIDDEN void weft__t_serial_unwind(void) {
    struct weft_thread *t = weft__active();
    if (!t) return;
    weft__tick(t);
    t->loads = 0;
    t->has_loader = 0;
    if (weft__mode != WEFT_RECORD || !t->serials) return;
    for (unsigned k = 0; k <= SERIALS; k++)
        if (__atomic_load_n(&serials[k].owner, __ATOMIC_RELAXED) == t) {
            serials[k].depth = 0;
            __atomic_store_n(&serials[k].owner, NULL, __ATOMIC_RELAXED);
            weft__unlock(&serials[k].lock);
            if (unlikely(weft__given)) weft__turns_release(&serials[k]);
        }
    t->serials = 0;
}
WEFT_WRAP(__weft_serial_begin, weft__t_serial_begin);
WEFT_WRAP(__weft_serial_end, weft__t_serial_end);
WEFT_WRAP(__weft_serial_unwind, weft__t_serial_unwind);
