/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops whose memory is looked at once, before the loop (bounds.cc), instead of at every access.
 *
 * There are two of such a loop, the loop and a fast copy, in which what lies in the ranges is not checked:
 *
 *   before the loop       tls.fast = ranges; each line of each range: if (table[line] != tls.me) cold: jump to __weft_range, which knows of
 *                         shared lines too, and if one of them is not to be had: tls.fast = 0. Then if (tls.fast) go to the copy
 *   the head of the copy  a tick; if it went to the runtime, and that has let go of something: tls.fast is 0, go to the loop, behind its tick
 *   the copy is left      tls.fast = 0
 *
 * What the thread has it keeps until its next tick that goes to the runtime, or its next miss. After a miss in the copy the runtime takes again what
 * was lost (src/runtime/loops.c).
 *
 * The two copies leave different things in registers and on the stack, so replay must take the same: when it is not the fast one, the trace
 * says so (LOOP).
 *
 * Nothing is taken before the loop: where its memory is not the thread's own, or lines are split, every access is ordered by itself, and
 * races are as they were. */
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

static void begin(void *ctx, LLVMValueRef before, unsigned n) {
    struct weft_rw *r = ctx;
    set(r, before, WEFT_TLS_FAST, LLVMConstInt(r->i8, n, 0));
    r->s->copied++;
}

/* rax, rcx and rdx are 0 after both ways. */
static void range(void *ctx, LLVMValueRef before, unsigned k, const struct weft_range *a) {
    struct weft_rw *r = ctx;
    uint64_t word = WEFT_TLS_RANGE + 16ul * k;
    set(r, before, word, a->address);
    set(r, before, word + 8, a->write ? LLVMBuildOr(r->b, a->size, weft__rw_i64c(r, WEFT_RANGE_WRITES), "") : a->size);
    char text[640], me[64];
    LLVMTypeRef in[3] = {r->i32, r->i32, r->ptr}, out[2] = {r->i32, r->i32};
    LLVMValueRef in_asm[3] = {a->line, a->lines, weft__rw_tls_word(r, WEFT_TLS_ME)};
    unsigned n = r->o->shared_library ? 3 : 2;
    if (n == 3)
        snprintf(me, sizeof me, "$4");
    else
        snprintf(me, sizeof me, "%%fs:__weft_tls@tpoff+%u", WEFT_TLS_ME);
    snprintf(text, sizeof text,
             "testl %%edx, %%edx\n\tje 8f\n"
             "7:\tandl $$%lu, %%ecx\n\tmovzwl %lu(,%%rcx,2), %%eax\n\txorw %s, %%ax\n\tjne 8f\n\tincl %%ecx\n\tdecl %%edx\n\tjne 7b\n\tjmp 9f\n"
             "8:\t%smovq __weft_tls@GOTTPOFF(%%rip), %%rax\n\tmovq %%rcx, %%fs:112(%%rax)\n\tmovl %%edx, %%fs:120(%%rax)\n\t"
             "leaq 777f(%%rip), %%rax\n\tjmpq *__weft_range@GOTPCREL(%%rip)\n777:\n"
             "9:\txorl %%eax, %%eax\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx",
             WEFT_TABLE_ENTRIES - 1, (unsigned long)WEFT_TABLE_ADDR, me, a->write ? "orl $$0x80000000, %edx\n\t" : "");
    LLVMTypeRef ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, out, 2, 0), in, n, 0);
    weft__rw_at(r, before);
    LLVMValueRef c = call_asm(r, ft, text, n == 3 ? "={cx},={dx},0,1,*m,~{rax},~{memory},~{flags}" : "={cx},={dx},0,1,~{rax},~{memory},~{flags}", in_asm, n);
    if (n == 3) is_memory(r, c, 2, r->i16);
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

static void in_copy(void *ctx, LLVMValueRef access, int checked) {
    struct weft_rw *r = ctx;
    r->in_copies = weft__rw_grown(r->in_copies, r->nin_copies, &r->in_copies_room, sizeof *r->in_copies);
    r->in_copies[r->nin_copies++] = (struct weft_in_copy){access, checked};
    r->s->covered += !checked;
}
static void copied(void *ctx, LLVMBasicBlockRef loop, LLVMBasicBlockRef copy) {
    struct weft_rw *r = ctx;
    r->copies = weft__rw_grown(r->copies, r->ncopies, &r->copies_room, sizeof *r->copies);
    r->copies[r->ncopies++] = (struct weft_copy){loop, copy, NULL};
}

void weft__rw_ranges(struct weft_rw *r, LLVMValueRef fn, const LLVMValueRef *waits, size_t n) {
    r->nin_copies = r->ncopies = 0;
    r->waits = waits;
    r->nwaits = n;
    if (r->o->granularity == WEFT_GRANULARITY_ACCESS) return;
    weft__bounds(fn, &(struct weft_bounds){r, WEFT_RANGES, 2 * WEFT_LINE, is_checked, only_waits, begin, range, is_fast, left, in_copy, copied});
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
