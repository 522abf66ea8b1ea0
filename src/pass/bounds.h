/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bounds.cc, which is C++, tells rewrite/ranges.c, which is C, about loops and what they touch; and what clock.cc does with the ticks in loops. */
#ifndef WEFT_BOUNDS_H
#define WEFT_BOUNDS_H

#include <llvm-c/Core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_range {
    LLVMValueRef address, size; /* in bytes */
    LLVMValueRef line, lines;   /* the first line, and how many; 0: too many */
    int write;
    int all;                    /* each of the lines is touched */
};
struct weft_bounds {
    void *ctx;
    unsigned most, largest; /* ranges of a loop, bytes of an access */
    int (*is_checked)(void *ctx, LLVMValueRef access);
    int (*only_waits)(void *ctx, LLVMBasicBlockRef head); /* such a loop is left alone */
    /* Of each loop: that its n ranges are to be looked at here. */
    void (*look)(void *ctx, LLVMValueRef before, const struct weft_range *r, unsigned n);
    /* Of its copy: whether it is entered; where it is left; all that accesses memory in it; and the heads of both, of each loop in it. `checked`: it lies in none
     * of the ranges, and the loop's own is checked. */
    LLVMValueRef (*is_fast)(void *ctx, LLVMValueRef before);
    void (*left)(void *ctx, LLVMValueRef before);
    void (*in_copy)(void *ctx, LLVMValueRef access, LLVMValueRef original, int checked);
    void (*copied)(void *ctx, LLVMBasicBlockRef loop, LLVMBasicBlockRef copy);
};
void weft__bounds(LLVMValueRef fn, const struct weft_bounds *to);
/* From the copy of a loop into the loop itself, if `leaves`; `from` ends a block behind the tick of the copy's head. Both heads have a tick. */
void weft__bounds_leave(LLVMValueRef leaves, LLVMValueRef from, LLVMBasicBlockRef loop);
/* All of a function have been told: values of the loops are those of the copies, where it came from there. */
void weft__bounds_left(void);
/* All ticks are in the function: small loops keep the clock in a register. */
void weft__clock(LLVMValueRef fn, LLVMValueRef tls);

#ifdef __cplusplus
}
#endif
#endif
