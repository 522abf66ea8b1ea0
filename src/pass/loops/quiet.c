/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What may a call do that other threads could notice, as far as one source file tells?
 *
 * Each function has a summary: it is loud if it may synchronise or do anything (atomics, volatile accesses, assembly, calls through
 * pointers, external functions that are not known to be short and without a state), and it writes its own locals, what an argument
 * points to, or memory elsewhere. Summaries grow from nothing until none changes. What a caller gives the address of a local to, and
 * is written only there, stays the caller's affair: so `x += y` on a vector of three numbers, a constructor, ++ of an iterator are quiet.
 *
 * Calls that do not return (assertions, throws) do not count. This is not the analysis that decides what is ordered: it only keeps
 * inner loops, which become fast because what they call is inlined, free of what they do not need. */
#include "loops.h"
#include <stdlib.h>
#include <string.h>

struct summary {
    LLVMValueRef fn;
    uint64_t does;
};
struct weft_quiet {
    struct summary *table; /* by hash */
    size_t size;
};

static struct summary *summary_of(const struct weft_quiet *q, LLVMValueRef fn) {
    size_t z = ((size_t)fn >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (q->size - 1);
    while (q->table[z].fn && q->table[z].fn != fn) z = (z + 1) & (q->size - 1);
    return &q->table[z];
}

static int has_attribute(LLVMValueRef call, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
           (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

static uint64_t bit_of(unsigned arg) { return arg < WEFT_QUIET_ARGS ? 1ull << arg : WEFT_QUIET_ELSEWHERE; }

static uint64_t external(const char *name) {
    const struct weft_external *e = weft__external(name);
    uint64_t does = 0;
    if (!e || (e->class != WEFT_EXT_PURE && e->class != WEFT_EXT_RENAME)) return WEFT_QUIET_LOUD;
    for (unsigned k = 0; k < e->count; k++) switch (e->effect[k].kind) {
        case WEFT_EFF_READ:
        case WEFT_EFF_REACH:
        case WEFT_EFF_COPY:
        case WEFT_EFF_INTO:
        case WEFT_EFF_POINTS:
        case WEFT_EFF_GLOBAL:
        case WEFT_EFF_ERRNO:
        case WEFT_EFF_CTYPE: break;
        case WEFT_EFF_WRITE: does |= bit_of((unsigned)e->effect[k].arg); break;
        default: return WEFT_QUIET_LOUD;
        }
    return does;
}

uint64_t weft__quiet_call(const struct weft_quiet *q, LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t len;
    if (has_attribute(call, "noreturn")) return 0;
    if (LLVMIsAInlineAsm(callee)) return LLVMGetInlineAsmHasSideEffects(callee) ? WEFT_QUIET_LOUD : 0;
    if (!LLVMIsAFunction(callee)) return WEFT_QUIET_LOUD;
    const char *name = LLVMGetValueName2(callee, &len);
    if (!strncmp(name, "llvm.mem", 8)) return 1;
    if (LLVMGetIntrinsicID(callee)) return 0;
    if (LLVMIsDeclaration(callee)) return external(name);
    LLVMLinkage l = LLVMGetLinkage(callee);
    if (l == LLVMWeakAnyLinkage || l == LLVMLinkOnceAnyLinkage) return WEFT_QUIET_LOUD;
    return summary_of(q, callee)->does;
}

LLVMValueRef weft__quiet_base(LLVMValueRef p) {
    for (;;) {
        int expr = LLVMIsAConstantExpr(p) != NULL;
        LLVMOpcode o = expr ? LLVMGetConstOpcode(p) : LLVMIsAInstruction(p) ? LLVMGetInstructionOpcode(p) : 0;
        if (o != LLVMGetElementPtr && o != LLVMBitCast && o != LLVMAddrSpaceCast) return p;
        p = LLVMGetOperand(p, 0);
    }
}

/* Clang keeps an argument in a local: what the local holds, if it is only ever that. */
static LLVMValueRef argument_in(LLVMValueRef local) {
    LLVMValueRef found = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (LLVMIsALoadInst(i)) continue;
        if (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == local && LLVMIsAArgument(LLVMGetOperand(i, 0)) && !found)
            found = LLVMGetOperand(i, 0);
        else if (!LLVMIsAIntrinsicInst(i))
            return NULL;
    }
    return found;
}

/* What writing there means to the caller of the function: nothing, an argument, or elsewhere. */
static uint64_t writing(LLVMValueRef p) {
    p = weft__quiet_base(p);
    if (LLVMIsAAllocaInst(p)) return 0;
    if (LLVMIsALoadInst(p) && LLVMIsAAllocaInst(LLVMGetOperand(p, 0))) {
        LLVMValueRef a = argument_in(LLVMGetOperand(p, 0));
        if (a) p = a;
    }
    if (!LLVMIsAArgument(p)) return WEFT_QUIET_ELSEWHERE;
    LLVMValueRef fn = LLVMGetParamParent(p);
    for (unsigned k = 0; k < LLVMCountParams(fn); k++)
        if (LLVMGetParam(fn, k) == p) return bit_of(k);
    return WEFT_QUIET_ELSEWHERE;
}

static uint64_t instruction(const struct weft_quiet *q, LLVMValueRef i) {
    uint64_t does = 0, call;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad: return LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic ? WEFT_QUIET_LOUD : 0;
    case LLVMStore:
        if (LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) return WEFT_QUIET_LOUD;
        return writing(LLVMGetOperand(i, 1));
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMCallBr: return WEFT_QUIET_LOUD;
    case LLVMCall:
    case LLVMInvoke:
        call = weft__quiet_call(q, i);
        does = call & (WEFT_QUIET_LOUD | WEFT_QUIET_ELSEWHERE);
        for (unsigned k = 0; k < LLVMGetNumArgOperands(i) && k < WEFT_QUIET_ARGS; k++)
            if (call & 1ull << k) does |= writing(LLVMGetOperand(i, k));
        return does;
    default: return 0;
    }
}

uint64_t weft__quiet_inst(const struct weft_quiet *q, LLVMValueRef i) {
    uint64_t does = instruction(q, i);
    return (does & WEFT_QUIET_LOUD) | (does & ~WEFT_QUIET_LOUD ? WEFT_QUIET_ELSEWHERE : 0);
}

struct weft_quiet *weft__quiet_new(LLVMModuleRef m) {
    struct weft_quiet *q = calloc(1, sizeof *q);
    size_t n = 0;
    if (!q) abort();
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) n++;
    for (q->size = 16; q->size < 2 * n; q->size *= 2) {}
    q->table = calloc(q->size, sizeof *q->table);
    if (!q->table) abort();
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) summary_of(q, fn)->fn = fn;
    for (int changed = 1; changed;) {
        changed = 0;
        for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
            struct summary *s = summary_of(q, fn);
            uint64_t does = s->does;
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b && !(does & WEFT_QUIET_LOUD); b = LLVMGetNextBasicBlock(b))
                for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) does |= instruction(q, i);
            changed |= does != s->does;
            s->does = does;
        }
    }
    return q;
}

void weft__quiet_free(struct weft_quiet *q) {
    free(q->table);
    free(q);
}
