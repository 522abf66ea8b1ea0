/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A steered run (turns.c): inputs come from a trace. Each thread of the trace has its own, in order; a thread of this run gets those of the
 * thread that it is there: the n-th child of its parent.
 *
 * Which one. As long as a thread goes the way that it went in the trace, it asks for the input of the same operation at the same
 * tick. If that is not there, it gets the next one of the operation that it has not had: first of those that are still to come,
 * then of those that it has passed by. What was used is used up. Calls whose result does not change give it again.
 *
 * A system call that the thread has none for is lent one of another thread's: what libc does once (it reads the time zone, say) is done
 * by whoever comes there first, and that may be another one than in the trace. Not what was wrong with a path that the program asked for. And
 * what was asked about a path is answered again in the same way (libc looks at the time zone's file whenever it needs it).
 *
 * Whatever is given is logged, so that the run can be replayed. What the trace does not have ends the run (weft__missing). */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <signal.h>
#include <time.h>

struct weft_given *weft__trace;
static uint32_t own, top; /* slots from `own` on are not the trace's, from `top` on were not used yet */

static struct weft_sched_item *items_of(uint32_t number, uint64_t *n) {
    *n = 0;
    if (number == WEFT_NO_NUMBER) return NULL;
    const struct weft_given_thread *g = weft__given_thread(number);
    *n = g->items;
    return (struct weft_sched_item *)(weft__file + g->items_off);
}
static struct weft_sched_item *items(const struct weft_thread *t, uint64_t *n) { return items_of(t->number, n); }

void weft__given_open(void) {
    weft__trace = (struct weft_given *)(weft__file + weft__control->given_off);
    uint64_t lowest = weft__control->map_next;
    top = 2;
    for (uint32_t k = 0; k < weft__trace->threads; k++) {
        const struct weft_given_thread *g = weft__given_thread(k);
        const struct weft_sched_item *i = (const struct weft_sched_item *)(weft__file + g->items_off), *end = i + g->items;
        if (g->slot >= top) top = g->slot + 1;
        for (; i < end; i++) {
            uint64_t r;
            if (i->item != WEFT_ITEM_INPUT || (i->a != SYS_mmap && i->a != SYS_mremap) || i->size < 8) continue;
            __builtin_memcpy(&r, weft__gate_data(i), 8);
            if (r >= WEFT_PLACE_LOW && r < lowest) lowest = r;
        }
    }
    own = top;
    weft__control->map_next = lowest; /* what the trace does not have is mapped below what it has */
}

/* A call that gives the same whenever it is made. */
static int constant(int64_t op) {
    switch (op) {
    case SYS_getpid: case SYS_gettid: case SYS_getppid: case SYS_getuid: case SYS_geteuid: case SYS_getgid: case SYS_getegid:
    case SYS_getpgrp: case SYS_uname: case SYS_sched_getaffinity: return 1;
    default: return 0;
    }
}

struct weft_sched_item *weft__given_find(struct weft_thread *t, int item, int64_t op) {
    uint64_t n, now = weft__trace_clock(t);
    struct weft_sched_item *i = items(t, &n), *later = NULL, *before = NULL, *used = NULL;
    while (t->first_given < n && !i[t->first_given].kind) t->first_given++;
    for (uint64_t k = constant(op) ? 0 : t->first_given; k < n; k++) {
        if ((int)i[k].item != item || (op >= 0 && i[k].a != op)) continue;
        if (!i[k].kind) {
            used = &i[k];
            continue;
        }
        if (i[k].tick == now) return &i[k];
        if (i[k].tick > now && !later) {
            later = &i[k];
            break; /* they are in order */
        }
        if (i[k].tick < now && !before) before = &i[k];
    }
    return later ? later : before ? before : constant(op) ? used : NULL;
}

static void use(struct weft_thread *t, uint32_t of, struct weft_sched_item *i) {
    uint64_t n;
    i->kind = 0;
    t->given_of = of;
    t->last_given = (uint32_t)(i - items_of(of, &n)) + 1;
    if (of == t->number) return;
    t->lent_of = of;
    t->last_lent = t->last_given;
}
void weft__given_use(struct weft_thread *t, struct weft_sched_item *i) { use(t, t->number, i); }

static struct weft_sched_item *unused(uint32_t number, uint64_t from, int64_t op) {
    uint64_t n;
    struct weft_sched_item *i = items_of(number, &n);
    for (uint64_t k = from; k < n; k++)
        if (i[k].kind && i[k].item == WEFT_ITEM_INPUT && i[k].a == op) return &i[k];
    return NULL;
}

/* Who has lent something goes on with it: a file that it opened so, say; there may have been something of its own between. */
static struct weft_sched_item *lent_on(const struct weft_thread *t, int64_t op, uint32_t *of) {
    if (!t->last_lent) return NULL;
    *of = t->lent_of;
    return unused(*of, t->last_lent, op);
}

/* Who is removed, or else who may miss it. */
static struct weft_sched_item *lent(const struct weft_thread *t, int64_t op, uint32_t *of) {
    struct weft_sched_item *i;
    for (int removed = 1; removed >= 0; removed--)
        for (*of = 0; *of < weft__trace->threads; ++*of)
            if (*of != t->number && (weft__given_thread(*of)->removed != 0) == removed && (i = unused(*of, 0, op))) return i;
    return NULL;
}

static int64_t result(const struct weft_sched_item *i) {
    int64_t r = 0;
    if (i->size >= 8) __builtin_memcpy(&r, weft__gate_data(i), 8);
    return r;
}
static int opens(int64_t op) { return op == SYS_open || op == SYS_openat; }

/* What is wrong with one path says nothing of another. (libc asks for the same ones, whoever comes there first.) */
static int of_its_path(const struct weft_thread *t, int64_t op, const struct weft_sched_item *i) {
    if (t->foreign) return 0;
    switch (op) {
    case SYS_open: case SYS_openat: case SYS_openat2: case SYS_creat: case SYS_stat: case SYS_lstat: case SYS_newfstatat: case SYS_statx:
    case SYS_access: case SYS_faccessat: case SYS_faccessat2: case SYS_readlink: case SYS_readlinkat: case SYS_unlink: case SYS_unlinkat:
    case SYS_rename: case SYS_renameat: case SYS_renameat2: case SYS_mkdir: case SYS_mkdirat: case SYS_rmdir: case SYS_truncate:
        return result(i) < 0;
    default: return 0;
    }
}

static int can_wait(int64_t op) {
    switch (op) {
    case SYS_read: case SYS_readv: case SYS_pread64: case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_epoll_wait:
    case SYS_epoll_pwait: case SYS_accept: case SYS_accept4: case SYS_connect: case SYS_recvfrom: case SYS_recvmsg: case SYS_wait4:
    case SYS_waitid: case SYS_flock: case SYS_fcntl: case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
    case SYS_msgrcv: case SYS_semop: return 1;
    default: return 0;
    }
}

/* The process ended while the thread was there: what it asks for never came. */
static int waits_for_ever(const struct weft_thread *t, int item, int64_t op) {
    return item == WEFT_ITEM_INPUT && can_wait(op) && t->number != WEFT_NO_NUMBER &&
           weft__trace_clock(t) >= weft__given_thread(t->number)->cut;
}

static struct weft_sched_item *give(struct weft_thread *t, int item, struct weft_sched_item *i) {
    weft__log_item(t, item, i->a, weft__gate_data(i), i->size < 8 ? i->size : 8,
                   (const char *)weft__gate_data(i) + 8, i->size < 8 ? 0 : i->size - 8);
    return i;
}

struct weft_sched_item *weft__given_input(struct weft_thread *t, int item, int64_t op) {
    struct weft_sched_item *i = weft__given_find(t, item, op);
    uint32_t of = t->number;
    int call = item == WEFT_ITEM_INPUT && op >= 0 && op < WEFT_OP_BASE;
    if (!i && call) i = lent_on(t, op, &of);
    while (!i && waits_for_ever(t, item, op)) weft__turns_block(t, WEFT_WAIT_CALL, t, NULL);
    if (!i && call) i = lent(t, op, &of);
    if (!i || (of != t->number && of_its_path(t, op, i))) return NULL;
    use(t, of, i);
    return give(t, item, i);
}

#define PATHS 256
static struct {
    uint64_t key;
    struct weft_sched_item *i;
} paths[PATHS];

/* key: of the operation and the path, not 0. */
struct weft_sched_item *weft__given_path(struct weft_thread *t, int64_t op, uint64_t key) {
    struct weft_sched_item *i = weft__given_find(t, WEFT_ITEM_INPUT, op);
    uint32_t k = 0;
    while (k < PATHS && paths[k].key && paths[k].key != key) k++;
    if (!i && k < PATHS && paths[k].key) return give(t, WEFT_ITEM_INPUT, paths[k].i);
    i = weft__given_input(t, WEFT_ITEM_INPUT, op);
    if (i && k < PATHS && (!opens(op) || result(i) < 0)) { /* what was opened is not open a second time */
        paths[k].key = key;
        paths[k].i = i;
    }
    return i;
}

int64_t weft__given_at(struct weft_thread *t, int op, uint64_t tick) {
    uint64_t n;
    struct weft_sched_item *i = items(t, &n);
    int64_t r = 0;
    for (uint64_t k = t->first_given; k < n && i[k].tick <= tick; k++)
        if (i[k].kind && i[k].tick == tick && i[k].item == WEFT_ITEM_INPUT && i[k].a == (uint32_t)op) __builtin_memcpy(&r, weft__gate_data(&i[k]), 8);
    return r;
}

uint32_t weft__given_op(struct weft_thread *t) {
    uint64_t n;
    const struct weft_sched_item *i = items_of(t->last_given ? t->given_of : t->number, &n);
    if (t->last_given >= n || !i[t->last_given].kind) return 0;
    i += t->last_given;
    if (i->item != WEFT_ITEM_INPUT || (t->last_given && i->tick > i[-1].tick + 2)) return 0;
    return i->a;
}

/* ---- signals: at the tick at which they came, or as soon after it as can be. One that the program sent to itself, not before it is sent. */

static int sent[65]; /* and not delivered yet */

static int by_itself(const struct weft_sched_item *i) { return i->a < 65 && ((const int *)weft__gate_data(i))[2] == SI_TKILL; }

void weft__given_send(int sig) {
    if (sig < 1 || sig > 64) return;
    sent[sig]++;
    for (uint32_t s = 1; s < weft__slots; s++) /* it may be late: they look at their next tick */
        if (weft__threads[s] && weft__threads[s]->alive && weft__threads[s]->tls) __atomic_store_n(&weft__threads[s]->tls->limit, 0, __ATOMIC_RELAXED);
}

void weft__given_sent(const struct weft_sched_item *i) {
    if (by_itself(i)) sent[i->a]--;
}

static struct weft_sched_item *next_signal(struct weft_thread *t) {
    uint64_t n;
    struct weft_sched_item *i = items(t, &n);
    for (uint64_t k = t->first_given; k < n; k++)
        if (i[k].kind && i[k].item == WEFT_ITEM_SIGNAL && i[k].site != WEFT_AT_FAULT) return &i[k];
    return NULL;
}

struct weft_sched_item *weft__given_signal(struct weft_thread *t, int place) {
    struct weft_sched_item *i = weft__trace->signals ? next_signal(t) : NULL;
    uint64_t now = weft__trace_clock(t);
    if (!i || i->tick > now || (i->tick == now && i->site != (uint64_t)place)) return NULL;
    return by_itself(i) && sent[i->a] <= 0 ? NULL : i;
}

uint64_t weft__given_signal_tick(struct weft_thread *t) {
    struct weft_sched_item *i = weft__trace->signals ? next_signal(t) : NULL;
    return i ? i->tick : WEFT_NEVER;
}

/* ---- threads */

uint32_t weft__given_slot(struct weft_thread *t, uint32_t *number) {
    struct weft_sched_item *i = weft__given_find(t, WEFT_ITEM_INPUT, WEFT_OP_THREAD_CREATE);
    *number = WEFT_NO_NUMBER;
    if (i) {
        weft__given_use(t, i);
        *number = (uint32_t)i->site;
        if (*number != WEFT_NO_NUMBER) {
            uint32_t slot = weft__given_thread(*number)->slot;
            const struct weft_thread *o = weft__threads[slot];
            if (!o || (!o->alive && (!o->pthread || o->joined_or_detached))) return slot;
        }
    }
    for (uint32_t s = own; s < top; s++)
        if (weft__threads[s] && !weft__threads[s]->alive && (!weft__threads[s]->pthread || weft__threads[s]->joined_or_detached)) return s;
    return top <= WEFT_MAX_SLOT ? top++ : 0;
}

/* Barriers of threads that are removed: how often each has come there since it was created. A barrier may have several lives in one place, and its
 * own count begins anew with each. */
static uint32_t *came(const struct weft_removed_barrier *b) {
    static uint32_t *list;
    const struct weft_given_thread *last = weft__given_thread((uint32_t)weft__trace->threads - 1);
    const struct weft_removed_barrier *first = (const struct weft_removed_barrier *)(weft__file + weft__given_thread(0)->barriers_off);
    if (!list) list = weft__rt_map((size_t)(last->barriers_off - weft__given_thread(0)->barriers_off) + (last->barriers + 1) * sizeof *b);
    return &list[b - first];
}

/* over: the round is, and all that count have come once more. */
static uint32_t removed_at(const void *object, int over) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < weft__trace->threads; k++) {
        const struct weft_given_thread *g = weft__given_thread(k);
        const struct weft_removed_barrier *b = (const struct weft_removed_barrier *)(weft__file + g->barriers_off);
        for (uint64_t i = 0; g->removed == 2 && i < g->barriers; i++) {
            if (b[i].object != (uint64_t)(uintptr_t)object || *came(&b[i]) >= b[i].rounds) continue;
            *came(&b[i]) += (uint32_t)over;
            n++;
        }
    }
    return n;
}

uint32_t weft__given_barrier(const void *object) { return removed_at(object, 0); }
void weft__given_round(const void *object) { removed_at(object, 1); }

/* t is created, and comes to its barriers at once. If all that a round needs are removed, nobody else will be there when it is over. */
void weft__given_removed(struct weft_thread *t) {
    struct weft_given_thread *g = weft__given_thread(t->number);
    const struct weft_removed_barrier *b = (const struct weft_removed_barrier *)(weft__file + g->barriers_off);
    g->removed = 2;
    for (uint64_t i = 0; i < g->barriers; i++) {
        uint32_t *word = (uint32_t *)(uintptr_t)b[i].object, is[3];
        uint64_t to[2] = {(uint64_t)(uintptr_t)is, sizeof is}, from[2] = {b[i].object, sizeof is}; /* struct iovec */
        if (weft__raw(SYS_process_vm_readv, weft__raw(SYS_getpid), to, 1, from, 1, 0) != sizeof is || !is[2]) continue; /* there is none yet */
        if (is[0] + weft__given_barrier(word) < is[2]) continue;
        weft__given_round(word);
        if (!weft__turns_waits_at(word)) continue;
        __atomic_fetch_add((uint64_t *)(void *)word, (1ul << 32) - is[0], __ATOMIC_ACQ_REL);
        weft__turns_wake(word, 1 << 30);
        weft__turns_release(word); /* who destroys it */
    }
}

/* The last of the given threads is none: it has the barriers of those that are not even created any more. */
void weft__given_start(struct weft_thread *t) {
    struct weft_removed r = {0};
    const struct weft_given_thread *g = weft__given ? weft__given_thread((uint32_t)weft__trace->threads - 1) : NULL;
    uint64_t n = g ? g->barriers : 0;
    weft__log_item(t, WEFT_ITEM_START, 0, &r, n ? sizeof r : 0, n ? weft__file + g->barriers_off : NULL, n * sizeof(struct weft_removed_barrier));
}

/* ---- time: it goes on, though the trace does not */

int weft__given_time(struct weft_thread *t, struct timespec *ts) {
    struct weft_sched_item *i = weft__given_find(t, WEFT_ITEM_INPUT, WEFT_OP_CLOCK);
    if (i && i->size == 8 + sizeof *ts) {
        weft__given_input(t, WEFT_ITEM_INPUT, WEFT_OP_CLOCK);
        int64_t r;
        __builtin_memcpy(&r, weft__gate_data(i), 8);
        __builtin_memcpy(ts, (const char *)weft__gate_data(i) + 8, sizeof *ts);
        if (!r) t->last_time = *ts;
        return (int)r;
    }
    if (!t->last_time.tv_sec) weft__missing("thread %u at tick %lu asks for the time, which it never did in the trace", t->slot, t->tls->clock);
    t->last_time.tv_nsec += 1000000;
    if (t->last_time.tv_nsec > 999999999) t->last_time.tv_nsec -= 1000000000, t->last_time.tv_sec++;
    *ts = t->last_time;
    weft__log_input(t, WEFT_OP_CLOCK, 0, ts, sizeof *ts);
    return 0;
}
