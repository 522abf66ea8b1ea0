/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the program's mappings go. The kernel would choose, at random; here they follow the loader's, downwards from where
 * the launcher left off (src/replay/place.c), in a range in which the kernel puts nothing by itself. So what one process
 * has in such places (the vDSO, the log) is never in the way of a mapping that another one made. Replay needs none of this:
 * it has the recorded addresses.
 *
 * `next` is only where to look first: MAP_FIXED_NOREPLACE makes sure that the place is free. Without reuse a program that
 * maps and unmaps in turn would run through the range; so unmapping the lowest mapping takes it back, and at the end of the
 * range it starts again from the top. */
#define _GNU_SOURCE
#include "alloc.h"
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <sys/mman.h>

static uint64_t next;

/* Whose call it is. Memory that others have accessed, though nothing was mapped there, has to be taken first: where, and how much. */
static const struct weft_thread *caller;
static uint64_t wanted, wanted_size;
static int may(uint64_t at, uint64_t n) {
    if (weft__rec_maps_may(caller, at, n)) return 1;
    wanted = at;
    wanted_size = n;
    return 0;
}
/* The same, unless something is mapped there already. */
static int may_if_free(uint64_t at, uint64_t n) {
    if (may(at, n)) return 1;
    long r = weft__raw6(SYS_mmap, (long)at, (long)n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (failed(r)) return 1;
    weft__raw(SYS_munmap, r, n);
    return (uint64_t)r != at;
}

void weft__place_open(void) { next = weft__control->map_next; }

static long map(uint64_t at, const long a[6]) {
    if (!may_if_free(at, (uint64_t)a[1])) return -WEFT_PLACE_TAKE;
    long r = weft__raw6(SYS_mmap, (long)at, a[1], a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5]);
    if (failed(r) || (uint64_t)r == at) return r;
    weft__raw(SYS_munmap, r, a[1]); /* Linux before 4.17 takes it for a hint */
    return -EEXIST;
}

/* A wish of the program may be met where none of our own ranges is. */
static int may_be(uint64_t lo, uint64_t n) {
    uint64_t hi = lo + n, table_end = WEFT_READS_ADDR + WEFT_READS_SIZE;
    if (lo & 4095 || hi <= lo) return 0;
    return (lo >= 65536 && hi <= WEFT_TABLE_ADDR) || (lo >= table_end && hi <= WEFT_HEAP_UNITS_ADDR) ||
           (lo >= WEFT_PLACE_LOW && hi <= WEFT_PLACE_TOP);
}

static long place_mmap(const long a[6]) {
    uint64_t n = ((uint64_t)a[1] + 4095) & ~4095ul, step = 0;
    if ((a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED_NOREPLACE && !may_if_free((uint64_t)a[0], n)) return -WEFT_PLACE_TAKE;
    if (a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT) || !n || n > WEFT_PLACE_TOP - WEFT_PLACE_LOW)
        return weft__raw6(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (a[0] && may_be((uint64_t)a[0], n)) {
        long r = map((uint64_t)a[0], a);
        if (r != -EEXIST) return r;
    }
    for (int turns = 0; turns < 2;) {
        uint64_t at = weft_place_below(next - step, n);
        if (at < WEFT_PLACE_LOW || at > next) {
            next = WEFT_PLACE_TOP;
            step = 0;
            turns++;
            continue;
        }
        long r = map(at, a);
        if (!failed(r)) next = at;
        if (r == -EINVAL) /* large pages and some devices want more: the kernel knows; or it is wrong anyhow */
            return weft__raw6(SYS_mmap, 0, a[1], a[2], a[3], a[4], a[5]);
        if (r != -EEXIST) return r;
        step = step ? step * 2 : n;
    }
    return -ENOMEM;
}

static long place_mremap(const long a[6]) {
    long flags = a[3], r;
    if (a[2] > a[1] && !may_if_free((uint64_t)(a[0] + a[1]), (uint64_t)(a[2] - a[1]))) return -WEFT_PLACE_TAKE;
    if (flags & MREMAP_FIXED && !may((uint64_t)a[4], (uint64_t)a[2])) return -WEFT_PLACE_TAKE;
    if (!(flags & MREMAP_MAYMOVE) || flags & ~MREMAP_MAYMOVE) return weft__raw6(SYS_mremap, a[0], a[1], a[2], flags, a[4], 0);
    r = weft__raw6(SYS_mremap, a[0], a[1], a[2], 0, 0, 0);
    if (!failed(r)) return r;
    long room[6] = {0, a[2], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0};
    long to = place_mmap(room);
    if (failed(to)) return to;
    r = weft__raw6(SYS_mremap, a[0], a[1], a[2], MREMAP_MAYMOVE | MREMAP_FIXED, to, 0);
    if (failed(r)) weft__raw(SYS_munmap, to, a[2]);
    return r;
}

long weft__place(struct weft_thread *t, long nr, const long a[6], uint64_t *at, uint64_t *n) {
    long r;
    switch (nr) {
    case SYS_mmap:
    case SYS_mremap:
        weft__rec_maps_begin();
        caller = t;
        r = nr == SYS_mmap ? place_mmap(a) : place_mremap(a);
        weft__rec_maps_end(t, r != -WEFT_PLACE_TAKE);
        *at = wanted;
        *n = wanted_size;
        return r;
    case SYS_brk: return (long)weft__place_brk((uint64_t)a[0]);
    default: break;
    }
    r = weft__raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (nr == SYS_munmap && !failed(r)) {
        weft__rec_maps_begin();
        weft__rec_maps_gone(t, (uint64_t)a[0], (uint64_t)a[1]);
        weft__rec_maps_end(t, 1);
    }
    if (nr == SYS_munmap && !failed(r) && (uint64_t)a[0] == next) next = (next + (uint64_t)a[1] + 4095) & ~4095ul;
    return r;
}

uint64_t weft__place_brk(uint64_t to) {
    static uint64_t now = WEFT_PLACE_BRK;
    if (to < WEFT_PLACE_BRK || to > WEFT_PLACE_BRK_END) return now;
    uint64_t is = (now + 4095) & ~4095ul, want = (to + 4095) & ~4095ul;
    if (want > is) {
        long r = weft__raw(SYS_mmap, is, want - is, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (r != (long)is) return now;
    }
    if (want < is) weft__raw(SYS_munmap, want, is - want);
    return now = to;
}
