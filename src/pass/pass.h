/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pass, internally: functions grouped under the file that defines them. */
#ifndef WEFT_PASS_H
#define WEFT_PASS_H

#include "facts.h"
#include "shim.h"
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>

struct weft_pass_options {
    int plan;           /* enum weft_plan */
    int shared_library;
    int verify;         /* hash every checked access; prove that no site is passed twice in a tick */
    const char *stats;  /* NULL: none; "": to stderr; else a file for JSON */
    const char *serialize; /* comma-separated names */
    const char *wrap;      /* the same: --wrap of the linker */
    int profile_make;         /* tell the runtime of regions (`weft profile`) */
    const char *profile_use;  /* NULL: none */
    int races;             /* find races and put them into the program, for `weft races` */
    enum weft_granularity {
        WEFT_GRANULARITY_LOOP = 0, /* as coarse as can be */
        WEFT_GRANULARITY_ACCESS,
        WEFT_GRANULARITY_REGION, /* LOOP, and weak locks wherever they can be, whatever a profile says */
    } granularity;
};

struct weft_pass_stats {
    size_t weak, weak_locks, weak_sides, weak_regions, checks, ticks, takes, outs, callbacks, functions, repeats, covered, copied;
};

/* ---- loops/repeat.c: when a file is compiled */
int weft__early_run(LLVMModuleRef m);

/* ---- plan/races.c: after the facts of SHARED. 0: it was too much, nothing has changed. Regions and profile: NULL: none. Apart: as if no
 * two regions had ever been seen beside each other */
struct weft_regions;
struct weft_profile;
int weft__plan_races(struct weft_facts *f, struct weft_regions *regions, const struct weft_profile *profile, int apart, struct weft_pass_stats *s);

/* ---- rewrite/early.c: before the facts are found */
void weft__rewrite_early(LLVMModuleRef m, const struct weft_pass_options *o);

/* ---- rewrite/wrap.c: first of all, and last */
void weft__rewrite_wraps(LLVMModuleRef m, const char *list);
void weft__rewrite_wraps_end(LLVMModuleRef m, const char *list);

/* ---- rewrite/rewrite.c */
void weft__rewrite(LLVMModuleRef m, const struct weft_facts *f, const struct weft_regions *regions, const struct weft_pass_options *o, struct weft_pass_stats *s);
int weft__rw_in_tail_position(LLVMValueRef call); /* calls.c */
int weft__rw_is_small(LLVMValueRef call); /* calls.c: a memset, memcpy or memmove that is checked where it is, as a load or store */
int weft__rw_only_waits(LLVMValueRef fn); /* it has a loop that only waits for others */
int weft__rw_waits_in(LLVMValueRef fn, const LLVMBasicBlockRef *blocks, unsigned n); /* ... of these blocks */

#endif
