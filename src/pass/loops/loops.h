/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The early pass, internally: functions grouped under the file that defines them. */
#ifndef WEFT_LOOPS_H
#define WEFT_LOOPS_H

#include "../pass.h"
#include <stdint.h>

/* ---- quiet.c: what a call may do that other threads could notice */
struct weft_quiet;
#define WEFT_QUIET_LOUD (1ull << 63)      /* it may synchronise, or do anything */
#define WEFT_QUIET_ELSEWHERE (1ull << 62) /* it writes memory that is not its caller's own */
#define WEFT_QUIET_ARGS 62                /* bit k: it writes what argument k points to */

struct weft_quiet *weft__quiet_new(LLVMModuleRef m);
void weft__quiet_free(struct weft_quiet *q);
/* One instruction: LOUD and ELSEWHERE, from where it stands. Plain stores are ELSEWHERE too, but to locals. */
uint64_t weft__quiet_inst(const struct weft_quiet *q, LLVMValueRef i);
/* A call: what its callee does to its arguments. */
uint64_t weft__quiet_call(const struct weft_quiet *q, LLVMValueRef call);
/* The pointer without casts and offsets. */
LLVMValueRef weft__quiet_base(LLVMValueRef p);

/* ---- graph.c: blocks of a function by number, and their natural loops */
struct weft_graph {
    unsigned n;
    LLVMBasicBlockRef *bb;
    unsigned *succ, *succ_at, *pred, *pred_at; /* those of block k: from _at[k] to _at[k + 1] */
    struct weft_graph_slot *hash;
    size_t hash_size;
};
struct weft_loop {
    unsigned head;
    unsigned *latch, latches; /* in order; sources of edges to the head */
    unsigned char *in;        /* by block */
};
void weft__graph_make(struct weft_graph *g, LLVMValueRef fn);
void weft__graph_free(struct weft_graph *g);
unsigned weft__graph_number(const struct weft_graph *g, LLVMBasicBlockRef b);
/* The loops that are entered at their head only; new memory. */
struct weft_loop *weft__graph_loops(const struct weft_graph *g, size_t *count);
void weft__loops_free(struct weft_loop *l, size_t count);

#endif
