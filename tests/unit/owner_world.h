/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* owner.c alone, with a real table, threads made by hand, and edges kept in memory. Include once per test program. */
#ifndef OWNER_WORLD_H
#define OWNER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/runtime/owner.c"

struct weft_thread *weft__threads[WEFT_MAX_SLOT + 2];
uint32_t weft__slots = 1;

/* No memory is shared with other processes here. */
int weft__shm_any;
int weft__shm_miss(struct weft_thread *t, uint64_t p, uint32_t acc, uint64_t site) { return (void)t, (void)p, (void)acc, (void)site, 0; }
int weft__shm_take(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write) { return (void)t, (void)p, (void)n, (void)site, (void)write, 0; }
int weft__shm_drop(struct weft_thread *t) { return (void)t, 0; }
void weft__shm_release(struct weft_thread *t) { (void)t; }
void weft__shm_forked(void) {}

/* Nobody has a baton. */
void weft__steer_in(struct weft_thread *t) { (void)t; }
void weft__steer_out(struct weft_thread *t) { (void)t; }
void weft__steer_event(struct weft_thread *t, uint64_t site) { (void)t, (void)site; }
uint64_t weft__steer_tick(struct weft_thread *t) { return (void)t, WEFT_NEVER; }
void weft__steer_yield(struct weft_thread *t) { (void)t; }
void weft__steer_forked(struct weft_thread *t) { (void)t; }

struct edge {
    uint32_t slot;
    uint64_t tick, site;
    struct weft_pos to;
};
static __thread struct edge edges[64]; /* the last ones of this (real) thread */
static __thread unsigned nedges;

void weft__log_edge(struct weft_thread *t, uint64_t tick, uint64_t site, const struct weft_pos *to) {
    edges[nedges++ % 64] = (struct edge){t->slot, tick, site, *to};
    t->edges++;
}

void *weft__rt_may_map(size_t n) { return weft__rt_map(n); }
void *weft__rt_map(size_t n) { return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); }

static struct weft_thread *thread_new(uint32_t slot) {
    struct weft_thread *t = aligned_alloc(128, (sizeof *t + 127) & ~127ul);
    memset(t, 0, sizeof *t);
    t->slot = slot;
    t->tls = calloc(1, sizeof *t->tls);
    t->seen = calloc(64, sizeof *t->seen);
    t->rng = 1; /* the tests set it again where a random split would disturb */
    t->tls->me = (uint16_t)slot;
    t->tls->clock = 1;
    t->tls->limit = WEFT_NEVER;
    t->tls->weak = ~0ull;
    weft__threads[slot] = t;
    return t;
}

/* A table of its own for each test, all NOBODY, and nothing known of words and heat. */
static int world(void **state) {
    (void)state;
    size_t n = WEFT_TABLE_SIZE;
    munmap((void *)WEFT_TABLE_ADDR, n);
    if (mmap((void *)WEFT_TABLE_ADDR, n, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (void *)WEFT_TABLE_ADDR)
        return -1;
    memset(stripes, 0, sizeof stripes);
    memset(objects, 0, sizeof objects);
    memset(shared, 0, sizeof shared);
    memset(weak_side, 0, sizeof weak_side);
    memset(heat, 0, sizeof heat);
    memset(page_heat, 0, sizeof page_heat);
    first_episodes = first_takes = 0;
    memset(weft__threads, 0, 64 * sizeof weft__threads[0]);
    nedges = 0;
    return 0;
}

/* As instrumented code and event.c do it. */
static inline void tick(struct weft_thread *t) {
    if (++t->tls->clock >= __atomic_load_n(&t->tls->limit, __ATOMIC_RELAXED)) weft__rec_tick(t);
}
static inline void check(struct weft_thread *t, uint64_t p, uint32_t n, uint64_t site) {
    uint16_t me = t->tls->me;
    if (((volatile uint16_t *)TABLE)[LINE_OF(p)] != me || ((volatile uint16_t *)TABLE)[LINE_OF(p + n - 1)] != me)
        weft__rec_miss(t, p, n | WEFT_ACC_WRITE, site);
    __asm__ volatile("" ::: "memory");
}
/* A read, as instrumented code and the stub of a miss do it: 1 if the list of shared lines let it through. */
static inline int look(struct weft_thread *t, uint64_t p, uint32_t n, uint64_t site) {
    uint16_t me = t->tls->me;
    int listed = 0;
    if (((volatile uint16_t *)TABLE)[LINE_OF(p)] != me || ((volatile uint16_t *)TABLE)[LINE_OF(p + n - 1)] != me) {
        const uint64_t *r = (const void *)(uintptr_t)(t->tls->saved[3] + WEFT_READS_ADDR);
        listed = t->tls->saved[3] && r[(uint32_t)p >> 12] >> (p >> 6 & 63) & 1;
        if (listed) listed = r[(uint32_t)(p + n - 1) >> 12] >> ((p + n - 1) >> 6 & 63) & 1;
        if (!listed) weft__rec_miss(t, p, n, site);
    }
    __asm__ volatile("" ::: "memory");
    return listed;
}
static inline void out(struct weft_thread *t) {
    t->tls->outside = 1;
    weft__rec_out(t);
}
static inline void in(struct weft_thread *t) {
    t->tls->outside = 0;
    weft__rec_in(t);
}
static inline uint16_t entry(uint64_t p) {
    return TABLE[LINE_OF(p)];
}

#define assert_edge(i, s, ti, si, os, ot, osi, st)                                                                     \
    do {                                                                                                               \
        struct edge *e_ = &edges[i];                                                                                   \
        assert_int_equal(e_->slot, s);                                                                                 \
        assert_int_equal(e_->tick, ti);                                                                                \
        assert_int_equal(e_->site, si);                                                                                \
        assert_int_equal(e_->to.slot, os);                                                                             \
        assert_int_equal(e_->to.tick, ot);                                                                             \
        assert_int_equal(e_->to.site, osi);                                                                            \
        assert_int_equal(e_->to.step, st);                                                                             \
    } while (0)

#endif
