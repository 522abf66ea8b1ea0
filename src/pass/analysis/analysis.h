/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the analysis share. Order of work in weft__facts_new:
 *
 *   local.c      locals whose address is not taken: all that plan ALL leaves out, and needs no solver
 *   build.c      module -> constraints         solve.c   constraints -> points-to sets, calls resolved on the way
 *   graph.c      call graph, strongly connected components
 *   threads.c    who runs what on which thread, what runs before the first thread; what is shared, and written when
 */
#ifndef WEFT_ANALYSIS_H
#define WEFT_ANALYSIS_H

#include "../facts.h"

#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

/* ---- util.c ------------------------------------------------------------------------------------------------------------ */

void *weft__an_alloc(void *old, size_t count, size_t size);
#define WEFT_GROW(array, count, room)                                                                                        \
    do {                                                                                                                     \
        if ((count) == (room))                                                                                               \
            (array) = weft__an_alloc((array), (room) = (room) ? 2 * (room) : 8, sizeof *(array));                            \
    } while (0)

#define WEFT_CHECK(cond)                                                                                                     \
    do {                                                                                                                     \
        if (!(cond))                                                                                                         \
            weft__an_die(__FILE__, __LINE__, #cond);                                                                         \
    } while (0)
_Noreturn void weft__an_die(const char *file, int line, const char *what);

/* Pointer or number -> number. Key 0 is not allowed. */
struct weft_map {
    uint64_t *key;
    uint32_t *value;
    size_t count, room;
};
uint32_t *weft__map_at(struct weft_map *map, uint64_t key);              /* inserts 0 */
uint32_t *weft__map_find(const struct weft_map *map, uint64_t key);      /* NULL: not there */
void weft__map_fini(struct weft_map *map);
static inline uint64_t weft__key(const void *p) { return (uint64_t)(uintptr_t)p; }

/* Sparse set of numbers: sorted chunks of 64. */
struct weft_chunk {
    uint32_t base; /* number / 64 */
    uint64_t bits;
};
struct weft_set {
    struct weft_chunk *chunk;
    uint32_t count, room;
};
int weft__set_add(struct weft_set *set, uint32_t x); /* 1: it was not there */
int weft__set_has(const struct weft_set *set, uint32_t x);
/* 1: `into` grew. What was not there is added to `fresh` too (may be NULL). */
int weft__set_union(struct weft_set *into, const struct weft_set *from, struct weft_set *fresh);
void weft__set_minus(struct weft_set *a, const struct weft_set *b);
size_t weft__set_size(const struct weft_set *set);
void weft__set_fini(struct weft_set *set);
#define WEFT_SET_EACH(set, x)                                                                                                \
    for (uint32_t ch_ = 0; ch_ < (set)->count; ch_++)                                                                        \
        for (uint64_t bits_ = (set)->chunk[ch_].bits, x; bits_ && (x = (uint64_t)(set)->chunk[ch_].base * 64 +               \
                                                                       (uint64_t)__builtin_ctzll(bits_), 1);                 \
             bits_ &= bits_ - 1)

/* ---- ir.c: small questions to LLVM-C ------------------------------------------------------------------------------------ */

LLVMValueRef weft__ir_callee(LLVMValueRef call); /* aliases and casts stripped */
LLVMValueRef weft__ir_strip(LLVMValueRef v);     /* constant casts, aliases (only those without an offset) */
int weft__ir_is_call(LLVMValueRef inst);         /* call, invoke, callbr */
int weft__ir_is_intrinsic(LLVMValueRef fn);
int weft__ir_is_local(LLVMValueRef global);      /* internal or private linkage */
const char *weft__ir_name(LLVMValueRef v);
LLVMValueRef weft__ir_access_pointer(LLVMValueRef inst, int *is_write, LLVMTypeRef *type); /* NULL: not an access */
int64_t weft__ir_alloca_size(LLVMTargetDataRef td, LLVMValueRef alloca); /* -1: not known */

/* Offset of a GEP (instruction or constant expression): constant part in *fixed; for each variable index its stride and, if
 * it indexes into an array of known length behind a constant first index, that length (else 0). Returns the number of
 * variable indices, or -1 if it is not understood. */
struct weft_gep_term {
    int64_t stride;
    uint64_t length; /* elements; 0: unbounded */
    LLVMValueRef index;
};
enum { WEFT_GEP_TERMS = 8 };
int weft__ir_gep(LLVMTargetDataRef td, LLVMValueRef gep, int64_t *fixed, struct weft_gep_term *terms);

/* ---- local.c ------------------------------------------------------------------------------------------------------------- */

/* Locals of one function that are only loaded and stored, at constant offsets inside them: adds them to `set`, and the
 * accesses to them can be found by weft__local_access. */
void weft__local_find(LLVMTargetDataRef td, LLVMValueRef fn, struct weft_map *set);
int weft__local_access(LLVMTargetDataRef td, const struct weft_map *set, LLVMValueRef pointer, int64_t size);

/* ---- graph.c ------------------------------------------------------------------------------------------------------------- */

struct weft_graph {
    uint32_t nodes;
    uint32_t *from, *to; /* edges */
    size_t edges, room;
    uint32_t *scc;    /* per node; after weft__graph_scc */
    uint32_t *first;  /* edges of node n: out[first[n]] .. out[first[n+1]-1] */
    uint32_t *out;
    uint32_t scc_count;
    uint8_t *cyclic; /* per scc: more than one node, or an edge to itself */
};
void weft__graph_init(struct weft_graph *graph, uint32_t nodes);
void weft__graph_fini(struct weft_graph *graph);
void weft__graph_edge(struct weft_graph *graph, uint32_t from, uint32_t to);
void weft__graph_scc(struct weft_graph *graph); /* numbers are in reverse topological order: callees first */

/* ---- facts.c ------------------------------------------------------------------------------------------------------------- */

struct weft_call {
    LLVMValueRef inst;
    uint32_t caller;
    uint32_t target, targets; /* facts->target[target ..]: node numbers, functions of the module or WEFT_NODE_* */
    uint8_t out;              /* may_call_out */
    uint8_t starts;           /* may start a thread itself (not through a callee in this module) */
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
    const char **unknown;
    size_t unknowns, unknown_room;
    struct weft_facts_counts counts;
    struct weft_points *points; /* NULL if coarse */
};

void weft__facts_set(struct weft_facts *facts, LLVMValueRef inst, int which, enum weft_why why);
void weft__facts_note_unknown(struct weft_facts *facts, const char *name);

#endif
