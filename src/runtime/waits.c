/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replay of a run that was stuck: what each thread waits for, and who has it. The wrappers tell (sync.c, thread.c, cancel.c), but
 * only in such a replay; nothing is kept while a program is recorded, but in steered runs who has read-write locks: libc does not know. When all threads stand where they stood, the launcher is
 * asked to look (weft__tell_stuck), and reads it from here. */
#include "runtime.h"
#include "sys.h"

int weft__waits;

static int lock;
static struct weft_hold *holds;
static uint64_t nholds, room;
static struct weft_hold *signals; /* open addressing */
static uint64_t nsignals, used;

void weft__waits_open(struct weft_control *c) {
    weft__waits = c->mode == WEFT_REPLAY && c->options & WEFT_OPT_WAITS;
    c->threads = (struct weft_threads){
        .slots = (uint64_t)(uintptr_t)&weft__slots,
        .table = (uint64_t)(uintptr_t)weft__threads,
        .holds = (uint64_t)(uintptr_t)&holds,
        .nholds = (uint64_t)(uintptr_t)&nholds,
        .signals = (uint64_t)(uintptr_t)&signals,
        .nsignals = (uint64_t)(uintptr_t)&nsignals,
        .alive = offsetof(struct weft_thread, alive),
        .tid = offsetof(struct weft_thread, tid),
        .tls = offsetof(struct weft_thread, tls),
        .wait = offsetof(struct weft_thread, wait),
    };
}

/* Where the program called the wrapper, or the library for OpenMP, which called it. */
static uint64_t site(const struct weft_thread *t) {
    uint64_t ip = *(uint64_t *)(uintptr_t)t->tls->saved[0];
    const uint64_t *frame = (const uint64_t *)((const uint64_t *)t->tls->rt_sp)[-2]; /* rbp: KEEP in entry.h */
    for (; weft__in_omp_code(ip); frame = (const uint64_t *)frame[0]) ip = frame[1];
    return ip;
}

void weft__wait_note(uint32_t kind, const void *object, const void *with) {
    struct weft_thread *t = weft__active();
    if (t) t->wait = (struct weft_wait){kind, 0, (uint64_t)(uintptr_t)object, (uint64_t)(uintptr_t)with, site(t)};
}

void weft__hold_note(struct weft_thread *t, uint32_t kind, const void *object) {
    weft__lock(&lock);
    if (nholds == room) {
        uint64_t more = room ? 2 * room : 1024;
        struct weft_hold *n = weft__rt_map(more * sizeof *n);
        weft__copy(n, holds, nholds * sizeof *n);
        if (holds) weft__raw(SYS_munmap, holds, room * sizeof *n);
        holds = n;
        room = more;
    }
    holds[nholds++] = (struct weft_hold){(uint64_t)(uintptr_t)object, t->slot, kind, site(t), WEFT_HOLDER_HERE, 0};
    weft__unlock(&lock);
}

/* The thread's last hold of it, or anybody's: one may unlock what another has locked. */
void weft__release_note(struct weft_thread *t, const void *object) {
    uint64_t found = UINT64_MAX;
    weft__lock(&lock);
    for (uint64_t i = nholds; i-- > 0;) {
        if (holds[i].object != (uint64_t)(uintptr_t)object) continue;
        found = i;
        if (holds[i].slot == t->slot && holds[i].holder == WEFT_HOLDER_HERE) break;
    }
    if (found != UINT64_MAX) {
        nholds--;
        for (uint64_t i = found; i < nholds; i++) holds[i] = holds[i + 1];
    }
    weft__unlock(&lock);
}

struct weft_thread *weft__holder(const void *object, uint64_t *from) {
    while (*from < nholds) {
        const struct weft_hold *h = &holds[(*from)++];
        if (h->object == (uint64_t)(uintptr_t)object) return weft__threads[h->slot];
    }
    return NULL;
}

static struct weft_hold *place(struct weft_hold *table, uint64_t n, const struct weft_hold *h) {
    uint64_t i = (h->object ^ h->site << 20 ^ (uint64_t)h->slot << 44) * 0x9e3779b97f4a7c15ull >> 32;
    for (;; i++) {
        struct weft_hold *p = &table[i & (n - 1)];
        if (!p->object || (p->object == h->object && p->slot == h->slot && p->site == h->site)) return p;
    }
}

/* Who has done it, and where; in no order, as the recording has none either. */
void weft__signal_note(struct weft_thread *t, uint32_t kind, const void *object) {
    struct weft_hold h = {(uint64_t)(uintptr_t)object, t->slot, kind, site(t), WEFT_HOLDER_HERE, 0};
    weft__lock(&lock);
    if (used * 2 >= nsignals) {
        uint64_t more = nsignals ? 2 * nsignals : 1024;
        struct weft_hold *n = weft__rt_map(more * sizeof *n);
        for (uint64_t i = 0; i < nsignals; i++)
            if (signals[i].object) *place(n, more, &signals[i]) = signals[i];
        if (signals) weft__raw(SYS_munmap, signals, nsignals * sizeof *n);
        signals = n;
        nsignals = more;
    }
    struct weft_hold *p = place(signals, nsignals, &h);
    used += !p->object;
    *p = h;
    weft__unlock(&lock);
}

static void mark(uint32_t slot, int others, uint32_t holder) {
    for (uint64_t i = 0; i < nholds; i++)
        if ((holds[i].slot == slot) != others && holds[i].holder == WEFT_HOLDER_HERE) holds[i].holder = holder;
}

void weft__holds_ended(struct weft_thread *t) {
    weft__lock(&lock);
    mark(t->slot, 0, WEFT_HOLDER_ENDED);
    weft__unlock(&lock);
}

void weft__holds_forked(struct weft_thread *t) {
    lock = 0;
    mark(t->slot, 1, WEFT_HOLDER_PARENT);
}
