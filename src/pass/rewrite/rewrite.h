/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the rewriter share: functions grouped under the file that defines them. */
#ifndef WEFT_REWRITE_H
#define WEFT_REWRITE_H

#include "../pass.h"

/* One module being rewritten. */
struct weft_rw {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTargetDataRef dl;
    const struct weft_facts *f;
    const struct weft_pass_options *o;
    struct weft_pass_stats *s;
    const struct weft_regions *g; /* NULL: none */
    LLVMTypeRef i8, i16, i32, i64, ptr, vd;
    LLVMValueRef tls, counts; /* counts: NULL: nobody wants to know */
    LLVMTypeRef cold_t, cold2_t;
    LLVMValueRef weak_cold, tick_cold, tick_spin, spins, come_in, go_out, miss, verify, barrier;
    int unwinds; /* the function has a serialized invoke */
    LLVMValueRef atomic; /* the access that is being checked; NULL: it is none */
    const LLVMValueRef *waits; /* of the function: heads of loops that only wait */
    size_t nwaits;
    struct weft_in_copy *moves; /* of the function: loads and stores in place of small copies */
    size_t nmoves, moves_room;
    struct weft_in_copy *in_copies; /* of the function */
    size_t nin_copies, in_copies_room;
    struct weft_original *originals; /* of the function */
    size_t noriginals, originals_room;
    uint64_t pairs; /* numbers that were given in the module */
    uint64_t pair;  /* of the access that is being checked; 0: it has none */
    struct weft_copy *copies;
    size_t ncopies, copies_room;
};
struct weft_in_copy { /* an access in the copy of a loop, or of a small copy */
    LLVMValueRef inst;
    int checked;
    uint64_t pair;
};
/* An access of a loop that is checked in the loop's copy as well: the two checks have different sites. Where they are is in a section that is not loaded (WEFT_PAIRS), for replays
 * that take the loop where the recording took the copy. */
struct weft_original {
    LLVMValueRef inst;
    uint64_t pair;
};
struct weft_copy { /* of a loop of the function */
    LLVMBasicBlockRef loop, copy;
    LLVMValueRef cold; /* ends the cold block of the tick in the copy's head */
};

/* ---- emit.c: checks, ticks and takes as code ------------------------------------------------------------------- */

void weft__rw_init(struct weft_rw *r, LLVMModuleRef m, const struct weft_facts *f, const struct weft_regions *g,
                   const struct weft_pass_options *o, struct weft_pass_stats *s);
void weft__rw_fini(struct weft_rw *r);

/* Code comes before `before` and has its line. */
void weft__rw_at(struct weft_rw *r, LLVMValueRef before);
LLVMValueRef weft__rw_i64c(struct weft_rw *r, uint64_t v);
LLVMValueRef weft__rw_load(struct weft_rw *r, LLVMTypeRef t, LLVMValueRef p, unsigned align);
LLVMValueRef weft__rw_tls_word(struct weft_rw *r, uint64_t off); /* address of a WEFT_TLS_ word */
LLVMValueRef weft__rw_function(struct weft_rw *r, const char *name, LLVMTypeRef t); /* declared once */
LLVMValueRef weft__rw_call_named(struct weft_rw *r, const char *name, LLVMTypeRef t, LLVMValueRef *a, unsigned n);
void weft__rw_call0(struct weft_rw *r, LLVMValueRef a);                             /* of cold_t */
/* If the thread is outside here, it comes in; gives that condition. */
LLVMValueRef weft__rw_come_in(struct weft_rw *r, LLVMValueRef before);
/* Whether a function called by its address is not one of this module. */
LLVMValueRef weft__rw_foreign(struct weft_rw *r, LLVMValueRef callee);
/* Where the module's functions are whose address is taken; a name in C, so that the linker defines __start_ and __stop_ of it. */
#define WEFT_TAKEN_SECTION "weft_taken"
uint64_t weft__rw_size_of(struct weft_rw *r, LLVMTypeRef t);
static inline const char *weft__rw_name_of(LLVMValueRef v) {
    size_t n;
    return LLVMGetValueName2(v, &n);
}

/* A program that has `unsigned long __weft_counts[WEFT_COUNTS]` (bench/counts.c) gets there how often it does what, in all threads. */
enum weft_count {
    WEFT_COUNT_MEMORY, /* loads, stores, atomics */
    WEFT_COUNT_CHECK,  /* checks, and takes for a call */
    WEFT_COUNT_RANGE,  /* ranges that are looked at before a loop */
    WEFT_COUNT_WEAK,   /* looks at weak locks: where a region begins or ends, and behind calls */
    WEFT_COUNTS,
};
void weft__rw_count(struct weft_rw *r, LLVMValueRef before, enum weft_count what);
void weft__rw_tick(struct weft_rw *r, LLVMValueRef before);
LLVMValueRef weft__rw_tick_to(struct weft_rw *r, LLVMValueRef before, LLVMValueRef entry); /* entry: tick_cold or tick_spin; gives the end of the cold block */
/* A check of n bytes at p, before `before`, which has the debug location of the access. */
void weft__rw_check(struct weft_rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags);
/* A check, or for large accesses a take. */
void weft__rw_check_any(struct weft_rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align,
                        uint32_t flags);
/* A call of __weft_repeat becomes a comparison of the id. */
void weft__rw_repeat(struct weft_rw *r, LLVMValueRef call);
/* A fence behind a store that goes past the cache. */
void weft__rw_fence_after(struct weft_rw *r, LLVMValueRef i);
/* In a verify build: what was accessed. */
void weft__rw_verify(struct weft_rw *r, LLVMValueRef after, LLVMValueRef p, uint64_t n, uint32_t flags);
/* A group of ranges that are owned together: begin before `before`, any number of ranges, end. */
void weft__rw_group_begin(struct weft_rw *r, LLVMValueRef before);
void weft__rw_group_range(struct weft_rw *r, LLVMValueRef p, LLVMValueRef n, int write);
void weft__rw_group_object(struct weft_rw *r, LLVMValueRef p);
void weft__rw_group_close(struct weft_rw *r); /* before a call */
void weft__rw_group_end(struct weft_rw *r);   /* before an access that stays where it is */

/* ---- calls.c: what becomes of a call --------------------------------------------------------------------------- */

void weft__rw_call_inst(struct weft_rw *r, LLVMValueRef i); /* call, invoke or callbr */
int weft__rw_move(struct weft_rw *r, LLVMValueRef i); /* a small copy, if it is checked, becomes a load and a store (r->moves); 0: it is none */
LLVMValueRef weft__rw_after(LLVMValueRef call); /* where what comes behind it begins; NULL: it does not come back */
int weft__rw_interposed(const char *name); /* whether the runtime defines the function itself */
void weft__rw_warn_asm(LLVMValueRef i, const char *what);

/* ---- ranges.c: loops whose memory is looked at before ----------------------------------------------------------- */

/* Of an access in a loop that has a copy with a check of the same access: their number. 0: there is none. */
uint64_t weft__rw_pair_of(const struct weft_rw *r, LLVMValueRef original);
void weft__rw_ranges(struct weft_rw *r, LLVMValueRef fn, const LLVMValueRef *waits, size_t n); /* waits: heads of loops that are left alone */
void weft__rw_copy_tick(struct weft_rw *r, LLVMBasicBlockRef head, LLVMValueRef cold); /* each head of a loop has got its tick, which ends so */
void weft__rw_copies(struct weft_rw *r);                                               /* all have */
void *weft__rw_grown(void *list, size_t n, size_t *room, size_t size);                  /* room for one more than n */

/* ---- regions.c: regions are entered and left, and weak locks are kept -------------------------------------------- */

void weft__rw_region_returns(struct weft_rw *r, LLVMValueRef fn); /* before all else: calls in tail position stay there */
/* While the function is as it was: where a block is tells the region. */
int weft__rw_is_alone(struct weft_rw *r, LLVMValueRef access); /* it is in no loop or function that is one */
int weft__rw_loses(struct weft_rw *r, LLVMValueRef call);      /* weak locks may be lost in it */
uint64_t weft__rw_sides(struct weft_rw *r, LLVMValueRef inst); /* that the region around it is on; 0: none */
/* Then: */
void weft__rw_regions(struct weft_rw *r, LLVMValueRef fn);      /* loops */
void weft__rw_region_access(struct weft_rw *r, LLVMValueRef i); /* before the check of one that is alone */
void weft__rw_region_look(struct weft_rw *r, LLVMValueRef next); /* behind such a call, and all that is put there */
/* The whole function, when all else is in it but the tick at its entry. Pads: the place behind what is put there, and the sides. */
void weft__rw_region_function(struct weft_rw *r, LLVMValueRef fn, const LLVMValueRef *rets, size_t nrets, const LLVMValueRef *pads,
                              const uint64_t *sides, size_t npads);

/* ---- asm.c: what an inline assembly statement touches ---------------------------------------------------------- */

#define WEFT_ASM_OPERANDS 32
enum weft_asm_input {
    WEFT_ASM_NONE,
    WEFT_ASM_OTHER, /* reads something from outside in a way that is not known */
    WEFT_ASM_TSC,   /* rdtsc */
    WEFT_ASM_TSCP,  /* rdtscp */
};
struct weft_asm_operand {
    LLVMValueRef pointer;
    unsigned arg;
    uint64_t size; /* 0: not known */
    int write;
    int bit;       /* with unit: the argument that is the number of a bit, counted from the pointer; -1: not known */
    uint64_t unit; /* bytes of the word that is accessed then, else 0 */
};
struct weft_asm {
    struct weft_asm_operand operand[WEFT_ASM_OPERANDS]; /* memory operands, each once */
    unsigned count;
    int clobbers; /* "memory" */
    int pointers; /* there are pointers in registers */
    int opaque;   /* may touch memory that no operand names */
    int locked;   /* an atomic operation */
    enum weft_asm_input input;
    char outputs[128]; /* constraints of outputs in registers, each followed by a comma */
    char tsc[4];       /* what each of them gets of the counter: l(ow word), h(igh word), p(rocessor), w(hole) */
};
void weft__asm_look(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call);

/* asmloop.c */
void weft__rewrite_asm_loops(LLVMModuleRef m);

#endif
