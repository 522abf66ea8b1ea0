/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program's heap: malloc whose addresses depend only on what the calling thread itself did.
 *
 * Record and replay must give the program equal pointers, and logging each malloc would cost more than malloc. So
 * each thread has a heap, and what a heap answers follows from the thread's own calls; whatever it gets from or gives
 * to others goes through common pools, seldom, and every visit to a pool lies between two hooks with which the caller
 * records (or enforces) the order. Nothing else is shared: no lock, no atomic counter, no clock decides anything. The
 * same code runs natively, in record and in replay.
 *
 *   block   what malloc returns. Sizes up to 256 KiB are rounded to one of 56 classes (steps of 16 bytes up to 256,
 *           then four per doubling); larger ones are runs of units.
 *   unit    64 KiB, aligned. Each has a descriptor in a table indexed by address.
 *   span    the blocks of one class, side by side: one unit (classes up to 16 KiB) or 16 units.
 *   list    a heap's stack of free blocks of a class. malloc pops, free pushes, whoever allocated the block: so that
 *           both depend on own history only. When it is full, the older half goes to the class's pool; when it is
 *           empty, fresh blocks are cut from the current span, and when that is used up the pool is asked for a batch
 *           before the next span is begun. A thread that only allocates therefore visits the pool once per span, and
 *           one that only frees once per half list; a producer and consumer pair goes round through the pool and does
 *           not grow.
 *   pool    of a class: the spans that have blocks in it, linked; of a span, how many (tcmalloc's central list). When
 *           all blocks of a span are in the pool the span is free: a few of these are kept, the others go to the pool
 *           of pages.
 *   pages   the pool of free units, coalesced, all zero: they are given back to the kernel before they are put there,
 *           by this rule only, never by time or pressure, since the program can see the zeros.
 *
 * Dead bytes are program state, and racy programs touch freed memory: the allocator writes nothing into a block that is not the same in
 * every run (calloc and realloc write through hooks, as accesses of the program). free() spoils the first two words, as libc's does: what uses a
 * block after that is to fail here as it fails natively. All bookkeeping is far away from the blocks, at addresses computed from the block's:
 * `state` has a byte per 16 bytes of heap, which tells for the first 16 bytes of a block its class and whether it is in use, in a list or in
 * a pool, and is 0 elsewhere. One load tells valid, invalid and double frees apart.
 *
 * Owner table: it is indexed by the low 32 bits of the address, so two heaps that grow over the same low 32 bits
 * would fight over its entries (50 times slower). Slot k starts at k * 888 MiB: 888/4096 = 111/512 is the fraction
 * over 512 whose multiples keep furthest apart for any number of slots (it is close to 1/(3 + golden ratio)): the
 * first 4 heaps are at least 888 MiB apart in the table, 8: 344, 16: 144, 32: 56, 64: 32, 128: 24 MiB. From slot 512
 * on the first 8 MiB repeat, shifted by 64 KiB per 512 slots, so that no two of all slots start at the same place.
 *
 * Invariants. A unit's kind is not 0 only in the first unit of a span or run, the first and last unit of a run in the
 * pool of pages, and (UNIT_INNER) the others of a span or run, where it may be out of date: who follows it checks
 * that it arrives in a span or run that reaches back. Units in the pool of pages have state bytes 0. Descriptors of a
 * span change under its class's pool once its first block is out; those of free units, under the pool of pages. Hooks
 * are not nested, and the memory hooks are not called between enter and leave.
 *
 * A block's state byte is looked at and changed by who owns the block's first line: the caller of free and realloc does,
 * malloc takes it (weft__heap_own) before it hands the block out. So a double free that races with the block's next life is
 * found out, or not, in replay as in record. (Lists and pools change the byte too, between values that mean "free".)
 *
 * Not here: errno, wrappers, fork. A failed mmap is an answer like any other: the caller logs a NULL that replay could not know. */
#include "alloc.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))

#define SEG (1ul << WEFT_HEAP_SEG_SHIFT)
#define UNIT (1ul << WEFT_HEAP_UNIT_SHIFT)
#define HUGE_CLASS 63u
#define STATE_USED 0x80u
#define STATE_POOLED 0x40u
#define SPOILT 0x5f5f5f5f5f5f5f5ful /* no address at all */

#define LIST_BYTES (64ul << 10)      /* a list's bound at first */
#define LIST_BYTES_MAX (256ul << 10) /* and when the thread both allocates and frees a lot */
#define LIST_MAX 2048u
#define LIST_MIN 2u
#define LIST_GAP 192u                /* bytes between lists, or their first items would share a set of the cache */
#define FULL_KEPT (256ul << 10)      /* bytes of wholly free spans that a class's pool keeps at first */
#define FULL_KEPT_MAX (4ul << 20)    /* and when what it gave up was wanted again */
#define TAKE_SPANS 32u               /* spans looked at in one visit */
#define CHUNK 16u                    /* units that a heap takes at once for its small spans */
#define COLOUR 4352u                 /* 4096 + 256: a page on, and elsewhere in it */
#define BIG_SPAN 16u                 /* units of the spans of classes above 16 KiB */
#define LAST_SMALL 40u               /* class of 16 KiB */
#define RANGE (1ul << 30)            /* what a heap takes from the common ranges at once */
#define DIRECT (128ul << 20)         /* larger blocks do not come from the heap's own range */
#define KEEP_MAX (16ul << 20)        /* larger freed runs are not kept */
#define KEEP_MIN (1ul << 20)

#define PROT_READ_WRITE 3
#define MAP_PRIVATE_ANON 0x22
#define MAP_NORESERVE 0x4000
#define MAP_FIXED_NOREPLACE 0x100000
#define MADV_DONTNEED 4
#define MADV_NOHUGEPAGE 15

enum { UNIT_NONE = 0, UNIT_SPAN, UNIT_RUN, UNIT_INNER, UNIT_FREE, UNIT_FREE_END };

struct unit {
    uint32_t n;       /* SPAN, RUN, FREE: units; INNER, FREE_END: units back to the first */
    uint32_t next;    /* SPAN in a pool, FREE: links; 0: none */
    uint32_t prev;
    uint32_t pooled;  /* SPAN: blocks in the class's pool */
    uint8_t kind;
    uint8_t class;    /* SPAN */
    uint8_t zero[14];
};
_Static_assert(sizeof(struct unit) << (WEFT_HEAP_SEG_SHIFT - WEFT_HEAP_UNIT_SHIFT) == 4096, "a page per segment");
_Static_assert(WEFT_HEAP_BASE + 65536 * WEFT_HEAP_STRIDE <= WEFT_HEAP_COMMON, "slots fit");
_Static_assert(sizeof(struct weft_heap_list) == 32, "list");

/* Segments that are mapped, with their metadata: set once, by who mapped it, before anyone knows a block in it. */
static unsigned char seg_live[(WEFT_HEAP_END - WEFT_HEAP_BASE) >> WEFT_HEAP_SEG_SHIFT];

static struct {
    uint32_t head, tail; /* spans with pooled > 0; the wholly free ones at the tail */
    uint32_t full;       /* how many of these */
    uint32_t keep;       /* how many of these there may be; 0: not set */
    uint32_t gave_up;    /* wholly free spans given up and not yet wanted again */
} pools[WEFT_HEAP_CLASSES + 1]; /* each under its pool's hooks */

#define BINS 128u
static struct {
    uint32_t head[BINS];
    uint64_t nonempty[BINS / 64];
    uint64_t common; /* bytes of the common ranges in use */
} pages; /* under the hooks of WEFT_HEAP_POOL_PAGES */

#define OCTAVE(x) 5 * (x), 6 * (x), 7 * (x), 8 * (x)
static const uint32_t class_size[WEFT_HEAP_CLASSES + 1] = {
    0,           16,           32,           48,           64,            80,            96,           112,
    128,         144,          160,          176,          192,           208,           224,          240,
    256,         OCTAVE(64),   OCTAVE(128),  OCTAVE(256),  OCTAVE(512),   OCTAVE(1024),  OCTAVE(2048), OCTAVE(4096),
    OCTAVE(8192), OCTAVE(16384), OCTAVE(32768),
};

#define X4(c) c, c, c, c
static const unsigned char small_class[65] = {
    1,      1,      2,      3,      4,      5,      6,      7,      8,      9,      10,     11,
    12,     13,     14,     15,     16,     X4(17), X4(18), X4(19), X4(20), X4(21), X4(21), X4(22),
    X4(22), X4(23), X4(23), X4(24), X4(24),
};

static inline unsigned class_of(size_t size) {
    if (likely(size <= 1024)) return small_class[(size + 15) >> 4];
    unsigned e = 63 - (unsigned)__builtin_clzl(size - 1);
    return 13 + (e - 8) * 4 + (unsigned)((size - 1) >> (e - 2));
}

/* ---- addresses to metadata */

static inline unsigned char *state_of(uint64_t p) {
    return (unsigned char *)(p >> 4);
}

static inline struct unit *unit_at(uint32_t u) {
    return (struct unit *)WEFT_HEAP_UNITS_ADDR + u;
}

static inline uint64_t unit_addr(uint32_t u) {
    return (uint64_t)u << WEFT_HEAP_UNIT_SHIFT;
}

static inline uint32_t unit_of(uint64_t p) {
    return (uint32_t)(p >> WEFT_HEAP_UNIT_SHIFT);
}

static inline int live(uint64_t p) {
    return p - WEFT_HEAP_BASE < WEFT_HEAP_END - WEFT_HEAP_BASE &&
           /* pairs with the store in map_segments(): what is live has its metadata mapped */
           __atomic_load_n(&seg_live[(p - WEFT_HEAP_BASE) >> WEFT_HEAP_SEG_SHIFT], __ATOMIC_ACQUIRE);
}

/* Other threads may look at the kind of a unit next to theirs, and only ask whether it is free, which changes only
 * under the pool of pages; so plain bytes would do, were it not for the letter of C. */
static inline unsigned kind_of(uint32_t u) {
    return __atomic_load_n(&unit_at(u)->kind, __ATOMIC_RELAXED);
}

static inline void set_kind(uint32_t u, unsigned kind) {
    __atomic_store_n(&unit_at(u)->kind, (uint8_t)kind, __ATOMIC_RELAXED);
}

static inline uint32_t span_units(unsigned class) {
    return class <= LAST_SMALL ? 1 : BIG_SPAN;
}

static inline uint32_t span_blocks(unsigned class) {
    return (uint32_t)((span_units(class) << WEFT_HEAP_UNIT_SHIFT) / class_size[class]);
}

static inline uint32_t list_bound(unsigned class, size_t bytes) {
    size_t n = bytes / class_size[class];
    return n > LIST_MAX ? LIST_MAX : n < LIST_MIN ? LIST_MIN : (uint32_t)n;
}

/* ---- mapping */

static int map_at(uint64_t addr, size_t n, int flags) {
    long r = weft__sys_mmap(addr, n, PROT_READ_WRITE, MAP_PRIVATE_ANON | MAP_FIXED_NOREPLACE | flags);
    if (r == (long)addr) return 1;
    if (r > 0) weft__sys_munmap((uint64_t)r, n); /* kernels before 4.17 take the address as a hint */
    return 0;
}

/* Maps heap memory [from, to), whole segments, with its metadata; all or nothing. */
static COLD int map_segments(uint64_t from, uint64_t to) {
    size_t n = to - from;
    uint64_t units = (uint64_t)unit_at(unit_of(from));
    size_t units_n = n >> WEFT_HEAP_UNIT_SHIFT << 5;
    if (!map_at(from, n, 0)) return 0;
    if (!map_at(from >> 4, n >> 4, MAP_NORESERVE)) goto unmap_heap;
    if (!map_at(units, units_n, MAP_NORESERVE)) goto unmap_state;
    for (uint64_t p = from; p < to; p += SEG)
        __atomic_store_n(&seg_live[(p - WEFT_HEAP_BASE) >> WEFT_HEAP_SEG_SHIFT], 1, __ATOMIC_RELEASE); /* live() */
    return 1;
unmap_state:
    weft__sys_munmap(from >> 4, n >> 4);
unmap_heap:
    weft__sys_munmap(from, n);
    return 0;
}

/* ---- the pool of pages; everything in this part runs between its hooks */

static inline unsigned bin_of(uint32_t n) {
    if (n < 16) return n;
    unsigned e = 31 - (unsigned)__builtin_clz(n);
    return 16 + (e - 4) * 4 + ((n >> (e - 2)) & 3);
}

static void bin_link(uint32_t u, uint32_t n) {
    unsigned b = bin_of(n);
    struct unit *d = unit_at(u);
    d->n = n;
    d->prev = 0;
    d->next = pages.head[b];
    if (d->next) unit_at(d->next)->prev = u;
    pages.head[b] = u;
    pages.nonempty[b >> 6] |= 1ul << (b & 63);
    set_kind(u, UNIT_FREE);
    if (n > 1) {
        unit_at(u + n - 1)->n = n - 1;
        set_kind(u + n - 1, UNIT_FREE_END);
    }
}

static void bin_unlink(uint32_t u) {
    struct unit *d = unit_at(u);
    unsigned b = bin_of(d->n);
    if (d->prev) unit_at(d->prev)->next = d->next;
    else pages.head[b] = d->next;
    if (d->next) unit_at(d->next)->prev = d->prev;
    if (!pages.head[b]) pages.nonempty[b >> 6] &= ~(1ul << (b & 63));
    set_kind(u + d->n - 1, UNIT_NONE);
    set_kind(u, UNIT_NONE);
}

static void pages_put(uint32_t u, uint32_t n) {
    if (live(unit_addr(u - 1))) {
        unsigned k = kind_of(u - 1);
        if (k == UNIT_FREE || k == UNIT_FREE_END) {
            uint32_t first = k == UNIT_FREE ? u - 1 : u - 1 - unit_at(u - 1)->n;
            bin_unlink(first);
            n += u - first;
            u = first;
        }
    }
    if (live(unit_addr(u + n)) && kind_of(u + n) == UNIT_FREE) {
        uint32_t next = u + n;
        n += unit_at(next)->n;
        bin_unlink(next);
    }
    bin_link(u, n);
}

static int next_bin(unsigned b) {
    for (unsigned w = b >> 6; w < BINS / 64; w++) {
        uint64_t m = pages.nonempty[w];
        if (w == b >> 6) m &= ~0ul << (b & 63);
        if (m) return (int)(w * 64 + (unsigned)__builtin_ctzl(m));
    }
    return -1;
}

/* n units side by side, or 0. */
static uint32_t pages_take(uint32_t n) {
    unsigned b = bin_of(n);
    uint32_t u = pages.head[b];
    for (unsigned tries = 64; u && unit_at(u)->n < n; u = unit_at(u)->next)
        if (!--tries) {
            u = 0;
            break;
        }
    if (!u) {
        int next = b + 1 < BINS ? next_bin(b + 1) : -1;
        if (next < 0) return 0;
        u = pages.head[next];
    }
    uint32_t have = unit_at(u)->n;
    bin_unlink(u);
    if (have > n) bin_link(u + n, have - n);
    return u;
}

/* At most max units from the smallest run there is; 0 if there is none. */
static uint32_t pages_take_some(uint32_t max, uint32_t *n) {
    int b = next_bin(0);
    if (b < 0) return 0;
    uint32_t u = pages.head[b], have = unit_at(u)->n;
    *n = have < max ? have : max;
    bin_unlink(u);
    if (have > *n) bin_link(u + *n, have - *n);
    return u;
}

/* Address space of the common ranges; 0 if there is no more. Mapped here, so that what cannot be mapped is not lost. */
static uint64_t common_take(uint64_t bytes, uint64_t map) {
    uint64_t a = WEFT_HEAP_COMMON + pages.common;
    if (bytes > WEFT_HEAP_END - a || !map_segments(a, a + map)) return 0;
    pages.common += bytes;
    return a;
}

/* ---- units for a heap */

/* n fresh units from the heap's own range; 0 if there is no memory. */
static uint32_t fresh_units(struct weft_heap *h, uint32_t n) {
    uint64_t bytes = unit_addr(n), map = (bytes + SEG - 1) & ~(SEG - 1);
    for (int tries = 0; tries < 2 && bytes <= DIRECT; tries++) {
        if (bytes <= h->top_end - h->top) {
            uint64_t to = (h->top + bytes + SEG - 1) & ~(SEG - 1);
            if (to <= h->mapped || map_segments(h->mapped, to)) {
                if (to > h->mapped) {
                    /* With huge pages everywhere, a thread that allocates little would still get 2 MiB of memory. */
                    if (h->mapped == WEFT_HEAP_BASE + h->slot * WEFT_HEAP_STRIDE)
                        weft__sys_madvise(h->mapped, SEG, MADV_NOHUGEPAGE);
                    h->mapped = to;
                }
                uint32_t u = unit_of(h->top);
                h->top += bytes;
                return u;
            }
        }
        /* The range is used up, or something else is mapped in it: its rest goes to the pool; go on in a common one. */
        weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
        uint64_t a = common_take(RANGE, map);
        if (a && h->top < h->mapped) pages_put(unit_of(h->top), unit_of(h->mapped - h->top));
        weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
        if (!a) return 0;
        h->top = a;
        h->mapped = a + map;
        h->top_end = a + RANGE;
    }
    weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
    uint64_t a = common_take(map, map);
    if (a && map > bytes) pages_put(unit_of(a + bytes), unit_of(map - bytes));
    weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
    return unit_of(a);
}

/* n units side by side, zero; 0 if there is no memory. */
static uint32_t take_units(struct weft_heap *h, uint32_t n) {
    weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
    uint32_t u = pages_take(n);
    weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
    return u ? u : fresh_units(h, n);
}

/* One unit for a span. */
static uint32_t take_unit(struct weft_heap *h) {
    if (h->chunk == h->chunk_end) {
        uint32_t n = CHUNK;
        weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
        uint32_t u = pages_take_some(CHUNK, &n);
        weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
        if (!u && !(u = fresh_units(h, CHUNK))) return 0;
        h->chunk = unit_addr(u);
        h->chunk_end = h->chunk + unit_addr(n);
    }
    uint32_t u = unit_of(h->chunk);
    h->chunk += UNIT;
    return u;
}

/* Makes n units the memory of a span or run. */
static void claim(uint32_t u, uint32_t n, unsigned kind, unsigned class) {
    struct unit *d = unit_at(u);
    for (uint32_t i = 1; i < n; i++) {
        unit_at(u + i)->n = i;
        set_kind(u + i, UNIT_INNER);
    }
    d->n = n;
    d->class = (uint8_t)class;
    d->pooled = 0;
    set_kind(u, kind);
}

/* Free units go back to the kernel, zero in heap and state. Then they may be put in the pool of pages. */
static void clean(uint32_t u, uint32_t n) {
    uint64_t p = unit_addr(u), bytes = unit_addr(n);
    set_kind(u, UNIT_NONE);
    weft__heap_release((void *)p, bytes);
    if (n > 1) weft__sys_madvise(p >> 4, bytes >> 4, MADV_DONTNEED);
    else for (uint64_t *w = (uint64_t *)(p >> 4); w < (uint64_t *)((p + UNIT) >> 4); w++) *w = 0; /* a page: cheaper */
}

static COLD void release_run(uint32_t u, uint32_t n) {
    clean(u, n);
    weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
    pages_put(u, n);
    weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
}

/* ---- the pools of the classes */

static void pool_link(unsigned class, uint32_t u, int at_tail) {
    struct unit *d = unit_at(u);
    if (at_tail) {
        d->next = 0;
        d->prev = pools[class].tail;
        if (d->prev) unit_at(d->prev)->next = u;
        else pools[class].head = u;
        pools[class].tail = u;
    } else {
        d->prev = 0;
        d->next = pools[class].head;
        if (d->next) unit_at(d->next)->prev = u;
        else pools[class].tail = u;
        pools[class].head = u;
    }
}

static void pool_unlink(unsigned class, uint32_t u) {
    struct unit *d = unit_at(u);
    if (d->prev) unit_at(d->prev)->next = d->next;
    else pools[class].head = d->next;
    if (d->next) unit_at(d->next)->prev = d->prev;
    else pools[class].tail = d->prev;
}

/* A block becomes the pool's; the span, if it is wholly free and the pool has enough of these, is put on the chain. */
static inline void pool_add(unsigned class, uint64_t p, uint32_t *chain) {
    uint32_t u = unit_of(p);
    struct unit *d = unit_at(u);
    *state_of(p) = (unsigned char)(class | STATE_POOLED);
    if (class > LAST_SMALL && d->kind == UNIT_INNER) {
        u -= d->n;
        d = unit_at(u);
    }
    if (d->pooled++ == 0) pool_link(class, u, 0);
    if (d->pooled < span_blocks(class)) return;
    pool_unlink(class, u);
    uint32_t units = span_units(class);
    if (!pools[class].keep) pools[class].keep = (uint32_t)(FULL_KEPT / UNIT + units - 1) / units;
    if (pools[class].full < pools[class].keep) {
        pools[class].full++;
        pool_link(class, u, 1);
    } else {
        pools[class].gave_up++;
        d->next = *chain;
        *chain = u;
    }
}

static COLD void release_chain(unsigned class, uint32_t chain) {
    for (uint32_t u = chain; u; u = unit_at(u)->next) clean(u, span_units(class));
    weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
    while (chain) {
        uint32_t u = chain;
        chain = unit_at(u)->next;
        pages_put(u, span_units(class));
    }
    weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
}

static COLD void pool_put(unsigned class, void *const *items, uint32_t n) {
    uint32_t chain = 0;
    weft__heap_pool_enter(class);
    for (uint32_t i = 0; i < n; i++) pool_add(class, (uint64_t)items[i], &chain);
    weft__heap_pool_leave(class);
    if (chain) release_chain(class, chain);
}

/* Takes up to max pooled blocks of a span in order of address. */
static uint32_t span_take(unsigned class, uint32_t u, void **items, uint32_t max) {
    uint32_t n = 0, size = class_size[class];
    uint64_t p = unit_addr(u);
    if (size < 128) {
        /* Eight state bytes at once: only starts of blocks have the bit. */
        uint64_t *w = (uint64_t *)state_of(p);
        for (unsigned i = 0; i < UNIT / 128 && n < max; i++)
            for (uint64_t m = w[i] & 0x4040404040404040ul; m && n < max; m &= m - 1) {
                uint64_t q = p + i * 128 + (uint64_t)(__builtin_ctzl(m) >> 3) * 16;
                *state_of(q) = (unsigned char)class;
                items[n++] = (void *)q;
            }
    } else {
        uint32_t left = unit_at(u)->pooled;
        if (left < max) max = left;
        for (; n < max; p += size)
            if (*state_of(p) == (class | STATE_POOLED)) {
                *state_of(p) = (unsigned char)class;
                items[n++] = (void *)p;
            }
    }
    return n;
}

static uint32_t pool_take(unsigned class, void **items, uint32_t max) {
    uint32_t n = 0, blocks = span_blocks(class);
    weft__heap_pool_enter(class);
    for (unsigned spans = TAKE_SPANS; spans && n < max; spans--) {
        uint32_t u = pools[class].head;
        if (!u) {
            if (!n && pools[class].gave_up && pools[class].keep * span_units(class) < FULL_KEPT_MAX / UNIT) {
                pools[class].keep++;
                pools[class].gave_up--;
            }
            break;
        }
        struct unit *d = unit_at(u);
        if (d->pooled == blocks) pools[class].full--;
        uint32_t got = span_take(class, u, items + n, max - n);
        n += got;
        d->pooled -= got;
        if (!d->pooled) pool_unlink(class, u);
    }
    weft__heap_pool_leave(class);
    return n;
}

/* ---- lists */

static inline uint64_t lists_of(const struct weft_heap *h) {
    return WEFT_HEAP_LISTS_ADDR + ((uint64_t)h->slot << WEFT_HEAP_LISTS_SHIFT);
}

static int list_open(struct weft_heap *h, unsigned class) {
    uint64_t area = lists_of(h), at = area;
    int first = 1;
    for (unsigned c = 1; c <= WEFT_HEAP_CLASSES; c++) {
        if (c < class) at += list_bound(c, LIST_BYTES_MAX) * sizeof(void *) + LIST_GAP;
        if (h->lists[c].items) first = 0;
    }
    if (first && !map_at(area, 1ul << WEFT_HEAP_LISTS_SHIFT, MAP_NORESERVE)) return 0;
    h->lists[class].items = (void **)at;
    h->lists[class].cap = list_bound(class, LIST_BYTES);
    return 1;
}

static inline void *hand_out(void *p, unsigned class) {
    weft__heap_own(p); /* who frees it a second time, meanwhile, must find the same in replay */
    *state_of((uint64_t)p) = (unsigned char)(class | STATE_USED);
    return p;
}

/* The list is empty. */
static __attribute__((noinline)) void *refill(struct weft_heap *h, unsigned class, int *zero) {
    struct weft_heap_list *l = &h->lists[class];
    if (!l->fresh_left && l->skipped) {
        l->fresh -= (uint64_t)span_blocks(class) * class_size[class]; /* from the end to the start */
        l->fresh_left = l->skipped;
        l->skipped = 0;
    }
    if (!l->fresh_left) {
        if (unlikely(!l->items) && !list_open(h, class)) return NULL;
        l->refilled = 1;
        uint32_t n = pool_take(class, l->items, (l->cap + 1) / 2);
        if (n) {
            for (uint32_t i = 0, j = n - 1; i < j; i++, j--) { /* lowest address first out */
                void *t = l->items[i];
                l->items[i] = l->items[j];
                l->items[j] = t;
            }
            l->count = n - 1;
            return hand_out(l->items[n - 1], class);
        }
        uint32_t units = span_units(class);
        uint32_t u = units == 1 ? take_unit(h) : take_units(h, units);
        if (!u) return NULL;
        claim(u, units, UNIT_SPAN, class);
        /* Spans start at multiples of 64 KiB, and their state bytes at multiples of a page: were each used from its
         * start, the first blocks of all classes would share a few sets of the cache (13.9 ns a pair, not 10.8). */
        uint32_t blocks = span_blocks(class), skip = u % 15 * COLOUR / class_size[class] % blocks;
        l->fresh = (char *)unit_addr(u) + (uint64_t)skip * class_size[class];
        l->fresh_left = (uint16_t)(blocks - skip);
        l->skipped = (uint16_t)skip;
    }
    void *p = l->fresh;
    l->fresh += class_size[class];
    l->fresh_left--;
    *zero = 1;
    return hand_out(p, class);
}

/* The list is full, or was never used. */
static __attribute__((noinline)) void spill(struct weft_heap *h, unsigned class, void *p) {
    struct weft_heap_list *l = &h->lists[class];
    if (!l->items && !list_open(h, class)) {
        pool_put(class, &p, 1);
        return;
    }
    if (l->count >= l->cap) {
        uint32_t max = list_bound(class, LIST_BYTES_MAX);
        if (l->refilled && l->cap < max) {
            /* The thread gets as well as gives: a longer list spares both ways. */
            l->cap = l->cap * 2 < max ? l->cap * 2 : max;
            l->refilled = 0;
        } else {
            uint32_t n = (l->count + 1) / 2;
            l->refilled = 0;
            pool_put(class, l->items, n);
            l->count -= n;
            for (uint32_t i = 0; i < l->count; i++) l->items[i] = l->items[i + n];
        }
    }
    l->items[l->count++] = p;
}

static inline void *alloc_class(struct weft_heap *h, unsigned class, int *zero) {
    struct weft_heap_list *l = &h->lists[class];
    uint32_t n = l->count;
    if (unlikely(!n)) return refill(h, class, zero);
    void *p = l->items[n - 1];
    l->count = n - 1;
    return hand_out(p, class);
}

/* ---- runs: blocks above the largest class */

static inline uint32_t run_units(size_t size) { /* size at most WEFT_HEAP_END - WEFT_HEAP_COMMON */
    return (uint32_t)((size + UNIT - 1) >> WEFT_HEAP_UNIT_SHIFT);
}

/* The i-th kept run leaves the list. */
static void kept_remove(struct weft_heap *h, uint32_t i) {
    h->kept_bytes -= unit_addr(h->kept[i].units);
    for (h->nkept--; i < h->nkept; i++) h->kept[i] = h->kept[i + 1];
}

static COLD void *alloc_run(struct weft_heap *h, size_t size, size_t align, int *zero) {
    if (size > WEFT_HEAP_END - WEFT_HEAP_COMMON || align > WEFT_HEAP_END - WEFT_HEAP_COMMON) return NULL;
    uint32_t n = run_units(size), extra = align > UNIT ? unit_of(align) - 1 : 0, u;
    if (!extra)
        for (uint32_t i = h->nkept; i-- > 0;)
            if (h->kept[i].units >= n && h->kept[i].units <= n + n / 4) {
                u = h->kept[i].unit;
                kept_remove(h, i);
                return hand_out((void *)unit_addr(u), HUGE_CLASS);
            }
    u = take_units(h, n + extra);
    if (!u) return NULL;
    if (extra) {
        uint32_t head = -u & extra, tail = extra - head;
        weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
        if (head) pages_put(u, head);
        if (tail) pages_put(u + head + n, tail);
        weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
        u += head;
    }
    claim(u, n, UNIT_RUN, HUGE_CLASS);
    *zero = 1;
    return hand_out((void *)unit_addr(u), HUGE_CLASS);
}

static COLD void free_run(struct weft_heap *h, uint64_t p) {
    uint32_t u = unit_of(p), n = unit_at(u)->n;
    uint64_t bytes = unit_addr(n);
    *state_of(p) = HUGE_CLASS;
    if (bytes > KEEP_MAX) {
        release_run(u, n);
        return;
    }
    if (bytes > h->kept_max) h->kept_max = bytes;
    uint64_t max = 2 * h->kept_max > KEEP_MIN ? 2 * h->kept_max : KEEP_MIN;
    while (h->nkept == WEFT_HEAP_KEPT || (h->nkept && h->kept_bytes + bytes > max)) {
        uint32_t old = h->kept[0].unit, units = h->kept[0].units;
        kept_remove(h, 0);
        release_run(old, units);
    }
    h->kept[h->nkept].unit = u;
    h->kept[h->nkept++].units = n;
    h->kept_bytes += bytes;
}

/* Lengthens a run to n units where it is. */
static int grow_run(struct weft_heap *h, uint32_t u, uint32_t n) {
    struct unit *d = unit_at(u);
    uint32_t have = d->n, more = n - have, end = u + have;
    if (unit_addr(end) == h->top && unit_addr(more) <= h->top_end - h->top && unit_addr(more) <= DIRECT) {
        uint64_t to = (h->top + unit_addr(more) + SEG - 1) & ~(SEG - 1);
        if (to > h->mapped) {
            if (!map_segments(h->mapped, to)) return 0;
            h->mapped = to;
        }
        h->top += unit_addr(more);
    } else {
        int ok = 0;
        weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
        if (live(unit_addr(end)) && kind_of(end) == UNIT_FREE && unit_at(end)->n >= more) {
            uint32_t free = unit_at(end)->n;
            bin_unlink(end);
            if (free > more) bin_link(end + more, free - more);
            ok = 1;
        }
        weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
        if (!ok) return 0;
    }
    for (uint32_t i = have; i < n; i++) {
        unit_at(u + i)->n = i;
        set_kind(u + i, UNIT_INNER);
    }
    d->n = n;
    return 1;
}

/* ---- the interface */

/* The state byte of what the program says is a block in use; anything else ends in weft__heap_bad. */
static inline unsigned check_block(uint64_t p, const char *invalid, const char *freed) {
    /* One comparison for alignment and bounds: the low 4 bits come out on top. */
    uint64_t line = (p >> 4 | p << 60) - (WEFT_HEAP_BASE >> 4);
    if (unlikely(line >= (WEFT_HEAP_END - WEFT_HEAP_BASE) >> 4)) weft__heap_bad(invalid);
    const unsigned char *seg = &seg_live[line >> (WEFT_HEAP_SEG_SHIFT - 4)];
    if (unlikely(!__atomic_load_n(seg, __ATOMIC_ACQUIRE))) weft__heap_bad(invalid); /* as in live() */
    unsigned s = *state_of(p);
    if (unlikely(s < STATE_USED)) weft__heap_bad(s ? freed : invalid);
    return s - STATE_USED;
}

void weft__heap_init(struct weft_heap *h, unsigned slot) {
    uint64_t base = WEFT_HEAP_BASE + slot * WEFT_HEAP_STRIDE;
    for (size_t i = 0; i < sizeof *h / sizeof(uint64_t); i++) ((uint64_t *)h)[i] = 0;
    h->slot = slot;
    h->mapped = base;
    h->top = base + ((uint64_t)(slot >> 9) << WEFT_HEAP_UNIT_SHIFT);
    h->top_end = base + WEFT_HEAP_STRIDE;
}

void *weft__heap_malloc(struct weft_heap *h, size_t size) {
    int zero;
    if (unlikely(size > WEFT_HEAP_CLASS_MAX)) return alloc_run(h, size, 1, &zero);
    return alloc_class(h, class_of(size), &zero);
}

void *weft__heap_calloc(struct weft_heap *h, size_t n, size_t size) {
    size_t bytes;
    int zero = 0;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    void *p = bytes > WEFT_HEAP_CLASS_MAX ? alloc_run(h, bytes, 1, &zero) : alloc_class(h, class_of(bytes), &zero);
    if (p && !zero && bytes) weft__heap_zero(p, bytes);
    return p;
}

void *weft__heap_memalign(struct weft_heap *h, size_t align, size_t size) {
    int zero;
    if (!align || (align & (align - 1))) return NULL;
    if (align <= 16) return weft__heap_malloc(h, size);
    if (align <= UNIT && size <= WEFT_HEAP_CLASS_MAX) {
        /* Spans start at units, so every block of a class is as aligned as its size. */
        unsigned c = class_of(size > align ? size : align);
        while (class_size[c] & (align - 1)) c++;
        return alloc_class(h, c, &zero);
    }
    return alloc_run(h, size ? size : 1, align, &zero);
}

/* The caller owns the first line of a block that is to be spoilt. */
static inline void free_block(struct weft_heap *h, void *p, int spoil) {
    unsigned class = check_block((uint64_t)p, "free(): invalid pointer", "free(): double free detected in tcache 2");
    if (unlikely(class > WEFT_HEAP_CLASSES)) {
        free_run(h, (uint64_t)p);
        return;
    }
    struct weft_heap_list *l = &h->lists[class];
    *state_of((uint64_t)p) = (unsigned char)class;
    if (spoil) ((volatile uint64_t *)p)[0] = ((volatile uint64_t *)p)[1] = SPOILT;
    uint32_t n = l->count;
    if (unlikely(n >= l->cap)) {
        spill(h, class, p);
        return;
    }
    l->items[n] = p;
    l->count = n + 1;
}
void weft__heap_free(struct weft_heap *h, void *p) {
    if (likely(p)) free_block(h, p, 1);
}

void *weft__heap_realloc(struct weft_heap *h, void *p, size_t size) {
    if (!p) return weft__heap_malloc(h, size);
    if (!size) {
        weft__heap_free(h, p);
        return NULL;
    }
    unsigned class = check_block((uint64_t)p, "realloc(): invalid pointer", "realloc(): invalid pointer");
    size_t have, room = size;
    if (class <= WEFT_HEAP_CLASSES) {
        have = class_size[class];
        if (size <= have && (size > have / 2 || have <= 64)) return p;
    } else {
        uint32_t u = unit_of((uint64_t)p), n = unit_at(u)->n;
        have = unit_addr(n);
        if (size > WEFT_HEAP_CLASS_MAX && size <= WEFT_HEAP_END - WEFT_HEAP_COMMON) {
            uint32_t want = run_units(size);
            if (want <= n) {
                if (want <= n / 2) { /* less than what growing reserves, below */
                    unit_at(u)->n = want;
                    release_run(u + want, n - want);
                }
                return p;
            }
            if (grow_run(h, u, want)) return p;
            /* Who grows a block once will do so again, and address space costs nothing: or this were quadratic. */
            room = size + size / 2;
        }
    }
    int zero;
    void *q = room > WEFT_HEAP_CLASS_MAX ? alloc_run(h, room, 1, &zero) : alloc_class(h, class_of(room), &zero);
    if (!q && room > size) q = alloc_run(h, size, 1, &zero);
    if (!q) return size <= have ? p : NULL;
    weft__heap_copy(q, p, size < have ? size : have);
    free_block(h, p, 0); /* others may have got it since the caller owned it */
    return q;
}

size_t weft__heap_usable_size(const void *p) {
    if (!p) return 0;
    unsigned class = check_block((uint64_t)p, "malloc_usable_size(): invalid pointer",
                                 "malloc_usable_size(): invalid pointer");
    return class <= WEFT_HEAP_CLASSES ? class_size[class] : unit_addr(unit_at(unit_of((uint64_t)p))->n);
}

int weft__heap_block(const void *at, void **start, size_t *size) {
    uint64_t p = (uint64_t)at;
    if (!live(p)) return 0;
    uint32_t u = unit_of(p), back = 0;
    unsigned kind = kind_of(u);
    if (kind == UNIT_INNER) {
        back = unit_at(u)->n;
        u -= back;
        if (!live(unit_addr(u))) return 0;
        kind = kind_of(u);
    }
    struct unit *d = unit_at(u);
    if ((kind != UNIT_SPAN && kind != UNIT_RUN) || back >= d->n) return 0;
    uint64_t first = unit_addr(u), bytes = unit_addr(d->n);
    if (kind == UNIT_SPAN) {
        unsigned class = d->class;
        if (!class || class > WEFT_HEAP_CLASSES) return 0;
        bytes = class_size[class];
        uint64_t i = (p - first) / bytes;
        if (i >= span_blocks(class)) return 0;
        first += i * bytes;
    }
    *start = (void *)first;
    *size = bytes;
    return 1;
}
int weft__heap_extent(const void *at, void **start, size_t *size) {
    return weft__heap_block(at, start, size) && *state_of((uint64_t)*start) >= STATE_USED;
}

/* All of it goes, also blocks that were never handed out: otherwise each slot would in time fill a span of each class
 * while the pools are full (40,000 short threads on 500 slots: 3 KB more with each). */
void weft__heap_retire(struct weft_heap *h) {
    for (unsigned c = 1; c <= WEFT_HEAP_CLASSES; c++) {
        struct weft_heap_list *l = &h->lists[c];
        uint32_t chain = 0, size = class_size[c];
        if (!l->count && !l->fresh_left && !l->skipped) continue;
        uint64_t fresh = (uint64_t)l->fresh, end = fresh + (uint64_t)l->fresh_left * size;
        uint64_t first = end - (uint64_t)span_blocks(c) * size;
        weft__heap_pool_enter(c);
        for (uint32_t i = 0; i < l->count; i++) pool_add(c, (uint64_t)l->items[i], &chain);
        for (; fresh < end; fresh += size) pool_add(c, fresh, &chain);
        for (uint32_t i = 0; i < l->skipped; i++) pool_add(c, first + (uint64_t)i * size, &chain);
        weft__heap_pool_leave(c);
        l->count = l->fresh_left = l->skipped = 0;
        if (chain) release_chain(c, chain);
    }
    while (h->nkept) {
        uint32_t u = h->kept[0].unit, n = h->kept[0].units;
        kept_remove(h, 0);
        release_run(u, n);
    }
    if (h->chunk < h->chunk_end) {
        weft__heap_pool_enter(WEFT_HEAP_POOL_PAGES);
        pages_put(unit_of(h->chunk), unit_of(h->chunk_end - h->chunk));
        weft__heap_pool_leave(WEFT_HEAP_POOL_PAGES);
        h->chunk = h->chunk_end = 0;
    }
    weft__sys_madvise(lists_of(h), 1ul << WEFT_HEAP_LISTS_SHIFT, MADV_DONTNEED); /* all empty */
}
