/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The program's heap: see the essay in alloc.c. Needs nothing of the rest of the runtime but the hooks below. */
#ifndef WEFT_ALLOC_H
#define WEFT_ALLOC_H

#include "weft/abi.h"
#include <stddef.h>
#include <stdint.h>

/* ---- where things are -------------------------------------------------------------------------------------------
 *
 *   0x0062_0000_0000  unit descriptors, 32 bytes per 64 KiB                                metadata, runtime only
 *   0x0070_0000_0000  free lists, 512 KiB per slot                                         metadata, runtime only
 *   0x0100_0000_0000  state bytes, one per 16 bytes of heap: that of p is at p >> 4        metadata, runtime only
 *   0x1000_0000_0000  888 MiB per slot, slots 0 (unused) to 65535                          the program's blocks
 *   0x4800_0000_0000  common ranges, for heaps that outgrow their own                      the program's blocks
 *   0x5500_0000_0000  end
 *
 * All of it is mapped piecewise, when first needed, in segments of 8 MiB of heap. */
#define WEFT_HEAP_COMMON 0x480000000000ul
#define WEFT_HEAP_END 0x550000000000ul
#define WEFT_HEAP_UNITS_ADDR 0x006000000000ul /* + index; the index is the address >> 16 */
#define WEFT_HEAP_LISTS_ADDR 0x007000000000ul

#define WEFT_HEAP_SEG_SHIFT 23                 /* 8 MiB: what is mapped at once */
#define WEFT_HEAP_UNIT_SHIFT 16                /* 64 KiB: what spans and runs are made of */
#define WEFT_HEAP_STRIDE WEFT_HEAP_SLOT
#define WEFT_HEAP_LISTS_SHIFT 19               /* 512 KiB of list items per slot */

/* ---- classes */
#define WEFT_HEAP_CLASSES 56                   /* 1 to 56: 16 bytes to 256 KiB */
#define WEFT_HEAP_CLASS_MAX (256ul << 10)      /* blocks above this are runs of units */
#define WEFT_HEAP_POOL_PAGES 57                /* the pool of free units; `pool` of the hooks is 1 to 57 */
#define WEFT_HEAP_POOLS 58
#define WEFT_HEAP_KEPT 16

/* A heap's free blocks of one class. Used by the heap's thread only. */
struct weft_heap_list {
    void **items;       /* a stack of free blocks, in the slot's list area; NULL before first use */
    uint32_t count;     /* blocks on it */
    uint32_t cap;       /* more than these, and half goes to the common pool */
    char *fresh;         /* next block of the current span that was never handed out: all zero */
    uint16_t fresh_left; /* such blocks from there to the end of the span */
    uint16_t skipped;    /* and at its start */
    uint32_t refilled;   /* the list ran empty since it last overflowed */
};

/* All of a heap's own state: about 2 KiB. Used by the heap's thread only. */
struct weft_heap {
    struct weft_heap_list lists[WEFT_HEAP_CLASSES + 1];
    uint64_t chunk, chunk_end;      /* units in hand for spans of 64 KiB */
    uint64_t top, mapped, top_end;  /* the range that fresh units come from: used below top, mapped below mapped */
    uint64_t kept_bytes, kept_max;  /* freed runs kept for reuse; the largest freed so far (bounds what is kept) */
    uint32_t slot;
    uint32_t nkept;
    struct {
        uint32_t unit, units;
    } kept[WEFT_HEAP_KEPT];         /* oldest first */
};

/* ---- alloc.c. All return NULL when there is no memory; errno is the caller's. One thread per heap at a time. */
void weft__heap_init(struct weft_heap *h, unsigned slot); /* once per slot: who gets the slot next goes on with it */
void *weft__heap_malloc(struct weft_heap *h, size_t size);
void *weft__heap_calloc(struct weft_heap *h, size_t n, size_t size);
void *weft__heap_realloc(struct weft_heap *h, void *p, size_t size);  /* size 0 frees, as glibc does */
void *weft__heap_memalign(struct weft_heap *h, size_t align, size_t size); /* NULL unless align is a power of two */
void weft__heap_free(struct weft_heap *h, void *p);
size_t weft__heap_usable_size(const void *p);
/* The block in use that contains p, whatever p is; 1 if there is one. */
int weft__heap_extent(const void *p, void **start, size_t *size);
int weft__heap_block(const void *p, void **start, size_t *size); /* or that is about to be handed out */
/* The thread ends: all free memory that it has in hand goes to the common pools. The heap can be used on. */
void weft__heap_retire(struct weft_heap *h);

/* ---- hooks, defined by the user of the allocator */
/* Around each exchange with a common pool: mutual exclusion, and the order to record or to enforce. Between them the
 * allocator runs a bounded time, makes at most a few mmap calls and calls no other hook. Never nested. */
void weft__heap_pool_enter(unsigned pool);
void weft__heap_pool_leave(unsigned pool);
/* The program freed what it must not: print the message, abort. */
__attribute__((noreturn)) void weft__heap_bad(const char *message);
/* Own the first line of p, as an access of the program. */
void weft__heap_own(void *p);
/* Touch the program's memory, as accesses of the program: src and dst do not overlap. */
void weft__heap_copy(void *dst, const void *src, size_t n);
void weft__heap_zero(void *p, size_t n);
/* Free memory [p, p + n), whole units, must be zero when this returns: own it, give its pages back to the kernel
 * (MADV_DONTNEED) while it is owned. The allocator does not do it itself: a racing access to freed memory has to come
 * before or after. */
void weft__heap_release(void *p, size_t n);

/* ---- system calls */
static inline long weft__sys_call6(long nr, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
/* The address, or -errno. */
static inline long weft__sys_mmap(uint64_t addr, size_t n, int prot, int flags) {
    return weft__sys_call6(9, (long)addr, (long)n, prot, flags, -1, 0);
}
static inline long weft__sys_munmap(uint64_t addr, size_t n) {
    return weft__sys_call6(11, (long)addr, (long)n, 0, 0, 0, 0);
}
static inline long weft__sys_madvise(uint64_t addr, size_t n, int advice) {
    return weft__sys_call6(28, (long)addr, (long)n, advice, 0, 0, 0);
}

#endif
