/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops whose memory is looked at once, before the loop (bounds.cc), instead of at every access.
 *
 * There are two of such a loop, the loop and a fast copy, in which what lies in the ranges is not checked:
 *
 *   before the loop       tls.fast = ranges; each line of each range: if (table[line] != tls.me) cold: jump to __weft_range, which knows of
 *                         shared lines too, takes what is missing of ranges of which the loop touches every line, and if one is not to be had so:
 *                         tls.fast = 0. Then if (tls.fast) go to the copy
 *   the head of the copy  a tick; if it went to the runtime, and that has let go of something: tls.fast is 0, go to the loop, behind its tick
 *   the copy is left      tls.fast = 0
 *
 * What the thread has it keeps until its next tick that goes to the runtime, or its next miss. After a miss in the copy the runtime takes again what
 * was lost (src/runtime/loops.c).
 *
 * The two copies leave different things in registers and on the stack, so replay must take the same: when it is not the fast one, the trace
 * says so (LOOP).
 *
 * Where lines are split every access is ordered by itself, and races are as they were. */
#include "../bounds.h"
#include "rewrite.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

static LLVMValueRef call_asm(struct weft_rw *r, LLVMTypeRef ft, const char *text, const char *constraints, LLVMValueRef *a, unsigned n) {
    LLVMValueRef v = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(r->b, ft, v, a, n, "");
}
static void is_memory(struct weft_rw *r, LLVMValueRef call, unsigned arg, LLVMTypeRef t) {
    LLVMAddCallSiteAttribute(call, arg + 1, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), t));
}

static int is_checked(void *ctx, LLVMValueRef i) {
    const struct weft_rw *r = ctx;
    for (size_t k = 0; k < r->nmoves; k++)
        if (r->moves[k].inst == i) return r->moves[k].checked;
    return weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED;
}

static int only_waits(void *ctx, LLVMBasicBlockRef head) {
    const struct weft_rw *r = ctx;
    for (size_t k = 0; k < r->nwaits; k++)
        if (r->waits[k] == LLVMBasicBlockAsValue(head)) return 1;
    return 0;
}

static void set(struct weft_rw *r, LLVMValueRef before, uint64_t word, LLVMValueRef v) {
    weft__rw_at(r, before);
    LLVMSetVolatile(LLVMBuildStore(r->b, v, weft__rw_tls_word(r, word)), 1);
}

/* Four entries at a time, where they are in a row; of a read in an executable, also whether the thread reads the lines together with others, those of a
 * page at once (abi.h). rax, rcx, rdx and what it uses beside these are 0 after both ways. */
static void look_at(struct weft_rw *r, LLVMValueRef before, const struct weft_range *a) {
    char text[1536], me[64];
    LLVMTypeRef in[3] = {r->i32, r->i32, r->ptr}, out[3] = {r->i32, r->i32, r->i64};
    LLVMValueRef in_asm[3] = {a->line, a->lines, weft__rw_tls_word(r, WEFT_TLS_ME)};
    unsigned n = r->o->shared_library ? 3 : 2;
    if (n == 3)
        snprintf(me, sizeof me, "$5");
    else
        snprintf(me, sizeof me, "%%fs:__weft_tls@tpoff+%u", WEFT_TLS_ME);
    int at = snprintf(text, sizeof text,
                      "testl %%edx, %%edx\n\tje 5f\n"
                      "7:\tmovzwl %s, %%eax\n\tmovq %%rax, $2\n\tshlq $$16, $2\n\torq $2, %%rax\n\tmovq %%rax, $2\n\tshlq $$32, $2\n\torq $2, %%rax\n"
                      "4:\tandl $$%lu, %%ecx\n\tcmpl $$4, %%edx\n\tjb 6f\n\ttestb $$3, %%cl\n\tjne 6f\n\t"
                      "cmpq %lu(,%%rcx,2), %%rax\n\tjne 8f\n\taddl $$4, %%ecx\n\tsubl $$4, %%edx\n\tjne 4b\n\tjmp 9f\n"
                      "6:\tcmpw %lu(,%%rcx,2), %%ax\n\tjne 8f\n\tincl %%ecx\n\tdecl %%edx\n\tjne 4b\n\tjmp 9f\n8:\t",
                      me, WEFT_TABLE_ENTRIES - 1, (unsigned long)WEFT_TABLE_ADDR, (unsigned long)WEFT_TABLE_ADDR);
    if (!a->write && n == 2) /* as many as it reads together with others, from this one on, in this page */
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "movl %%ecx, %%eax\n\tshrl $$6, %%eax\n\tmovq %%fs:__weft_tls@tpoff+64, $2\n\tmovq %lu($2,%%rax,8), $2\n\tnotq $2\n\tshrq %%cl, $2\n\t"
                       "movl %%ecx, %%eax\n\torl $$-64, %%eax\n\tnegl %%eax\n\ttestq $2, $2\n\tje 3f\n\tbsfq $2, %%rax\n"
                       "3:\tcmpl %%edx, %%eax\n\tcmoval %%edx, %%eax\n\taddl %%eax, %%ecx\n\tsubl %%eax, %%edx\n\tje 9f\n\ttestl %%eax, %%eax\n\tjne 7b\n",
                       WEFT_READS_ADDR);
    snprintf(text + at, sizeof text - (size_t)at,
             "5:\t%smovq __weft_tls@GOTTPOFF(%%rip), %%rax\n\tmovq %%rcx, %%fs:112(%%rax)\n\tmovl %%edx, %%fs:120(%%rax)\n\t"
             "leaq 777f(%%rip), %%rax\n\tjmpq *__weft_range@GOTPCREL(%%rip)\n777:\n"
             "9:\txorl %%eax, %%eax\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\txorl ${2:k}, ${2:k}",
             a->write ? "orl $$0x80000000, %edx\n\t" : "");
    LLVMTypeRef ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, out, 3, 0), in, n, 0);
    weft__rw_at(r, before);
    LLVMValueRef c = call_asm(r, ft, text, n == 3 ? "={cx},={dx},=&r,0,1,*m,~{rax},~{memory},~{flags}" : "={cx},={dx},=&r,0,1,~{rax},~{memory},~{flags}", in_asm, n);
    if (n == 3) is_memory(r, c, 2, r->i16);
}

static void look(void *ctx, LLVMValueRef before, const struct weft_range *a, unsigned n) {
    struct weft_rw *r = ctx;
    set(r, before, WEFT_TLS_FAST, LLVMConstInt(r->i8, n, 0));
    for (unsigned k = 0; k < n; k++) {
        uint64_t word = WEFT_TLS_RANGE + 16ul * k, is = (a[k].write ? WEFT_RANGE_WRITES : 0) | (a[k].all ? WEFT_RANGE_ALL : 0);
        set(r, before, word, a[k].address);
        set(r, before, word + 8, is ? LLVMBuildOr(r->b, a[k].size, weft__rw_i64c(r, is), "") : a[k].size);
    }
    for (unsigned k = 0; k < n; k++) {
        weft__rw_count(r, before, WEFT_COUNT_RANGE);
        look_at(r, before, &a[k]);
    }
    r->s->copied++;
}

static LLVMValueRef is_fast(void *ctx, LLVMValueRef before) {
    struct weft_rw *r = ctx;
    weft__rw_at(r, before);
    LLVMValueRef v = weft__rw_load(r, r->i8, weft__rw_tls_word(r, WEFT_TLS_FAST), 1);
    LLVMSetVolatile(v, 1);
    return LLVMBuildICmp(r->b, LLVMIntNE, v, LLVMConstInt(r->i8, 0, 0), "");
}

static void left(void *ctx, LLVMValueRef before) {
    struct weft_rw *r = ctx;
    set(r, before, WEFT_TLS_FAST, LLVMConstInt(r->i8, 0, 0));
}

void *weft__rw_grown(void *list, size_t n, size_t *room, size_t size) {
    if (n < *room) return list;
    *room = *room ? *room * 2 : 64;
    list = realloc(list, *room * size);
    if (!list) abort();
    return list;
}

uint64_t weft__rw_pair_of(const struct weft_rw *r, LLVMValueRef original) {
    for (size_t k = 0; k < r->noriginals; k++)
        if (r->originals[k].inst == original) return r->originals[k].pair;
    return 0;
}

static void in_copy(void *ctx, LLVMValueRef access, LLVMValueRef original, int checked) {
    struct weft_rw *r = ctx;
    uint64_t pair = checked ? weft__rw_pair_of(r, original) : 0;
    if (checked && !pair) {
        r->originals = weft__rw_grown(r->originals, r->noriginals, &r->originals_room, sizeof *r->originals);
        r->originals[r->noriginals++] = (struct weft_original){original, pair = ++r->pairs};
    }
    r->in_copies = weft__rw_grown(r->in_copies, r->nin_copies, &r->in_copies_room, sizeof *r->in_copies);
    r->in_copies[r->nin_copies++] = (struct weft_in_copy){access, checked, pair | WEFT_PAIR_COPY};
    r->s->covered += !checked;
}
static void copied(void *ctx, LLVMBasicBlockRef loop, LLVMBasicBlockRef copy) {
    struct weft_rw *r = ctx;
    r->copies = weft__rw_grown(r->copies, r->ncopies, &r->copies_room, sizeof *r->copies);
    r->copies[r->ncopies++] = (struct weft_copy){loop, copy, NULL};
}

void weft__rw_ranges(struct weft_rw *r, LLVMValueRef fn, const LLVMValueRef *waits, size_t n) {
    r->nin_copies = r->ncopies = r->noriginals = 0;
    r->waits = waits;
    r->nwaits = n;
    if (r->o->granularity == WEFT_GRANULARITY_ACCESS) return;
    weft__bounds(fn, &(struct weft_bounds){r, WEFT_RANGES, 2 * WEFT_LINE, is_checked, only_waits, look, is_fast, left, in_copy, copied});
}

void weft__rw_copy_tick(struct weft_rw *r, LLVMBasicBlockRef head, LLVMValueRef cold) {
    for (size_t k = 0; k < r->ncopies; k++)
        if (r->copies[k].copy == head) r->copies[k].cold = cold;
}

void weft__rw_copies(struct weft_rw *r) {
    for (size_t k = 0; k < r->ncopies; k++) {
        LLVMValueRef cold = r->copies[k].cold, fast = is_fast(r, cold);
        weft__bounds_leave(LLVMBuildNot(r->b, fast, ""), cold, r->copies[k].loop);
    }
    if (r->ncopies) weft__bounds_left();
}
