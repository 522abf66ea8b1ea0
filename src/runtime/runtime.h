/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The runtime's internal header: functions grouped under the file that defines them.
 *
 * Ground rules, because this code runs inside someone else's program:
 *
 *  1. The hot path is inlined by the pass (abi.h). What is here is cold: it runs when a check misses, when the clock meets
 *     its limit, and in wrappers.
 *  2. Everything that may differ between record and replay runs on the thread's runtime stack (stubs.S switches), so that
 *     the program's stack sees the same bytes in both, below the stack pointer too.
 *  3. No libc in here but through `weft__real` (real functions, resolved once) and in lc_*.c. No malloc, no stdio, no
 *     vector registers (-mgeneral-regs-only): the stubs save only general registers.
 *  4. Lock order: thread locks by slot number; then the stripe locks by index; then the vm lock; then the log lock. Those
 *     of common memory (shm.c), by index, come after the vm lock, and before the thread's own. The lock of a set of shared pages (owner.c)
 *     comes after thread locks, and before the log lock. While a stripe is held nothing waits for another thread's answer.
 *  5. Record and replay share the entry points; the mode is fixed at start.
 *  6. Atomics are the __atomic builtins with the order spelled out; a comment says what each pairs with. */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include "weft/abi.h"
#include "weft/trace.h"
#include <stddef.h>
#include <time.h>
#include <stdint.h>

#define WEFT_HIDDEN __attribute__((visibility("hidden")))
#define WEFT_API __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define WEFT_NEVER UINT64_MAX

struct weft_heap;

/* A position of a thread, and how far into it: `step` edges of its own were satisfied there, or all and the access done. */
#define WEFT_DONE UINT32_MAX
struct weft_pos {
    uint64_t tick;
    uint64_t site;
    uint32_t slot;
    uint32_t step;
};

/* How far a thread has seen another one. */
struct weft_seen {
    uint64_t tick;
    uint64_t site;
    uint32_t step;
};

enum weft_state {
    WEFT_IN = 0,      /* runs instrumented code: its lines are taken away only by itself */
    WEFT_OUT = 1,     /* in the kernel, in foreign code, or dead: others take its lines under its lock */
    WEFT_WAITING = 2, /* as OUT, and waits for a line that it asked for */
};

/* A writer's cursor into the thread's current chunk of `streams`. Thread-private. */
struct weft_log {
    unsigned char *at, *end; /* next byte; end of the chunk's usable part */
    struct weft_chunk *chunk;
    uint64_t tick, site, otick, osite; /* what deltas are taken against */
    uint32_t seq;
    int lost; /* the log has ended for this thread */
};

#define WEFT_HELD_MAX 32

enum weft_served { WEFT_ASKED, WEFT_ANSWERED, WEFT_ASLEEP, WEFT_WOKEN };
enum weft_wish {
    WEFT_OWN = 0,   /* the line */
    WEFT_SHARE = 1, /* to read the line, together with its owner */
    WEFT_DROP = 2,  /* that the other one no longer reads the line */
};

/* Who maps memory: libc itself, or who called its mmap or shmat. */
enum weft_maps { WEFT_MAPS_LIBC = 0, WEFT_MAPS_OWN, WEFT_MAPS_FOREIGN };

struct weft_range {
    const void *p;
    size_t n;  /* bytes; characters of a string at most */
    int width; /* 0: n bytes; else a string of characters of this size */
    int write;
    int until; /* enum weft_until, of a string of bytes */
    uint64_t what;
    size_t many; /* WEFT_UNTIL_BYTES: so many of them */
};

struct weft_thread {
    /* What other threads touch who take something from this one: a cache line of its own. (Each further one that they touched would have to be fetched by
     * them, and then by the thread again.) */
    _Alignas(128) int lock;       /* futex mutex: 0 free, 1 held, 2 held and somebody sleeps */
    int state;                    /* enum weft_state; under lock */
    struct weft_thread *waiters;  /* threads that asked this one; pushed under lock; popped by this thread under lock */
    struct weft_pos here;         /* while not IN: where the thread stands; under lock */
    uint32_t slot;
    uint32_t closing;             /* a page of which lines are the thread's own, but others may still read them, + 1; under lock */
    uint32_t keeps;               /* while WAITING: a line that it was given in its sleep, and has still to use, + 1; under lock */
    int dozes;                    /* futex word: 1: OUT until something is taken from it; under lock */
#define WEFT_LOST 16u
    uint32_t nlost;               /* pages of which it has lost lines since it last found that it has all that its loop touches (loops.c); */
    /* And what they touch now and then. */
    _Alignas(64) uint32_t lost[WEFT_LOST]; /* which ones, of at most so many; set under its lock, or by itself */
    uint64_t closing_lines;       /* those of the page; under lock */
    struct weft_tls *tls;         /* of the living thread */
    /* Shared lines that the thread may read (WEFT_READS_ADDR): a word for each page. Written by the thread while it is IN, by others under its
     * lock while it is not. NULL: none so far. */
    uint64_t *reads;
    int no_reads;                 /* there was no room for it */
    /* Waiter's side. */
    _Alignas(128) int served;     /* futex word: enum weft_served */
    int granted;                  /* the answer: 0 no, 1 yes, 2 yes and the line is shared */
    struct weft_thread *next;     /* in the list of the thread that was asked */
    uint64_t want;                /* line index asked for */
    int wish;                     /* enum weft_wish: what for */
    struct weft_pos grant;        /* the position to put the edge on */
    /* Private to the thread. */
    _Alignas(64) uint32_t nheld;
    uint32_t held[WEFT_HELD_MAX]; /* stripes locked for the access that was just let through */
    uint64_t at_tick, at_site;    /* the position of the thread's last edge, and how many it has there */
    uint32_t at_step;
    uint64_t rng;
    uint64_t tenure;              /* somebody asked: until when (tsc) the thread keeps what it has; 0: answers at once */
    uint64_t tenure_most;
    uint64_t tenure_from, tenure_clock; /* it began then */
    uint32_t late;                /* it answers at its n-th check from here, or at its next tick */
    uint64_t stirred;             /* tsc of the last answer given or got */
    uint32_t quarrels;            /* times in a row that it asked soon after that */
    int unlucky;                  /* spins for an answer that were in vain of late */
    uint64_t spins, spun_misses, spun_clock; /* in a loop that only waits: since when (tsc), with so many misses, and its last tick; */
    uint32_t awake;               /* so often it has not slept there */
    int steer, has_baton;         /* steer.c; has_baton: futex word */
    int32_t priority;
    uint32_t in_a_row;            /* events, or ticks, since it got the baton */
    /* Steered (turns.c, given.c). */
    uint32_t number;              /* in weft_given; NO_NUMBER: the trace does not have it */
    int64_t shift;                /* from its clock to that of the trace */
    uint64_t counted;             /* its clock, when ticks were counted last */
    uint64_t stamp;               /* when it last let others go first */
    uint64_t born_at;
    uint64_t last_site;           /* of its last event */
    uint64_t called_at;           /* while it does an operation with no return address on the program's stack: the place; else 0 */
#define WEFT_IN_HEAP 1u           /* one that comes or does not come by what other threads do: no place to go by */
    struct weft_blocked {
        int kind;                 /* enum weft_wait_kind; 0: it can go on */
        int woken;                /* of a wait that ends by being woken: 1 woken, 2 timed out */
        const void *object;
        uint64_t site;            /* where the program called */
        uint64_t ticket;          /* since when */
        const struct timespec *until; /* NULL: for ever */
    } blocked;
    int waits;                    /* it has to be woken: `woken` says whether it was */
    int finished;                 /* it has done to the end what it was doing where its turns end */
    uint32_t last_given;          /* index of the item that it got last, + 1; */
    uint32_t given_of;            /* the number of the thread of the trace whose item that was */
    uint32_t last_lent, lent_of;  /* the same, of the last one that was another thread's */
    uint32_t first_given;         /* all before have been used */
    int live;                     /* it makes a call with the shadow of this descriptor (own.c), + 1 */
    uint32_t passes;              /* of loops: used up */
    uint64_t *rows;               /* by rank of the loop: iterations since it began; NULL: none so far */
    struct weft_came_to {         /* where it has come to, and how often: a hash table */
        struct weft_came *list;
        uint32_t n, room;
        uint64_t stretch;         /* entries of another one are free */
        uint64_t begun;           /* its clock when it began */
        uint64_t last;            /* where; 0: nowhere */
    } ops, accesses;              /* operations since the last pass began; accesses since the last of these */
    /* Iterations that are left out, of several in a row that are known of (repeat.c). */
    struct weft_left {
        uint64_t site;
        uint64_t times;
        uint32_t frame; /* 0: any */
    } *lefts;
    uint32_t nlefts, lefts_room;
    uint64_t left;                /* of all of them */
    struct timespec last_time;
    struct weft_seen *seen;       /* by slot */
    struct weft_log log;
    uint64_t sides;    /* of weak locks, that it has; changed as `reads` is */
    int whole;         /* it takes what a loop will touch: no line of it is split */
    int loop_lost;     /* the loop's memory was taken again: it leaves the copy at the next tick */
    uint64_t clock_is; /* a handler has ticked, and the loop that it came back to may not know: the clock up to the next tick; else 0 */
    uint64_t edges, misses, splits, asks;
    /* Replay. */
    struct weft_sched_item *items, *items_end;
    uint64_t final_tick;
    uint64_t cur_site, cur_tick;  /* the position whose DONE marks are due at the next miss or tick */
    int open_end;
    int waiting;                  /* for the stuck check: 1 at a gate, 2 beyond what is known, 3 for the end, 4 for a foreign lock */
    uint32_t waiting_flag;
    int vain;                     /* spins in vain of late */
    uint64_t waiting_site;
    /* Life. */
    int tid;                      /* kernel's; 0 after the end was seen */
    int alive;                    /* between start and exit */
    int ending;                   /* it will not do anything any more that others see */
    int joined_or_detached;
    uint64_t last_clock;          /* where the slot's last thread stood when it ended: the next one goes on from there */
    struct weft_pos last;         /* what a new thread of the slot comes after: the last one's exit, then its join */
    uint32_t parent;
    struct weft_pos born;         /* the creator's position */
    void *(*fn)(void *);
    void *arg;
    void *rt_stack;               /* top */
    void *alt_stack;              /* of signals */
    void *stack_map;
    size_t stack_size;
    unsigned long pthread;        /* pthread_t */
    struct weft_heap *heap;
    unsigned char *bounce;
    size_t bounce_size;
    struct weft_range *ranges;    /* of the group that is being taken (take.c); kept by the slot, like bounce */
    uint32_t nranges, ranges_room;
    uint64_t verify_hash, verify_count;
    struct weft_site_tick *check;
    size_t check_cap, check_len;
    uint32_t next_free;           /* slot free list */
    int sig_pending;              /* for ticks: 1: a signal is queued; 2: cancelled, and asynchronously so */
    int attention;                /* for waits: as sig_pending, but 2 for any cancellation that is enabled */
    int cancel_point;             /* the system call under way is a cancellation point; 2: of a stream, at whose end the thread is cancelled */
    int streams;                  /* operations on streams that it is in, */
    int cut;                      /* of which a read was interrupted */
    int foreign;                  /* it was made by code that was not built with weft */
    uint64_t sigmask;
    void *sigq;
    int in_outside;
    int cancel_state, cancel_type, cancel_pending, cancelled;
    int exiting;
    int ends_process;             /* the last thread: continues in exit(0) */
    uint32_t stop_age;           /* the last fork that it comes after (owner.c) */
    uint32_t serials;             /* serialized calls it is in (take.c) */
    uint32_t loads;               /* of these, those that load libraries; */
    int has_loader;               /* and it is outside in one */
    /* Memory that processes share (shm.c). */
    int common;                   /* has stripes of it (shm.c), */
    uint64_t common_site;         /* since this site: */
    uint32_t common_first, common_lines; /* these, */
    int common_writes;            /* as one who writes; */
    int common_all;               /* until they are released, all will be held */
    int common_skip;              /* takes leave it alone */
    uint64_t common_at;           /* a store that is being done there, */
    uint32_t common_n;            /* and its size; 0: none */
    struct weft_range *stores;    /* ranges there that are being written, perhaps */
    uint32_t nstores, stores_room;
    int maps;                     /* enum weft_maps */
    const void *blocked_on;       /* the lock or the like that it waits for, outside */
    const void *writes;           /* steered or with chaos: the read-write lock that it is about to get for writing */
    struct weft_wait wait;        /* the same in the replay of a run that was stuck (waits.c) */
};

/* ---- start.c */
extern WEFT_HIDDEN int weft__mode;
extern WEFT_HIDDEN struct weft_control *weft__control; /* shared with the launcher */
/* Record: that of the first process, which all share: for the words about the whole trace. */
#define weft__root ((struct weft_control *)0x6ffffff80000ul)
extern WEFT_HIDDEN char *weft__file;                   /* replay: private copy of the memory file */
extern WEFT_HIDDEN unsigned char weft__selector;       /* what the dispatch selector is in the program's code */
long weft__launcher_fd(uint64_t fd, int flags);        /* opens what the launcher has at fd */
void *weft__rt_map(size_t n);                          /* zeroed memory at addresses of the runtime's own */
void *weft__rt_may_map(size_t n);                      /* the same; NULL: there is none */
extern WEFT_HIDDEN struct weft_thread *weft__threads[WEFT_MAX_SLOT + 2];
extern WEFT_HIDDEN uint32_t weft__slots; /* highest slot ever used + 1 */
extern WEFT_API __thread struct weft_tls __weft_tls __attribute__((tls_model("initial-exec")));
struct weft_thread *weft__thread_new(uint32_t slot);
void *weft__slot_heap(uint32_t slot); /* the place of its heap structure */
extern WEFT_HIDDEN uint64_t weft__program_at; /* where the executable begins */
/* Notes of a module: its build id (32 bytes), and the version of weft's interface that it was built for; 0: none. */
uint32_t weft__notes(const char *at, const char *end, uint64_t align, uint8_t *id);
int weft__in_weft_code(uint64_t ip); /* ip lies in a module built with weft */
int weft__in_cxx_code(uint64_t ip); /* in the C++ library */
int weft__in_omp_code(uint64_t ip); /* in libweft-omp.so, whose functions have frame pointers */
int weft__constant(const void *p);   /* p lies in such a module's read-only memory, for which nobody needs to wait */
void weft__constant_lost(uint64_t lo, uint64_t n);
static inline struct weft_thread *weft__self(void) {
    return (struct weft_thread *)__weft_tls.self;
}

/* ---- panic.c: messages and ends */
__attribute__((noreturn)) void weft__rt_panic(const char *what);                            /* our own bug */
__attribute__((noreturn, format(printf, 1, 2))) void weft__refuse(const char *fmt, ...);    /* not supported */
__attribute__((noreturn, format(printf, 1, 2))) void weft__diverged(const char *fmt, ...);  /* replay differs */
__attribute__((noreturn, format(printf, 1, 2))) void weft__stuck(const char *fmt, ...);
__attribute__((noreturn, format(printf, 1, 2))) void weft__missing(const char *fmt, ...);   /* steered: an input is not there */
__attribute__((noreturn, format(printf, 1, 2))) void weft__bound(const char *fmt, ...);     /* steered: too long */
__attribute__((format(printf, 3, 4))) size_t weft__format(char *buf, size_t n, const char *fmt, ...);
#define WEFT_CHECK(c)                                                                                                  \
    do {                                                                                                               \
        if (unlikely(!(c))) weft__rt_panic(#c);                                                                        \
    } while (0)

/* ---- log.c */
void weft__log_alive(void); /* before all else: `weft record` waits until this process has ended */
void weft__log_open(void);
int weft__high_fd(long fd); /* the same out of the way of the program's descriptors; closes fd */
void weft__log_edge(struct weft_thread *t, uint64_t tick, uint64_t site, const struct weft_pos *other);
void weft__log_item(struct weft_thread *t, int kind, uint64_t op, const void *a, size_t an, const void *b, size_t bn);
void weft__log_hashed(struct weft_thread *t, uint64_t op, int64_t ret, const void *data, size_t n, uint64_t digest); /* an input; of data: weft_digest */
/* What a call gave: its result, how many bytes there are, these, and then `rest`, which is short. */
void weft__log_out(struct weft_thread *t, uint64_t op, int64_t ret, const void *data, uint32_t n, const void *rest, size_t rn);
static inline void weft__log_input(struct weft_thread *t, uint64_t op, int64_t ret, const void *data, size_t n) {
    weft__log_item(t, WEFT_ITEM_INPUT, op, &ret, 8, data, n);
}
void weft__log_close(void);

/* ---- owner.c: record */
void weft__lock(int *l);
void weft__unlock(int *l);
int weft__lock_within(int *l, int ms); /* 0: it could not be had in that time; ms 0: however long it takes */
void weft__rec_tick(struct weft_thread *t);
void weft__rec_spins(struct weft_thread *t); /* the tick that follows is one of a loop that only waits */
void weft__rec_doze(struct weft_thread *t);  /* behind such a tick: it has waited for some time */
void weft__rec_miss(struct weft_thread *t, uint64_t p, uint32_t acc, uint64_t site);
int weft__rec_has(const struct weft_thread *t, uint32_t line, uint32_t lines, int write); /* without waiting */
int weft__rec_take(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write); /* 1: had to wait */
int weft__rec_loop_has(struct weft_thread *t); /* in the copy of a loop: all that it touches */
void weft__rec_loop(struct weft_thread *t, uint64_t site); /* takes it again */
int weft__rec_loop_begin(struct weft_thread *t, uint64_t site); /* before it: has it all, or takes it; 0: it has not */
int weft__rec_again(struct weft_thread *t, uint64_t site); /* that, and what tls.region says, if some of it was lost: then 1 */
void weft__rec_weak(struct weft_thread *t, uint64_t site);
void weft__rec_end(struct weft_thread *t);
void weft__rec_maps_begin(void);
void weft__rec_maps_end(struct weft_thread *t, int done);
int weft__rec_maps_may(const struct weft_thread *t, uint64_t p, uint64_t n);
int weft__rec_maps_take(struct weft_thread *t, uint64_t p, uint64_t n);
void weft__rec_maps_gone(struct weft_thread *t, uint64_t p, uint64_t n);
void weft__rec_out(struct weft_thread *t);
void weft__rec_lend(struct weft_thread *t, uint64_t site); /* around what wakes another thread */
void weft__rec_back(struct weft_thread *t);

/* steer.c */
extern int weft__steering, weft__delays, weft__words;
void weft__steer_open(void);
void weft__steer_in(struct weft_thread *t);
void weft__steer_born(struct weft_thread *c);
void weft__steer_unborn(struct weft_thread *c); /* it could not be created */
void weft__steer_out(struct weft_thread *t);
void weft__steer_event(struct weft_thread *t, uint64_t site);
uint64_t weft__steer_tick(struct weft_thread *t); /* gives the limit for the next one */
void weft__steer_yield(struct weft_thread *t);
int weft__steer_lets(struct weft_thread *t);
void weft__steer_forked(struct weft_thread *t);
int weft__left_one(struct weft_thread *t, uint64_t site, uint32_t frame); /* repeat.c: 1: it is one of those that are left out, and */
void weft__left_more(struct weft_thread *t, uint64_t site, uint32_t frame, uint64_t times); /* so many more are to be */
int weft__steer_repeat(struct weft_thread *t, uint64_t site, uint32_t frame, uint32_t flags); /* 1: the iteration that begins is left out */
void weft__steer_end(void); /* the process is about to end: everybody runs */
/* libc's mutex: lock, count, owner, users, kind. The kernel knows the owner of a robust one by the first word; the third does not have
 * it while the mutex is inconsistent. */
static inline int weft__mutex_robust(const void *m) { return ((const int *)m)[4] & 16; }
static inline int weft__mutex_owner(const void *m) {
    const int *w = (const int *)m;
    return weft__mutex_robust(m) ? __atomic_load_n(&w[0], __ATOMIC_RELAXED) & 0x3fffffff : w[2];
}
/* plan.c */
extern int weft__plan_races; /* a module has that plan */
void weft__owned(struct weft_thread *t, const void *mutex); /* it is t's, or the recording ends here */
void weft__owned_rwlock(struct weft_thread *t, const void *lock);
int weft__steers(void); /* 1: threads wait for one another by what follows, and not in the kernel */
/* Until `object` is released (or perhaps without that: the caller looks again), or its time is over (ETIMEDOUT), or t is
 * interrupted (EINTR, ERESTART). */
int weft__steer_block(struct weft_thread *t, int kind, const void *object, clockid_t clock, const struct timespec *until);
void weft__steer_release(const void *object);
/* Waits that end by being woken: begin, then until it was woken (0), or ETIMEDOUT, EINTR, ERESTART. */
void weft__steer_wait_begin(struct weft_thread *t, int kind, const void *object);
int weft__steer_wait(struct weft_thread *t, clockid_t clock, const struct timespec *until);
void weft__steer_wait_end(struct weft_thread *t); /* it does not wait, after all */
int weft__steer_wake(const void *object, int n); /* how many */
void weft__steer_over(struct weft_thread *t); /* t has ended */
long weft__wait_at(struct weft_thread *t, int point, void *word, uint32_t value, int shared, clockid_t clock, const struct timespec *ts); /* cancel.c */
int weft__piece(clockid_t clock, const struct timespec *end, long length, struct timespec *ts);
void weft__baton_pass(struct weft_thread *o); /* NULL: to nobody */
void weft__baton_wait(struct weft_thread *t);
struct weft_thread *weft__baton_none(struct weft_thread *(*choose)(void)); /* the one that can go on after all, or NULL: nobody has the baton */
void weft__baton_ask(struct weft_thread *t, int ready); /* t comes back: it is ready, and waits for the baton */

/* turns.c: a steered run: who runs. All but born() and begin() are called by the thread that has the baton. */
extern int weft__given; /* the run is steered */
void weft__turns_open(struct weft_thread *t);
void weft__turns_born(struct weft_thread *c);   /* c is about to be created, */
void weft__turns_unborn(struct weft_thread *c); /* and was not, after all; */
void weft__turns_child(struct weft_thread *t, struct weft_thread *c); /* or was */
void weft__turns_begin(struct weft_thread *t);
void weft__turns_event(struct weft_thread *t, uint64_t site);
uint64_t weft__turns_tick(struct weft_thread *t);
void weft__turns_last(struct weft_thread *t);
void weft__turns_yield(struct weft_thread *t);
void weft__turns_over(struct weft_thread *t); /* t has ended */
void weft__turns_away(struct weft_thread *t, int away); /* it waits in the kernel for foreign code; and is back */
/* As those of steer.c. */
int weft__turns_block(struct weft_thread *t, int kind, const void *object, const struct timespec *until);
void weft__turns_release(const void *object);
int weft__turns_waits_at(const void *object); /* somebody does, and has to be woken */
void weft__turns_kick(struct weft_thread *o);
void weft__turns_wait_begin(struct weft_thread *t, int kind, const void *object);
int weft__turns_wait(struct weft_thread *t, const struct timespec *until);
void weft__turns_time_out(struct weft_thread *t, int op, uint64_t ahead); /* if it does in the trace, so many ticks from here, it will */
int weft__turns_wake(const void *object, int n); /* how many */
static inline uint64_t weft__trace_clock(const struct weft_thread *t) { return t->tls->clock + (uint64_t)t->shift; }

/* given.c: a steered run: what comes from the trace */
#define WEFT_NO_NUMBER UINT32_MAX
#define WEFT_LIVE (weft__mode == WEFT_RECORD && !weft__given) /* inputs come from outside */
extern WEFT_HIDDEN struct weft_given *weft__trace;
static inline struct weft_given_thread *weft__given_thread(uint32_t number) {
    return (struct weft_given_thread *)(weft__file + weft__trace->threads_off) + number;
}
void weft__given_open(void);
struct weft_sched_item *weft__given_input(struct weft_thread *t, int item, int64_t op); /* logs it too; NULL: there is none */
struct weft_sched_item *weft__given_path(struct weft_thread *t, int64_t op, uint64_t key); /* the same, of a call that asks about a path */
struct weft_sched_item *weft__given_find(struct weft_thread *t, int item, int64_t op);  /* only looks */
void weft__given_use(struct weft_thread *t, struct weft_sched_item *i);
int64_t weft__given_at(struct weft_thread *t, int op, uint64_t tick); /* the result at this very tick; 0: none is there */
uint32_t weft__given_op(struct weft_thread *t); /* of the input that follows the last one at once; 0: none */
struct weft_sched_item *weft__given_signal(struct weft_thread *t, int place); /* one that is due */
void weft__given_send(int sig);                          /* the program sends it to itself */
void weft__given_sent(const struct weft_sched_item *i); /* it is delivered */
uint64_t weft__given_signal_tick(struct weft_thread *t); /* of the next one, by the trace's clock */
int weft__given_time(struct weft_thread *t, struct timespec *ts);
uint32_t weft__given_barrier(const void *object); /* how many threads that were removed come in this round */
void weft__given_round(const void *object);       /* which is over */
void weft__given_removed(struct weft_thread *t);
void weft__given_start(struct weft_thread *t); /* logs the main thread's START */
uint32_t weft__given_slot(struct weft_thread *t, uint32_t *number); /* for a new thread; 0: none */

void weft__rec_in(struct weft_thread *t);
void weft__rec_order_soon(const void *object); /* its place in memory comes meanwhile */
void weft__rec_order(struct weft_thread *t, const void *object);
uint32_t weft__rec_order_add(struct weft_thread *t, const void *object, uint32_t *word, uint32_t add);
void weft__rec_edge(struct weft_thread *t, uint64_t site, const struct weft_pos *to);
void weft__rec_release(struct weft_thread *t);
void weft__rec_stop(struct weft_thread *t); /* all others come to a tick and stay there */
void weft__rec_go(struct weft_thread *t);   /* until this */
void weft__rec_forked(struct weft_thread *t);
void weft__rec_after_fork(struct weft_thread *t);
void weft__rec_begin(struct weft_thread *t);

/* ---- loops.c: copies without checks */
/* At a tick that came to the runtime. `interrupted`: something of the program's is about to run there. */
void weft__loop_tick(struct weft_thread *t, int interrupted);

/* ---- accesses.c: replay for a report */
extern WEFT_HIDDEN int weft__accesses; /* this is one */
void weft__accesses_open(struct weft_control *c, long fd);
void weft__access_note(struct weft_thread *t, uint64_t addr, uint32_t what, uint64_t site);
void weft__access_range(struct weft_thread *t, const void *p, size_t n, int write);
void weft__access_end(void);
void weft__accesses_forked(void);
void weft__look(uint32_t which); /* exec.c */
/* The thread does something to the object that orders it with others. */
#define SYNCS(t, object, how)                                                                                          \
    do {                                                                                                               \
        if (unlikely(weft__accesses)) weft__access_note(t, (uint64_t)(uintptr_t)(object), WEFT_ACCESS_SYNC | (how), 0); \
    } while (0)

/* ---- prove.c: replay as a proof */
extern WEFT_HIDDEN int weft__proves;
void weft__prove_open(const struct weft_control *c);
void weft__prove_mark(struct weft_thread *t, uint32_t flag);
void weft__prove_wait(struct weft_thread *t, uint32_t flag);
void weft__prove_access(struct weft_thread *t, uint64_t address, size_t n, int write, uint64_t site);
void weft__prove_forked(void);

/* ---- profile.c: native runs that are profiled */
void weft__profile_open(const char *path);
extern WEFT_HIDDEN int weft__profiles; /* this is one */
void weft__profile_gives(const void *at);
void weft__profile_got(const void *at);
uint64_t weft__profile_comes(const void *barrier, uint32_t count);
void weft__profile_leaves(const void *barrier, uint64_t round);
void *weft__profile_birth(void *(**fn)(void *), void *arg); /* the new argument */
void weft__profile_joined(unsigned long thread);
/* Around a native call that lets go of the object, or waits for it and gives 0 then. */
#define WEFT_GIVES(o, call)                                                                                            \
    ({                                                                                                                 \
        if (unlikely(weft__profiles)) weft__profile_gives(o);                                                          \
        call;                                                                                                          \
    })
#define WEFT_GETS(o, call)                                                                                             \
    ({                                                                                                                 \
        int r_ = call;                                                                                                 \
        if (unlikely(weft__profiles) && !r_) weft__profile_got(o);                                                     \
        r_;                                                                                                            \
    })

/* ---- waits.c: replay of a run that was stuck */
extern WEFT_HIDDEN int weft__waits; /* this is one */
void weft__waits_open(struct weft_control *c);
void weft__wait_note(uint32_t kind, const void *object, const void *with);
void weft__hold_note(struct weft_thread *t, uint32_t kind, const void *object);
void weft__release_note(struct weft_thread *t, const void *object);
void weft__signal_note(struct weft_thread *t, uint32_t kind, const void *object);
void weft__holds_ended(struct weft_thread *t);
void weft__holds_forked(struct weft_thread *t);
void weft__tell_stuck(void); /* exec.c */
/* The thread is about to wait, before the tick at which it does; has got what it waited for; gives it back; is done. */
#define WAITS(kind, object, with)                                                                                      \
    do {                                                                                                               \
        if (unlikely(weft__waits)) weft__wait_note(kind, object, with);                                                \
    } while (0)
#define HOLDS(t, kind, object)                                                                                         \
    do {                                                                                                               \
        if (unlikely(weft__waits)) weft__hold_note(t, kind, object);                                                   \
        SYNCS(t, object, WEFT_ACCESS_LOCK);                                                                            \
    } while (0)
struct weft_thread *weft__holder(const void *object, uint64_t *from); /* steered: who has a read-write lock, one after the other; NULL: no more */
#define RELEASES(t, object)                                                                                            \
    do {                                                                                                               \
        if (unlikely(weft__waits)) weft__release_note(t, object);                                                      \
    } while (0)
#define SIGNALS(t, kind, object)                                                                                       \
    do {                                                                                                               \
        if (unlikely(weft__waits)) weft__signal_note(t, kind, object);                                                 \
    } while (0)
#define WAITED(t) ((t)->wait.kind = WEFT_WAIT_NONE)

/* ---- shm.c: memory that processes share */
struct weft_region {
    uint64_t start, size;
    unsigned char *back;   /* record: the memory itself; NULL: nobody shares it yet */
    unsigned char *shadow; /* record: what the front and the back last agreed on */
    unsigned char *sound;  /* record: a byte for each page, 1: there is something behind it; NULL: behind all */
    uint64_t segment;      /* where the System V segment that it belongs to was attached; 0: none */
    int prot;              /* of the front */
    int writable;          /* the back is */
    int common;            /* other processes may have it */
    int foreign;           /* mapped by code that was not built with weft */
};
struct weft_shm_file {
    uint64_t dev, ino;
};
extern WEFT_HIDDEN int weft__shm_any;     /* record: there are, or were, lines whose entry is WEFT_COMMON */
extern WEFT_HIDDEN int weft__shm_regions; /* shared mappings */
int weft__shm_miss(struct weft_thread *t, uint64_t p, uint32_t acc, uint64_t site); /* 0: none of it is common */
int weft__shm_take(struct weft_thread *t, uint64_t p, uint64_t n, uint64_t site, int write); /* 1: it has let go of what it had taken before */
void weft__shm_hold(struct weft_thread *t, uint64_t site); /* all of it */
int weft__shm_drop(struct weft_thread *t);        /* before a wait; 1 */
void weft__shm_release(struct weft_thread *t);    /* the access is done */
void weft__shm_apply(const void *data, size_t n); /* replay */
void *weft__shm_real(const void *o, int *common); /* where an object is for all processes; common: it is in shared memory */
int weft__shm_touches(uint64_t p, uint64_t n);
size_t weft__shm_rest(const void *p, size_t most); /* record: shared bytes from p on; 0: it is not shared */
__attribute__((noreturn)) void weft__shm_refuse_foreign(uint64_t ip);
int weft__shm_file_written(const struct weft_shm_file *f);
void weft__shm_file_write(const struct weft_shm_file *f);
long weft__shm_file(const long a[6], int writable, struct weft_region *r);
void weft__shm_add(struct weft_thread *t, const struct weft_region *r);
int weft__shm_denies(const long a[6]);
int weft__shm_may_grow(struct weft_thread *t, const long a[6]);
int weft__shm_changed(struct weft_thread *t, long nr, const long a[6], long r, struct weft_region *moved);
int weft__shm_advise(const long a[6], long *r);
long weft__shm_sync(const long a[6]);
long weft__shm_attach(const long a[6], struct weft_region *r);
long weft__shm_detach(struct weft_thread *t, uint64_t p);
void weft__shm_foreign(struct weft_thread *t); /* record: code that was not built with weft returns */
void weft__shm_fork(struct weft_thread *t);
void weft__shm_forked(void);

/* ---- gate.c: replay */
void weft__gate_open(struct weft_thread *t);
void weft__gate_awake(int more); /* threads that run, or could */
void weft__gate_tick(struct weft_thread *t);
void weft__gate_foreign_wait(struct weft_thread *t, int on);
void weft__gate_arm(struct weft_thread *t); /* limit and id for what comes next */
void weft__gate_operation(struct weft_thread *t);
void weft__gate_miss(struct weft_thread *t, uint64_t site);
struct weft_sched_item *weft__gate_input(struct weft_thread *t, int item, int64_t op); /* op < 0: any; NULL: none here */
uint32_t weft__gate_op(struct weft_thread *t);
int weft__gate_next_is(struct weft_thread *t, int op, const void *data, size_t n); /* the next tick has this input */
void weft__gate_end(struct weft_thread *t);
void weft__gate_finish(struct weft_thread *t); /* the process ends: wait for all others' recorded parts */
const void *weft__gate_data(const struct weft_sched_item *i);
__attribute__((noreturn)) void weft__gate_end_process(const struct weft_sched *s);
__attribute__((noreturn)) void weft__gate_park(struct weft_thread *t);

/* ---- debug.c: for `weft debug` */
extern WEFT_API struct weft_debug __weft_debug;
WEFT_API void __weft_debug_hook(uint64_t event, uint64_t slot, uint64_t tick, uint64_t site);
void weft__debug_wait(void);                              /* until a debugger is there, if the launcher wants one here */
void weft__debug_at(struct weft_thread *t, uint64_t site); /* at (clock, site), before the access or operation */

/* ---- event.c: what wrappers are made of; each works in both modes */
void weft__tick(struct weft_thread *t);
void weft__order(struct weft_thread *t, const void *object);  /* this position comes after the object's last operation */
void weft__take(struct weft_thread *t, const void *p, size_t n);
void weft__take_read(struct weft_thread *t, const void *p, size_t n);
void weft__take2(struct weft_thread *t, const void *p, size_t n, const void *q, size_t m); /* q is only read */
void weft__take_string(struct weft_thread *t, const char *s, size_t max);
void weft__loader_take(struct weft_thread *t); /* take.c: around what needs the loader's lock for thread-local memory */
void weft__loader_give(struct weft_thread *t);
void weft__names_take(struct weft_thread *t);  /* and those for what libc's fork needs of the name service */
void weft__names_give(struct weft_thread *t);
void weft__loader_lets(struct weft_thread *t); /* event.c: in wrappers that the loader itself does not call, after weft__enter */
void weft__outside(struct weft_thread *t);
void weft__inside(struct weft_thread *t);
struct weft_thread *weft__enter(int *was_outside); /* NULL: native */
void weft__leave(struct weft_thread *t, int was_outside);
int64_t weft__input(struct weft_thread *t, int op, int64_t ret, void *data, size_t n); /* record: logs; replay: gives */
int64_t weft__input_if(struct weft_thread *t, int op, int64_t ret, int64_t usual);      /* logs only the unusual */
int64_t weft__result(struct weft_thread *t, int op, int64_t ret, void *data, size_t n); /* as weft__input, of what is done in a steered run too */
/* Where the wrapper that runs was called from: the return address on the program's stack. */
static inline uint64_t weft__caller(void) { return *(const uint64_t *)(uintptr_t)__weft_tls.saved[0]; }
/* A thread under record or replay calls a wrapper; NULL in native mode and for threads weft does not know. */
static inline struct weft_thread *weft__active(void) {
    return weft__mode == WEFT_NATIVE ? NULL : weft__self();
}

/* ---- thread.c */
int weft__thread_exit(struct weft_thread *t); /* the thread is about to make its last system call; 1: it is the last one */
void weft__thread_keep(int *libc_count);

/* ---- take.c: a group: begin, add, then pass until it gives 0; only in record */
void weft__group_begin(struct weft_thread *t);
void weft__group_add(struct weft_thread *t, const void *p, size_t n, int width, int write); /* as in struct weft_range; NULL: nothing */
int weft__group_pass(struct weft_thread *t);              /* 1: had to wait, so something may be lost again */
/* Of a string: characters before its end, at most `most`; whole: that was found, not memory that cannot be read. */
size_t weft__group_length(const void *s, int width, size_t most, int *whole);
WEFT_HIDDEN int weft__poke(uint64_t p); /* whether it can be written, the same */
WEFT_HIDDEN int weft__same(const void *p, const void *q, size_t n); /* n bytes can be read at p, and are those at q (deliver.S) */
WEFT_HIDDEN int weft__peek(uint64_t p); /* whether p can be read: faults must happen in the function that is called, not here. (deliver.S) */

/* ---- sys.c, sud.c */
extern WEFT_HIDDEN int weft__filtered; /* there is no such thing here: filter.c */
void weft__sud_open(void);           /* once: handler */
void weft__sud_thread(struct weft_thread *t); /* per thread */
long weft__sys(struct weft_thread *t, long nr, const long a[6], int foreign, uint64_t ip);
int weft__sys_traceless(struct weft_thread *t, long nr, const long a[6], uint64_t ip, long *r);

/* ---- place.c: where mappings go; under the vm lock */
void weft__place_open(void);
/* Record: the call, with an address of our own where the kernel would choose one. -WEFT_PLACE_TAKE: t has to take *n bytes at *at first,
 * without the caller's locks. */
#define WEFT_PLACE_TAKE 4000
long weft__place(struct weft_thread *t, long nr, const long a[6], uint64_t *at, uint64_t *n);
uint64_t weft__place_brk(uint64_t to);       /* both: brk */

/* ---- signal.c */
void weft__signal_open(struct weft_thread *t);
enum weft_place { WEFT_AT_TICK = 1, WEFT_AT_RETURN, WEFT_AT_BLOCKED, WEFT_AT_TRAP, WEFT_AT_FAULT, WEFT_AT_ACCESS };
#define WEFT_RESTART 512   /* a system call's result: deliver what is due, and call again */
#define WEFT_CANCELLED 514 /* the thread is to leave the runtime: it is cancelled */
extern WEFT_HIDDEN int weft__handlers;
int weft__signal_due(struct weft_thread *t, int place);
int weft__signal_deliver(struct weft_thread *t, int place, uint64_t ip);
void weft__signal_access(struct weft_thread *t, uint64_t site); /* t is about to access something there */
void weft__signal_settle(struct weft_thread *t);
void weft__signal_born(struct weft_thread *t, struct weft_thread *c);
void weft__signal_begin(struct weft_thread *t);
void weft__attend(struct weft_thread *t);
uint64_t weft__signal_kernel_mask(struct weft_thread *t);
void weft__return(struct weft_thread *t, int was_outside); /* weft__leave, and handlers first */
int weft__interrupt(struct weft_thread *t);                /* a wait was interrupted: handlers run; wait again if not 0 */
long weft__raw_wait(struct weft_thread *t, long nr, const long a[6]); /* may give -WEFT_RESTART */
uint64_t *weft__signal_mask_in(struct weft_thread *t, long p, uint64_t *copy, uint64_t *kernel);
long weft__signal_mask_out(struct weft_thread *t, long r, const uint64_t *copy, int given);
long weft__sys_sigsuspend(struct weft_thread *t, const long a[6]);
long weft__sys_sigaction(struct weft_thread *t, const long a[6]);
long weft__sys_sigprocmask(struct weft_thread *t, const long a[6]);

/* ---- cancel.c */
int weft__cancel_due(struct weft_thread *t); /* 1: cancelled here: return at once, weft__switch does the rest */
int weft__cancel_nr(long nr, int trapped);   /* system call nr is a cancellation point */

/* ---- heap.c */
void *weft__heap_malloc_function(void); /* the address of our malloc */
void weft__heap_attach(struct weft_thread *t);
void weft__heap_detach(struct weft_thread *t);

/* ---- log.c */
int weft__log_own_fd(long fd); /* one of ours: the program does not know of it */
void weft__log_move_fd(long fd);
void weft__log_forked(struct weft_thread *t, uint32_t part);

/* ---- fork.c: each of these makes a part of the runtime fit for a forked process, of which t is the only thread */
void weft__thread_forked(struct weft_thread *t);
void weft__heap_forked(void);
void weft__heap_fork(int before); /* natively, before and after, in parent and child */
void weft__signal_forked(struct weft_thread *t);
void weft__sys_forked(void);
void weft__console_begin(struct weft_thread *t);
void weft__console_free(void);
void weft__streams_forked(void);
void weft__take_forked(void);
void weft__gate_forked(struct weft_thread *t);
void weft__modules(struct weft_thread *t); /* start.c: the list of modules, into the log or compared with it */
void weft__sud_again(struct weft_thread *t);
uint32_t weft__part_number(void);       /* record: of the next part */
uint32_t weft__part_fd(uint32_t part);  /* replay: descriptor of the launcher; 0: it left no trace */
void weft__child_new(long was, long is); /* replay: pids */
void weft__child_ended(struct weft_thread *t, long pid); /* replay: wait for the process that had this pid */

#endif
