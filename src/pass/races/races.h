/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The static race detector: which two accesses may touch the same bytes on two threads, one of them writing, without a
 * common lock and without an order by start and join? Every such pair is found (see races.c for what is assumed); pairs that
 * can never happen may be among them.
 *
 * It works on the facts of analysis/ (points-to, call graph). Order of work in weft__races_new:
 *
 *   sync.c       what a call does to locks and threads
 *   address.c    symbolic addresses: when are two pointers surely equal?
 *   locksets.c   sets of locks, each kept once
 *   joins.c      where is every thread that a pthread_create has made surely joined?
 *   fresh.c      accesses to memory that nobody else can know of yet
 *   summary.c    bottom-up over the call graph: accesses of a function and what it calls, with the locks since its entry
 *   pairs.c      from the summaries of thread entries to pairs
 *   names.c      what variables are called in the source
 *   print.c      the answer as text
 */
#ifndef WEFT_RACES_H
#define WEFT_RACES_H

#include "../analysis/analysis.h"

/* ---- sync.c ---------------------------------------------------------------------------------------------------- */

enum weft_sync_kind {
    WEFT_SYNC_NONE,
    WEFT_SYNC_LOCK,    /* acquires argument 0 */
    WEFT_SYNC_TRY,     /* acquires it if the result is 0 */
    WEFT_SYNC_READ,    /* acquires it together with other readers */
    WEFT_SYNC_TRYREAD, /* ... if the result is 0 */
    WEFT_SYNC_UNLOCK,
    WEFT_SYNC_JOIN,  /* waits for the thread that argument 0 names */
    WEFT_SYNC_OTHER, /* its objects are its own business: two of these do not race */
};
enum weft_sync_kind weft__sync_of(LLVMValueRef callee);
enum weft_sync_kind weft__sync_named(const char *name);
int weft__sync_owns(const char *name, int arg); /* is this argument an object of OTHER's kind, or a lock? */

/* ---- address.c ------------------------------------------------------------------------------------------------- */

/* An address as a sum of a root and a number. Addresses that are the same have the same number (struct weft_races' table). */
enum weft_root_kind {
    WEFT_ROOT_OBJECT, /* an object that there is only one of */
    WEFT_ROOT_VALUE,  /* an SSA value: within one activation of its function */
    WEFT_ROOT_LOAD,   /* what is read at another address, which nobody writes any more when there are threads */
    WEFT_ROOT_DELTA,  /* of a lock, relative to the access that it guards */
};

struct weft_address {
    uint8_t kind;
    uint32_t base;      /* OBJECT: object; LOAD: address */
    LLVMValueRef value; /* VALUE: it; LOAD: an instruction that does it, as an example */
    int64_t offset;
    uint32_t next; /* in its bucket */
};

/* ---- summary.c ------------------------------------------------------------------------------------------------- */

/* What has happened since the entry of a function, on all ways to a place (held, killed) or on some (released, started). */
struct weft_state {
    uint8_t reached;
    uint32_t held;     /* lockset: acquired and not released */
    uint32_t released; /* WEFT_ALL, or a set of locations */
    uint64_t started;  /* threads, as bits of struct weft_races' thread[] */
    uint64_t joined;
};
#define WEFT_ALL UINT32_MAX

/* An access of the program: a place in the code and what it touches. */
struct weft_race_access {
    LLVMValueRef inst;
    LLVMValueRef pointer; /* NULL: not known as a value */
    uint32_t function;
    uint32_t node;
    uint32_t address; /* 0: not known */
    int64_t size;
    uint8_t write;
    uint8_t atomic;  /* ordered by itself: two of these do not race */
    uint8_t aligned; /* to its size: two of the same size that overlap begin at the same place */
    uint8_t frees;
    uint8_t unguarded; /* by code that may unlock what it knows of */
    uint8_t fresh;   /* nobody else can know of the memory yet (fresh.c) */
    uint8_t relaxed; /* atomic, but orders nothing else */
    uint64_t starts; /* no access: a call that starts these threads */
    uint8_t racy;    /* 1: with another that is atomic as well; 2: truly */
    uint8_t weak;    /* with others, from which a weak lock keeps it apart: those do not count */
    uint8_t seen;    /* it is in the summary of a thread */
    int32_t which;   /* argument of a call; WEFT_NOT_ASKED: none that anybody asks for */
    uint32_t next;   /* of the same instruction: index + 1 */
};

/* An access of a function or of one of its callees, as the function's callers see it. */
struct weft_guarded {
    uint32_t access;
    uint32_t address; /* as far as the function knows it; 0: not known */
    uint32_t node;    /* it touches what this node points to... */
    int64_t offset;   /* ...and this many bytes further */
    uint32_t held, released;
    uint64_t started, joined;
    uint32_t call; /* index + 1 of the call through which it is reached; 0: its own */
    uint32_t from; /* index in the callee's list */
    uint32_t next; /* of the same access in this list: index + 1 */
    uint8_t merged; /* stands for too many of them */
    uint32_t changed; /* when it was made, or changed; struct weft_races' now */
};

struct weft_summary {
    struct weft_state exit, unwind;
    struct weft_guarded *list;
    uint32_t count, room;
    struct weft_map first; /* access + 1 -> index + 1 of the first */
    uint32_t changed;      /* when something in the list was */
    uint8_t done;
};

/* ---- the whole ------------------------------------------------------------------------------------------------- */

enum { WEFT_THREAD_MAIN, WEFT_THREAD_EXIT, WEFT_THREAD_OUTSIDE, WEFT_THREAD_FIRST, WEFT_THREAD_OVERFLOW = 63 };

/* A way into the program: the entry of an abstract thread. Those of pthread_create are told apart by call. */
struct weft_race_root {
    uint32_t function;
    uint8_t thread;
    uint64_t alive; /* threads that may be there when it begins, and while it runs without it starting any */
};

struct weft_race_thread {
    uint32_t function; /* entry; UINT32_MAX: main, outside */
    uint32_t call;     /* that starts it */
    uint8_t many;      /* several at a time */
};

struct weft_races {
    struct weft_facts *f;
    struct weft_points *p;
    struct weft_race_thread thread[64];
    unsigned threads;
    struct weft_race_root *root;
    uint32_t roots, root_room;
    uint64_t *call_starts; /* per call */
    /* address.c */
    struct weft_address *address; /* 0 is not used */
    uint32_t addresses, address_room, *bucket, buckets;
    struct weft_map address_of; /* value -> address */
    struct weft_map locals;     /* allocas that only loads and stores use -> 1 */
    struct weft_map stored;     /* alloca -> 1 + index in `store`, if it is stored to once; UINT32_MAX: more often */
    LLVMValueRef *store;
    uint32_t stores, store_room;
    struct weft_map shared_maker; /* objects that several calls make -> 1 */
    /* locksets.c */
    struct weft_lockset_table *sets;
    /* joins.c */
    struct weft_map join_at;   /* call -> index + 1 in `join` */
    struct weft_map join_edge; /* key of an edge -> the same */
    uint64_t *join;
    uint32_t joins, join_room;
    /* summary.c */
    struct weft_race_access *access;
    uint32_t accesses, access_room;
    struct weft_map access_at; /* instruction -> index + 1 of an access of it */
    struct weft_summary *summary;
    uint32_t now;     /* counts changes of lists */
    uint32_t *looked; /* per target of a call: when its list was looked at for that call */
    uint8_t lock_may_fail; /* robust mutexes and the like are about: the result of a lock must be looked at */
    struct weft_races_result *result;
    /* for the plan, see weft__plan_races */
    uint8_t plan;
    struct weft_weak *weak;
    uint8_t gave_up;      /* it was too much: nothing is known */
    uint64_t work;        /* entries of lists that were translated */
    uint32_t entries;     /* of all lists */
    uint8_t stale;        /* memory may be freed while somebody still uses it */
    struct weft_map sure; /* calls of join that must succeed, and of __weft_repeat that must not leave such a one out -> 1 */
};

/* `plan`: what two threads do is to be ordered by what a recording has: see plan/races.c. */
struct weft_weak;
struct weft_races *weft__races_new(struct weft_facts *facts, int plan, struct weft_weak *weak); /* weak: NULL: none (plan/weak.c) */
void weft__races_free(struct weft_races *r);

/* address.c */
void weft__address_init(struct weft_races *r);
void weft__address_fini(struct weft_races *r);
uint32_t weft__address_of(struct weft_races *r, LLVMValueRef pointer);         /* never 0 */
uint32_t weft__address_delta(struct weft_races *r, int64_t offset);            /* of a lock from an access */
uint32_t weft__address_unique(struct weft_races *r, LLVMValueRef pointer);     /* its object is one: address in it; or 0 */
uint32_t weft__address_move(struct weft_races *r, uint32_t a, int64_t offset); /* that many bytes further */
int weft__address_same_root(const struct weft_races *r, uint32_t a, uint32_t b);
int weft__address_absolute(const struct weft_races *r, uint32_t a); /* means the same everywhere */
/* What an address of `callee` is for the caller; 0: it cannot be said there. */
uint32_t weft__address_translate(struct weft_races *r, uint32_t a, LLVMValueRef call, LLVMValueRef callee);
int weft__address_parameter(const struct weft_races *r, uint32_t a, LLVMValueRef fn); /* index of its root; -1: none */
/* May the lock at this address be what somebody releases through a pointer to these locations? */
int weft__address_meets(struct weft_races *r, uint32_t a, const struct weft_set *locations);
LLVMValueRef weft__address_stored(struct weft_races *r, LLVMValueRef local); /* by the only store to it; NULL: it is not such a one */
int weft__object_unique(struct weft_races *r, uint32_t object);

/* locksets.c: 0 is the empty set. A lock is address * 2 + (1: exclusive, 0: shared). */
struct weft_lockset_table;
void weft__lockset_init(struct weft_races *r);
void weft__lockset_fini(struct weft_races *r);
const uint32_t *weft__lockset_get(const struct weft_races *r, uint32_t set, uint32_t *count);
uint32_t weft__lockset_make(struct weft_races *r, uint32_t *locks, uint32_t count); /* sorts them */
uint32_t weft__lockset_add(struct weft_races *r, uint32_t set, uint32_t lock);
uint32_t weft__lockset_both(struct weft_races *r, uint32_t a, uint32_t b);   /* held in both */
uint32_t weft__lockset_either(struct weft_races *r, uint32_t a, uint32_t b); /* held in one of them */
/* Sets of locations, kept once as well. 0 is empty; WEFT_ALL: everything. */
uint32_t weft__released_of(struct weft_races *r, uint32_t node);
uint32_t weft__released_either(struct weft_races *r, uint32_t a, uint32_t b);
uint32_t weft__lockset_without(struct weft_races *r, uint32_t set, uint32_t released);

/* joins.c */
void weft__joins_find(struct weft_races *r);
uint64_t weft__joins_call(const struct weft_races *r, LLVMValueRef call);
uint64_t weft__joins_edge(const struct weft_races *r, LLVMBasicBlockRef from, LLVMBasicBlockRef to);

/* fresh.c: marks those accesses of a function whose memory nobody else can know of. */
void weft__fresh_find(struct weft_races *r, uint32_t function);

/* summary.c */
void weft__summary_all(struct weft_races *r);

/* pairs.c */
struct weft_race_side {
    uint32_t access;
    uint32_t root, guarded; /* whose summary, and where in it */
};
struct weft_race_class { /* accesses that are alike */
    uint8_t thread;
    uint32_t held;
    uint8_t write, atomic;
    struct weft_race_side *side;
    uint32_t sides, side_room;
};
struct weft_race {
    uint32_t object; /* 0: memory that code outside knows */
    int64_t lo, hi;
    uint32_t a, b; /* classes: every side of one with every side of the other */
};
struct weft_races_result {
    struct weft_race_class *class;
    uint32_t classes, class_room;
    struct weft_race *race;
    size_t races, race_room;
    size_t accesses, racy, atomic_only; /* loads, stores and the like in reachable code; of these */
};
void weft__pairs_find(struct weft_races *r);

/* names.c */
LLVMMetadataRef weft__name_operand(struct weft_races *r, LLVMMetadataRef node, unsigned i); /* NULL: there is none */
const char *weft__name_string(struct weft_races *r, LLVMMetadataRef node, unsigned i, unsigned *length);
/* What the bytes at an offset of a variable are called; 0: it is not known. */
int weft__name_variable(struct weft_races *r, LLVMValueRef global, uint64_t offset, char *out, size_t room);

/* print.c */
char *weft__races_text(struct weft_races *r); /* new memory */

#endif
