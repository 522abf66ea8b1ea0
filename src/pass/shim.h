/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The little that LLVM-C lacks: shim.cc, which is C++, for the rest, which is C. */
#ifndef WEFT_SHIM_H
#define WEFT_SHIM_H

#include <llvm-c/Core.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loop that fits (weft__shim_regions). */
struct weft_shim_region {
    const LLVMBasicBlockRef *blocks; /* the head first */
    unsigned count;
    LLVMValueRef enter;        /* before this */
    const LLVMValueRef *leave; /* and before these */
    unsigned leaves;
    const char *name;
};
LLVMValueRef weft__shim_cold(LLVMValueRef cond, LLVMValueRef before);
void weft__shim_loops(LLVMValueRef fn, unsigned most, void (*tell)(void *, const LLVMBasicBlockRef *, unsigned, LLVMBasicBlockRef), void *ctx);
LLVMValueRef weft__shim_first(LLVMBasicBlockRef b);
LLVMBasicBlockRef weft__shim_normal_edge(LLVMValueRef invoke);
int weft__shim_returns_twice(LLVMValueRef call);
void weft__shim_tail_returns(LLVMValueRef fn);
int weft__shim_must_tail(LLVMValueRef call);
void weft__shim_keep_loop(LLVMValueRef branch);
void weft__shim_regions(LLVMValueRef fn, int (*fits)(void *, const LLVMBasicBlockRef *, unsigned), void (*tell)(void *, const struct weft_shim_region *), void *ctx);
void weft__shim_place(const char *kind, LLVMValueRef fn, char *out, size_t n);
void weft__shim_comes_from(LLVMBasicBlockRef b, LLVMBasicBlockRef was, LLVMBasicBlockRef is);

#ifdef __cplusplus
}
#endif
#endif
