/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the analysis share. Order of work in weft__facts_new:
 *
 *   local.c      locals whose address is not taken: all that plan ALL leaves out, and needs no solver
 *   build.c      module -> constraints: instructions; with values.c (constants and variables), allocators.c (what is
 *                allocated, and by whom) and calls.c (what a call does, and what code outside does)
 *   solve.c      constraints -> points-to sets, calls resolved on the way
 *   graph.c      call graph, strongly connected components
 *   threads.c    who runs what on which thread, what runs before the first thread; what is shared, and written when
 */
#ifndef WEFT_ANALYSIS_H
#define WEFT_ANALYSIS_H

#include "../facts.h"

#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

/* ---- util.c ---------------------------------------------------------------------------------------------------- */

void *weft__an_alloc(void *old, size_t count, size_t size);
#define WEFT_GROW(array, count, room)                                                                                  \
    do {                                                                                                               \
        if ((count) == (room)) (array) = weft__an_alloc((array), (room) = (room) ? 2 * (room) : 8, sizeof *(array));   \
    } while (0)

#define WEFT_CHECK(cond)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) weft__an_die(__FILE__, __LINE__, #cond);                                                          \
    } while (0)
_Noreturn void weft__an_die(const char *file, int line, const char *what);

/* Pointer or number -> number. Key 0 is not allowed. */
struct weft_map {
    uint64_t *key;
    uint32_t *value;
    size_t count, room;
};
uint32_t *weft__map_at(struct weft_map *map, uint64_t key);         /* inserts 0 */
uint32_t *weft__map_find(const struct weft_map *map, uint64_t key); /* NULL: not there */
void weft__map_fini(struct weft_map *map);
static inline uint64_t weft__key(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

/* Sparse set of numbers: sorted chunks of 64. */
struct weft_chunk {
    uint32_t base; /* number / 64 */
    uint64_t bits;
};
struct weft_set {
    struct weft_chunk *chunk;
    uint32_t count, room;
};
int weft__set_add(struct weft_set *set, uint32_t x);    /* 1: it was not there */
int weft__set_remove(struct weft_set *set, uint32_t x); /* 1: it was there */
int weft__set_has(const struct weft_set *set, uint32_t x);
/* 1: `into` grew. What was not there is added to `fresh` too (may be NULL). */
int weft__set_union(struct weft_set *into, const struct weft_set *from, struct weft_set *fresh);
int weft__set_meets(const struct weft_set *a, const struct weft_set *b);
void weft__set_minus(struct weft_set *a, const struct weft_set *b);
size_t weft__set_size(const struct weft_set *set);
void weft__set_fini(struct weft_set *set);
#define WEFT_SET_EACH(set, x)                                                                                          \
    for (uint32_t ch_ = 0; ch_ < (set)->count; ch_++)                                                                  \
        for (uint64_t bits_ = (set)->chunk[ch_].bits, x;                                                               \
             bits_ && (x = (uint64_t)(set)->chunk[ch_].base * 64 + (uint64_t)__builtin_ctzll(bits_), 1);               \
             bits_ &= bits_ - 1)

/* ---- ir.c: small questions to LLVM-C --------------------------------------------------------------------------- */

LLVMValueRef weft__ir_callee(LLVMValueRef call); /* aliases and casts stripped */
LLVMValueRef weft__ir_strip(LLVMValueRef v);     /* constant casts, aliases (only those without an offset) */
int weft__ir_is_call(LLVMValueRef inst);         /* call, invoke, callbr */
int weft__ir_is_intrinsic(LLVMValueRef fn);
int weft__ir_is_local(LLVMValueRef global); /* internal or private linkage */
const char *weft__ir_name(LLVMValueRef v);
LLVMValueRef weft__ir_access_pointer(LLVMValueRef inst, int *is_write, LLVMTypeRef *type); /* NULL: not an access */
int64_t weft__ir_alloca_size(LLVMTargetDataRef td, LLVMValueRef alloca);                   /* -1: not known */
int64_t weft__ir_size_of(LLVMTargetDataRef td, LLVMTypeRef type); /* as stored; -1, which is WEFT_TO_END: not known */
int weft__ir_holds(LLVMTypeRef type);   /* can values of this type hold a pointer, or eight bits of one? */
int weft__ir_is_word(LLVMTypeRef type); /* does a pointer fit into one element? */
int weft__ir_among(LLVMValueRef v, const LLVMValueRef *list, int n);

/* What the type-based alias tag of a load or store says about the object. */
enum weft_tbaa {
    WEFT_TBAA_ANY, /* nothing, or char */
    WEFT_TBAA_POINTER,
    WEFT_TBAA_NUMBER, /* any other scalar type: by the rules of C, it was not stored as a pointer */
};
enum weft_tbaa weft__ir_tbaa(LLVMValueRef inst);

/* Offset of a GEP (instruction or constant expression): constant part in *fixed; for each variable index its stride
 * and, if it indexes into an array of known length behind a constant first index, that length (else 0). Returns the
 * number of variable indices, or -1 if it is not understood. */
struct weft_gep_term {
    int64_t stride;
    uint64_t length; /* elements; 0: unbounded */
    LLVMValueRef index;
};
enum { WEFT_GEP_TERMS = 8 };
int weft__ir_gep(LLVMTargetDataRef td, LLVMValueRef gep, int64_t *fixed, struct weft_gep_term *terms);

/* ---- local.c --------------------------------------------------------------------------------------------------- */

/* Locals of one function that are only loaded and stored, at constant offsets inside them: adds them to `set`, and the
 * accesses to them can be found by weft__local_access. */
void weft__local_find(LLVMTargetDataRef td, LLVMValueRef fn, struct weft_map *set);
int weft__local_access(LLVMTargetDataRef td, const struct weft_map *set, LLVMValueRef pointer, int64_t size);

/* ---- graph.c --------------------------------------------------------------------------------------------------- */

struct weft_graph {
    uint32_t nodes;
    uint32_t *from, *to; /* edges */
    size_t edges, room;
    uint32_t *scc;   /* per node; after weft__graph_scc */
    uint32_t *first; /* edges of node n: out[first[n]] .. out[first[n+1]-1] */
    uint32_t *out;
    uint32_t scc_count;
    uint8_t *cyclic; /* per scc: more than one node, or an edge to itself */
};
void weft__graph_init(struct weft_graph *graph, uint32_t nodes);
void weft__graph_fini(struct weft_graph *graph);
void weft__graph_edge(struct weft_graph *graph, uint32_t from, uint32_t to);
void weft__graph_scc(struct weft_graph *graph); /* numbers are in reverse topological order: callees first */

/* ---- solve.c: objects, locations, nodes, constraints and their solution ---------------------------------------- */

enum weft_object_kind {
    WEFT_OBJ_UNKNOWN, /* memory of code outside, and every exposed object */
    WEFT_OBJ_STACK,
    WEFT_OBJ_HEAP, /* one per allocation site */
    WEFT_OBJ_GLOBAL,
    WEFT_OBJ_TLS,
    WEFT_OBJ_FUNCTION,
    WEFT_OBJ_DIFFERENCE, /* no object: integers that are the difference of two pointers */
};

/* Part of an object's contents. Accesses are rounded to words of 8 bytes, so pointers that are stored and loaded in
 * pieces are not lost. A segment of one word is one node; a longer one has two, so that a store to a range does not
 * leak from one of its words to another: what is stored to a range goes to `in` and from there to everything that
 * overlaps, what is loaded from it comes from `out`. */
struct weft_segment {
    int64_t lo, hi;
    uint32_t in, out;
};

struct weft_object {
    LLVMValueRef value;
    uint8_t kind; /* enum weft_object_kind */
    uint8_t constant, exposed, escaped;
    uint8_t key;       /* a pthread_key_t is kept in it */
    uint8_t cloned;    /* allocated in a wrapper: stands for objects that its callers have under other names */
    uint8_t collapsed; /* too many segments: one for all */
    uint8_t blurred;   /* too many locations: one for all */
    uint32_t stride;   /* offsets are taken modulo this: elements of an array are one; 0: not an array */
    int64_t size;      /* bytes; -1: not known */
    uint32_t function; /* kind FUNCTION: which; STACK: whose */
    struct weft_segment *segment;
    uint32_t segments, segment_room;
    uint32_t inside, outside; /* exact or partial locations in it, and before or behind it */
    uint32_t location;        /* the last one */
    uint32_t whole;           /* the one for all of it; 0: not there */
};

#define WEFT_FAR ((int64_t)1 << 40) /* an offset that no object has */

/* What a pointer may point to: an address in [lo, hi) of an object; hi = lo + 1 if it is known exactly. */
struct weft_location {
    uint32_t object;
    uint32_t next;    /* in its bucket of the hash table */
    uint32_t sibling; /* in the same object */
    int64_t lo, hi;
};

enum weft_constraint_kind {
    WEFT_C_LOAD,     /* other >= *(this + offset), size bytes */
    WEFT_C_STORE,    /* *(this + offset) >= other */
    WEFT_C_GEP,      /* other >= this + gep[offset] */
    WEFT_C_CALL,     /* this is called by call `other` */
    WEFT_C_CALLBACK, /* this is called by code outside: callback[other] */
    WEFT_C_EXPOSE,   /* code outside gets hold of this */
    WEFT_C_KEY,      /* this points to where a pthread_key_t is kept */
    WEFT_C_UNDO,     /* other is a pointer made of this integer, which may contain differences */
};
enum { WEFT_TO_END = -1, WEFT_WHOLE = -2 }; /* sizes */

struct weft_constraint {
    uint8_t kind;
    uint32_t next, other;
    int64_t offset, size;
};

/* Pointer arithmetic: adds fixed, plus for each part i * stride with 0 <= i < extent / stride, plus any multiple of
 * step. */
struct weft_gep {
    int64_t fixed, step; /* step 0: none */
    struct {
        int64_t stride, extent; /* stride 0: no part */
        int array;              /* as declared; else bits that are not known */
    } part[2];
};
#define WEFT_ANYWHERE ((struct weft_gep){.step = 1}) /* in the same object */

struct weft_node {
    uint32_t rep; /* union-find */
    uint32_t constraint;
    struct weft_set pts;   /* locations */
    struct weft_set fresh; /* those not yet passed on to successors */
    struct weft_set pend;  /* those not yet seen by the constraints */
    uint32_t *succ;
    uint32_t succs, succ_room;
    uint32_t limit; /* chunks of pts below which it need not be made coarser */
    uint8_t active, pending;
};

/* A pointer to a function is given to external code by a call. */
struct weft_callback {
    uint32_t call;  /* facts->call */
    uint8_t effect; /* WEFT_EFF_CALL, LATER, ATEXIT, THREAD or TOUCH */
    uint32_t arg;   /* node of what its parameters get; 0: none */
};

/* What came of it: code outside may run `function`. */
struct weft_entry {
    uint32_t function, call;
    uint8_t effect;
};

/* A memory access, of an instruction or of an external function. */
enum { WEFT_NOT_ASKED = -1 };
struct weft_access {
    LLVMValueRef inst;
    int32_t which; /* WEFT_NOT_ASKED: it counts, but is no access of its own */
    uint32_t function;
    uint32_t node;
    int64_t size; /* bytes, WEFT_TO_END or WEFT_WHOLE */
    uint8_t read, write;
    uint8_t deep; /* WEFT_EFF_TOUCH: `node` holds everything that can be reached */
};

/* A function that allocates, like xmalloc. */
struct weft_wrapper {
    int32_t a, b;        /* parameters that are the size; b: which it is multiplied by. -1: none */
    LLVMValueRef *other; /* results that do not come from the allocation */
    uint32_t others, other_room;
};

struct weft_points {
    struct weft_facts *facts;
    struct weft_object *object;
    uint32_t objects, object_room;
    struct weft_location *location; /* 0 is not used */
    uint32_t locations, location_room;
    uint32_t *bucket; /* hash table of locations */
    uint32_t buckets;
    struct weft_set absorbed; /* locations that the unknown one stands for: in exposed objects */
    struct weft_set implied;  /* exposed constants and functions: the unknown location says enough where it is there */
    struct weft_set blurred;  /* locations that the one of the whole object stands for */
    struct weft_node *node;   /* 0 never holds anything */
    uint32_t nodes, node_room;
    struct weft_constraint *constraint; /* 0 is not used */
    uint32_t constraints, constraint_room;
    struct weft_gep *gep;
    uint32_t geps, gep_room;
    struct weft_callback *callback;
    uint32_t callbacks, callback_room;
    struct weft_entry *entry;
    uint32_t entries, entry_room;
    struct weft_access *access;
    size_t accesses, access_room;
    struct weft_map edge; /* copy edges that are there: from << 32 | to */
    uint32_t *active;     /* nodes with something fresh */
    uint32_t actives, active_room;
    uint32_t *pending; /* nodes with something their constraints have not seen */
    uint32_t pendings, pending_room;
    struct weft_map value; /* LLVM value -> node */
    struct weft_map of;    /* alloca, global, function -> object + 1 */
    struct weft_map byval; /* parameter -> location of the callee's copy */
    struct weft_wrapper *wrapper;
    uint32_t wrappers, wrapper_room;
    struct weft_map cloned;     /* calls of allocators in them */
    struct weft_map wrapper_of; /* function + 1 -> index + 2; 1: it is none */
    struct weft_map made;       /* external function -> location of what it returns to calls through pointers */
    struct weft_map resolved;   /* pairs that were connected: (call << 32 | object) + 1, or bit 63 and a callback */
    uint64_t *pair;             /* call << 32 | target node of the call graph */
    size_t pairs, pair_room;
    uint32_t *ret, *va; /* per function: node of the result; object of variable arguments + 1 */
    uint32_t loc_unknown, loc_errno, loc_ctype, loc_difference;
    uint32_t exposed;     /* node: what code outside got hold of */
    uint32_t thrown;      /* node: exceptions */
    uint32_t results;     /* node: results of threads */
    uint32_t thread_arg;  /* node: arguments of threads */
    uint32_t constants;   /* object: all read-only variables without pointers in them */
    uint32_t own;         /* object: what pthread_setspecific keeps, for all keys and threads */
    uint64_t work;        /* locations looked at by constraints and passed along edges */
    uint8_t gave_up;      /* too much: everything was exposed */
    uint32_t differences; /* node: the pointers in them */
    uint8_t undone;       /* a pointer is made of a difference somewhere */
    uint8_t percent_n;    /* a string of the program could be a format that makes printf write */
    uint8_t percent_p;    /* the same, with which it writes a pointer that scanf may read */
    uint32_t io;          /* node: pointers written to files and pipes */
    uint32_t words;       /* node: what is stored as a number of 64 bits, and may be a pointer */
    uint32_t parts;       /* node: what is stored as a shorter number, and may be part of one */
    uint32_t doubles;     /* node: what is stored as a number with a point, and may be a pointer */
    uint32_t *inttoptr;   /* nodes of integers that are cast to pointers */
    uint32_t inttoptrs, inttoptr_room;
};

uint32_t weft__points_find(struct weft_points *p, uint32_t node);
uint32_t weft__points_new_node(struct weft_points *p);
uint32_t weft__points_new_object(struct weft_points *p, enum weft_object_kind kind, LLVMValueRef value, int64_t size);
uint32_t weft__points_location(struct weft_points *p, uint32_t object, int64_t lo, int64_t hi);
void weft__points_add(struct weft_points *p, uint32_t node, uint32_t location);
void weft__points_copy(struct weft_points *p, uint32_t from, uint32_t to);
void weft__points_constrain(struct weft_points *p, uint32_t node, struct weft_constraint c);
void weft__points_load(struct weft_points *p, uint32_t pointer, int64_t offset, int64_t size, uint32_t to);
void weft__points_store(struct weft_points *p, uint32_t pointer, int64_t offset, int64_t size, uint32_t from);
void weft__points_shift(struct weft_points *p, uint32_t from, struct weft_gep gep, uint32_t to);
void weft__points_blur(struct weft_points *p, uint32_t from, uint32_t to); /* `to` points anywhere into the objects */
void weft__points_expose(struct weft_points *p, uint32_t node);            /* code outside gets hold of it */
/* Bytes [*lo, *hi) of the object that an access touches; 0: none, it would be outside. */
int weft__points_range(const struct weft_points *p, uint32_t location, int64_t offset, int64_t size, int64_t *lo,
                       int64_t *hi);
/* Node of the contents of some bytes: to store to or to load from. 0: there are none. */
uint32_t weft__points_contents(struct weft_points *p, uint32_t object, int64_t lo, int64_t hi, int store);
void weft__points_solve(struct weft_points *p);

/* ---- build.c: the module, and what instructions do ------------------------------------------------------------- */

struct weft_points *weft__points_new(struct weft_facts *facts); /* constraints of the whole module, not yet solved */
void weft__points_free(struct weft_points *p);
/* Nothing is added if there is no node or no byte. */
void weft__build_add_access(struct weft_points *p, LLVMValueRef inst, int which, uint32_t function, uint32_t node,
                            int64_t size, int read, int write, int deep);

/* ---- values.c: nodes of values, objects of variables ----------------------------------------------------------- */

uint32_t weft__build_node(struct weft_points *p, LLVMValueRef v);   /* 0: it cannot hold a pointer */
uint32_t weft__build_object(struct weft_points *p, LLVMValueRef v); /* of an alloca, a variable or a function */
struct weft_gep weft__build_gep(struct weft_points *p, LLVMValueRef gep);
void weft__build_globals(struct weft_points *p);

/* ---- allocators.c: what is allocated, and by whom -------------------------------------------------------------- */

/* Location of what `inst` allocates. Size -1: not known; stride 0: not an array. */
uint32_t weft__build_heap_object(struct weft_points *p, LLVMValueRef inst, int64_t size, uint32_t stride);
/* Size and stride, as far as the arguments of an external allocator tell. */
void weft__build_allocation_shape(LLVMValueRef inst, const char *name, int64_t *size, uint32_t *stride);
/* Whoever allocates memory writes it (calloc, strdup), or leaves in it what was there. */
void weft__build_born(struct weft_points *p, LLVMValueRef inst, uint32_t function, uint32_t location);
uint32_t weft__build_find_wrapper(struct weft_points *p, uint32_t function); /* index + 1; 0: it is none */
/* The result of a direct call of a wrapper. */
void weft__build_allocation(struct weft_points *p, LLVMValueRef call, uint32_t caller, const struct weft_wrapper *w);

/* ---- calls.c: what calls do, and code outside ------------------------------------------------------------------ */

void weft__build_call(struct weft_points *p, LLVMValueRef inst, uint32_t caller);
void weft__build_intrinsic(struct weft_points *p, LLVMValueRef inst, LLVMValueRef fn, uint32_t caller);
/* Code outside may run the function. call UINT32_MAX: not because of a call. */
void weft__build_add_entry(struct weft_points *p, uint32_t function, uint32_t call, uint8_t effect);
/* Called by the solver. */
void weft__build_target(struct weft_points *p, uint32_t call, uint32_t object);
void weft__build_callback(struct weft_points *p, const struct weft_callback *callback, uint32_t object);
void weft__build_exposed(struct weft_points *p, uint32_t object);

/* ---- threads.c ------------------------------------------------------------------------------------------------- */

/* Abstract threads, as bits. */
enum { WEFT_BIT_MAIN, WEFT_BIT_EXIT, WEFT_BIT_OUTSIDE, WEFT_BIT_FIRST, WEFT_BIT_OVERFLOW = 63 };

struct weft_threads {
    uint64_t *mask;          /* per function: threads that may run it */
    uint8_t *late;           /* per function: it may be entered after a thread was started */
    uint8_t *once;           /* per function: it is run at most once in the life of the process */
    struct weft_map late_at; /* instruction -> 1: late although its function is not */
    int initialiser_starts;  /* a thread may run before main does */
    int exports;             /* ... one of a library, and come here */
};

/* From the solution: entries, reachability, which accesses are shared. Fills facts->why, facts->threads and the flags of
 * functions. */
void weft__threads_classify(struct weft_facts *facts);
void weft__threads_fini(struct weft_threads *threads);
int weft__threads_jumped_to(LLVMValueRef fn);
int weft__threads_in_loop(LLVMValueRef inst); /* may it be run twice in one activation of its function? */

/* ---- facts.c --------------------------------------------------------------------------------------------------- */

struct weft_call {
    LLVMValueRef inst;
    uint32_t caller;
    uint32_t target, targets; /* facts->target[target ..]: node numbers, functions of the module or WEFT_NODE_* */
    uint8_t out;              /* may_call_out */
    uint8_t starts;           /* may start a thread itself (not through a callee in this module) */
    uint8_t exits;            /* may end the process */
    uint8_t leaves;           /* ends the calling thread */
    uint8_t unknown;          /* code that we know nothing about is among the callees */
    uint8_t resolved;         /* an external function of the table is among the callees */
};

struct weft_function {
    LLVMValueRef fn;
    uint8_t defined, taken, exposed, unreachable;
};

struct weft_facts {
    LLVMModuleRef module;
    LLVMTargetDataRef td;
    struct weft_facts_options opt;
    struct weft_function *function;
    uint32_t functions;
    struct weft_map function_of; /* value -> index + 1 */
    struct weft_call *call;
    size_t calls, call_room;
    struct weft_map call_of; /* instruction -> index + 1 */
    uint32_t *target;
    size_t targets, target_room;
    struct weft_graph graph; /* functions, then node_unknown: code outside that may call what it got hold of */
    uint32_t node_unknown;
    struct weft_map why; /* instruction + which -> enum weft_why + 1 */
    struct weft_map sure; /* weft__facts_sure */
    const char **unknown;
    size_t unknowns, unknown_room;
    struct weft_facts_counts counts;
    struct weft_points *points; /* NULL if coarse */
    struct weft_threads threads; /* empty if coarse */
};

uint64_t weft__facts_key(LLVMValueRef inst, int which); /* of an access */
int weft__facts_is_runtime(const char *name); /* the pass' own: __weft_... */
void weft__facts_set(struct weft_facts *facts, LLVMValueRef inst, int which, enum weft_why why);
void weft__facts_merge(struct weft_facts *facts, LLVMValueRef inst, int which, enum weft_why why); /* ORDERED wins */
void weft__facts_note_unknown(struct weft_facts *facts, const char *name);

#endif
