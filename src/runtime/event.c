/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the stubs call, and what wrappers are made of. Each function does the right thing in record and in replay, so a
 * wrapper reads the same for both. All of it runs on the runtime's stack. */
#include "runtime.h"
#include "sys.h"

/* ---- entries from stubs.S */

static struct weft_thread *known(void) {
    struct weft_thread *t = weft__self();
    if (unlikely(!t)) {
        if (weft__mode == WEFT_NATIVE) return NULL;
        weft__refuse("a thread that weft did not create runs instrumented code");
    }
    return t;
}

void weft__slow_tick(struct weft_thread *t) {
    /* Instrumented code that was entered from foreign code by a way the pass did not foresee. */
    if (unlikely(t->tls->outside)) weft__inside(t);
    if (weft__mode == WEFT_RECORD) {
        weft__rec_tick(t);
    } else if (weft__mode == WEFT_REPLAY)
        weft__gate_tick(t);
    else
        t->tls->limit = WEFT_NEVER;
}

WEFT_HIDDEN void weft__enter_tick(uint64_t a, uint64_t b, uint64_t site) {
    struct weft_thread *t = known();
    (void)a;
    (void)b;
    if (t) {
        if (unlikely(t->clock_is)) { /* the loop has counted on from what it was before the handler */
            t->tls->clock = t->clock_is + 1;
            t->clock_is = 0;
        }
        weft__slow_tick(t);
        int due = weft__signal_due(t, WEFT_AT_TICK);
        weft__loop_tick(t, due || t->cancel_type);
        if (unlikely(due)) weft__signal_deliver(t, WEFT_AT_TICK, site);
        if (unlikely(t->cancel_type)) weft__cancel_due(t);
    } else
        __weft_tls.limit = WEFT_NEVER;
}

/* The tick of a loop that only waits for others. */
WEFT_HIDDEN void weft__enter_spin(uint64_t a, uint64_t b, uint64_t site) {
    struct weft_thread *t = known();
    if (t && weft__mode == WEFT_RECORD) weft__rec_spins(t);
    weft__enter_tick(a, b, site);
}
/* It still waits. */
WEFT_HIDDEN void weft__enter_spins(void) {
    struct weft_thread *t = known();
    if (t && weft__mode == WEFT_RECORD) weft__rec_doze(t);
}

WEFT_HIDDEN void weft__enter_miss(uint64_t p, uint64_t acc, uint64_t site) {
    struct weft_thread *t = known();
    if (!t) return;
    weft__signal_access(t, site);
    if (weft__mode == WEFT_RECORD)
        weft__rec_miss(t, p, (uint32_t)acc, site);
    else if (weft__mode == WEFT_REPLAY) {
        weft__gate_miss(t, site);
        if (unlikely(weft__accesses)) weft__access_note(t, p, (uint32_t)acc, site);
    }
}

/* A region begins, or goes on, in which the thread needs weak locks that it does not have. */
WEFT_HIDDEN void weft__enter_weak(uint64_t a, uint64_t b, uint64_t site) {
    struct weft_thread *t = known();
    (void)a;
    (void)b;
    if (!t) return;
    if (weft__mode == WEFT_RECORD)
        weft__rec_weak(t, site);
    else if (weft__mode == WEFT_REPLAY)
        weft__gate_miss(t, site);
    else
        t->tls->weak = 0;
}

/* A function whose address was taken is entered while the thread is outside: a callback from foreign code. */
WEFT_HIDDEN void weft__enter_come_in(void) {
    struct weft_thread *t = known();
    if (t && t->tls->outside) weft__inside(t);
    if (t && unlikely(t->has_loader)) {
        t->has_loader = 0;
        weft__tick(t);
        weft__loader_give(t);
    }
    if (t && unlikely(weft__shm_any)) weft__shm_foreign(t);
}
WEFT_HIDDEN void weft__enter_go_out(void) {
    struct weft_thread *t = known();
    if (!t || weft__mode == WEFT_NATIVE) return;
    if (unlikely(t->loads) && !t->has_loader) {
        t->has_loader = 1;
        weft__tick(t);
        weft__loader_take(t);
    }
    weft__tick(t);
    weft__outside(t);
}

/* ---- pieces of wrappers */

void weft__tick(struct weft_thread *t) {
    struct weft_tls *s = t->tls;
    if (unlikely(++s->clock >= __atomic_load_n(&s->limit, __ATOMIC_RELAXED))) {
        t->clock_is = 0;
        if (weft__mode == WEFT_RECORD)
            weft__rec_release(t);
        weft__slow_tick(t);
        if (weft__mode == WEFT_REPLAY) weft__gate_operation(t);
    }
}

void weft__order(struct weft_thread *t, const void *object) {
    if (weft__mode == WEFT_RECORD) weft__rec_order(t, object);
    /* Replay: the tick before has waited for what comes before. */
}

void weft__take(struct weft_thread *t, const void *p, size_t n) {
    if (unlikely(weft__accesses)) weft__access_range(t, p, n, 1);
    if (weft__mode == WEFT_RECORD && n)
        while (weft__rec_take(t, (uint64_t)(uintptr_t)p, n, 0, 1)) {}
}
void weft__take_read(struct weft_thread *t, const void *p, size_t n) {
    if (unlikely(weft__accesses)) weft__access_range(t, p, n, 0);
    if (weft__mode == WEFT_RECORD && n)
        while (weft__rec_take(t, (uint64_t)(uintptr_t)p, n, 0, 0)) {}
}

void weft__take2(struct weft_thread *t, const void *p, size_t n, const void *q, size_t m) {
    if (unlikely(weft__accesses)) {
        weft__access_range(t, p, n, 1);
        weft__access_range(t, q, m, 0);
    }
    if (weft__mode == WEFT_RECORD)
        while (weft__rec_take(t, (uint64_t)(uintptr_t)p, n, 0, 1) | weft__rec_take(t, (uint64_t)(uintptr_t)q, m, 0, 0)) {}
}

/* The thread stands at (clock, 0): it has ticked and touched nothing since. */
void weft__outside(struct weft_thread *t) {
    t->tls->outside = 1;
    if (weft__mode == WEFT_RECORD)
        weft__rec_out(t);
    else
        t->tls->limit = 0; /* a tick comes here in both modes */
}

void weft__inside(struct weft_thread *t) {
    t->tls->outside = 0;
    if (weft__mode == WEFT_RECORD)
        weft__rec_in(t);
    else
        weft__gate_arm(t);
}

/* Around the body of a wrapper: it may be called by foreign code while the thread is outside, and needs to be inside. The
 * position of the operation is the tick that enter makes. */
struct weft_thread *weft__enter(int *was_outside) {
    struct weft_thread *t = weft__active();
    if (!t) return NULL;
    *was_outside = t->tls->outside;
    if (unlikely(t->tls->outside)) weft__inside(t);
    weft__tick(t);
    if (unlikely(weft__steering)) weft__steer_event(t, 0);
    return t;
}

/* It has come from code that was not built with weft, and is no part of the loader: a constructor. */
void weft__loader_lets(struct weft_thread *t) {
    if (likely(!t->has_loader)) return;
    t->has_loader = 0;
    weft__loader_give(t);
    weft__tick(t);
}

void weft__leave(struct weft_thread *t, int was_outside) {
    if (unlikely(was_outside)) {
        if (unlikely(t->loads) && !t->has_loader) {
            t->has_loader = 1;
            weft__tick(t);
            weft__loader_take(t);
        }
        weft__tick(t);
        weft__outside(t);
    }
}

/* Something from outside: in record `ret` and the n bytes at `data` are logged; in replay both are filled in. */
int64_t weft__input(struct weft_thread *t, int op, int64_t ret, void *data, size_t n) {
    if (WEFT_LIVE) {
        weft__log_input(t, (uint64_t)op, ret, data, n);
        return ret;
    }
    struct weft_sched_item *i = weft__gate_input(t, WEFT_ITEM_INPUT, op);
    if (!i)
        weft__diverged("thread %u at tick %lu asks for an input (op %d) that the recording does not have there", t->slot,
                       t->tls->clock, op);
    if (i->size != 8 + n)
        weft__diverged("thread %u at tick %lu: input of op %d has %u bytes, expected %lu", t->slot, t->tls->clock, op,
                       i->size, (unsigned long)(8 + n));
    const char *d = weft__gate_data(i);
    __builtin_memcpy(&ret, d, 8);
    weft__copy(data, d + 8, n);
    return ret;
}

int64_t weft__result(struct weft_thread *t, int op, int64_t ret, void *data, size_t n) {
    if (!weft__given) return weft__input(t, op, ret, data, n);
    weft__log_input(t, (uint64_t)op, ret, data, n);
    return ret;
}

/* A result that is nearly always `usual`: logged only when it is not. */
int64_t weft__input_if(struct weft_thread *t, int op, int64_t ret, int64_t usual) {
    if (weft__mode == WEFT_RECORD) {
        if (unlikely(ret != usual)) weft__log_input(t, (uint64_t)op, ret, NULL, 0);
        return ret;
    }
    struct weft_sched_item *i = weft__gate_input(t, WEFT_ITEM_INPUT, op);
    if (!i) return usual;
    __builtin_memcpy(&ret, weft__gate_data(i), 8);
    return ret;
}

/* ---- verify builds: a running hash over site, address and value of every checked access, compared in replay; and the
 * proof that no site is passed twice in a tick. */

#define VERIFY_EVERY 64
struct weft_site_tick {
    uint64_t site, tick;
};

/* Remembers the last tick of each site; the table grows with the number of sites, not of passes. */
static void check_once(struct weft_thread *t, uint64_t site) {
    if (t->check_len * 2 >= t->check_cap) {
        size_t cap = t->check_cap ? t->check_cap * 2 : 1024;
        struct weft_site_tick *n = weft__rt_map(cap * sizeof *n);
        for (size_t i = 0; i < t->check_cap; i++)
            if (t->check[i].site) {
                size_t h = (t->check[i].site * 0x9e3779b97f4a7c15ull >> 20) & (cap - 1);
                while (n[h].site) h = (h + 1) & (cap - 1);
                n[h] = t->check[i];
            }
        if (t->check) weft__raw(SYS_munmap, t->check, t->check_cap * sizeof *n);
        t->check = n;
        t->check_cap = cap;
    }
    size_t h = (site * 0x9e3779b97f4a7c15ull >> 20) & (t->check_cap - 1);
    while (t->check[h].site && t->check[h].site != site) h = (h + 1) & (t->check_cap - 1);
    if (!t->check[h].site) {
        t->check[h].site = site;
        t->check_len++;
    } else if (t->check[h].tick == t->tls->clock)
        weft__refuse("internal error: site @0x%lx is passed twice in tick %lu of thread %u", site, t->tls->clock, t->slot);
    t->check[h].tick = t->tls->clock;
}

WEFT_HIDDEN void weft__enter_verify(uint64_t p, uint64_t acc, uint64_t site) {
    struct weft_thread *t = known();
    if (!t || weft__mode == WEFT_NATIVE) return;
    check_once(t, site);
    if (unlikely(weft__proves) && acc & WEFT_ACC_SIZE) weft__prove_access(t, p, acc & WEFT_ACC_SIZE, (acc & WEFT_ACC_WRITE) != 0, site);
    uint64_t id[3] = {site, p, acc};
    uint64_t h = weft_hash_more(t->verify_hash, id, sizeof id);
    t->verify_hash = weft_hash_more(h, (const void *)(uintptr_t)p, acc & WEFT_ACC_SIZE);
    if (++t->verify_count % VERIFY_EVERY) return;
    if (weft__mode == WEFT_RECORD) {
        weft__log_item(t, WEFT_ITEM_VERIFY, VERIFY_EVERY, &t->verify_hash, 8, NULL, 0);
        return;
    }
    struct weft_sched_item *i = weft__gate_input(t, WEFT_ITEM_VERIFY, -1);
    uint64_t was = 0;
    if (i) __builtin_memcpy(&was, weft__gate_data(i), 8);
    if (!i || was != t->verify_hash)
        weft__diverged("thread %u: among the %d accesses before tick %lu @0x%lx one has another address or value than recorded",
                       t->slot, VERIFY_EVERY, t->tls->clock, site);
}
