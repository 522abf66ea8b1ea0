/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How are regions entered and left (plan/regions.c), and how does a thread keep its weak locks in between?
 *
 *   enter   was = tls.region; tls.region = its sides; look
 *   leave   tls.region = was; look
 *   look    if (tls.region & tls.weak) cold: jump to __weft_weak, which gets all that tls.region says
 *
 * What a thread has it loses only where it comes to the runtime. At a miss, and when it takes memory for a call, the runtime sees to it that the thread
 * does not go on without its weak locks. A tick looks behind its cold side, and behind calls of anything that is not part of the region a
 * look is put. A landing pad is entered from anywhere: it says in which region it is.
 *
 * So a region in which nothing is lost costs a few instructions at its borders, and none at its accesses. For accesses that are in a region of their own
 * (CODE) the borders are before and behind the access.
 *
 * With `weft profile` in mind (-weft-profile) calls tell the runtime of regions instead. */
#include "../plan/regions.h"
#include "rewrite.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

_Static_assert(WEFT_LOCKS_MOST == WEFT_WEAK_LOCKS && WEFT_SIDES_MOST == WEFT_WEAK_SIDES, "weak locks");

#define WORD(x) "%%fs:__weft_tls@tpoff+" x

static void look(struct weft_rw *r, LLVMValueRef before) {
    static const char constraints[] = "={@ccne},~{rax},~{flags}";
    char text[160];
    /* rax is 0 after both ways: it may be pushed. */
    snprintf(text, sizeof text, "movq " WORD("%u") ", %%rax\n\ttestq %%rax, " WORD("%u") "\n\tmovl $$0, %%eax", WEFT_TLS_REGION, WEFT_TLS_WEAK);
    LLVMTypeRef ft = LLVMFunctionType(r->i32, NULL, 0, 0);
    weft__rw_count(r, before, WEFT_COUNT_WEAK);
    weft__rw_at(r, before);
    LLVMValueRef a = LLVMGetInlineAsm(ft, text, strlen(text), constraints, sizeof constraints - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef lost = LLVMBuildCall2(r->b, ft, a, NULL, 0, "");
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, lost, LLVMConstInt(r->i32, 0, 0), ""), before);
    weft__rw_at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
    weft__rw_call0(r, r->weak_cold);
    weft__rw_at(r, before);
    weft__rw_call0(r, r->barrier);
}

static LLVMValueRef where(struct weft_rw *r, LLVMValueRef before) {
    weft__rw_at(r, before);
    LLVMValueRef v = weft__rw_load(r, r->i64, weft__rw_tls_word(r, WEFT_TLS_REGION), 8);
    LLVMSetVolatile(v, 1);
    return v;
}

static void be_in(struct weft_rw *r, LLVMValueRef before, LLVMValueRef sides) {
    weft__rw_at(r, before);
    LLVMSetVolatile(LLVMBuildStore(r->b, sides, weft__rw_tls_word(r, WEFT_TLS_REGION)), 1);
    look(r, before);
}

/* ---- for a profile */

static void tell(struct weft_rw *r, LLVMValueRef before, const char *name, uint32_t region) {
    weft__rw_at(r, before);
    if (!LLVMInstructionGetDebugLoc(before) && LLVMGetSubprogram(LLVMGetBasicBlockParent(LLVMGetInstructionParent(before)))) /* calls must have one */
        LLVMSetCurrentDebugLocation2(r->b, LLVMDIBuilderCreateDebugLocation(r->c, 0, 0, LLVMGetSubprogram(LLVMGetBasicBlockParent(LLVMGetInstructionParent(before))), NULL));
    LLVMValueRef id = LLVMConstInt(r->i32, region, 0);
    int leaves = region == UINT32_MAX;
    weft__rw_call_named(r, name, LLVMFunctionType(r->vd, &r->i32, leaves ? 0 : 1, 0), &id, leaves ? 0 : 1);
}
#define TELL_LEAVE(r, before) tell(r, before, "__weft_profile_leave", UINT32_MAX)

/* ---- borders */

static void loop(struct weft_rw *r, uint32_t k) {
    const struct weft_region *g = weft__region(r->g, k);
    if (r->o->profile_make) {
        tell(r, g->enter, "__weft_profile_enter", k);
        for (unsigned i = 0; i < g->leaves; i++) TELL_LEAVE(r, g->leave[i]);
    }
    if (!g->sides) return;
    LLVMValueRef was = where(r, g->enter);
    be_in(r, g->enter, weft__rw_i64c(r, g->sides));
    for (unsigned i = 0; i < g->leaves; i++) be_in(r, g->leave[i], was);
    r->s->weak_regions++;
}

static void access(struct weft_rw *r, LLVMValueRef i, uint32_t k) {
    uint64_t sides = weft__region(r->g, k)->sides;
    if (!sides || !weft__region_code(r->g, i)) return;
    LLVMValueRef was = where(r, i), next = LLVMGetNextInstruction(i);
    be_in(r, i, weft__rw_i64c(r, sides));
    be_in(r, next, was);
}

void weft__rw_regions(struct weft_rw *r, LLVMValueRef fn) {
    for (uint32_t k = 0; r->g && k < weft__regions_count(r->g); k++)
        if (weft__region(r->g, k)->fn == fn && weft__region(r->g, k)->kind == WEFT_REGION_LOOP) loop(r, k);
}

void weft__rw_region_access(struct weft_rw *r, LLVMValueRef i) {
    uint32_t code;
    weft__regions_within(r->g, LLVMGetBasicBlockParent(LLVMGetInstructionParent(i)), &code);
    if (r->o->profile_make && !LLVMIsACallInst(i)) tell(r, i, "__weft_profile_at", code);
    access(r, i, code);
}

int weft__rw_is_alone(struct weft_rw *r, LLVMValueRef i) {
    uint32_t code;
    return r->g && weft__regions_within(r->g, LLVMGetBasicBlockParent(LLVMGetInstructionParent(i)), &code) == WEFT_WITHIN_LOOPS &&
           weft__region_at(r->g, i) < 0;
}

uint64_t weft__rw_sides(struct weft_rw *r, LLVMValueRef i) {
    int at = r->g ? weft__region_at(r->g, i) : -1;
    return at >= 0 ? weft__region(r->g, (uint32_t)at)->sides : 0;
}

int weft__rw_loses(struct weft_rw *r, LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call), fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    uint32_t code;
    enum weft_within within = r->g && weft__regions_weak(r->g) ? weft__regions_within(r->g, fn, &code) : WEFT_WITHIN_NONE;
    if (within == WEFT_WITHIN_NONE || (within == WEFT_WITHIN_LOOPS && weft__region_at(r->g, call) < 0)) return 0;
    if (!LLVMIsAFunction(callee)) return LLVMIsAInlineAsm(callee) || weft__facts_may_call_out(r->f, call);
    const char *name = weft__rw_name_of(callee);
    if (!strncmp(name, "__weft", 6)) return 0;
    if (strncmp(name, "llvm.", 5)) return LLVMIsDeclaration(callee);
    static const char *const nothing[] = {"llvm.dbg.", "llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias"};
    for (size_t k = 0; k < sizeof nothing / sizeof *nothing; k++)
        if (!strncmp(name, nothing[k], strlen(nothing[k]))) return 0;
    LLVMAttributeRef memory = LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName("memory", 6));
    return !memory || LLVMGetEnumAttributeValue(memory);
}
void weft__rw_region_look(struct weft_rw *r, LLVMValueRef next) { look(r, next); }

void weft__rw_region_returns(struct weft_rw *r, LLVMValueRef fn) {
    uint32_t region;
    if (r->g && weft__regions_within(r->g, fn, &region) == WEFT_WITHIN_FUNCTION && weft__region(r->g, region)->sides) weft__shim_tail_returns(fn);
}

/* Where a function is left that ends so: before a call in tail position of one that has its own regions, which may be the function itself, any number
 * of times. */
static LLVMValueRef end_of(struct weft_rw *r, LLVMValueRef ret) {
    LLVMValueRef call = LLVMGetPreviousInstruction(ret);
    uint32_t region;
    if (!call || !LLVMIsACallInst(call) || !weft__rw_in_tail_position(call)) return ret;
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (LLVMIsAFunction(callee)) {
        enum weft_within within = weft__regions_within(r->g, callee, &region);
        return within == WEFT_WITHIN_FUNCTION || within == WEFT_WITHIN_LOOPS ? call : ret;
    }
    return LLVMIsAInlineAsm(callee) || weft__facts_may_call_out(r->f, call) ? ret : call;
}

void weft__rw_region_function(struct weft_rw *r, LLVMValueRef fn, const LLVMValueRef *rets, size_t nrets, const LLVMValueRef *pads,
                              const uint64_t *own, size_t npads) {
    uint32_t region;
    enum weft_within within = r->g ? weft__regions_within(r->g, fn, &region) : WEFT_WITHIN_NONE;
    if (within == WEFT_WITHIN_NONE) return;
    int whole = within == WEFT_WITHIN_FUNCTION;
    uint64_t sides = whole ? weft__region(r->g, region)->sides : 0;
    LLVMValueRef first = weft__shim_first(LLVMGetEntryBasicBlock(fn));
    if (whole && r->o->profile_make) {
        for (size_t k = 0; k < nrets; k++) TELL_LEAVE(r, rets[k]);
        tell(r, first, "__weft_profile_enter", region);
    }
    if (!weft__regions_weak(r->g) || (!sides && !npads)) return;
    LLVMValueRef was = where(r, first);
    for (size_t k = 0; k < npads; k++) be_in(r, pads[k], own[k] ? weft__rw_i64c(r, own[k]) : was);
    if (!sides) return;
    be_in(r, first, weft__rw_i64c(r, sides));
    for (size_t k = 0; k < nrets; k++)
        if (!LLVMIsAResumeInst(rets[k])) be_in(r, end_of(r, rets[k]), was);
    r->s->weak_regions++;
}
