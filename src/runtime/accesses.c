/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replay for a report: what a trace does not tell, since it need not: which memory each access touched, and who held which lock. Ids of
 * threads are poisoned, so every check comes to the runtime; the gate lets it pass as always, and then it is noted in a ring that the
 * launcher shares (struct weft_accesses).
 *
 * A place in the ring is taken after the position's waits and before the access. Who comes after an access waits until it is done,
 * so accesses that conflict stand in their order.
 *
 * At a stop, and where the process ends, the launcher is asked to look: it reads the stack and memory. */
#include "runtime.h"
#include "sys.h"
#include <sys/mman.h>

int weft__accesses;
static struct weft_accesses *list;

void weft__accesses_open(struct weft_control *c, long fd) {
    if (c->mode != WEFT_REPLAY || !(c->options & WEFT_OPT_ACCESSES)) return;
    struct weft_accesses head;
    if (weft__raw(SYS_pread64, fd, &head, sizeof head, c->accesses_off) != (long)sizeof head) weft__rt_panic("no list of accesses");
    long r = weft__raw(SYS_mmap, WEFT_ACCESSES_BASE, head.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, c->accesses_off);
    if (r != (long)WEFT_ACCESSES_BASE) weft__rt_panic("cannot map the list of accesses");
    list = (struct weft_accesses *)r;
    weft__accesses = 1;
}

void weft__access_note(struct weft_thread *t, uint64_t addr, uint32_t what, uint64_t site) {
    static int lock;
    uint64_t tick = t->tls->clock;
    weft__lock(&lock);
    uint64_t i = list->next;
    list->ring[i % list->room] = (struct weft_access){addr, site, tick, t->slot, what};
    __atomic_store_n(&list->next, i + 1, __ATOMIC_RELEASE); /* who looks from outside sees whole ones only */
    weft__unlock(&lock);
    for (uint64_t k = 0; k < list->stops; k++) {
        struct weft_access *s = &list->stop[k];
        if (s->slot == t->slot && s->tick == tick && s->site == site && s->addr == addr && !s->what++) weft__look((uint32_t)k);
    }
}

void weft__access_range(struct weft_thread *t, const void *p, size_t n, int write) {
    uint64_t at = (uint64_t)(uintptr_t)p;
    for (size_t k; p && n; at += k, n -= k) {
        k = n < WEFT_ACC_SIZE ? n : WEFT_ACC_SIZE - 63u; /* whole lines */
        weft__access_note(t, at, (uint32_t)k | (write ? WEFT_ACC_WRITE : 0), 0);
    }
}

void weft__access_end(void) {
    if (unlikely(weft__accesses)) weft__look(WEFT_LOOK_END);
}

/* Only the first process is looked at. */
void weft__accesses_forked(void) { weft__accesses = 0; }
