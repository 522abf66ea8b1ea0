/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the plan share: regions of the program, and the weak locks that they take. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include "../analysis/analysis.h"
#include "regions.h"

struct weft_profile;

/* ---- regions.c: code that a thread is in for a while ----------------------------------------------------------- */

struct weft_regions {
    struct weft_facts *f;
    struct weft_region *region;
    uint32_t count, room;
    struct weft_map block; /* block of a loop that is one -> index + 1 */
    struct weft_regions_function {
        enum weft_within within;
        uint32_t region;     /* FUNCTION: it; LOOPS: the CODE */
        struct weft_set own; /* CALLERS: the regions in which the function may run */
    } *function; /* by number in the facts */
    struct weft_map code; /* accesses in CODE that need its weak locks -> 1 */
    int weak;             /* there are weak locks */
};
/* NULL: none may be used, since the program leaves functions in ways that nothing is put on (setjmp). */
struct weft_regions *weft__regions_new(struct weft_facts *f);
void weft__regions_free(struct weft_regions *r);
/* Accesses with the same number run in the same ones. */
uint32_t weft__regions_number(const struct weft_regions *r, LLVMValueRef inst, uint32_t function);
/* Those in which the access may run: adds them; 0: at times it is in none, or what it does goes through the runtime. */
int weft__regions_of(const struct weft_regions *r, LLVMValueRef inst, uint32_t function, struct weft_set *to);

/* ---- weak.c: who takes which weak lock ------------------------------------------------------------------------- */

struct weft_weak {
    struct weft_regions *r;
    const struct weft_profile *profile;
    struct weft_map race; /* pairs of regions that conflict, and are to be ordered by weak locks */
    struct weft_weak_lock {
        struct weft_set side[WEFT_SIDES_MOST]; /* regions */
        unsigned sides;
    } lock[WEFT_LOCKS_MOST];
    unsigned locks;
};
void weft__weak_init(struct weft_weak *w, struct weft_regions *r, const struct weft_profile *profile);
void weft__weak_fini(struct weft_weak *w);
/* Accesses in these regions conflict. Whether a weak lock could order them: none of the one was seen beside one of the other. */
int weft__weak_may(struct weft_weak *w, const struct weft_set *a, const struct weft_set *b);
/* They are to be ordered so: weft__weak_may, of all pairs, comes first. 0: there is no lock that could. */
int weft__weak_order(struct weft_weak *w, const struct weft_set *a, const struct weft_set *b);
void weft__weak_end(struct weft_weak *w); /* gives the regions their sides */

#endif
