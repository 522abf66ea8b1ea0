/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that processes share: mappings with MAP_SHARED, System V segments.
 *
 * What another process writes there comes from outside, so what a thread finds there is an input. To make the logged value
 * and the value that the program gets the same, the program never touches the shared memory itself. It has a private copy
 * at the address it knows, the front; the memory itself, the back, is mapped where only the runtime knows of it; the shadow
 * holds what the front held when the two were last brought together. No thread owns lines of the front (WEFT_COMMON): every
 * access of them comes here.
 *
 *   read     what differs between back and shadow is logged (WEFT_ITEM_MEMORY) and put into the front; then the program reads
 *   write    the program writes the front; at the thread's next tick or miss these bytes go to the back
 *   range    (libc functions, system calls, vector instructions with a mask: anything that may read and write) both: what
 *            then differs between front and shadow has been written
 *   atomic   the runtime does the operation on the back (the pass says which it is, abi.h), puts the old value into the
 *            front, and the program does the same operation on the same value there
 *
 * So a store reaches other processes a little late, but before the thread's next access of shared memory, system call or
 * operation on a lock, which is as if it had been done then. In replay there is only the front: MEMORY items change
 * it before the access that found them.
 *
 * Threads of this process still need their order. Each line has a stripe: who accesses it locks the stripe, comes after those
 * who wrote there last, and to write also after those who have read since, and keeps it until its next tick or miss, like
 * the stripe of a SPLIT line. A range of lines has a run of stripes, locked by their numbers from the lowest on. Who finds that it needs others
 * than it has lets go of all, and locks every stripe when it comes again (hold). Nobody waits for another thread's answer
 * while he has a stripe (weft__shm_drop). (With one lock for all of this memory Apache's workers, whose scoreboard is such
 * memory, had 17 edges for each request.)
 *
 * Locks, condition variables, semaphores and futexes in such memory are used at the back in record, so that all
 * processes see them (weft__shm_real), and not at all in replay, where their order and results are known.
 *
 * Anonymous memory is shared only after a fork: until then it is ordinary memory, and gets its back in weft__shm_fork. A
 * forked process has a front and a shadow of its own, since these are private, and the same back.
 *
 * A region keeps its front, back and shadow in step through mremap, mprotect and partial munmap. Regions are changed
 * under all stripes, in the order of the address space's own chain (vm_call); who has one of them may read the list. */
#define _GNU_SOURCE
#include "sys.h"
#include "sys_calls.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#define TABLE ((uint16_t *)WEFT_TABLE_ADDR)
#define LINE_OF(p) ((uint32_t)(p) >> WEFT_LINE_SHIFT)
#define PAGE 4096ul
#define REGIONS 1024
#define LARGEST (2ul << 30) /* the table repeats every 4 GiB */

static struct weft_region region[REGIONS];
int weft__shm_any, weft__shm_regions;

#define STRIPES 256u
#define READERS 4
static struct stripe {
    _Alignas(64) int lock;
    uint32_t readers;
    struct weft_pos wrote;         /* who did last, */
    struct weft_pos read[READERS]; /* and who has read since: one of each thread */
} stripe[STRIPES];

static struct weft_region *find(uint64_t p) {
    static int hot;
    int h = __atomic_load_n(&hot, __ATOMIC_RELAXED);
    if (h < weft__shm_regions && p - region[h].start < region[h].size) return &region[h];
    for (int i = 0; i < weft__shm_regions; i++)
        if (p - region[i].start < region[i].size) {
            __atomic_store_n(&hot, i, __ATOMIC_RELAXED);
            return &region[i];
        }
    return NULL;
}

/* ---- stripes ------------------------------------------------------------------------------------------------------ */

struct run {
    uint32_t first, n; /* stripes; behind the last one comes the first one again */
};
static struct run run_of(uint64_t p, uint64_t n) {
    uint64_t first = p >> WEFT_LINE_SHIFT, lines = n ? ((p + n - 1) >> WEFT_LINE_SHIFT) - first + 1 : 1;
    return lines < STRIPES ? (struct run){(uint32_t)(first % STRIPES), (uint32_t)lines} : (struct run){0, STRIPES};
}
static const struct run whole = {0, STRIPES};
static int is_in(struct run a, struct run b) { return b.n == STRIPES || (a.first - b.first) % STRIPES + a.n <= b.n; }
static uint32_t beyond(struct run r) { return r.first + r.n > STRIPES ? r.first + r.n - STRIPES : 0; }

static void lock_run(struct run r) {
    uint32_t more = beyond(r);
    for (uint32_t i = 0; i < more; i++) weft__lock(&stripe[i].lock);
    for (uint32_t i = r.first; i < r.first + r.n - more; i++) weft__lock(&stripe[i].lock);
}
static void unlock_run(struct run r) {
    for (uint32_t i = 0; i < r.n; i++) weft__unlock(&stripe[(r.first + i) % STRIPES].lock);
}
static struct run held(const struct weft_thread *t) { return (struct run){t->common_first, t->common_lines}; }

/* What t has is written by it: others may have read it. */
static void writes(struct weft_thread *t) {
    if (t->common_writes) return;
    t->common_writes = 1;
    for (uint32_t i = 0; i < t->common_lines; i++) {
        struct stripe *s = &stripe[(t->common_first + i) % STRIPES];
        for (uint32_t k = 0; k < s->readers; k++) weft__rec_edge(t, t->common_site, &s->read[k]);
        s->readers = 0;
        s->wrote = (struct weft_pos){t->tls->clock, t->common_site, t->slot, WEFT_DONE};
    }
}

static struct weft_pos *reader(struct stripe *s, const struct weft_thread *t) {
    uint32_t k = 0;
    while (k < s->readers && s->read[k].slot != t->slot) k++;
    return k < READERS ? &s->read[k] : NULL;
}

static void reads(struct weft_thread *t) {
    struct weft_pos here = {t->tls->clock, t->common_site, t->slot, WEFT_DONE};
    for (uint32_t i = 0; i < t->common_lines; i++) {
        struct stripe *s = &stripe[(t->common_first + i) % STRIPES];
        weft__rec_edge(t, t->common_site, &s->wrote);
        struct weft_pos *p = reader(s, t);
        if (!p) { /* one comes after the others, and stands for them */
            for (uint32_t k = 0; k < READERS; k++) weft__rec_edge(t, t->common_site, &s->read[k]);
            s->readers = 0;
            p = s->read;
        }
        s->readers += p == &s->read[s->readers];
        *p = here;
    }
}

/* Returns 1 if t had to let go of what it had. */
static int hold(struct weft_thread *t, struct run r, uint64_t site, int write) {
    int let_go = 0;
    if (t->common && !is_in(r, held(t))) {
        let_go = weft__shm_drop(t);
        t->common_all = 1;
    }
    if (!t->common) {
        if (t->common_all) r = whole;
        lock_run(r);
        t->common = 1;
        t->common_first = r.first;
        t->common_lines = r.n;
        t->common_writes = 0;
        t->common_site = site;
        t->common_n = 0;
        t->nstores = 0;
        reads(t);
        __atomic_store_n(&t->tls->limit, 0, __ATOMIC_RELAXED); /* the next tick releases */
    }
    if (write) writes(t);
    return let_go;
}

void weft__shm_hold(struct weft_thread *t, uint64_t site) {
    t->common_all = 1;
    hold(t, whole, site, 1);
}

/* The access is yet to come, and others' may come before it: they come after what was read so far. */
int weft__shm_drop(struct weft_thread *t) {
    int here = t->at_tick == t->tls->clock && t->at_site == t->common_site;
    for (uint32_t i = 0; i < t->common_lines; i++) {
        struct stripe *s = &stripe[(t->common_first + i) % STRIPES];
        struct weft_pos *p = t->common_writes ? &s->wrote : reader(s, t);
        p->step = here ? t->at_step : 0;
    }
    t->common = 0;
    unlock_run(held(t));
    return 1;
}

/* ---- from front to back ------------------------------------------------------------------------------------------ */

static uint64_t word(const unsigned char *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE); }
static unsigned char *front(const struct weft_region *r) { return (unsigned char *)r->start; }

/* As in libatomic: assembly, since the builtin would be a call. */
typedef unsigned __int128 u128;
static u128 swap16(void *p, u128 expected, u128 desired) {
    uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*(u128 *)p), "+a"(low), "+d"(high)
                     : "b"((uint64_t)desired), "c"((uint64_t)(desired >> 64))
                     : "memory", "cc");
    return (u128)high << 64 | low;
}

/* All of n bytes, in pieces as large as a processor stores at once. */
static void store(unsigned char *to, const unsigned char *from, size_t n) {
    while (n) {
        size_t k = 8;
        while (k > n || ((uintptr_t)to & (k - 1))) k /= 2;
        switch (k) {
        case 8: __atomic_store_n((uint64_t *)to, word(from), __ATOMIC_RELEASE); break;
        case 4: __atomic_store_n((uint32_t *)to, *(const uint32_t *)from, __ATOMIC_RELEASE); break;
        case 2: __atomic_store_n((uint16_t *)to, *(const uint16_t *)from, __ATOMIC_RELEASE); break;
        default: __atomic_store_n(to, *from, __ATOMIC_RELEASE);
        }
        to += k;
        from += k;
        n -= k;
    }
}

static void publish(struct weft_region *r, uint64_t off, size_t n) {
    if (n == 16 && !(off & 15)) {
        u128 v, old = 0, seen;
        __builtin_memcpy(&v, front(r) + off, 16);
        while ((seen = swap16(r->back + off, old, v)) != old) old = seen;
    } else
        store(r->back + off, front(r) + off, n);
    weft__copy(r->shadow + off, front(r) + off, n);
}

/* What of a range was changed: each word in one step, and the bytes around are left to others. */
static void publish_changes(struct weft_region *r, uint64_t lo, uint64_t hi) {
    if (!(r->prot & PROT_WRITE)) return;
    for (uint64_t o = lo; o < hi; o += 8) {
        uint64_t f = word(front(r) + o), x = f ^ word(r->shadow + o), mask = 0;
        if (likely(!x)) continue;
        for (int i = 0; i < 64; i += 8)
            if (x >> i & 0xff) mask |= 0xfful << i;
        uint64_t old = word(r->back + o);
        while (!__atomic_compare_exchange_n((uint64_t *)(r->back + o), &old, (old & ~mask) | (f & mask), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
        __builtin_memcpy(r->shadow + o, &f, 8);
    }
}

/* ---- from back to front ------------------------------------------------------------------------------------------ */

/* The runtime changes the front of bytes [lo, hi) although the program may not. One thread at a time: who has another stripe
 * may be about to change the same page. */
static int opened;
static void open_front(const struct weft_region *r, uint64_t lo, uint64_t hi, int open) {
    if (r->prot & PROT_WRITE) return;
    lo &= ~(PAGE - 1);
    hi = (hi + PAGE - 1) & ~(PAGE - 1);
    if (open) weft__lock(&opened);
    weft__raw(SYS_mprotect, r->start + lo, hi - lo, open ? PROT_READ | PROT_WRITE : r->prot);
    if (!open) weft__unlock(&opened);
}

/* A mapping may be longer than its file. Whether there is something behind a page. */
static int is_sound(struct weft_region *r, uint64_t page) {
    if (!r->sound || likely(r->sound[page])) return 1;
    /* A system call that reads eight bytes and has no other effect. */
    if (weft__raw(SYS_rt_sigprocmask, -1, r->back + page * PAGE, 0, 8) == -EFAULT) return 0;
    return r->sound[page] = 1;
}
static void sound(struct weft_region *r, uint64_t lo, uint64_t hi) {
    for (uint64_t page = lo / PAGE; page <= (hi - 1) / PAGE; page++)
        if (!is_sound(r, page))
            weft__refuse("memory beyond the end of a mapped file is accessed, at 0x%lx, which cannot be recorded yet", r->start + page * PAGE);
}

/* Others may be reading there what is old. */
static void found(struct weft_thread *t, uint64_t site, uint64_t p, const void *bytes, size_t n) {
    writes(t);
    weft__log_item(t, WEFT_ITEM_MEMORY, site, &p, 8, bytes, n);
}

/* Bytes [lo, hi), whole words. What code that was not built with weft has written there is published first. */
static void update(struct weft_thread *t, struct weft_region *r, uint64_t lo, uint64_t hi, uint64_t site) {
    int open = 0;
    publish_changes(r, lo, hi);
    for (uint64_t o = lo; o < hi;) {
        if (word(r->back + o) == word(r->shadow + o)) {
            o += 8;
            continue;
        }
        if (!open++) open_front(r, lo, hi, 1);
        uint64_t from = o, w;
        for (; o < hi && (w = word(r->back + o)) != word(r->shadow + o); o += 8) {
            __builtin_memcpy(front(r) + o, &w, 8);
            __builtin_memcpy(r->shadow + o, &w, 8);
        }
        if (o > from) found(t, site, r->start + from, r->shadow + from, o - from);
    }
    if (open) open_front(r, lo, hi, 0);
}

/* Before n bytes are read; if anything is new, the lines are brought up to date. */
static void refresh(struct weft_thread *t, struct weft_region *r, uint64_t off, uint64_t n, uint64_t site) {
    uint64_t hi = (off + n + 7) & ~7ul;
    for (uint64_t o = off & ~7ul; o < hi; o += 8)
        if (word(r->back + o) != word(r->shadow + o) || word(front(r) + o) != word(r->shadow + o)) {
            update(t, r, off & ~(uint64_t)(WEFT_LINE - 1), (off + n + WEFT_LINE - 1) & ~(uint64_t)(WEFT_LINE - 1), site);
            return;
        }
}

void weft__shm_release(struct weft_thread *t) {
    if (t->common_n) {
        struct weft_region *r = find(t->common_at);
        publish(r, t->common_at - r->start, t->common_n);
    }
    for (uint32_t i = 0; i < t->nstores; i++) {
        uint64_t p = (uint64_t)(uintptr_t)t->stores[i].p;
        struct weft_region *r = find(p);
        publish_changes(r, p - r->start, p - r->start + t->stores[i].n);
    }
    t->common = t->common_all = 0;
    unlock_run(held(t));
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* Anything may be done to these bytes; write: not only be read. Their stripes are held. */
static void range(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write) {
    for (uint64_t end = p + n; p < end;) {
        struct weft_region *r = find(p);
        if (!r || !r->back) { /* a line whose entry another one has made common */
            p = (p | (WEFT_LINE - 1)) + 1;
            continue;
        }
        uint64_t lo = (p - r->start) & ~(uint64_t)(WEFT_LINE - 1), hi = (end - r->start + WEFT_LINE - 1) & ~(uint64_t)(WEFT_LINE - 1);
        if (hi > r->size) hi = r->size;
        p = r->start + hi;
        if (r->prot == PROT_NONE) continue;
        sound(r, lo, hi);
        update(t, r, lo, hi, site);
        if (!write || !(r->prot & PROT_WRITE)) continue;
        if (unlikely(t->nstores == t->stores_room)) {
            uint32_t room = t->stores_room ? t->stores_room * 2 : 128;
            struct weft_range *s = weft__rt_map(room * sizeof *s);
            weft__copy(s, t->stores, t->nstores * sizeof *s);
            if (t->stores) weft__raw(SYS_munmap, t->stores, t->stores_room * sizeof *s);
            t->stores = s;
            t->stores_room = room;
        }
        t->stores[t->nstores++] = (struct weft_range){.p = front(r) + lo, .n = hi - lo};
    }
}

int weft__shm_take(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write) {
    if (t->common_skip) return 0;
    int let_go = hold(t, run_of(p, n), site, write);
    range(t, p, n, site, write);
    return let_go;
}

static uint64_t extended(uint64_t v, uint32_t n) { return n == 1 ? (uint64_t)(int8_t)v : n == 2 ? (uint64_t)(int16_t)v : n == 4 ? (uint64_t)(int32_t)v : v; }

static u128 result(uint32_t op, u128 old, u128 v, u128 expected, uint32_t n) {
    int64_t a = (int64_t)extended((uint64_t)old, n), b = (int64_t)extended((uint64_t)v, n);
    switch (op) {
    case WEFT_AT_LOAD: return old;
    case WEFT_AT_CAS: return old == expected ? v : old;
    case WEFT_AT_XCHG: return v;
    case WEFT_AT_ADD: return old + v;
    case WEFT_AT_SUB: return old - v;
    case WEFT_AT_AND: return old & v;
    case WEFT_AT_NAND: return ~(old & v);
    case WEFT_AT_OR: return old | v;
    case WEFT_AT_XOR: return old ^ v;
    case WEFT_AT_UMAX: return old > v ? old : v;
    case WEFT_AT_UMIN: return old < v ? old : v;
    default: break;
    }
    if (n == 16) return (op == WEFT_AT_MAX) == ((__int128)old > (__int128)v) ? old : v;
    return (op == WEFT_AT_MAX) == (a > b) ? old : v;
}

#define CASE(k, type)                                                                                                   \
    case k: {                                                                                                          \
        type e = (type)old;                                                                                            \
        done = __atomic_compare_exchange_n((type *)b, &e, (type) new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
        old = e;                                                                                                       \
        break;                                                                                                         \
    }

static void atomic(struct weft_thread *t, struct weft_region *r, uint64_t off, uint32_t acc, uint64_t site) {
    uint32_t n = acc & WEFT_ACC_SIZE, op = (acc & WEFT_ACC_OP) >> WEFT_ACC_OP_SHIFT;
    const uint64_t *x = t->tls->operand;
    unsigned char *b = r->back + off;
    if (op == WEFT_AT_UNKNOWN || (off & (n - 1)))
        weft__refuse("an atomic operation on memory that processes share, in inline assembly or of floating point, cannot be recorded yet; at @0x%lx", site);
    publish_changes(r, off & ~7ul, (off + n + 7) & ~7ul);
    u128 all = n == 16 ? ~(u128)0 : ((u128)1 << n * 8) - 1;
    u128 v = ((u128)x[1] << 64 | x[0]) & all, expected = ((u128)x[3] << 64 | x[2]) & all, old = 0, new = 0;
    weft__copy(&old, front(r) + off, n);
    for (int done = 0; !done;) {
        new = result(op, old, v, expected, n) & all;
        switch (n) {
            CASE(1, uint8_t)
            CASE(2, uint16_t)
            CASE(4, uint32_t)
            CASE(8, uint64_t)
        default: {
            u128 seen = swap16(b, old, new);
            done = seen == old;
            old = seen;
        }
        }
    }
    const unsigned char *f = front(r) + off, *o = (const unsigned char *)&old;
    for (uint32_t i = 0; i < n; i++)
        if (f[i] != o[i]) {
            found(t, site, r->start + off, &old, n);
            open_front(r, off, off + n, 1);
            weft__copy(front(r) + off, &old, n);
            open_front(r, off, off + n, 0);
            break;
        }
    weft__copy(r->shadow + off, &new, n); /* as the front will be */
}

static int all_common(uint64_t p, uint32_t n, int *any) {
    uint64_t first = p >> WEFT_LINE_SHIFT, end = (p + n - 1) >> WEFT_LINE_SHIFT;
    int all = 1;
    *any = 0;
    for (uint64_t l = first; l <= end; l++)
        if (__atomic_load_n(&TABLE[l & (WEFT_TABLE_ENTRIES - 1)], __ATOMIC_ACQUIRE) == WEFT_COMMON)
            *any = 1;
        else
            all = 0;
    return all;
}

int weft__shm_miss(struct weft_thread *t, uint64_t p, uint32_t acc, uint64_t site) {
    uint32_t n = acc & WEFT_ACC_SIZE;
    int any, write = !!(acc & WEFT_ACC_WRITE);
    if (!n) n = 1;
    for (;;) {
        int all = all_common(p, n, &any);
        if (!any) return 0;
        if (!all) { /* across the end of a region: as a range, of which the rest is owned */
            while (weft__rec_take(t, p, n, site, write)) {}
            return 1;
        }
        hold(t, run_of(p, n), site, write);
        if (all_common(p, n, &any)) break; /* nobody changes that now */
        weft__shm_drop(t);
    }
    struct weft_region *r = find(p);
    if (!r || p + n > r->start + r->size || (acc & WEFT_ACC_PARTIAL)) {
        range(t, p, n, site, write);
        return 1;
    }
    uint64_t off = p - r->start;
    if (!r->back || r->prot == PROT_NONE) return 1;
    int may_write = r->prot & PROT_WRITE;
    uint32_t op = (acc & WEFT_ACC_OP) >> WEFT_ACC_OP_SHIFT;
    if (write && !may_write) return 1; /* a fault */
    sound(r, off, off + n);
    if ((acc & WEFT_ACC_ATOMIC) && op != WEFT_AT_STORE && (op != WEFT_AT_LOAD || r->writable))
        atomic(t, r, off, acc, site);
    else if (!write)
        refresh(t, r, off, n, site);
    else {
        t->common_at = p;
        t->common_n = n;
    }
    return 1;
}

/* Replay: what the thread found. */
void weft__shm_apply(const void *data, size_t size) {
    uint64_t p;
    __builtin_memcpy(&p, data, 8);
    const unsigned char *bytes = (const unsigned char *)data + 8;
    struct run s = run_of(p, 1);
    lock_run(s);
    struct weft_region *r = find(p);
    uint64_t n = size - 8;
    if (!r || p + n > r->start + r->size)
        weft__diverged("memory that processes share is not mapped at 0x%lx as it was recorded", p);
    open_front(r, p - r->start, p - r->start + n, 1);
    weft__copy((void *)p, bytes, n);
    open_front(r, p - r->start, p - r->start + n, 0);
    unlock_run(s);
}

void *weft__shm_real(const void *o, int *common) {
    *common = 0;
    if (likely(!weft__shm_regions)) return (void *)(uintptr_t)o;
    struct weft_thread *t = weft__self();
    uint64_t p = (uint64_t)(uintptr_t)o;
    if (RECORD && __atomic_load_n(&TABLE[LINE_OF(p)], __ATOMIC_RELAXED) != WEFT_COMMON) return (void *)p;
    struct run s = run_of(p, 1);
    if (!t->common) lock_run(s);
    struct weft_region *r = find(p);
    if (r && r->common) {
        *common = 1;
        if (r->back) p = (uint64_t)(uintptr_t)r->back + (p - r->start);
    }
    if (!t->common) unlock_run(s);
    return (void *)p;
}

size_t weft__shm_rest(const void *o, size_t most) {
    size_t n = 0;
    uint64_t p = (uint64_t)(uintptr_t)o;
    struct run s = run_of(p, 1);
    lock_run(s);
    struct weft_region *r = find(p);
    if (r && r->back)
        while (n < most && p + n < r->start + r->size && is_sound(r, (p + n - r->start) / PAGE)) n += PAGE - ((p + n) & (PAGE - 1));
    unlock_run(s);
    return n < most ? n : most;
}

/* What a call was given may have been written by it. It may have been one of the program's own functions after all, whose last
 * access is done and has its stripes still. */
void weft__shm_foreign(struct weft_thread *t) {
    if (t->common) weft__shm_release(t);
    for (uint32_t i = 0; i < t->nranges; i++) {
        uint64_t p = (uint64_t)(uintptr_t)t->ranges[i].p, n = t->ranges[i].n;
        if (t->ranges[i].width || __atomic_load_n(&TABLE[LINE_OF(p)], __ATOMIC_RELAXED) != WEFT_COMMON) continue;
        struct run s = run_of(p, n);
        lock_run(s);
        struct weft_region *r = find(p);
        if (r && r->back) {
            uint64_t lo = (p - r->start) & ~7ul, hi = (p - r->start + n + 7) & ~7ul;
            publish_changes(r, lo, hi < r->size ? hi : r->size);
        }
        unlock_run(s);
    }
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

int weft__shm_touches(uint64_t p, uint64_t n) {
    for (int i = 0; i < weft__shm_regions; i++)
        if (p < region[i].start + region[i].size && region[i].start < p + n) return 1;
    return 0;
}

/* Files that this process, or the one it was forked from, has mapped for writing: what they hold is not what their time says. */
#define FILES 256
static struct weft_shm_file file[FILES];
static unsigned files;
int weft__shm_file_written(const struct weft_shm_file *f) {
    unsigned n = __atomic_load_n(&files, __ATOMIC_ACQUIRE);
    if (n > FILES) return 1;
    for (unsigned i = 0; i < n; i++)
        if (file[i].dev == f->dev && file[i].ino == f->ino) return 1;
    return 0;
}
void weft__shm_file_write(const struct weft_shm_file *f) {
    if (weft__shm_file_written(f)) return;
    if (files < FILES) file[files] = *f;
    __atomic_store_n(&files, files + 1, __ATOMIC_RELEASE);
}

/* Memory that is mapped in place of a piece of the runtime's own. */
static long map_back(uint64_t n, int prot, int fd, int64_t off) {
    void *at = weft__rt_map(n);
    return weft__raw(SYS_mmap, at, n, prot, MAP_SHARED | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0), fd, off);
}

static void with_back(struct weft_region *r, long back, int is_file) {
    r->back = (unsigned char *)back;
    r->shadow = weft__rt_map(r->size);
    r->sound = is_file ? weft__rt_map(r->size / PAGE) : NULL;
    r->common = 1;
}

static void fits(uint64_t n) {
    if (n > LARGEST) weft__refuse("a shared mapping of 0x%lx bytes is too large to be recorded", n);
}

void weft__shm_refuse_foreign(uint64_t ip) {
    Dl_info who = {0};
    const char *name = ip && dladdr((void *)ip, &who) && who.dli_fname ? who.dli_fname : "a library";
    for (const char *p = name; *p; p++)
        if (*p == '/') name = p + 1;
    weft__refuse("%s, which was not built with weft, maps memory that it shares with other processes, which cannot be recorded: build it with weft too", name);
}

/* Record: the back of a mapping of a file. */
long weft__shm_file(const long a[6], int writable, struct weft_region *r) {
    uint64_t n = ((uint64_t)a[1] + PAGE - 1) & ~(PAGE - 1);
    if (!a[1]) return -EINVAL;
    fits(n);
    if ((a[2] & PROT_WRITE) && !writable) return -EACCES;
    long b = map_back(n, PROT_READ | (writable ? PROT_WRITE : 0), (int)a[4], a[5]);
    if (failed(b)) return b;
    r->size = n;
    r->writable = writable;
    with_back(r, b, 1);
    return 0;
}

/* The lines are nobody's, from now on. They are t's own, or common already. */
static void mark(struct weft_thread *t, const struct weft_region *r) {
    weft__lock(&t->lock);
    for (uint64_t p = r->start; p < r->start + r->size; p += WEFT_LINE) __atomic_store_n(&TABLE[LINE_OF(p)], WEFT_COMMON, __ATOMIC_RELEASE);
    weft__unlock(&t->lock);
    __atomic_store_n(&weft__shm_any, 1, __ATOMIC_RELEASE);
}

/* The lines are t's, unless another region shares their entries. */
static void unmark(struct weft_thread *t, uint64_t start, uint64_t size) {
    for (uint64_t p = start; p < start + size; p += WEFT_LINE) {
        int other = 0;
        for (int i = 0; i < weft__shm_regions && !other; i++) {
            uint64_t o = region[i].start + (uint32_t)(p - region[i].start);
            other = region[i].common && o < region[i].start + region[i].size;
        }
        if (!other) __atomic_store_n(&TABLE[LINE_OF(p)], (uint16_t)t->slot, __ATOMIC_RELEASE);
    }
}

void weft__shm_add(struct weft_thread *t, const struct weft_region *r) {
    if (RECORD && r->common) {
        t->common_skip = 1;
        weft__take(t, (void *)r->start, r->size);
        t->common_skip = 0;
        weft__shm_hold(t, 0);
    }
    if (!t->common) lock_run(whole);
    if (weft__shm_regions == REGIONS) weft__refuse("more than %d shared mappings cannot be recorded", REGIONS);
    region[weft__shm_regions] = *r;
    __atomic_store_n(&weft__shm_regions, weft__shm_regions + 1, __ATOMIC_RELEASE);
    if (RECORD && r->common) mark(t, r);
    if (!t->common) unlock_run(whole);
}

/* Makes p the beginning of a region, if it is inside one. */
static void cut(uint64_t p) {
    struct weft_region *r = find(p);
    if (!r || r->start == p) return;
    if (weft__shm_regions == REGIONS) weft__refuse("more than %d shared mappings cannot be recorded", REGIONS);
    uint64_t off = p - r->start;
    struct weft_region *n = &region[weft__shm_regions++];
    *n = *r;
    n->start = p;
    n->size = r->size - off;
    r->size = off;
    if (r->back) n->back = r->back + off, n->shadow = r->shadow + off;
    if (r->sound) n->sound = r->sound + off / PAGE;
}

static void forget(struct weft_thread *t, int i, int keep_back) {
    struct weft_region r = region[i];
    region[i] = region[weft__shm_regions - 1];
    weft__shm_regions--;
    if (!r.back) return;
    unmark(t, r.start, r.size);
    if (keep_back) return;
    weft__raw(SYS_munmap, r.back, r.size);
    weft__raw(SYS_munmap, r.shadow, r.size);
}

static int inside(int i, uint64_t p, uint64_t n) { return region[i].start >= p && region[i].start < p + n; }
static uint64_t pages(long n) { return ((uint64_t)n + PAGE - 1) & ~(PAGE - 1); }

/* Whether the program may give this protection to its mappings. */
int weft__shm_denies(const long a[6]) {
    uint64_t p = (uint64_t)a[0], n = pages(a[1]);
    for (int i = 0; i < weft__shm_regions; i++)
        if ((a[2] & PROT_WRITE) && region[i].back && !region[i].writable && p < region[i].start + region[i].size && region[i].start < p + n)
            return 1;
    return 0;
}

/* mremap may make a region larger where it is, and then nothing is left to be waited for: t has the lines. */
int weft__shm_may_grow(struct weft_thread *t, const long a[6]) {
    uint64_t p = (uint64_t)a[0] + pages(a[1]), end = (uint64_t)a[0] + pages(a[2]);
    if (!weft__shm_regions || !weft__shm_touches((uint64_t)a[0], (uint64_t)a[1])) return 1;
    for (; p < end; p += WEFT_LINE) {
        uint16_t o = __atomic_load_n(&TABLE[LINE_OF(p)], __ATOMIC_RELAXED);
        if (o != t->slot && o != WEFT_COMMON) return 0;
    }
    return 1;
}

/* The address space has been changed; record: t has all stripes. A region that goes on elsewhere is given back. */
int weft__shm_changed(struct weft_thread *t, long nr, const long a[6], long r, struct weft_region *moved) {
    uint64_t p = (uint64_t)a[0], n = pages(a[1]);
    int goes_on = 0;
    if (nr == SYS_mmap) p = (uint64_t)r;
    if (!t->common) lock_run(whole);
    cut(p);
    cut(p + n);
    for (int i = weft__shm_regions - 1; i >= 0; i--) {
        if (!inside(i, p, n)) continue;
        if (nr == SYS_mprotect)
            region[i].prot = (int)a[2];
        else if (nr == SYS_mremap) {
            uint64_t size = pages(a[2]), had = region[i].size;
            if (goes_on++) weft__refuse("mremap of several shared mappings cannot be recorded yet");
            *moved = region[i];
            forget(t, i, 1);
            moved->start = (uint64_t)r;
            moved->size = size;
            if (!moved->back || size == had) continue;
            if (size < had) {
                weft__raw(SYS_munmap, moved->back + size, had - size);
                weft__raw(SYS_munmap, moved->shadow + size, had - size);
                continue;
            }
            fits(size);
            unsigned char *back = weft__rt_map(size), *shadow = weft__rt_map(size), *sound = weft__rt_map(size / PAGE);
            if (weft__raw(SYS_mremap, moved->back, had, size, MREMAP_MAYMOVE | MREMAP_FIXED, back) != (long)back ||
                weft__raw(SYS_mremap, moved->shadow, had, size, MREMAP_MAYMOVE | MREMAP_FIXED, shadow) != (long)shadow)
                weft__refuse("mremap of a shared mapping to 0x%lx bytes fails", size);
            moved->back = back;
            moved->shadow = shadow;
            moved->sound = sound; /* the new part may have nothing behind it */
        } else
            forget(t, i, 0);
    }
    if (!t->common) unlock_run(whole);
    return goes_on;
}

/* Advice that would change private memory, but leaves shared memory as it is. 1: done, with *r. */
int weft__shm_advise(const long a[6], long *r) {
    *r = 0;
    switch (a[2]) {
    case MADV_DONTNEED: case MADV_FREE: case MADV_COLD: case MADV_PAGEOUT: return 1;
    case MADV_REMOVE: case MADV_DONTFORK: case MADV_WIPEONFORK:
        weft__refuse("madvise %ld of shared memory cannot be recorded yet", a[2]);
    default: return 0;
    }
}

/* Record: what msync is to do, at the back. */
long weft__shm_sync(const long a[6]) {
    uint64_t p = (uint64_t)a[0], n = pages(a[1]);
    long r = 0;
    lock_run(whole);
    for (int i = 0; i < weft__shm_regions && !r; i++) {
        struct weft_region *g = &region[i];
        if (!g->back || !(p < g->start + g->size && g->start < p + n)) continue;
        uint64_t lo = p > g->start ? p - g->start : 0, hi = p + n - g->start < g->size ? p + n - g->start : g->size;
        r = weft__raw(SYS_msync, g->back + lo, hi - lo, a[2]);
    }
    unlock_run(whole);
    return r;
}

/* ---- System V segments ------------------------------------------------------------------------------------------- */

#define SHM_RDONLY 010000
#define SHM_RND 020000
#define SHM_REMAP 040000

/* The front is mapped; *size is that of the segment. */
long weft__shm_attach(const long a[6], struct weft_region *r) {
    uint64_t ds[16] = {0};
    long e = weft__raw(SYS_shmctl, a[0], 2 /* IPC_STAT */, ds);
    if (failed(e)) return e;
    r->size = pages((long)ds[6]);
    fits(r->size);
    void *at = weft__rt_map(r->size);
    long back = weft__raw(SYS_shmat, a[0], at, (a[2] & SHM_RDONLY) | SHM_REMAP);
    if (failed(back)) return back;
    uint64_t want = (uint64_t)a[1];
    if (want && (a[2] & SHM_RND)) want &= ~(PAGE - 1);
    r->prot = a[2] & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE;
    r->writable = !(a[2] & SHM_RDONLY);
    long f = want & (PAGE - 1) ? -EINVAL
                               : weft__raw(SYS_mmap, want, r->size, r->prot,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                                               (want ? a[2] & SHM_REMAP ? MAP_FIXED : MAP_FIXED_NOREPLACE : 0),
                                           -1, 0);
    if (failed(f)) {
        weft__raw(SYS_munmap, back, r->size);
        return f == -EEXIST ? -EINVAL : f;
    }
    with_back(r, back, 0);
    r->start = r->segment = (uint64_t)f;
    return f;
}

/* Both modes: unmaps all of the segment at p that is still there; -EINVAL: none. Record: t has all stripes. */
long weft__shm_detach(struct weft_thread *t, uint64_t p) {
    long r = -EINVAL;
    if (!t->common) lock_run(whole);
    for (int i = weft__shm_regions - 1; i >= 0; i--)
        if (region[i].segment == p && p) {
            weft__raw(SYS_munmap, region[i].start, region[i].size);
            forget(t, i, 0);
            r = 0;
        }
    if (!t->common) unlock_run(whole);
    return r;
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The world stands still. From now on anonymous shared memory is shared; record: it gets its back. */
void weft__shm_fork(struct weft_thread *t) {
    for (int i = 0; i < weft__shm_regions; i++) {
        struct weft_region *r = &region[i];
        if (r->common) continue;
        r->common = 1;
        if (!RECORD) continue;
        if (r->foreign) weft__shm_refuse_foreign(0);
        fits(r->size);
        for (uint32_t s = 1; s < weft__slots; s++) {
            struct weft_thread *o = weft__threads[s];
            if (o && o != t && o->alive && (uint64_t)(uintptr_t)o->blocked_on - r->start < r->size)
                weft__refuse("fork: a thread waits for a lock in memory that becomes shared now, which cannot be recorded yet");
        }
        long b = map_back(r->size, PROT_READ | PROT_WRITE, -1, 0);
        if (failed(b)) weft__refuse("fork: no memory to share (error %ld)", -b);
        with_back(r, b, 0);
        r->writable = 1;
        if (!(r->prot & PROT_READ)) weft__raw(SYS_mprotect, r->start, r->size, PROT_READ | r->prot);
        for (uint64_t page = 0; page < r->size; page += PAGE)
            for (uint64_t o = page; o < page + PAGE; o += 8)
                if (word(front(r) + o)) {
                    weft__copy(r->back + page, front(r) + page, PAGE);
                    weft__copy(r->shadow + page, front(r) + page, PAGE);
                    break;
                }
        if (!(r->prot & PROT_READ)) weft__raw(SYS_mprotect, r->start, r->size, r->prot);
        weft__take(t, front(r), r->size); /* nobody is inside to be waited for */
        mark(t, r);
    }
}

/* In the new process, with a fresh table. */
void weft__shm_forked(void) {
    weft__zero(stripe, sizeof stripe);
    for (int i = 0; i < weft__shm_regions; i++)
        if (RECORD && region[i].back)
            for (uint64_t p = region[i].start; p < region[i].start + region[i].size; p += WEFT_LINE) TABLE[LINE_OF(p)] = WEFT_COMMON;
}
