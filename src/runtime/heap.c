/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* malloc and its family over alloc.c, in all modes. Addresses follow from each thread's own history, so nothing is logged
 * but the rare exchanges with the common pools, which are operations on an object like any other.
 *
 * This code runs on the program's stack and takes the same way in record and replay; what differs goes through
 * weft__on_rt. malloc() and free() are accesses to the block (so that racing frees are ordered, also with the block's next
 * life, and the double free is the same one in replay): they tick, always. */
#define _GNU_SOURCE
#include "alloc.h"
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>

long weft__on_rt(void *fn, ...);

static __thread struct weft_heap *my_heap __attribute__((tls_model("initial-exec")));
static struct weft_heap first; /* slot 1: used before anything is known */
static int pool_locks[WEFT_HEAP_POOLS + 1];
static const char pool_objects[WEFT_HEAP_POOLS + 1];

/* ---- natively: heaps for threads that come and go. Nobody is told that a thread is gone for good: libc frees memory for it
 * until its last moment. So who needs a heap looks whether the owners of a few are still there. Heaps that a process inherited when it was
 * forked may be in the middle of something, and stay as they are. */

static int heaps_lock;
static uint32_t heaps = 1, inherited = 1, looked_at = 1; /* slots: 2 to heaps */
static int owners[WEFT_MAX_SLOT + 1], process;

#define LOOKS 4
static struct weft_heap *abandoned(void) {
    for (int n = 0; n < LOOKS && heaps > inherited; n++) {
        looked_at = looked_at < inherited || looked_at >= heaps ? inherited + 1 : looked_at + 1;
        if (weft__raw(SYS_tgkill, process, owners[looked_at], 0) == -ESRCH) return weft__slot_heap(looked_at);
    }
    return NULL;
}

static void free_deferred(void);

static struct weft_heap *heap_slow(void) {
    struct weft_thread *t = weft__active();
    if (t) {
        weft__heap_attach(t);
        my_heap = t->heap;
        free_deferred();
        return my_heap;
    }
    weft__lock(&heaps_lock);
    if (!first.slot) {
        weft__heap_init(&first, 1);
        my_heap = &first;
    } else {
        int pid = (int)weft__raw(SYS_getpid);
        if (process != pid) {
            process = pid;
            inherited = heaps;
        }
        my_heap = abandoned();
        if (!my_heap) {
            if (heaps == WEFT_MAX_SLOT) weft__rt_panic("more threads than memory can be given to");
            my_heap = weft__slot_heap(++heaps);
            weft__heap_init(my_heap, heaps);
        }
        owners[my_heap->slot] = (int)weft__raw(SYS_gettid);
    }
    weft__unlock(&heaps_lock);
    return my_heap;
}


/* What is called next may push rax, to align the stack, which is the program's: neither the mode nor the way back from weft__cold must be in it. */
static inline void clear_rax(void) { __asm__ volatile("xorl %%eax, %%eax" ::: "rax", "cc"); }

static inline struct weft_heap *heap(void) {
    if (likely(my_heap != NULL)) return my_heap;
    clear_rax();
    return heap_slow();
}

void weft__heap_attach(struct weft_thread *t) {
    if (t->heap) return;
    if (t->slot == 1) {
        if (!first.slot) weft__heap_init(&first, 1);
        t->heap = &first;
    } else {
        struct weft_heap *h = weft__slot_heap(t->slot);
        weft__heap_init(h, t->slot);
        t->heap = h;
    }
}

void weft__heap_detach(struct weft_thread *t) {
    if (t->heap) weft__heap_retire(t->heap);
}

/* ---- hooks of the allocator */

/* place: free() is an operation as any other. What the allocator does besides depends on what other threads gave back. */
static struct weft_thread *enter(int *was, uint64_t place) {
    struct weft_thread *t = weft__active();
    if (t) t->called_at = place;
    weft__enter(was);
    if (t) t->called_at = 0;
    return t;
}

static void pool_enter(unsigned pool) {
    int was = 0;
    struct weft_thread *t = enter(&was, WEFT_IN_HEAP);
    weft__lock(&pool_locks[pool]);
    if (!t) return;
    t->in_outside = was;
    weft__order(t, &pool_objects[pool]);
}
static void pool_leave(unsigned pool) {
    struct weft_thread *t = weft__active();
    weft__unlock(&pool_locks[pool]);
    if (t) weft__leave(t, t->in_outside);
}
void weft__heap_pool_enter(unsigned pool) { weft__on_rt((void *)pool_enter, (long)pool); }
void weft__heap_pool_leave(unsigned pool) { weft__on_rt((void *)pool_leave, (long)pool); }

long write(int, const void *, unsigned long);
__attribute__((noreturn)) void abort(void);
void weft__heap_bad(const char *message) {
    size_t n = 0;
    while (message[n]) n++;
    write(2, message, n);
    write(2, "\n", 1);
    abort();
}

#define BLOCK 4096ul
static void copy_on_rt(char *d, const char *s, size_t n, int zero) {
    int was = 0;
    struct weft_thread *t = weft__active();
    if (!t) {
        if (zero)
            weft__zero(d, n);
        else
            weft__copy(d, s, n);
        return;
    }
    while (n) {
        size_t k = n < BLOCK ? n : BLOCK;
        enter(&was, WEFT_IN_HEAP);
        if (zero) {
            if (likely(!weft__accesses)) weft__take(t, d, k); /* calloc is nobody's access */
            weft__zero(d, k);
        } else {
            weft__take2(t, d, k, s, k);
            weft__copy(d, s, k);
        }
        weft__leave(t, was);
        d += k;
        s += k;
        n -= k;
    }
}
void weft__heap_copy(void *d, const void *s, size_t n) { weft__on_rt((void *)copy_on_rt, d, s, n, 0L); }
void weft__heap_zero(void *p, size_t n) { weft__on_rt((void *)copy_on_rt, p, (void *)NULL, n, 1L); }

/* The block's first line becomes ours, at a tick of its own. For reports: all of the block is written, or begins a new life. */
static void own_slow(void *p, const void *fresh) {
    int was;
    void *start;
    size_t size;
    struct weft_thread *t = enter(&was, fresh ? WEFT_IN_HEAP : (uint64_t)(uintptr_t)own_slow);
    if (likely(!weft__accesses) || !(fresh ? weft__heap_block : weft__heap_extent)(p, &start, &size))
        weft__take(t, p, fresh ? 1 : 16); /* free() spoils two words */
    else if (fresh)
        weft__access_note(t, (uint64_t)(uintptr_t)start, WEFT_ACCESS_FRESH | (size < WEFT_ACC_SIZE ? (uint32_t)size : WEFT_ACC_SIZE), 0);
    else
        weft__access_range(t, start, size, 1);
    weft__leave(t, was);
}

static inline void own(void *p, const void *fresh) {
    struct weft_tls *s = &__weft_tls;
    if (weft__mode == WEFT_NATIVE || !s->self) return;
    /* A tick, and a check, as instrumented code does them. */
    if (unlikely(s->outside) || unlikely(s->clock + 1 >= __atomic_load_n(&s->limit, __ATOMIC_RELAXED)) ||
        unlikely(((uint16_t *)WEFT_TABLE_ADDR)[(uint32_t)(uintptr_t)p >> WEFT_LINE_SHIFT] != s->me))
        weft__cold((void *)own_slow, p, fresh);
    else
        s->clock++;
    clear_rax();
}
void weft__heap_own(void *p) { own(p, p); }

static void release_on_rt(void *p, size_t n) {
    int was;
    struct weft_thread *t = enter(&was, WEFT_IN_HEAP);
    if (t) weft__take(t, p, n);
    weft__sys_madvise((uint64_t)(uintptr_t)p, n, 4 /* MADV_DONTNEED */);
    if (t) weft__leave(t, was);
}
void weft__heap_release(void *p, size_t n) { weft__on_rt((void *)release_on_rt, p, n); }

/* ---- what libc allocates while the runtime calls it (a new thread's tables): not the program's, and in an order that
 * replay does not repeat. A small allocator of its own, so that the program's heaps do not notice. */

struct rt_block {
    struct rt_block *next;
    uint64_t class; /* usable bytes: 32 << class, less this header */
};
static int rt_lock;
static struct rt_block *rt_free_list[40];
static char *rt_at, *rt_end;

static int is_rt(const void *p) { return (uint64_t)(uintptr_t)p >= WEFT_RT_BASE && (uint64_t)(uintptr_t)p < WEFT_RT_END; }

static void *rt_malloc(size_t n, size_t align) {
    if (n > 1ul << 30 || align > 4096) return NULL;
    uint64_t c = 0;
    size_t room = n + sizeof(struct rt_block) + (align > 16 ? align : 0);
    while ((32ul << c) < room) c++;
    weft__lock(&rt_lock);
    struct rt_block *b = align > 16 ? NULL : rt_free_list[c];
    if (b)
        rt_free_list[c] = b->next;
    else {
        if (!rt_at || (size_t)(rt_end - rt_at) < (32ul << c)) {
            size_t m = (32ul << c) > (1ul << 20) ? 32ul << c : 1ul << 20;
            rt_at = weft__rt_map(m);
            rt_end = rt_at + m;
        }
        b = (struct rt_block *)rt_at;
        rt_at += 32ul << c;
    }
    weft__unlock(&rt_lock);
    if (align > 16) { /* never freed to a list: class 39 */
        uint64_t p = ((uint64_t)(uintptr_t)(b + 1) + align - 1) & ~(align - 1);
        b = (struct rt_block *)p - 1;
        b->class = 39;
        return (void *)p;
    }
    b->class = c;
    return b + 1;
}
static size_t rt_size(const void *p) { return (32ul << ((const struct rt_block *)p - 1)->class) - sizeof(struct rt_block); }
static void rt_free(void *p) {
    struct rt_block *b = (struct rt_block *)p - 1;
    if (b->class >= 39) return;
    weft__lock(&rt_lock);
    b->next = rt_free_list[b->class];
    rt_free_list[b->class] = b;
    weft__unlock(&rt_lock);
}
/* Natively nobody stops the world: no other thread may have a pool when the process is copied. */
void weft__heap_fork(int before) {
    for (unsigned k = 0; k <= WEFT_HEAP_POOLS; k++)
        if (before)
            weft__lock(&pool_locks[k]);
        else
            weft__unlock(&pool_locks[k]);
    if (before)
        weft__lock(&heaps_lock);
    else
        weft__unlock(&heaps_lock);
}
void weft__heap_forked(void) {
    weft__zero(pool_locks, sizeof pool_locks);
    heaps_lock = rt_lock = 0;
}
/* A call that a debugger makes is none of the program's either. */
static int in_runtime(void) { return weft__mode != WEFT_NATIVE ? __weft_tls.depth != 0 : __weft_debug.calling != 0; }

/* What libc frees while the runtime calls it and is the program's all the same: thread-local storage of a library that was
 * loaded with dlopen, allocated when the thread first came to it, and freed by who joins the thread. That cannot be done on
 * the runtime's stack; the thread's next call of malloc or free does it first. */
struct deferred {
    struct deferred *next;
    void *p;
};
static __thread struct deferred *deferred __attribute__((tls_model("initial-exec")));

static void defer(void *p) {
    struct deferred *d = rt_malloc(sizeof *d, 16);
    if (!d) return;
    *d = (struct deferred){deferred, p};
    deferred = d;
    my_heap = NULL; /* leads to heap_slow() */
}

static void free_deferred(void) {
    while (deferred) {
        struct deferred *d = deferred;
        deferred = d->next;
        own(d->p, NULL);
        weft__heap_free(my_heap, d->p);
        rt_free(d);
    }
}

/* ---- the family */

static void *nomem(void) {
    *weft__real.__errno_location() = ENOMEM;
    return NULL;
}

WEFT_API void *malloc(size_t n) {
    if (unlikely(in_runtime())) return rt_malloc(n, 16);
    void *p = weft__heap_malloc(heap(), n);
    return likely(p != NULL) ? p : nomem();
}

extern __typeof(malloc) here __attribute__((alias("malloc"), visibility("hidden"))); /* not the program's, if it has one */
void *weft__heap_malloc_function(void) { return (void *)here; }

WEFT_API void *calloc(size_t n, size_t m) {
    if (unlikely(in_runtime())) {
        size_t k;
        void *q = __builtin_mul_overflow(n, m, &k) ? NULL : rt_malloc(k, 16);
        if (q) weft__zero(q, k);
        return q;
    }
    void *p = weft__heap_calloc(heap(), n, m);
    return likely(p != NULL) ? p : nomem();
}

WEFT_API void free(void *p) {
    if (!p) return;
    if (unlikely(is_rt(p))) {
        rt_free(p);
        return;
    }
    if (unlikely(in_runtime())) {
        defer(p);
        return;
    }
    struct weft_heap *h = heap();
    own(p, NULL);
    weft__heap_free(h, p);
}
WEFT_API void cfree(void *p) { free(p); }

WEFT_API void *realloc(void *p, size_t n) {
    if (!p) return malloc(n);
    if (unlikely(is_rt(p))) {
        void *q = malloc(n);
        if (q) weft__copy(q, p, rt_size(p) < n ? rt_size(p) : n);
        if (q || !n) rt_free(p);
        return q;
    }
    if (unlikely(in_runtime())) {
        void *q = rt_malloc(n, 16);
        size_t have = weft__heap_usable_size(p);
        if (q) weft__copy(q, p, have < n ? have : n);
        if (q) defer(p);
        return q;
    }
    struct weft_heap *h = heap();
    own(p, NULL);
    void *q = weft__heap_realloc(h, p, n);
    return q || !n ? q : nomem();
}
WEFT_API void *reallocarray(void *p, size_t n, size_t m) {
    size_t k;
    if (__builtin_mul_overflow(n, m, &k)) return nomem();
    return realloc(p, k);
}

WEFT_API void *memalign(size_t a, size_t n) {
    if (a & (a - 1)) {
        size_t b = 16;
        while (b < a) b *= 2;
        a = b;
    }
    if (unlikely(in_runtime())) return rt_malloc(n, a);
    void *p = weft__heap_memalign(heap(), a < 16 ? 16 : a, n);
    return p ? p : nomem();
}
WEFT_API void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
WEFT_API int posix_memalign(void **out, size_t a, size_t n) {
    if (a < sizeof(void *) || (a & (a - 1))) return EINVAL;
    void *p = unlikely(in_runtime()) ? rt_malloc(n, a) : weft__heap_memalign(heap(), a < 16 ? 16 : a, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
WEFT_API void *valloc(size_t n) { return memalign(4096, n); }
WEFT_API void *pvalloc(size_t n) { return memalign(4096, (n + 4095) & ~4095ul); }
WEFT_API size_t malloc_usable_size(void *p) {
    if (!p) return 0;
    if (unlikely(is_rt(p))) return rt_size(p);
    own(p, NULL);
    return weft__heap_usable_size(p);
}
WEFT_API int malloc_trim(size_t n) {
    (void)n;
    return 0;
}
WEFT_API int mallopt(int k, int v) {
    (void)k;
    (void)v;
    return 1;
}
