/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads: slots, stacks, creation, join, exit.
 *
 * A slot is a thread's number: its owner id, its stack's and its heap's place. In record the creator picks a free one; it
 * is part of the creation's input, so replay uses the same. A slot is free again when its thread was joined, or was
 * detached and has ended, and the kernel knows it no more. The new thread goes on with the slot's clock, and the creator's
 * position comes after the old thread's exit.
 *
 * Stacks lie at addresses that depend on the slot only, 256 MiB apart, with tops shifted against each other so that 4 GiB
 * (16 slots) apart does not mean the same entries of the owner table. libc puts the thread's control block and its
 * thread-local storage there as well, so pthread_self() is the same in replay.
 *
 * The last thing a thread does is the exit system call, made by libc after destructors: weft__thread_exit is called then. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include "sys.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>

#define STACK_SLOT WEFT_STACK_SLOT
#define GUARD 4096ul

WEFT_HIDDEN int weft__threaded; /* a thread was created: streams need order from now on */
static int slots_lock;
static int living = 1, living_lock; /* threads that have not ended */
static const char living_object;
static uint32_t free_head, free_tail; /* slots in the order in which they became free; links in next_free */

static uint64_t stack_top(uint32_t slot, size_t size) {
    uint64_t top = WEFT_STACKS_BASE + (slot + 1ul) * STACK_SLOT - (64ul << 10);
    uint64_t room = STACK_SLOT - (1ul << 20) - size;
    uint64_t shift = ((slot >> 4) * (1ul << 20) + (slot & 15) * (68ul << 10)) % (room ? room : 1);
    return (top - shift) & ~0xfffful;
}

/* Called with slots_lock. */
static void slot_free(struct weft_thread *t) {
    t->next_free = 0;
    if (free_tail)
        weft__threads[free_tail]->next_free = t->slot;
    else
        free_head = t->slot;
    free_tail = t->slot;
}

static int gone(struct weft_thread *t) {
    if (t->tid && weft__raw(SYS_tgkill, weft__raw(SYS_getpid), t->tid, 0) == -ESRCH) t->tid = 0;
    return !t->tid;
}

static uint32_t slot_pick(void) {
    weft__lock(&slots_lock);
    uint32_t s = free_head;
    if (s && gone(weft__threads[s])) {
        free_head = weft__threads[s]->next_free;
        if (!free_head) free_tail = 0;
    } else {
        s = weft__slots > 2 ? weft__slots : 2;
        if (s > WEFT_MAX_SLOT || !weft__thread_new(s)) s = 0;
    }
    weft__unlock(&slots_lock);
    return s;
}

static void *map_stack(struct weft_thread *t, size_t size) {
    if (t->stack_map && t->stack_size >= size) return t->stack_map;
    if (size > STACK_SLOT - (2ul << 20)) return NULL;
    uint64_t top = stack_top(t->slot, size), lo = top - size - GUARD;
    if (t->stack_map) weft__raw(SYS_munmap, (char *)t->stack_map - GUARD, t->stack_size + GUARD);
    long r = weft__raw(SYS_mmap, lo, size + GUARD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED_NOREPLACE, -1, 0);
    if (r != (long)lo) {
        t->stack_map = NULL;
        return NULL;
    }
    weft__raw(SYS_mprotect, lo, GUARD, PROT_NONE);
    t->stack_map = (void *)(lo + GUARD);
    t->stack_size = size;
    return t->stack_map;
}

struct weft_thread *weft__thread_of(pthread_t p) {
    uint64_t a = (uint64_t)p;
    if (a >= WEFT_STACKS_BASE && a < WEFT_STACKS_BASE + (WEFT_MAX_SLOT + 1) * STACK_SLOT) {
        struct weft_thread *t = weft__threads[(a - WEFT_STACKS_BASE) / STACK_SLOT];
        if (t && t->pthread == a) return t;
    }
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s]->pthread == a) return weft__threads[s];
    return NULL;
}

void *weft__thread_tramp(void *);
int weft__join_block(struct weft_thread *t, struct weft_thread *c, clockid_t clock, const struct timespec *ts);

WEFT_HIDDEN int weft__pthread_create(pthread_t *th, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    int was;
    struct weft_thread *t = weft__enter(&was), *c;
    if (!t && unlikely(weft__profiles)) arg = weft__profile_birth(&fn, arg);
    if (!t) return weft__real.pthread_create(th, attr, fn, arg);
    weft__loader_lets(t);
    weft__threaded = 1;
    int r = 0;
    uint32_t slot = 0;
    struct weft_sched_item *it = NULL;
    weft__loader_take(t);
    weft__tick(t);
    weft__take(t, th, sizeof *th);
    uint32_t number = WEFT_NO_NUMBER;
    if (unlikely(weft__given)) {
        slot = weft__given_slot(t, &number);
        while (weft__threads[slot] && !gone(weft__threads[slot])) weft__raw(SYS_sched_yield); /* it has ended, but for the kernel */
    } else if (weft__mode == WEFT_RECORD)
        slot = slot_pick();
    else {
        it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_THREAD_CREATE);
        if (!it) weft__diverged("thread %u creates a thread at tick %lu, which the recording does not have", t->slot, t->tls->clock);
        int64_t ret = 0;
        __builtin_memcpy(&slot, (const char *)weft__gate_data(it) + 8, 4);
        /* A second item tells that it failed after all. */
        if (weft__gate_op(t) == WEFT_OP_THREAD_CREATE && (it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_THREAD_CREATE)))
            __builtin_memcpy(&ret, weft__gate_data(it), 8);
        if (ret) {
            weft__leave(t, was);
            return (int)ret;
        }
        c = weft__threads[slot];
        /* The slot's former thread has passed its exit (an edge says so); wait until the kernel has let go of its stack. */
        while (c && !gone(c)) weft__raw(SYS_sched_yield);
    }
    /* Logged before the thread exists, so that no kill can leave a thread without its creation. */
    if (weft__mode == WEFT_RECORD) weft__log_input(t, WEFT_OP_THREAD_CREATE, 0, &slot, 4);
    if (!slot) {
        r = EAGAIN;
        goto out;
    }
    c = weft__thread_new(slot);
    if (!c) weft__rt_panic("no memory for another thread");
    size_t size = 0;
    void *user_stack = NULL;
    int detached = 0;
    pthread_attr_t a, d;
    /* The user's attributes with our stack put in: pthread_attr_t is copied, since its parts cannot all be read back. */
    if (attr)
        __builtin_memcpy(&a, attr, sizeof a);
    else
        weft__real.pthread_attr_init(&a);
    weft__real.pthread_attr_getdetachstate(&a, &detached);
    {
        /* A stack address of the user's own shows as a stack whose start is not "0 - size". */
        size_t us = 0;
        weft__real.pthread_attr_getstack(&a, &user_stack, &us);
        if (!us || user_stack == (void *)(0 - us)) user_stack = NULL;
        size = us;
    }
    if (!size && (weft__real.pthread_getattr_default_np(&d) == 0)) {
        weft__real.pthread_attr_getstacksize(&d, &size);
        weft__real.pthread_attr_destroy(&d);
    }
    if (!size) size = 8ul << 20;
    size = (size + 0xffff) & ~0xfffful;
    if (!user_stack) {
        void *stack = map_stack(c, size);
        if (!stack)
            r = EAGAIN;
        else
            weft__real.pthread_attr_setstack(&a, stack, c->stack_size);
    }
    if (!r) {
        c->fn = fn;
        c->arg = arg;
        c->parent = t->slot;
        c->joined_or_detached = detached == PTHREAD_CREATE_DETACHED;
        c->alive = 1;
        weft__gate_awake(1);
        c->waiting = 0;
        c->exiting = c->ending = 0;
        c->nlefts = 0; /* the slot's former thread may not have come to all of them */
        c->left = 0;
        c->stop_age = t->stop_age;
        c->tls = NULL; /* until it runs */
        c->born = (struct weft_pos){t->tls->clock, 0, t->slot, t->at_tick == t->tls->clock && t->at_site == 0 ? t->at_step : 0};
        if (weft__mode == WEFT_RECORD) weft__rec_edge(t, 0, &c->last);
        weft__signal_born(t, c);
        weft__heap_attach(c);
        c->number = number;
        if (unlikely(weft__given))
            weft__turns_born(c);
        else if (unlikely(weft__steering))
            weft__steer_born(c);
        __atomic_fetch_add(&living, 1, __ATOMIC_SEQ_CST);
        SYNCS(t, c, 0);
        if (weft__mode == WEFT_REPLAY) t->waiting = 4;
        r = weft__real.pthread_create(th, &a, weft__thread_tramp, c);
        if (weft__mode == WEFT_REPLAY) t->waiting = 0;
        if (r == 0) {
            c->pthread = *th;
            /* The new thread asks for what this one owns and would have to wait for its next tick, even where the kernel
             * lets it run first: a program that sets, after pthread_create, what the new thread needs would hardly ever
             * fail. So there is a tick here, and now and then the new thread gets all that it asks for. */
            weft__tick(t);
            weft__loader_give(t);
            weft__tick(t); /* others may know the last position to be done: it must not come after a fork that is made from here on */
            if (unlikely(weft__given))
                weft__turns_child(t, c);
            else if (unlikely(weft__steering))
                weft__steer_event(t, 0);
            else if (weft__mode == WEFT_RECORD && (weft__tsc() >> 4 & 3) == 0) {
                weft__outside(t);
                weft__raw(SYS_sched_yield);
                weft__inside(t);
            }
        } else {
            c->alive = 0;
            if (unlikely(weft__given))
                weft__turns_unborn(c);
            else if (unlikely(weft__steering))
                weft__steer_unborn(c);
            weft__gate_awake(-1);
            __atomic_fetch_sub(&living, 1, __ATOMIC_SEQ_CST);
        }
    }
    if (!attr) weft__real.pthread_attr_destroy(&a);
    if (r && weft__mode != WEFT_RECORD)
        weft__diverged("thread %u at tick %lu: no thread can be made here (error %d)", t->slot, t->tls->clock, r);
    if (r) {
        weft__lock(&slots_lock);
        slot_free(c);
        weft__unlock(&slots_lock);
    }
out:
    if (r) weft__loader_give(t);
    if (weft__mode == WEFT_RECORD && r) weft__log_input(t, WEFT_OP_THREAD_CREATE, r, &slot, 4);
    weft__leave(t, was);
    return r;
}
WEFT_WRAP(pthread_create, weft__pthread_create);

/* First thing in the new thread, on its runtime stack. Where libc's first system calls were trapped (filter.c), a signal's
 * frame was on the program's stack. */
#define FRAME (16ul << 10)
static void *nothing(void *value) { return value; } /* of a thread that was removed (weft simplify) */
WEFT_HIDDEN void weft__thread_begin(struct weft_thread *t) {
    struct weft_tls *s = &__weft_tls;
    uint64_t sp = s->saved[0], lo = (uint64_t)(uintptr_t)t->stack_map;
    if (sp > lo && sp - lo < t->stack_size) {
        uint64_t n = sp - lo < FRAME ? sp - lo : FRAME;
        weft__zero((char *)sp - n, n);
    }
    t->tid = (int)weft__raw(SYS_gettid);
    s->clock = t->last_clock;
    __atomic_store_n(&t->tls, s, __ATOMIC_RELEASE);
    s->me = weft__mode == WEFT_RECORD ? weft__steering ? WEFT_POISON : (uint16_t)t->slot : 0;
    s->weak = weft__mode == WEFT_RECORD ? ~0ull : 0;
    s->region = 0;
    s->limit = 0;
    s->outside = 0;
    weft__signal_begin(t);
    struct weft_pos parent = t->born;
    if (weft__mode == WEFT_RECORD) weft__rec_begin(t);
    weft__tick(t);
    struct weft_removed r = {0};
    int removed = 0;
    if (weft__mode == WEFT_RECORD) {
        if (weft__given && t->number != WEFT_NO_NUMBER) {
            const struct weft_given_thread *g = weft__given_thread(t->number);
            t->shift = (int64_t)(g->tick - s->clock);
            removed = (int)g->removed;
            r.value = g->value;
            weft__log_item(t, WEFT_ITEM_START, t->parent, &r, removed ? sizeof r : 0, weft__file + g->barriers_off,
                           removed ? g->barriers * sizeof(struct weft_removed_barrier) : 0);
        } else
            weft__log_item(t, WEFT_ITEM_START, t->parent, NULL, 0, NULL, 0);
        weft__rec_edge(t, 0, &parent);
        weft__rec_after_fork(t);
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_START, t->parent);
        if (!it) weft__diverged("thread %u starts, which the recording does not have", t->slot);
        removed = it->size >= sizeof r;
        if (removed) __builtin_memcpy(&r, weft__gate_data(it), sizeof r);
    }
    if (unlikely(removed)) {
        t->fn = nothing;
        t->arg = (void *)(uintptr_t)r.value;
    }
    SYNCS(t, t, 0);
    weft__sud_thread(t);
}

/* Who is the last thread, and so ends the process with exit(0), is libc's to decide, by a counter that nobody orders. The
 * counter is kept from reaching 0 (weft__thread_keep), and the decision made here, as an ordered operation. */

void weft__thread_keep(int *libc_count) {
    if (libc_count) __atomic_fetch_add(libc_count, 1, __ATOMIC_SEQ_CST);
}

/* 1: this is the last thread; it does not end, but calls exit(0). */
static int is_last(struct weft_thread *t) {
    weft__lock(&living_lock);
    weft__order(t, &living_object);
    int last = __atomic_sub_fetch(&living, 1, __ATOMIC_SEQ_CST) == 0;
    weft__unlock(&living_lock);
    return last;
}

int weft__thread_exit(struct weft_thread *t) {
    if (t->tls->outside) weft__inside(t);
    weft__tick(t);
    if (is_last(t)) return 1;
    weft__tick(t);
    weft__heap_detach(t);
    weft__tick(t);
    if (weft__mode == WEFT_RECORD) {
        weft__log_item(t, WEFT_ITEM_EXIT, 0, NULL, 0, NULL, 0);
        t->ending = 1;
        if (unlikely(weft__steering) && !weft__given) weft__steer_release(t);
        weft__rec_end(t);
    } else if (!weft__gate_input(t, WEFT_ITEM_EXIT, 0))
        weft__diverged("thread %u ends at tick %lu, which the recording does not have", t->slot, t->tls->clock);
    SYNCS(t, t, 0);
    if (unlikely(weft__waits)) weft__holds_ended(t);
    t->last_clock = t->tls->clock;
    t->last = (struct weft_pos){t->tls->clock, 0, t->slot, 0};
    weft__gate_end(t);
    weft__lock(&slots_lock);
    __atomic_store_n(&t->alive, 0, __ATOMIC_RELEASE);
    weft__gate_awake(-1);
    weft__raw(SYS_futex, &t->alive, FUTEX_WAKE_PRIVATE, 1); /* weft__join_block */
    if (t->joined_or_detached && t->slot != 1)
        slot_free(t);
    else
        t->exiting = 1;
    weft__unlock(&slots_lock);
    if (unlikely(weft__steering)) weft__steer_over(t);
    return 0;
}

static int join_result(struct weft_thread *t, pthread_t p, void **ret, int r, void *value) {
    struct weft_thread *c = weft__thread_of(p);
    /* First: once others know this position to be done, it must not come after anything more. */
    if (r == 0 && ret) weft__take(t, ret, sizeof *ret);
    if (r == 0 && c) {
        SYNCS(t, c, 0);
        if (weft__mode == WEFT_RECORD) weft__rec_edge(t, 0, &c->last);
        weft__lock(&slots_lock);
        /* The slot's memory is the joiner's until it has joined. */
        c->last = (struct weft_pos){t->tls->clock, 0, t->slot, WEFT_DONE};
        c->pthread = 0;
        c->tid = 0;
        slot_free(c);
        weft__unlock(&slots_lock);
    }
    if (r == 0 && ret) *ret = value;
    return r;
}

/* kind 0: join; 1: tryjoin; 2: timedjoin; 3: clockjoin */
static int join(pthread_t p, void **ret, int kind, clockid_t clock, const struct timespec *ts) {
    int was, r = 0;
    void *value = NULL;
    if (unlikely(weft__waits)) {
        struct weft_thread *whom = weft__thread_of(p);
        weft__wait_note(WEFT_WAIT_JOIN, (void *)(uintptr_t)(whom ? whom->slot : 0), NULL);
    }
    struct weft_thread *t = weft__enter(&was);
    struct timespec copy;
    if (t) weft__loader_lets(t);
    if (t && ts) {
        weft__take(t, ts, sizeof *ts);
        copy = *ts;
        ts = &copy;
        weft__tick(t);
    }
again:
    if (t && kind != 1 && weft__cancel_due(t)) {
        WAITED(t);
        weft__leave(t, was);
        return 0;
    }
    if (weft__mode == WEFT_REPLAY && weft__interrupt(t)) goto again;
    if (!t || weft__mode == WEFT_RECORD) {
        struct weft_thread *c = t && kind != 1 ? weft__thread_of(p) : NULL;
        int waits = c && c != t && !c->joined_or_detached, ending = 0;
        clockid_t k = kind == 3 ? clock : CLOCK_REALTIME;
        if (unlikely(weft__steering) && waits) {
            while (!r && !(ending = weft__given ? !c->alive : c->ending) && weft__steers()) r = weft__steer_block(t, WEFT_WAIT_JOIN, c, k, ts);
            if (r == EINTR || r == ERESTART) {
                r = 0;
                weft__interrupt(t);
                goto again;
            }
        }
        if (t && !ending) weft__outside(t);
        if (waits && !ending && !r) r = weft__join_block(t, c, k, ts);
        if (r == EINTR) {
            weft__inside(t);
            weft__interrupt(t);
            r = 0;
            goto again;
        }
        r = r           ? r
            : kind == 0 ? weft__real.pthread_join(p, &value)
            : kind == 1 ? weft__real.pthread_tryjoin_np(p, &value)
            : kind == 2 ? weft__real.pthread_timedjoin_np(p, &value, ts)
                        : weft__real.pthread_clockjoin_np(p, &value, clock, ts);
        if (!t) {
            if (r == 0 && unlikely(weft__profiles)) weft__profile_joined(p);
            if (r == 0 && ret) *ret = value;
            return r;
        }
        if (!ending) weft__inside(t);
    }
    if (unlikely(weft__given) && r == 0 && weft__thread_of(p)) {
        uint64_t gave[2] = {(uint64_t)(uintptr_t)value, weft__thread_of(p)->slot}; /* for who removes it */
        weft__log_input(t, WEFT_OP_THREAD_JOIN, 0, gave, sizeof gave);
    } else
        r = (int)weft__input_if(t, WEFT_OP_THREAD_JOIN, r, 0);
    if (r == 0 && weft__mode == WEFT_REPLAY) {
        t->waiting = 4;
        r = weft__real.pthread_join(p, &value);
        t->waiting = 0;
    }
    r = join_result(t, p, ret, r, value);
    WAITED(t);
    weft__return(t, was);
    return r;
}
WEFT_HIDDEN int weft__pthread_join(pthread_t p, void **ret) { return join(p, ret, 0, 0, NULL); }
WEFT_HIDDEN int weft__pthread_tryjoin(pthread_t p, void **ret) { return join(p, ret, 1, 0, NULL); }
WEFT_HIDDEN int weft__pthread_timedjoin(pthread_t p, void **ret, const struct timespec *ts) { return join(p, ret, 2, 0, ts); }
WEFT_HIDDEN int weft__pthread_clockjoin(pthread_t p, void **ret, clockid_t c, const struct timespec *ts) {
    return join(p, ret, 3, c, ts);
}
WEFT_WRAP(pthread_join, weft__pthread_join);
WEFT_WRAP(pthread_tryjoin_np, weft__pthread_tryjoin);
WEFT_WRAP(pthread_timedjoin_np, weft__pthread_timedjoin);
WEFT_WRAP(pthread_clockjoin_np, weft__pthread_clockjoin);

WEFT_HIDDEN int weft__pthread_detach(pthread_t p) {
    int was;
    struct weft_thread *t = weft__enter(&was);
    int r = weft__real.pthread_detach(p);
    if (!t) return r;
    struct weft_thread *c = r == 0 ? weft__thread_of(p) : NULL;
    if (c) {
        weft__lock(&slots_lock);
        c->joined_or_detached = 1;
        if (c->exiting) {
            c->exiting = 0;
            slot_free(c);
        }
        weft__unlock(&slots_lock);
    }
    r = (int)weft__input_if(t, WEFT_OP_OTHER, r, 0);
    weft__leave(t, was);
    return r;
}
WEFT_WRAP(pthread_detach, weft__pthread_detach);

/* In a forked process: all other threads are gone. Their slots are not used again: their heaps may be in the middle of
 * something. */
void weft__thread_forked(struct weft_thread *t) {
    slots_lock = living_lock = 0;
    living = 1;
    t->tid = (int)weft__raw(SYS_gettid);
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || o == t) continue;
        o->alive = o->exiting = o->waiting = 0;
        o->tid = 0;
        o->pthread = 0;
        o->tls = NULL;
        o->lock = 0;
        o->state = WEFT_OUT;
        o->waiters = NULL;
        o->last.slot = o->here.slot = 0; /* nothing of the other process can be waited for */
        o->log = (struct weft_log){0};
    }
}
