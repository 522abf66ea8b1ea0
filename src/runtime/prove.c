/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replay as a proof (WEFT_PROVE=1, of a verify build): does the trace order any two accesses that conflict?
 *
 * That a replay was identical says little: two accesses that nothing orders may come in the recorded order by luck. Here each thread
 * has a vector clock, which knows of the others by the edges of the trace alone: who sets a flag of the schedule leaves its
 * clock with it, who has waited for the flag takes that over. Each verified access is held against the last ones of all other
 * threads to the same bytes: of two, one of them a write, the earlier must be known to the later. What differs is told as a
 * divergence, whatever the values were. Locks of libc and the like order threads too while a replay runs; they do not count.
 *
 * An epoch is the part of a thread's run between two of its flags. Tables are per thread, by words of 8 bytes; all of it is under
 * one lock. Not seen: accesses that are not verified (the runtime's own and those of libc, which are checked), and forked
 * processes. A slot's threads are one. */
#include "runtime.h"
#include "sys.h"

#define THREADS 1024u

struct word {
    uint64_t at; /* address / 8, + 1; 0: free */
    uint32_t read[8], written[8]; /* epochs, per byte; 0: never */
    uint64_t read_site, written_site;
};

struct proof {
    uint32_t epoch;
    uint32_t knows[THREADS]; /* per slot: its epochs up to this one came before */
    struct word *word;
    size_t words, room;
};

int weft__proves;
static int lock;
static struct proof *proofs[THREADS];
static uint32_t **marks; /* per flag: what who set it knew; [0] is how many slots */
static char *arena, *arena_end;

void weft__prove_open(const struct weft_control *c) {
    weft__proves = c->mode == WEFT_REPLAY && c->options & WEFT_OPT_PROVE;
}

/* Of the thread's own process: flags of a child are others. */
void weft__prove_forked(void) { weft__proves = 0; }

static struct proof *proof_of(uint32_t slot) {
    if (slot >= THREADS) weft__refuse("WEFT_PROVE: too many threads");
    if (!proofs[slot]) {
        proofs[slot] = weft__rt_map(sizeof **proofs);
        proofs[slot]->epoch = 1;
    }
    return proofs[slot];
}

static uint32_t *new_clock(void) {
    size_t n = (THREADS < weft__slots ? THREADS : weft__slots) + 1, bytes = (n * sizeof(uint32_t) + 7) & ~7ul;
    if ((size_t)(arena_end - arena) < bytes) {
        arena = weft__rt_map(1 << 20);
        arena_end = arena + (1 << 20);
    }
    uint32_t *k = (uint32_t *)(void *)arena;
    arena += bytes;
    k[0] = (uint32_t)n - 1;
    return k;
}

/* t is about to set the flag. */
void weft__prove_mark(struct weft_thread *t, uint32_t flag) {
    weft__lock(&lock);
    struct proof *p = proof_of(t->slot);
    if (!marks) marks = weft__rt_map(((struct weft_sched *)(weft__file + weft__control->sched_off))->flags * sizeof *marks);
    uint32_t *k = marks[flag] = new_clock();
    for (uint32_t s = 0; s < k[0]; s++) k[s + 1] = p->knows[s];
    k[t->slot + 1] = p->epoch++;
    weft__unlock(&lock);
}

/* t has waited for it. */
void weft__prove_wait(struct weft_thread *t, uint32_t flag) {
    weft__lock(&lock);
    struct proof *p = proof_of(t->slot);
    const uint32_t *k = marks ? marks[flag] : NULL;
    for (uint32_t s = 0; k && s < k[0]; s++)
        if (p->knows[s] < k[s + 1]) p->knows[s] = k[s + 1];
    weft__unlock(&lock);
}

static struct word *find(const struct proof *p, uint64_t at) { /* or where it goes */
    size_t h = (at * 0x9e3779b97f4a7c15ull >> 20) & (p->room - 1);
    while (p->word[h].at && p->word[h].at != at) h = (h + 1) & (p->room - 1);
    return &p->word[h];
}

static struct word *own_word(struct proof *p, uint64_t at) {
    if (p->words * 2 >= p->room) {
        struct proof old = *p;
        p->room = old.room ? 2 * old.room : 1024;
        p->word = weft__rt_map(p->room * sizeof *p->word);
        for (size_t i = 0; i < old.room; i++)
            if (old.word[i].at) *find(p, old.word[i].at) = old.word[i];
        if (old.room) weft__raw(SYS_munmap, old.word, old.room * sizeof *old.word);
    }
    struct word *w = find(p, at);
    if (!w->at) w->at = at, p->words++;
    return w;
}

static void differs(struct weft_thread *t, uint32_t slot, uint64_t address, uint64_t site, uint64_t other, int write, int wrote) {
    weft__diverged("the trace does not order two accesses to 0x%lx: %s by thread %u at @0x%lx, and %s by thread %u at @0x%lx", address,
                   wrote ? "written" : "read", slot, other, write ? "written" : "read", t->slot, site);
}

void weft__prove_access(struct weft_thread *t, uint64_t address, size_t n, int write, uint64_t site) {
    weft__lock(&lock);
    struct proof *p = proof_of(t->slot);
    for (uint64_t at = address >> 3; at <= (address + n - 1) >> 3; at++) {
        unsigned lo = at == address >> 3 ? address & 7 : 0, hi = at == (address + n - 1) >> 3 ? (address + n - 1) & 7 : 7;
        for (uint32_t s = 1; s < weft__slots && s < THREADS; s++) {
            struct proof *o = proofs[s];
            if (!o || o == p || !o->room) continue;
            const struct word *w = find(o, at + 1);
            for (unsigned b = lo; w->at && b <= hi; b++) {
                if (w->written[b] > p->knows[s]) differs(t, s, at * 8 + b, site, w->written_site, write, 1);
                if (write && w->read[b] > p->knows[s]) differs(t, s, at * 8 + b, site, w->read_site, write, 0);
            }
        }
        struct word *w = own_word(p, at + 1);
        for (unsigned b = lo; b <= hi; b++) (write ? w->written : w->read)[b] = p->epoch;
        *(write ? &w->written_site : &w->read_site) = site;
    }
    weft__unlock(&lock);
}
