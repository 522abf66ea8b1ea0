/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which regions of a program run beside each other, in a native run under `weft profile` (Chimera, section 4).
 *
 * Each thread has a stack of the regions that it is in. Who enters one puts it there, then looks at the stacks of all others, so of two
 * threads that enter at the same time one sees the other; each pair becomes a bit of the mapped file, at once, so that nothing is
 * lost whatever ends the process. What a thread enters is beside all that it is in itself, too. In all other runs the calls do nothing.
 *
 * Threads that could run at the same time often do not, where there are few cores: the phases of a small run are over before the next thread
 * has begun. So regions are beside each other as well if nothing orders them: each thread has a vector clock, which advances when it lets others go on
 * (unlocks, signals, comes to a barrier, creates a thread), and learns of others' when it has waited for them. What another thread was in
 * since the time that is known of it is beside what is entered now. (water.c, 4 threads, 400 molecules, two busy cores: no pair in two runs, and
 * all that there are in the first one with this.) Orders that the program makes by itself, with atomics, are not known: what is between them counts as beside.
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

#define CLOCKS 128u /* threads at a time; further ones are beside others only while these are in something */
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
    /* What others read of its past: the clock when it was last in each region, and the regions that it ever was in. */
    uint32_t *last, *list;
    uint32_t listed;
    uint32_t number; /* in clocks; CLOCKS: it has none */
    uint32_t now, version; /* its own clock; changes of what it knows */
    uint32_t *looked; /* by region: the version for which all others were looked at */
    uint32_t knows[CLOCKS];
    unsigned long self; /* pthread_t */
} __attribute__((aligned(64)));

static struct weft_profile_map *map;
static unsigned char *bits;
static struct stack *first; /* all that there ever were */
static char *room, *room_end;
static int lock;      /* first, room */
static uint32_t numbers;
int weft__profiles;
static int *same_process; /* 0 in a process that was forked */
static pthread_key_t key;
static __thread struct stack *mine;
static __thread uint64_t busy; /* the frame of a call that a signal handler may have come into */

static void ended(void *p) {
    struct stack *s = p;
    mine = NULL;
    __atomic_store_n(&s->depth, 0, __ATOMIC_RELEASE);
    s->extra = 0;
    if (s->number < CLOCKS) s->knows[s->number] = s->now++; /* who joins it knows all of this */
    s->version++;
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
    weft__profiles = 1;
    bits = (unsigned char *)r + weft_profile_bits(n);
}

static void forked(void) {
    int no = 0;
    if (!__atomic_compare_exchange_n(same_process, &no, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
    lock = 0;
    for (struct stack *s = first; s; s = s->next)
        if (s != mine) {
            s->depth = s->used = s->extra = 0;
            while (s->listed) s->last[s->list[--s->listed]] = 0;
        }
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
        s->number = numbers < CLOCKS ? numbers++ : CLOCKS;
        s->now = s->version = 1;
        s->last = weft__rt_map(map->regions * 12 + 12);
        s->list = s->last + map->regions;
        s->looked = s->list + map->regions;
        s->next = first;
        __atomic_store_n(&first, s, __ATOMIC_RELEASE);
        weft__unlock(&lock);
    }
    mine = s;
    s->self = pthread_self();
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

/* ---- what happened before what */

static void been_in(struct stack *s, uint32_t id) {
    if (!s->last[id]) {
        s->list[s->listed] = id;
        __atomic_store_n(&s->listed, s->listed + 1, __ATOMIC_RELEASE);
    }
    if (s->last[id] != s->now) __atomic_store_n(&s->last[id], s->now, __ATOMIC_SEQ_CST); /* before look_back(): pairs with itself in another thread */
}

/* All that others were in, if nothing orders it before now. Once for all that is known at a time: who enters something later looks at this. */
static void look_back(struct stack *s, uint32_t id) {
    if (s->looked[id] == s->version) return;
    s->looked[id] = s->version;
    for (const struct stack *o = __atomic_load_n(&first, __ATOMIC_ACQUIRE); o; o = o->next) {
        if (o == s || o->number == CLOCKS) continue;
        uint32_t known = s->knows[o->number], n = __atomic_load_n(&o->listed, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < n; i++)
            if (__atomic_load_n(&o->last[o->list[i]], __ATOMIC_SEQ_CST) > known) beside(id, o->list[i]);
    }
}

/* Clocks of objects: what is known to who waits for them. An object that finds no place orders nothing. (There was room for 1,024, and
 * water.c, with a lock for each of 1,500 molecules, found none for its barrier: all its phases were beside each other.) */
#define OBJECTS (1u << 16)
static struct object {
    const void *at;
    uint64_t came; /* to a barrier */
    uint32_t clock[CLOCKS];
} *objects;

static struct object *object(const void *at) {
    if (!objects) objects = weft__rt_map(OBJECTS * sizeof *objects);
    for (uint32_t i = 0, h = (uint32_t)(((uint64_t)(uintptr_t)at * 0x9e3779b97f4a7c15ull) >> 32); i < 64; i++) {
        struct object *o = &objects[(h + i) % OBJECTS];
        if (!o->at) o->at = at;
        if (o->at == at) return o;
    }
    return NULL;
}

static void tell(struct stack *s, uint32_t *clock) {
    s->knows[s->number] = s->now;
    for (uint32_t i = 0; i < CLOCKS; i++)
        if (clock[i] < s->knows[i]) clock[i] = s->knows[i];
    s->now++;
    s->version++;
    for (uint32_t i = 0; i < s->depth; i++) been_in(s, s->id[i]);
}
static void learn(struct stack *s, const uint32_t *clock) {
    int more = 0;
    for (uint32_t i = 0; i < CLOCKS; i++)
        if (clock[i] > s->knows[i] && i != s->number) s->knows[i] = clock[i], more = 1;
    s->version += (uint32_t)more;
}
static int begins(uint64_t frame);
static void ends(void);
#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

static void meets(const void *at, uint64_t frame, int gives) {
    if (!begins(frame)) return;
    struct stack *s = own();
    if (s->number < CLOCKS) {
        weft__lock(&lock);
        struct object *o = object(at);
        if (o && gives)
            tell(s, o->clock);
        else if (o)
            learn(s, o->clock);
        weft__unlock(&lock);
    }
    ends();
}
/* The thread is about to let others go on who wait for the object; and: it has waited for it. */
void weft__profile_gives(const void *at) { meets(at, FRAME, 1); }
void weft__profile_got(const void *at) { meets(at, FRAME, 0); }

/* A barrier, for so many: each round has a clock of its own, since a thread may come to the next one before another has left this. */
#define ROUND(at, n) ((const char *)(at) + 1 + (n) % 4)
uint64_t weft__profile_comes(const void *at, uint32_t count) {
    uint64_t round = 0;
    struct stack *s;
    if (!count || !begins(FRAME)) return 0;
    if ((s = own())->number < CLOCKS) {
        weft__lock(&lock);
        struct object *b = object(at), *o = NULL;
        if (b) {
            round = b->came / count;
            o = object(ROUND(at, round));
            if (o && b->came % count == 0) weft__zero(o->clock, sizeof o->clock);
            b->came++;
        }
        if (o) tell(s, o->clock);
        weft__unlock(&lock);
    }
    ends();
    return round;
}
void weft__profile_leaves(const void *at, uint64_t round) { weft__profile_got(ROUND(at, round)); }

/* Threads: what the creator knows, the new one does; and who joins it, what it did at last. */
struct birth {
    void *(*fn)(void *);
    void *arg;
    struct birth *next;
    uint32_t clock[CLOCKS];
};
static struct birth *births; /* free */
static void *born(void *p) {
    struct birth *b = p;
    void *(*fn)(void *) = b->fn, *arg = b->arg;
    struct stack *s = own();
    if (s->number < CLOCKS) learn(s, b->clock);
    weft__lock(&lock);
    b->next = births;
    births = b;
    weft__unlock(&lock);
    return fn(arg);
}
void *weft__profile_birth(void *(**fn)(void *), void *arg) {
    struct stack *s;
    if (!begins(FRAME)) return arg;
    s = own();
    weft__lock(&lock);
    struct birth *b = births;
    if (b)
        births = b->next;
    else
        b = weft__rt_map(sizeof *b);
    weft__zero(b, sizeof *b);
    b->fn = *fn;
    b->arg = arg;
    if (s->number < CLOCKS) tell(s, b->clock);
    weft__unlock(&lock);
    *fn = born;
    ends();
    return b;
}
void weft__profile_joined(unsigned long thread) {
    struct stack *s;
    if (!begins(FRAME)) return;
    s = own();
    for (struct stack *o = __atomic_load_n(&first, __ATOMIC_ACQUIRE); o && s->number < CLOCKS; o = o->next)
        if (o->self == thread && !__atomic_load_n(&o->used, __ATOMIC_ACQUIRE) && o->number < CLOCKS) learn(s, o->knows);
    ends();
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
    if (there) return;
    been_in(s, id);
    look(s, id);
    look_back(s, id);
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
    been_in(s, id);
    look(s, id);
    look_back(s, id);
    ends();
}
