/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which regions of a program run beside each other, in a native run under `weft profile` (Chimera, section 4).
 *
 * Each thread has a stack of the regions that it is in. Who enters one puts it there, then looks at the stacks of all others, so of two
 * threads that enter at the same time one sees the other; each pair becomes a bit of the mapped file, at once, so that nothing is
 * lost whatever ends the process. What a thread enters is beside all that it is in itself, too. In all other runs the calls do nothing.
 *
 * A region may be left without a call: by an exception, by longjmp. So each entry has the frame from which it was entered, and
 * what was entered from a frame below the caller's is not there any more. The same region, entered again from the same frame, was
 * left that way as well. Entered again from further below, it is a recursion, and is there already: such calls are only counted, so that
 * each finds its end. What is left behind otherwise stays until the thread comes back to a frame above: threads that enter something
 * meanwhile count as beside it. A profile only says which locks are likely to be cheap, so an error costs time and nothing else.
 *
 * In a forked process the other threads are not there: its first call finds that a page was wiped. The file is the same one.
 * Stacks are of this process: regions of different processes are not beside each other. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#define DEPTH 30u /* different regions, one within the other; further ones are beside others only as they are entered */

struct stack {
    uint32_t depth; /* these two lines are what others read */
    uint32_t used;  /* by a thread */
    uint32_t id[DEPTH];
    /* the thread's own */
    uint64_t frame[DEPTH];
    uint64_t top; /* highest frame of calls that are not on the stack, and how many these are */
    uint32_t extra;
    struct stack *next; /* set once */
} __attribute__((aligned(64)));

static struct weft_profile_map *map;
static unsigned char *bits;
static struct stack *first; /* all that there ever were */
static char *room, *room_end;
static int lock;      /* first, room */
static int *same_process; /* 0 in a process that was forked */
static pthread_key_t key;
static __thread struct stack *mine;
static __thread uint64_t busy; /* the frame of a call that a signal handler may have come into */

static void ended(void *p) {
    struct stack *s = p;
    mine = NULL;
    __atomic_store_n(&s->depth, 0, __ATOMIC_RELEASE);
    s->extra = 0;
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE); /* pairs with own() */
}

void weft__profile_open(const char *path) {
    long fd = weft__raw(SYS_open, path, O_RDWR | O_CLOEXEC, 0);
    long r = weft__raw(SYS_mmap, 0, sizeof *map, PROT_READ, MAP_SHARED, fd, 0);
    if (r < 0 && r > -4096) weft__rt_panic("no file for the profile: WEFT_RT_PROFILE is for weft profile only");
    const struct weft_profile_map *head = (const struct weft_profile_map *)r;
    uint64_t n = head->regions;
    if (head->magic != WEFT_PROFILE_MAGIC || n > WEFT_MAX_REGIONS) weft__rt_panic("the file for the profile is foreign");
    weft__raw(SYS_munmap, r, sizeof *map);
    r = weft__raw(SYS_mmap, 0, weft_profile_size(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    weft__raw(SYS_close, fd);
    if (r < 0 && r > -4096) weft__rt_panic("cannot map the file for the profile");
    same_process = weft__rt_map(4096);
    weft__raw(SYS_madvise, same_process, 4096, MADV_WIPEONFORK);
    *same_process = 1;
    if (pthread_key_create(&key, ended)) weft__rt_panic("the program has too many keys of thread-specific data");
    map = (struct weft_profile_map *)r;
    bits = (unsigned char *)r + weft_profile_bits(n);
}

static void forked(void) {
    int no = 0;
    if (!__atomic_compare_exchange_n(same_process, &no, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
    lock = 0;
    for (struct stack *s = first; s; s = s->next)
        if (s != mine) s->depth = s->used = s->extra = 0;
}

/* The calling thread's. One that was there, if its thread has ended. */
static struct stack *own(void) {
    if (likely(mine)) return mine;
    struct stack *s = __atomic_load_n(&first, __ATOMIC_ACQUIRE);
    for (uint32_t no = 0; s; s = s->next, no = 0)
        if (!s->used && __atomic_compare_exchange_n(&s->used, &no, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) break;
    if (!s) {
        weft__lock(&lock);
        if (room == room_end) {
            room = weft__rt_map(64 * sizeof *s);
            room_end = room + 64 * sizeof *s;
        }
        s = (struct stack *)(void *)room;
        room += sizeof *s;
        s->used = 1;
        s->next = first;
        __atomic_store_n(&first, s, __ATOMIC_RELEASE);
        weft__unlock(&lock);
    }
    mine = s;
    pthread_setspecific(key, s);
    return s;
}

static void beside(uint32_t a, uint32_t b) {
    uint64_t k = weft_profile_bit(a, b);
    unsigned char bit = (unsigned char)(1u << (k & 7));
    if (!(__atomic_load_n(&bits[k >> 3], __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(&bits[k >> 3], bit, __ATOMIC_RELAXED);
}

/* What others are in, and what the thread itself is in. An entry that is read just after its thread has left it was there when
 * its depth was read, and so while this thread was where it is. */
static void look(const struct stack *s, uint32_t id) {
    for (uint32_t i = 0; i < s->depth; i++)
        if (s->id[i] != id) beside(id, s->id[i]);
    for (const struct stack *o = __atomic_load_n(&first, __ATOMIC_ACQUIRE); o; o = o->next) {
        uint32_t n = o == s ? 0 : __atomic_load_n(&o->depth, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < n; i++) beside(id, __atomic_load_n(&o->id[i], __ATOMIC_RELAXED));
    }
}

static void cut(struct stack *s, uint32_t depth) {
    if (s->depth != depth) __atomic_store_n(&s->depth, depth, __ATOMIC_RELEASE);
}

/* Whether a call comes into another one of the same thread, by a signal. It is left out, and so is the one that belongs to it. (One that was
 * left by longjmp from the handler is busy for ever, but to calls from above.) */
static int begins(uint64_t frame) {
    if (unlikely(busy > frame)) return 0;
    busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (unlikely(!__atomic_load_n(same_process, __ATOMIC_RELAXED))) forked();
    return 1;
}
static void ends(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy = 0;
}

static struct stack *stack_at(uint64_t frame, int *dropped) {
    struct stack *s = own();
    uint32_t n = s->depth;
    while (n && s->frame[n - 1] < frame) n--;
    *dropped = n != s->depth;
    cut(s, n);
    if (s->extra && s->top < frame) s->extra = 0;
    return s;
}

static void counts(uint32_t id) {
    uint32_t n = __atomic_load_n(&map->count[id], __ATOMIC_RELAXED);
    if (n != UINT32_MAX) __atomic_store_n(&map->count[id], n + 1, __ATOMIC_RELAXED);
}

static void enter(uint32_t id, uint64_t frame) {
    int dropped;
    struct stack *s = stack_at(frame, &dropped);
    int there = 0;
    counts(id);
    for (uint32_t i = 0; i < s->depth && !there; i++) {
        if (s->id[i] != id) continue;
        if (s->frame[i] == frame)
            cut(s, i);
        else
            there = 1;
    }
    if (there || s->depth == DEPTH) {
        if (!s->extra || s->top < frame) s->top = frame;
        s->extra++;
    } else {
        __atomic_store_n(&s->id[s->depth], id, __ATOMIC_RELAXED);
        s->frame[s->depth] = frame;
        __atomic_store_n(&s->depth, s->depth + 1, __ATOMIC_SEQ_CST); /* before look(): pairs with itself in another thread */
    }
    if (!there) look(s, id);
}

static void leave(uint64_t frame) {
    int dropped;
    struct stack *s = stack_at(frame, &dropped);
    if (s->depth && s->frame[s->depth - 1] == frame)
        cut(s, s->depth - 1);
    else if (s->extra)
        s->extra--;
    else if (s->depth && !dropped) /* an alloca has moved the frame since: then it was entered from above, or was dropped */
        cut(s, s->depth - 1);
}

#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

WEFT_API void __weft_profile_enter(uint32_t id) {
    if (likely(!map) || id >= map->regions || !begins(FRAME)) return;
    enter(id, FRAME);
    ends();
}

WEFT_API void __weft_profile_leave(void) {
    if (likely(!map) || !begins(FRAME)) return;
    leave(FRAME);
    ends();
}

WEFT_API void __weft_profile_at(uint32_t id) {
    int dropped;
    if (likely(!map) || id >= map->regions || !begins(FRAME)) return;
    struct stack *s = stack_at(FRAME, &dropped);
    counts(id);
    look(s, id);
    ends();
}
