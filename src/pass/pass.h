/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pass, internally: functions grouped under the file that defines them. */
#ifndef WEFT_PASS_H
#define WEFT_PASS_H

#include "facts.h"
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>

struct weft_pass_options {
    int plan;           /* enum weft_plan */
    int shared_library;
    int verify;         /* hash every checked access; prove that no site is passed twice in a tick */
    const char *stats;  /* NULL: none; "": to stderr; else a file for JSON */
    const char *serialize; /* comma-separated names */
    int races;             /* find races and put them into the program, for `weft races` */
    enum weft_granularity {
        WEFT_GRANULARITY_LOOP = 0, /* as coarse as can be */
        WEFT_GRANULARITY_ACCESS,
    } granularity;
};

struct weft_pass_stats {
    size_t checks, ticks, takes, outs, callbacks, functions, repeats, covered, copied;
};

/* ---- shim.cc */
LLVMValueRef weft__shim_cold(LLVMValueRef cond, LLVMValueRef before);
void weft__shim_loops(LLVMValueRef fn, unsigned most, void (*tell)(void *, const LLVMBasicBlockRef *, unsigned, LLVMBasicBlockRef), void *ctx);
LLVMValueRef weft__shim_first(LLVMBasicBlockRef b);
LLVMBasicBlockRef weft__shim_normal_edge(LLVMValueRef invoke);
int weft__shim_returns_twice(LLVMValueRef call);
int weft__shim_must_tail(LLVMValueRef call);
void weft__shim_keep_loop(LLVMValueRef branch);
void weft__shim_comes_from(LLVMBasicBlockRef b, LLVMBasicBlockRef was, LLVMBasicBlockRef is);

/* ---- loops/repeat.c: when a file is compiled */
int weft__early_run(LLVMModuleRef m);

/* ---- plan/races.c: after the facts of SHARED. 0: it was too much, nothing has changed */
int weft__plan_races(struct weft_facts *f);

/* ---- rewrite/early.c: before the facts are found */
void weft__rewrite_early(LLVMModuleRef m, const struct weft_pass_options *o);

/* ---- rewrite/rewrite.c */
void weft__rewrite(LLVMModuleRef m, const struct weft_facts *f, const struct weft_pass_options *o, struct weft_pass_stats *s);

#endif
