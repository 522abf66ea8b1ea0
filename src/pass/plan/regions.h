/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Regions (regions.c), as the rewriter sees them. */
#ifndef WEFT_REGIONS_H
#define WEFT_REGIONS_H

#include <llvm-c/Core.h>
#include <stdint.h>

enum { WEFT_LOCKS_MOST = 8, WEFT_SIDES_MOST = 8 }; /* weak locks, and sides of each: as in weft/abi.h, which the analysis cannot include */

enum weft_region_kind {
    WEFT_REGION_LOOP,     /* an outermost one, in which nothing waits for other threads */
    WEFT_REGION_FUNCTION, /* the same of a whole function */
    WEFT_REGION_CODE,     /* what is left of a function: a thread is there for one access at a time */
};
struct weft_region {
    enum weft_region_kind kind;
    LLVMValueRef fn;
    LLVMValueRef enter;  /* LOOP: before this instruction */
    LLVMValueRef *leave; /* and before these; its ways out by exceptions are not among them */
    unsigned leaves;
    char *name;      /* the same in every build of the same source */
    uint64_t sides;  /* of weak locks, that it is on */
};
enum weft_within {
    WEFT_WITHIN_NONE,     /* it is not looked at */
    WEFT_WITHIN_CALLERS,  /* whoever calls the function is in a region, and stays in it */
    WEFT_WITHIN_FUNCTION, /* the function is one */
    WEFT_WITHIN_LOOPS,    /* some of its loops may be, and the rest is CODE */
};

struct weft_regions;
uint32_t weft__regions_count(const struct weft_regions *r);
const struct weft_region *weft__region(const struct weft_regions *r, uint32_t k);
int weft__regions_weak(const struct weft_regions *r); /* there are weak locks */
/* Of a function; *region, if it is FUNCTION: it; LOOPS: the CODE. */
enum weft_within weft__regions_within(const struct weft_regions *r, LLVMValueRef fn, uint32_t *region);
int weft__region_at(const struct weft_regions *r, LLVMValueRef inst); /* the LOOP or FUNCTION that it is in, itself; -1: none */
int weft__region_code(const struct weft_regions *r, LLVMValueRef inst); /* in CODE, it needs the weak locks of that */

#endif
