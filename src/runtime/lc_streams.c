/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Streams: an operation on a FILE is an operation on an object, like one on a mutex; its own lock makes that safe.
 *
 * Each wrapper (lc_stdio.c, lc_wstdio.c): begin (tick; take the stream's lock, outside if it must wait; comes after the
 * stream's last operation), take the program's memory that libc will read, the real function, end (tick; last operation;
 * give the lock back). Bytes that libc would write into the program's memory go through a buffer of our own and are copied
 * in as owned accesses, because the thread may be outside, in read(), in the middle of the real function; what libc reads
 * is copied as well if the function may have to write out the stream's buffer in between. The wrappers run on the program's
 * stack and take the same way in record and replay. Before the first thread is created streams need no order: the real
 * functions are called.
 *
 * This file has begin and end, the list of open streams, and what opens, closes and flushes all of them.
 *
 * The list. libc's fflush(NULL) waits for the lock of every stream while it holds the lock of its list, natively and in no
 * recorded order. So the runtime keeps a list of its own, and goes through it itself, newest first, as libc does. The list
 * is an ordered object: it has a lock that is held only for a moment, never while anything is waited for, and every look
 * and every change is an operation at a tick of its own. So at such a tick the list is the same in record and replay.
 *
 *   - Who closes a stream has the stream's lock first, and then takes it off the list, and then closes it.
 *   - Who goes through the list picks the next stream and tries its lock, both under the list's lock: the stream is on the
 *     list, so it has not been closed; if its lock was free it is now ours, and nobody can close it until we give it back.
 *     If it was not free, nothing is held and we look again a little later, from the beginning: the stream may be gone by
 *     then. We must not wait for the lock itself, which lies in the FILE and is freed with it; nor could we hold the list or
 *     pin the stream meanwhile, since the one we wait for may be about to close it. So nobody who closes waits for anyone
 *     who flushes but for the time of one real fflush, and there is no cycle.
 *   - In replay the tick of the look gives the same stream, and the tick after it, which has the stream's order, waits for
 *     whoever had its lock then. Its closing comes after our end. So it exists, and its lock is free. */
#include "lc_stdio.h"
#include "real.h"
#include "sys.h"
#include <dlfcn.h>

struct weft_stdio weft__stdio;
static FILE *standard[3];

WEFT_HIDDEN __attribute__((constructor(103))) void weft__stdio_resolve(void) {
    if (weft__stdio.flockfile) return;
    standard[0] = stdin;
    standard[1] = stdout;
    standard[2] = stderr;
    /* flockfile, the one that is asked for, comes near the end of the list: whoever sees it sees the others (but for a few that only
     * newer programs ask for). */
#define WEFT_X(r, name, p) weft__stdio.name = (r(*) p)weft__real_find(#name);
    WEFT_STDIO_REALS(WEFT_X)
#undef WEFT_X
}

/* ---- begin and end */

static long begin_rt(FILE *f) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return 0;
    (void)*(const volatile char *)f; /* one that is not there is missed here, in record and replay */
    if (weft__mode == WEFT_RECORD) {
        int busy;
        while ((busy = REAL(ftrylockfile)(f)) && unlikely(weft__given)) weft__turns_block(t, WEFT_WAIT_STREAM, f, NULL);
        if (busy) {
            weft__outside(t);
            REAL(flockfile)(f);
            weft__inside(t);
        }
    } else
        REAL(flockfile)(f);
    weft__order(t, f);
    t->streams++;
    t->cut = 0;
    return was;
}
/* gone: closed, its lock is no more. */
static void end_rt(FILE *f, long was, long gone) {
    int w;
    struct weft_thread *t = weft__enter(&w);
    if (!t) return;
    t->streams--;
    if (unlikely(t->cut)) {
        t->cut = 0;
        if (weft__cancel_due(t)) f->_flags &= ~FAILED; /* for whoever reads on */
        weft__tick(t);
    }
    weft__order(t, f);
    if (!gone) REAL(funlockfile)(f);
    if (unlikely(weft__given)) weft__turns_release(f);
    weft__leave(t, (int)was | w);
}
static void leave_rt(long was) {
    struct weft_thread *t = weft__active();
    if (t) weft__leave(t, (int)was);
}

static void tick_rt(void) {
    struct weft_thread *t = weft__active();
    if (t) weft__tick(t);
}

/* ---- the program's memory */

static void take_rt(const void *p, size_t n) {
    struct weft_thread *t = weft__active();
    if (!t) return;
    weft__tick(t);
    weft__take(t, p, n);
}
static void put_rt(void *d, const void *s, size_t n) {
    take_rt(d, n);
    __builtin_memcpy(d, s, n);
}
void weft__io_take(const void *p, size_t n) {
    if (n) weft__on_rt((void *)take_rt, p, n);
}
void weft__io_put(void *d, const void *s, size_t n) {
    if (n) weft__on_rt((void *)put_rt, d, s, n);
}
void weft__io_get(void *d, const void *s, size_t n) {
    weft__io_take(s, n);
    __builtin_memcpy(d, s, n);
}
void weft__t_take_begin(void);
void weft__t_take_strn(const void *s, size_t n, int width);
void weft__t_take_end(void);
void weft__io_take_str(const void *s, size_t max, int width) {
    weft__on_rt((void *)weft__t_take_begin);
    weft__on_rt((void *)weft__t_take_strn, s, max, (long)width);
    weft__on_rt((void *)weft__t_take_end);
}
/* Taking may wait, and malloc tick: so each attempt takes all of it again. */
static int fill(void *b, const void *s, size_t n, int width) {
    weft__io_take_str(s, n, width);
    for (size_t i = 0; i < n; i++)
        if (width == 1 ? !(((char *)b)[i] = ((const char *)s)[i]) : !(((wchar_t *)b)[i] = ((const wchar_t *)s)[i])) return 1;
    return 0;
}
WEFT_HIDDEN void *weft__copy_of(const void *s, int width, void *small, size_t room) {
    for (void *b = small; b; b = malloc(room *= 4)) {
        if (fill(b, s, room / (unsigned)width, width)) return b;
        if (b != small) free(b);
    }
    return NULL;
}
static void take_two(const char *s, const char *m) {
    weft__on_rt((void *)weft__t_take_begin);
    weft__on_rt((void *)weft__t_take_strn, s, SIZE_MAX, 1L);
    weft__on_rt((void *)weft__t_take_strn, m, SIZE_MAX, 1L);
    weft__on_rt((void *)weft__t_take_end);
}

/* ---- the list of open streams */

/* Of a stream over memory of the program: that memory, and where libc's results are to go. On the program's heap, because
 * libc keeps the addresses of buf and size in the FILE, whose bytes the program may see when it is freed. */
struct memory {
    char *buf;
    size_t size;
    char **to_buf; /* open_memstream, open_wmemstream */
    size_t *to_size;
    char *at; /* fmemopen */
    size_t n;
};
struct node {
    struct node *older;
    FILE *f;
    uint64_t serial;
    struct memory *memory;
};
static struct {
    int lock;
    struct node *newest, *unused;
    uint64_t serial;
} list;

WEFT_HIDDEN void weft__streams_forked(void) { list.lock = 0; }

static void list_lock(struct weft_thread *t) {
    int zero = 0;
    if (__atomic_compare_exchange_n(&list.lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    if (t && weft__mode == WEFT_RECORD) {
        weft__outside(t);
        weft__lock(&list.lock);
        weft__inside(t);
    } else
        weft__lock(&list.lock);
}
static void push(FILE *f, struct memory *m) {
    struct node *n = list.unused;
    if (!n) {
        size_t k = 65536 / sizeof *n;
        n = weft__rt_map(k * sizeof *n);
        for (size_t i = 0; i + 1 < k; i++) n[i].older = &n[i + 1];
    }
    list.unused = n->older;
    *n = (struct node){list.newest, f, ++list.serial, m};
    list.newest = n;
}
/* The standard ones were there before. */
static void list_open(void) {
    if (list.serial) return;
    for (int i = 0; i < 3; i++) push(standard[i], NULL);
}
static void add_rt(FILE *f, struct memory *m) {
    int was = 0;
    struct weft_thread *t = weft__enter(&was);
    list_lock(t);
    if (t) weft__order(t, &list);
    list_open();
    push(f, m);
    weft__unlock(&list.lock);
    if (t) weft__leave(t, was);
}
static struct memory *remove_rt(FILE *f) {
    int was = 0;
    struct weft_thread *t = weft__enter(&was);
    struct memory *m = NULL;
    list_lock(t);
    if (t) weft__order(t, &list);
    list_open();
    for (struct node **p = &list.newest, *n; (n = *p); p = &n->older)
        if (n->f == f) {
            *p = n->older;
            m = n->memory;
            n->older = list.unused;
            list.unused = n;
            break;
        }
    weft__unlock(&list.lock);
    if (t) weft__leave(t, was);
    return m;
}
/* Not an operation: what is found depends on the stream alone, which the caller has. */
static struct memory *memory_rt(FILE *f) {
    struct memory *m = NULL;
    weft__lock(&list.lock);
    for (struct node *n = list.newest; n; n = n->older)
        if (n->f == f) {
            m = n->memory;
            break;
        }
    weft__unlock(&list.lock);
    return m;
}
static struct memory *memory_of(FILE *f) {
    return weft__over_file(f) ? NULL : (struct memory *)weft__on_rt((void *)memory_rt, f);
}
/* The bytes of a stream over memory are the program's: owned for the time of the call, which makes no system calls. */
static void touch(FILE *f, const struct memory *m) {
    if (!m) return;
    weft__io_take(m->at, m->n);
    if (m->to_buf && f->_mode > 0) {
        char **w = (char **)f->_wide_data; /* like the fields of a FILE from _IO_read_ptr on */
        weft__io_take(w[6], (size_t)(w[7] - w[6]));
    } else if (m->to_buf)
        weft__io_take(f->_IO_buf_base, (size_t)(f->_IO_buf_end - f->_IO_buf_base));
}
WEFT_HIDDEN void weft__stream_touch(FILE *f) { touch(f, memory_of(f)); }

WEFT_HIDDEN long weft__stream_begin(FILE *f) {
    long was = weft__on_rt((void *)begin_rt, f);
    weft__stream_touch(f);
    return was;
}
WEFT_HIDDEN void weft__stream_end(FILE *f, long was) { weft__on_rt((void *)end_rt, f, was, 0L); }

/* Before it reads from a terminal, or without a buffer, libc writes out a line-buffered stdout, with its lock, natively. That
 * is done here instead, in order, and hidden from libc: by the flags it goes by, which are set again afterwards. They come
 * with the buffer, so that must be there. `one`: only one character is asked for, which may be there already. */
WEFT_HIDDEN long weft__input_begin(FILE *f, int one) {
    long was = weft__stream_begin(f); /* 0 or 1 */
    if (!weft__over_file(f)) return was;
    if (!f->_IO_buf_base) REAL(_IO_doallocbuf)(f);
    int hide = f->_flags & (UNBUFFERED | LINE_BUF);
    if (!hide || f == stdout || (one && f->_mode <= 0 && f->_IO_read_ptr < f->_IO_read_end)) return was;
    f->_flags &= ~hide;
    BEGIN(stdout);
    if ((stdout->_flags & (LINKED | LINE_BUF)) == (LINKED | LINE_BUF)) REAL(fflush)(stdout);
    END(stdout);
    return was | hide;
}
WEFT_HIDDEN void weft__input_end(FILE *f, long was) {
    f->_flags |= was & (UNBUFFERED | LINE_BUF);
    weft__stream_end(f, was & 1);
}

static void publish(struct memory *m) {
    if (!m || !m->to_buf || !m->buf) return;
    weft__io_put(m->to_buf, &m->buf, sizeof m->buf);
    weft__io_put(m->to_size, &m->size, sizeof m->size);
}
WEFT_HIDDEN void weft__stream_publish(FILE *f) {
    if (weft__mode != WEFT_NATIVE) publish(memory_of(f));
}

/* ---- all of them */

struct walk {
    uint64_t before; /* serial */
    long was;
    int end; /* the process ends */
};
/* Begins an operation on the next stream that fflush(NULL) is for; NULL: none is left.
 *
 * At the end of the process libc flushes without locks, so neither may we wait forever: not for a stream that is only read, and not
 * for a thread that waits itself, for a stream that is already ours. But for one that somebody writes to: libc would flush what that one
 * is about to write, or not, and nobody would know the order. Whether a stream was left out is an input. */
static FILE *next_rt(struct walk *w) {
    int was, busy = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return NULL;
    if (w->before == UINT64_MAX) w->was = was;
    struct node *n;
    for (int naps = 0;; naps++) {
        list_lock(t);
        list_open();
        for (n = list.newest; n && (n->serial >= w->before || !(n->f->_flags & LINKED)); n = n->older) {}
        if (!n || weft__mode != WEFT_RECORD || REAL(ftrylockfile)(n->f) == 0) break;
        if ((busy = w->end && (naps == 50 || weft__given || n->f->_flags & NO_WRITES))) break;
        weft__unlock(&list.lock);
        if (unlikely(weft__given)) {
            weft__turns_block(t, WEFT_WAIT_STREAM, n->f, NULL);
            continue;
        }
        weft__outside(t);
        long nap[2] = {0, naps < 10 ? 20000 : 1000000}; /* s, ns */
        weft__raw(SYS_nanosleep, nap, 0);
        weft__inside(t);
    }
    weft__order(t, &list);
    FILE *f = n ? n->f : NULL;
    if (n) w->before = n->serial;
    weft__unlock(&list.lock);
    if (!f) {
        weft__leave(t, (int)w->was);
        return NULL;
    }
    weft__tick(t);
    if (w->end) busy = weft__input_if(t, WEFT_OP_MUTEX_TRYLOCK, busy ? EBUSY : 0, 0) != 0;
    if (weft__mode != WEFT_RECORD && !busy) REAL(flockfile)(f);
    weft__order(t, f);
    return f;
}
static FILE *next(struct walk *w) { return (FILE *)weft__on_rt((void *)next_rt, w); }

/* Those that have these flags. */
static int flush_all(int flags) {
    struct walk w = {UINT64_MAX, 0, 0};
    int r = 0;
    for (FILE *f; (f = next(&w));) {
        if ((f->_flags & flags) == flags && REAL(__fpending)(f) && REAL(fflush)(f)) r = EOF;
        weft__stream_end(f, 0);
    }
    return r;
}
WEFT_HIDDEN int weft__flush_all(void) { return flush_all(0); }
WEFT_API void _flushlbf(void) {
    if (ordered())
        flush_all(LINE_BUF);
    else
        REAL(_flushlbf)();
}

/* Does not close anything: libc only flushes, and takes the buffers away. */
WEFT_API int fcloseall(void) {
    if (!ordered()) return REAL(fcloseall)();
    int r = weft__flush_all();
    struct walk w = {UINT64_MAX, 0, 0};
    for (FILE *f; (f = next(&w));) {
        if (f->_mode && !(f->_flags & UNBUFFERED)) REAL(setvbuf)(f, NULL, _IONBF, 0);
        weft__stream_end(f, 0);
    }
    return r;
}

/* The end of the process: libc flushes all streams after the last exit handler, without their locks. From here on they are
 * this thread's, so what is flushed is what was there. (The runtime's destructor runs last.) */
__attribute__((destructor(101))) static void last(void) {
    if (!ordered()) return;
    struct walk w = {UINT64_MAX, 0, 1};
    while (next(&w)) {}
}

/* ---- opening and closing */

static FILE *add(FILE *f, struct memory *m) {
    if (f) weft__on_rt((void *)add_rt, f, m);
    return f;
}
#define OPEN(name, params, args, path, mode)                                                                           \
    WEFT_API FILE *name params {                                                                                       \
        if (weft__mode == WEFT_NATIVE) return REAL(name) args;                                                         \
        if (ordered()) take_two(path, mode);                                                                           \
        return add(REAL(name) args, NULL);                                                                             \
    }
OPEN(fopen, (const char *p, const char *m), (p, m), p, m)
OPEN(fopen64, (const char *p, const char *m), (p, m), p, m)
OPEN(fdopen, (int fd, const char *m), (fd, m), NULL, m)
OPEN(tmpfile, (void), (), NULL, NULL)
OPEN(tmpfile64, (void), (), NULL, NULL)
OPEN(fopencookie, (void *c, const char *m, cookie_io_functions_t io), (c, m, io), NULL, m)

WEFT_API FILE *fmemopen(void *p, size_t n, const char *mode) {
    if (weft__mode == WEFT_NATIVE) return REAL(fmemopen)(p, n, mode);
    struct memory *m = NULL;
    if (p) {
        if (!(m = malloc(sizeof *m))) return NULL;
        *m = (struct memory){NULL, 0, NULL, NULL, p, n};
    }
    if (ordered()) {
        take_two(NULL, mode);
        weft__io_take(p, p ? n : 0);
    }
    FILE *f = REAL(fmemopen)(p, n, mode);
    if (!f) free(m);
    return add(f, m);
}
#define MEMSTREAM(name, type)                                                                                          \
    WEFT_API FILE *name(type **p, size_t *n) {                                                                         \
        if (weft__mode == WEFT_NATIVE) return REAL(name)(p, n);                                                        \
        struct memory *m = malloc(sizeof *m);                                                                          \
        if (!m) return NULL;                                                                                           \
        *m = (struct memory){NULL, 0, (char **)p, n, NULL, 0};                                                         \
        FILE *f = REAL(name)((type **)&m->buf, &m->size);                                                              \
        if (!f) free(m);                                                                                               \
        return add(f, m);                                                                                              \
    }
MEMSTREAM(open_memstream, char)
MEMSTREAM(open_wmemstream, wchar_t)

/* Off the list. Then libc may wait for the lock of its own list, and another thread forks meanwhile: that is at a position of its own, else the fork would come
 * after where it was still to be taken off. */
static struct memory *take_off(FILE *f) {
    struct memory *m = (struct memory *)weft__on_rt((void *)remove_rt, f);
    weft__on_rt((void *)tick_rt);
    return m;
}

static int shut(FILE *f, int (*real)(FILE *)) {
    int o = ordered();
    long was = o ? weft__on_rt((void *)begin_rt, f) : 0;
    struct memory *m = take_off(f);
    if (o) touch(f, m);
    int r = real(f);
    if (o) weft__on_rt((void *)end_rt, f, was, (long)(f != standard[0] && f != standard[1] && f != standard[2]));
    publish(m);
    free(m);
    return r;
}
WEFT_API int fclose(FILE *f) { return weft__mode == WEFT_NATIVE ? REAL(fclose)(f) : shut(f, REAL(fclose)); }

/* Becomes the newest, or is closed. */
static FILE *reopen(const char *p, const char *mode, FILE *f, FILE *(*real)(const char *, const char *, FILE *)) {
    if (weft__mode == WEFT_NATIVE) return real(p, mode, f);
    int o = ordered();
    long was = o ? weft__stream_begin(f) : 0;
    if (o) take_two(p, mode);
    take_off(f);
    FILE *r = add(real(p, mode, f), NULL);
    if (o) weft__stream_end(f, was);
    return r;
}
WEFT_API FILE *freopen(const char *p, const char *m, FILE *f) { return reopen(p, m, f, REAL(freopen)); }
WEFT_API FILE *freopen64(const char *p, const char *m, FILE *f) { return reopen(p, m, f, REAL(freopen64)); }

/* ---- the program's own locking of a stream: the lock is held between, recursively */
WEFT_API void flockfile(FILE *f) {
    if (!ordered()) {
        REAL(flockfile)(f);
        return;
    }
    weft__on_rt((void *)leave_rt, weft__on_rt((void *)begin_rt, f));
}
WEFT_API void funlockfile(FILE *f) {
    if (!ordered())
        REAL(funlockfile)(f);
    else
        weft__stream_end(f, 0);
}
static int try_rt(FILE *f) {
    int was, r = 0;
    struct weft_thread *t = weft__enter(&was);
    if (!t) return REAL(ftrylockfile)(f);
    if (weft__mode == WEFT_RECORD) r = REAL(ftrylockfile)(f);
    r = (int)weft__input_if(t, WEFT_OP_MUTEX_TRYLOCK, r ? EBUSY : 0, 0);
    if (!r) {
        if (weft__mode != WEFT_RECORD) REAL(flockfile)(f);
        weft__order(t, f);
        t->streams++;
    }
    weft__leave(t, was);
    return r;
}
WEFT_API int ftrylockfile(FILE *f) {
    if (!ordered()) return REAL(ftrylockfile)(f);
    return (int)weft__on_rt((void *)try_rt, f);
}
