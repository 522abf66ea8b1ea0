/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops whose memory is looked at once, before the loop (bounds.cc), instead of at every access.
 *
 *   before the loop   tls.lost = 0; each line of each range: if (table[line] != tls.me) cold: jump to __weft_range, which knows of
 *                     shared lines too, and if one of them is not to be had: tls.lost = 1
 *   an access in it   if (tls.lost) cold: an ordinary check
 *
 * What the thread has it keeps until its next tick that goes to the runtime, or its next miss: both set tls.lost, and from there on the loop
 * goes as any other. Nothing is taken before the loop: where its memory is not the thread's own, or lines are split, every
 * access is ordered by itself, and races are as they were.
 *
 * tls.lost may differ between record and replay; what the program does, and what is in registers and on its stack, does not. */
#include "rewrite.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#define RULE ",~{dirflag},~{fpsr},~{flags}"

static LLVMValueRef call_asm(struct weft_rw *r, LLVMTypeRef ft, const char *text, const char *constraints, LLVMValueRef *a, unsigned n) {
    LLVMValueRef v = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(r->b, ft, v, a, n, "");
}
static void is_memory(struct weft_rw *r, LLVMValueRef call, unsigned arg, LLVMTypeRef t) {
    LLVMAddCallSiteAttribute(call, arg + 1, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), t));
}

static int is_checked(void *ctx, LLVMValueRef i) {
    const struct weft_rw *r = ctx;
    return weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED;
}

static void begin(void *ctx, LLVMValueRef before) {
    struct weft_rw *r = ctx;
    weft__rw_at(r, before);
    LLVMSetVolatile(LLVMBuildStore(r->b, LLVMConstInt(r->i8, 0, 0), weft__rw_tls_word(r, WEFT_TLS_LOST)), 1);
    r->s->ranged++;
}

/* rax, rcx and rdx are 0 after both ways. */
static void range(void *ctx, LLVMValueRef before, LLVMValueRef line, LLVMValueRef lines, int write) {
    struct weft_rw *r = ctx;
    char text[640], me[64];
    LLVMTypeRef in[3] = {r->i32, r->i32, r->ptr}, out[2] = {r->i32, r->i32};
    LLVMValueRef a[3] = {line, lines, weft__rw_tls_word(r, WEFT_TLS_ME)};
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
             WEFT_TABLE_ENTRIES - 1, (unsigned long)WEFT_TABLE_ADDR, me, write ? "orl $$0x80000000, %edx\n\t" : "");
    LLVMTypeRef ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, out, 2, 0), in, n, 0);
    weft__rw_at(r, before);
    LLVMValueRef c = call_asm(r, ft, text, n == 3 ? "={cx},={dx},0,1,*m,~{rax},~{memory}" RULE : "={cx},={dx},0,1,~{rax},~{memory}" RULE, a, n);
    if (n == 3) is_memory(r, c, 2, r->i16);
}

static void covered(void *ctx, LLVMValueRef access) {
    struct weft_rw *r = ctx;
    if (r->ncovered == r->covered_room) {
        r->covered_room = r->covered_room ? r->covered_room * 2 : 64;
        r->covered = realloc(r->covered, r->covered_room * sizeof *r->covered);
        if (!r->covered) abort();
    }
    r->covered[r->ncovered++] = access;
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (const LLVMValueRef *)a, y = (uintptr_t) * (const LLVMValueRef *)b;
    return x < y ? -1 : x > y;
}

void weft__rw_ranges(struct weft_rw *r, LLVMValueRef fn) {
    r->ncovered = 0;
    if (r->o->granularity == WEFT_GRANULARITY_ACCESS) return;
    weft__bounds(fn, r, is_checked, begin, range, covered);
    if (r->ncovered) qsort(r->covered, r->ncovered, sizeof *r->covered, by_address);
}

int weft__rw_covered(const struct weft_rw *r, LLVMValueRef access) {
    return r->ncovered && bsearch(&access, r->covered, r->ncovered, sizeof *r->covered, by_address);
}

/* An ordinary check that touches no register but rax, which is 0 after all ways: record and replay do not go the same ones, and a callee
 * might push what is left in the others. At most two lines. */
static void check(struct weft_rw *r, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    char text[640], me[64];
    unsigned shared = (unsigned)r->o->shared_library;
    if (shared)
        snprintf(me, sizeof me, "$2");
    else
        snprintf(me, sizeof me, "%%fs:__weft_tls@tpoff+%u", WEFT_TLS_ME);
    size_t k = 0;
    for (int last = 0; last <= !(align >= n && !(n & (n - 1))); last++)
        k += (size_t)snprintf(text + k, sizeof text - k, "leal %lu($0), %%eax\n\tshrl $$%u, %%eax\n\tmovzwl %lu(,%%rax,2), %%eax\n\txorw %s, %%ax\n\tjne 776f\n\t",
                              last ? (unsigned long)n - 1 : 0ul, WEFT_LINE_SHIFT, (unsigned long)WEFT_TABLE_ADDR, me);
    snprintf(text + k, sizeof text - k,
             "jmp 778f\n776:\tmovq __weft_tls@GOTTPOFF(%%rip), %%rax\n\tmovq $0, %%fs:112(%%rax)\n\tmovl $1, %%fs:120(%%rax)\n\t"
             "leaq 777f(%%rip), %%rax\n\tjmpq *__weft_miss@GOTPCREL(%%rip)\n777:\n778:\txorl %%eax, %%eax");
    LLVMTypeRef in[3] = {r->ptr, r->i32, r->ptr};
    LLVMValueRef a[3] = {p, LLVMConstInt(r->i32, n | flags, 0), weft__rw_tls_word(r, WEFT_TLS_ME)};
    LLVMValueRef c = call_asm(r, LLVMFunctionType(r->vd, in, 2 + shared, 0), text, shared ? "r,i,*m,~{rax},~{memory}" RULE : "r,i,~{rax},~{memory}" RULE, a, 2 + shared);
    if (shared) is_memory(r, c, 2, r->i16);
}

void weft__rw_check_lost(struct weft_rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    char text[96];
    unsigned shared = (unsigned)r->o->shared_library;
    LLVMTypeRef out[2] = {r->i32, r->i32}, in[2] = {r->ptr, r->ptr}, ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, out, 2, 0), in, 1 + shared, 0);
    LLVMValueRef a[2] = {p, weft__rw_tls_word(r, WEFT_TLS_LOST)}; /* the address is in a register in both ways */
    if (shared)
        snprintf(text, sizeof text, "xorl %%eax, %%eax\n\tcmpb $$0, $3");
    else
        snprintf(text, sizeof text, "xorl %%eax, %%eax\n\tcmpb $$0, %%fs:__weft_tls@tpoff+%u", WEFT_TLS_LOST);
    weft__rw_at(r, before);
    LLVMValueRef c = call_asm(r, ft, text, shared ? "=&{ax},={@ccne},r,*m" RULE : "=&{ax},={@ccne},r" RULE, a, 1 + shared);
    if (shared) is_memory(r, c, 1, r->i8);
    LLVMValueRef lost = LLVMBuildICmp(r->b, LLVMIntNE, LLVMBuildExtractValue(r->b, c, 1, ""), LLVMConstInt(r->i32, 0, 0), "");
    weft__rw_at(r, weft__shim_cold(lost, before));
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
    check(r, p, n, align, flags);
    weft__rw_at(r, before);
    weft__rw_call0(r, r->barrier);
    r->s->checks++;
    r->s->covered++;
}
