/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Puts checks, ticks and takes into the module. What they look like (abi.h):
 *
 *   check   entry = table[(uint32_t)p >> 6]; if (entry != tls.me) cold: jump to __weft_miss(p, access); access
 *   tick    if (++tls.clock >= tls.limit) cold: jump to __weft_tick_cold
 *
 * The cold part is inline assembly: `lea back(%rip), %rax; jmp *__weft_miss@GOTPCREL(%rip); back:`, so nothing is pushed on
 * the program's stack and the address of `back` is the site. An empty assembly statement that clobbers memory stands
 * before each access, so that later stages of the compiler cannot move the access above its check.
 *
 * Ticks: at function entries (unless nothing in the function could be a site), at the head of every cycle of the control
 * flow graph (targets of retreating edges of a depth-first walk: each cycle has one, reducible or not), after calls that
 * may come back into the function, at landing pads, and after calls that return twice.
 *
 * Small copies of constant size become a load and a store, each with its check; other memory intrinsics call the runtime.
 * Calls of external functions that touch shared memory take that memory first, as a group, and stay inside; calls of
 * unknown and of long-running ones run outside. Functions that foreign code may call come inside at entry. */
#include "../pass.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

struct rw {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTargetDataRef dl;
    const struct weft_facts *f;
    const struct weft_pass_options *o;
    struct weft_pass_stats *s;
    LLVMTypeRef i8, i16, i32, i64, ptr, vd;
    LLVMValueRef tls;
    LLVMTypeRef cold_t, cold2_t;
    LLVMValueRef tick_cold, tick_spin, come_in, go_out, miss, verify, barrier;
    LLVMTypeRef barrier_t;
    int unwinds; /* the function has a serialized invoke */
    unsigned dbg_kind;
};

static LLVMValueRef i64c(struct rw *r, uint64_t v) { return LLVMConstInt(r->i64, v, 0); }

/* `after`: what is done when it comes back. */
static LLVMValueRef asm_jump(struct rw *r, const char *target, LLVMTypeRef t, const char *constraints, const char *after_) {
    char s[320];
    snprintf(s, sizeof s, "leaq 777f(%%rip), %%rax\n\tjmpq *%s@GOTPCREL(%%rip)\n777:%s", target, after_);
    return LLVMGetInlineAsm(t, s, strlen(s), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
}

static LLVMValueRef tls_word(struct rw *r, uint64_t off) {
    LLVMValueRef ix = i64c(r, off);
    return LLVMConstGEP2(r->i8, r->tls, &ix, 1);
}

static LLVMValueRef load(struct rw *r, LLVMTypeRef t, LLVMValueRef p, unsigned align) {
    LLVMValueRef v = LLVMBuildLoad2(r->b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

static void at(struct rw *r, LLVMValueRef before) {
    LLVMPositionBuilderBefore(r->b, before);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
}

static void call0(struct rw *r, LLVMValueRef a) { LLVMBuildCall2(r->b, r->cold_t, a, NULL, 0, ""); }

/* One instruction that compares a value in rax with a thread-local word, and gives the flag as an int. As assembly, so that
 * what differs between record and replay (the limit; the id and the table's entries) is in no register afterwards: the
 * compiler pushes rax to align the stack, and dead bytes of the stack must be the same.
 *   tick:  cmp limit, rax                rax: the clock, also after the cold path, which loads it again
 *   check: xor id, ax                    rax: 0 if the entry is ours; 0 after the cold path */
static LLVMValueRef tls_asm(struct rw *r, int is_tick, LLVMValueRef v, unsigned word) {
    char text[96], constraints[96];
    LLVMTypeRef in[2] = {LLVMTypeOf(v), r->ptr}, out2[2] = {r->i16, r->i32};
    LLVMTypeRef out = is_tick ? r->i32 : LLVMStructTypeInContext(r->c, out2, 2, 0);
    LLVMValueRef args[2] = {v, tls_word(r, word)};
    unsigned n = r->o->shared_library ? 2 : 1;
    const char *insn = is_tick ? "cmpq" : "xorw", *reg = is_tick ? "%rax" : "%ax";
    if (n == 2)
        snprintf(text, sizeof text, "%s $%d, %s", insn, is_tick ? 2 : 3, reg);
    else
        snprintf(text, sizeof text, "%s %%fs:__weft_tls@tpoff+%u, %s", insn, word, reg);
    snprintf(constraints, sizeof constraints, "%s%s,~{dirflag},~{fpsr},~{flags}", is_tick ? "={@ccae},{ax}" : "={ax},={@ccne},0",
             n == 2 ? ",*m" : "");
    LLVMTypeRef ft = LLVMFunctionType(out, in, n, 0);
    LLVMValueRef c = LLVMBuildCall2(
        r->b, ft, LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0), args, n, "");
    if (n == 2)
        LLVMAddCallSiteAttribute(c, 2, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), is_tick ? r->i64 : r->i16));
    return is_tick ? c : LLVMBuildExtractValue(r->b, c, 1, "");
}

static void tick_to(struct rw *r, LLVMValueRef before, LLVMValueRef entry) {
    if (!before) return;
    at(r, before);
    LLVMValueRef cp = tls_word(r, WEFT_TLS_CLOCK);
    LLVMValueRef c = LLVMBuildAdd(r->b, load(r, r->i64, cp, 8), i64c(r, 1), "");
    LLVMSetAlignment(LLVMBuildStore(r->b, c, cp), 8);
    LLVMValueRef late = tls_asm(r, 1, c, WEFT_TLS_LIMIT);
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, late, LLVMConstInt(r->i32, 0, 0), ""), before);
    at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
    call0(r, entry);
    at(r, before);
    LLVMBuildCall2(r->b, r->barrier_t, r->barrier, NULL, 0, "");
    r->s->ticks++;
}
static void tick(struct rw *r, LLVMValueRef before) { tick_to(r, before, r->tick_cold); }

static LLVMValueRef entry_of(struct rw *r, LLVMValueRef p_int) {
    LLVMValueRef t = LLVMBuildTrunc(r->b, p_int, r->i32, "");
    t = LLVMBuildLShr(r->b, t, LLVMConstInt(r->i32, WEFT_LINE_SHIFT, 0), "");
    t = LLVMBuildZExt(r->b, t, r->i64, "");
    t = LLVMBuildShl(r->b, t, i64c(r, 1), "");
    t = LLVMBuildAdd(r->b, t, i64c(r, WEFT_TABLE_ADDR), "");
    return load(r, r->i16, LLVMBuildIntToPtr(r->b, t, r->ptr, ""), 2);
}

/* A check of n bytes at p, before `before`, which has the debug location of the access. */
static void check(struct rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    at(r, before);
    LLVMValueRef pi = LLVMBuildPtrToInt(r->b, p, r->i64, "");
    LLVMValueRef bad = tls_asm(r, 0, entry_of(r, pi), WEFT_TLS_ME);
    if (!(align >= n && n <= WEFT_LINE && !(n & (n - 1))) && n > 1)
        for (uint64_t k = WEFT_LINE; k < n + WEFT_LINE - 1; k += WEFT_LINE) { /* a byte in each line */
            LLVMValueRef q = LLVMBuildAdd(r->b, pi, i64c(r, k < n ? k : n - 1), "");
            bad = LLVMBuildOr(r->b, bad, tls_asm(r, 0, entry_of(r, q), WEFT_TLS_ME), "");
        }
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, bad, LLVMConstInt(r->i32, 0, 0), ""), before);
    LLVMMetadataRef dl = LLVMInstructionGetDebugLoc(before);
    at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, dl);
    LLVMValueRef a[2] = {p, LLVMConstInt(r->i32, n | flags, 0)};
    LLVMTypeRef in[2] = {r->ptr, r->i32};
    LLVMBuildCall2(r->b, LLVMFunctionType(r->vd, in, 2, 0), r->miss, a, 2, "");
    at(r, before);
    LLVMBuildCall2(r->b, r->barrier_t, r->barrier, NULL, 0, "");
    r->s->checks++;
}

static void verify(struct rw *r, LLVMValueRef after, LLVMValueRef p, uint64_t n, uint32_t flags) {
    if (!r->o->verify) return;
    LLVMValueRef next = LLVMGetNextInstruction(after);
    LLVMPositionBuilderBefore(r->b, next);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(after));
    LLVMValueRef a[2] = {p, i64c(r, n | flags)};
    LLVMBuildCall2(r->b, r->cold2_t, r->verify, a, 2, "");
}

static const char *name_of(LLVMValueRef v) {
    size_t n;
    return LLVMGetValueName2(v, &n);
}

static LLVMValueRef function(struct rw *r, const char *name, LLVMTypeRef t) {
    LLVMValueRef f = LLVMGetNamedFunction(r->m, name);
    return f ? f : LLVMAddFunction(r->m, name, t);
}

static uint64_t size_of(struct rw *r, LLVMTypeRef t) { return LLVMStoreSizeOfType(r->dl, t); }

#define LARGE (4 * WEFT_LINE) /* accesses of more bytes are taken as ranges */

/* A group of ranges that are owned together: begin before `before`, any number of ranges, end. */
static void group_begin(struct rw *r, LLVMValueRef before) {
    at(r, before);
    LLVMBuildCall2(r->b, r->cold_t, function(r, "__weft_take_begin", r->cold_t), NULL, 0, "");
}
static void group_range(struct rw *r, LLVMValueRef p, LLVMValueRef n, int write) {
    LLVMTypeRef t[3] = {r->ptr, r->i64, r->i32};
    LLVMTypeRef ft = LLVMFunctionType(r->vd, t, 3, 0);
    LLVMValueRef a[3] = {p, n, LLVMConstInt(r->i32, (unsigned)write, 0)};
    LLVMBuildCall2(r->b, ft, function(r, "__weft_take_range", ft), a, 3, "");
}
static void group_object(struct rw *r, LLVMValueRef p) {
    LLVMTypeRef ft = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    LLVMBuildCall2(r->b, ft, function(r, "__weft_take_object", ft), &p, 1, "");
}
static void group_end(struct rw *r) {
    LLVMBuildCall2(r->b, r->cold_t, function(r, "__weft_take_end", r->cold_t), NULL, 0, "");
    LLVMBuildCall2(r->b, r->barrier_t, r->barrier, NULL, 0, "");
    r->s->takes++;
}

/* A check, or for large accesses a take. */
static void check_any(struct rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    if (n <= LARGE) {
        check(r, before, p, n, align, flags);
        return;
    }
    group_begin(r, before);
    group_range(r, p, i64c(r, n), flags & WEFT_ACC_WRITE);
    group_end(r);
}

static void access_inst(struct rw *r, LLVMValueRef i) {
    LLVMValueRef p;
    uint64_t n;
    uint32_t flags = 0;
    unsigned al;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = LLVMGetOperand(i, 0);
        n = size_of(r, LLVMTypeOf(i));
        al = LLVMGetAlignment(i);
        break;
    case LLVMStore:
        p = LLVMGetOperand(i, 1);
        n = size_of(r, LLVMTypeOf(LLVMGetOperand(i, 0)));
        al = LLVMGetAlignment(i);
        flags = WEFT_ACC_WRITE;
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        p = LLVMGetOperand(i, 0);
        n = size_of(r, LLVMTypeOf(LLVMGetOperand(i, 1)));
        al = LLVMGetAlignment(i);
        flags = WEFT_ACC_WRITE | WEFT_ACC_ATOMIC;
        break;
    case LLVMVAArg:
        p = LLVMGetOperand(i, 0);
        n = 24; /* the va_list */
        al = 8;
        flags = WEFT_ACC_WRITE;
        break;
    default: return;
    }
    if (!n) return;
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(p))) return; /* fs:, gs: relative: thread-local by nature */
    check_any(r, i, p, n, al, flags);
    if ((flags & WEFT_ACC_WRITE) && LLVMGetMetadata(i, LLVMGetMDKindIDInContext(r->c, "nontemporal", 11))) {
        /* Such a store may be seen after later ones, the release of its word among them: not across a fence. */
        LLVMPositionBuilderBefore(r->b, LLVMGetNextInstruction(i));
        LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(i));
        LLVMValueRef fence = LLVMGetInlineAsm(r->cold_t, "sfence", 6, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
        LLVMBuildCall2(r->b, r->cold_t, fence, NULL, 0, "");
    }
    verify(r, i, p, n, flags);
}

/* ---- memory intrinsics */

static int constant(LLVMValueRef v, uint64_t *out) {
    if (!LLVMIsAConstantInt(v)) return 0;
    *out = LLVMConstIntGetZExtValue(v);
    return 1;
}

static unsigned param_align(LLVMValueRef call, unsigned arg) {
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, arg + 1, LLVMGetEnumAttributeKindForName("align", 5));
    return a ? (unsigned)LLVMGetEnumAttributeValue(a) : 1;
}

static void replace_call(struct rw *r, LLVMValueRef i, const char *name, LLVMValueRef *a, unsigned n, LLVMTypeRef t) {
    at(r, i);
    LLVMValueRef c = LLVMBuildCall2(r->b, t, function(r, name, t), a, n, "");
    if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind) LLVMReplaceAllUsesWith(i, c);
    LLVMInstructionEraseFromParent(i);
    r->s->takes++;
}

static void memory_intrinsic(struct rw *r, LLVMValueRef i, const char *name) {
    int set = !strncmp(name, "llvm.memset", 11);
    int d_ord = weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED;
    int s_ord = !set && weft__facts_access(r->f, i, 1) == WEFT_WHY_ORDERED;
    if (!d_ord && !s_ord) return;
    LLVMValueRef d = LLVMGetOperand(i, 0), s = LLVMGetOperand(i, 1), len = LLVMGetOperand(i, 2);
    uint64_t n;
    if (LLVMTypeOf(d) != r->ptr || (!set && LLVMTypeOf(s) != r->ptr)) return; /* fs:, gs: */
    if (constant(len, &n)) {
        if (!n) return;
        if (set && n <= WEFT_LINE) {
            check(r, i, d, n, param_align(i, 0), WEFT_ACC_WRITE);
            verify(r, i, d, n, WEFT_ACC_WRITE);
            return;
        }
        if (!set && n <= WEFT_LINE) {
            LLVMTypeRef t = LLVMIntTypeInContext(r->c, (unsigned)n * 8);
            at(r, i);
            LLVMValueRef v = LLVMBuildLoad2(r->b, t, s, "");
            LLVMSetAlignment(v, param_align(i, 1));
            at(r, i);
            LLVMValueRef st = LLVMBuildStore(r->b, v, d);
            LLVMSetAlignment(st, param_align(i, 0));
            if (s_ord) {
                check(r, v, s, n, param_align(i, 1), 0);
                verify(r, v, s, n, 0);
            }
            if (d_ord) {
                check(r, st, d, n, param_align(i, 0), WEFT_ACC_WRITE);
                verify(r, st, d, n, WEFT_ACC_WRITE);
            }
            LLVMInstructionEraseFromParent(i);
            return;
        }
    }
    at(r, i);
    if (LLVMTypeOf(len) != r->i64) len = LLVMBuildZExt(r->b, len, r->i64, "");
    if (set) {
        LLVMValueRef v = LLVMBuildZExt(r->b, s, r->i32, "");
        LLVMTypeRef p[3] = {r->ptr, r->i32, r->i64};
        LLVMValueRef a[3] = {d, v, len};
        replace_call(r, i, "__weft_memset", a, 3, LLVMFunctionType(r->ptr, p, 3, 0));
    } else {
        LLVMTypeRef p[3] = {r->ptr, r->ptr, r->i64};
        LLVMValueRef a[3] = {d, s, len};
        replace_call(r, i, !strncmp(name, "llvm.memmove", 12) ? "__weft_memmove" : "__weft_memcpy", a, 3,
                     LLVMFunctionType(r->ptr, p, 3, 0));
    }
}

/* ---- calls of external functions */

static LLVMValueRef arg_int(struct rw *r, LLVMValueRef call, int arg) {
    LLVMValueRef v = LLVMGetOperand(call, (unsigned)arg);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind) return i64c(r, 0);
    unsigned w = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    return w < 64 ? LLVMBuildZExt(r->b, v, r->i64, "") : w > 64 ? LLVMBuildTrunc(r->b, v, r->i64, "") : v;
}

/* The object that v points into: all of it where it is known here, else what the runtime knows of it. */
static void take_object(struct rw *r, LLVMValueRef v) {
    LLVMValueRef base = v;
    for (;;) {
        if (LLVMIsAGetElementPtrInst(base) || (LLVMIsAConstantExpr(base) && LLVMGetConstOpcode(base) == LLVMGetElementPtr))
            base = LLVMGetOperand(base, 0);
        else
            break;
    }
    LLVMTypeRef t = LLVMIsAGlobalVariable(base) ? LLVMGlobalGetValueType(base)
                    : LLVMIsAAllocaInst(base) && LLVMIsAConstantInt(LLVMGetOperand(base, 0)) && LLVMConstIntGetZExtValue(LLVMGetOperand(base, 0)) == 1
                        ? LLVMGetAllocatedType(base)
                        : NULL;
    LLVMTypeRef p3[3] = {r->ptr, r->i64, r->i32}, range_t = LLVMFunctionType(r->vd, p3, 3, 0);
    LLVMTypeRef one_t = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    uint64_t n = t && LLVMTypeIsSized(t) ? LLVMABISizeOfType(r->dl, t) : 0;
    if (n && n <= 1 << 20) {
        LLVMValueRef a[3] = {base, i64c(r, n), LLVMConstInt(r->i32, 1, 0)};
        LLVMBuildCall2(r->b, range_t, function(r, "__weft_take_range", range_t), a, 3, "");
    } else
        LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_object", one_t), &v, 1, "");
}

/* Takes what the call touches, as its entry says; unknown functions: the objects that its pointer arguments point into. */
static void take(struct rw *r, LLVMValueRef call, const struct weft_external *e) {
    LLVMTypeRef t0 = LLVMFunctionType(r->vd, NULL, 0, 0);
    LLVMTypeRef p3[3] = {r->ptr, r->i64, r->i32}, p1[1] = {r->ptr};
    LLVMTypeRef range_t = LLVMFunctionType(r->vd, p3, 3, 0), one_t = LLVMFunctionType(r->vd, p1, 1, 0);
    unsigned nargs = LLVMGetNumArgOperands(call);
    int begun = 0;
    at(r, call);
#define BEGIN()                                                                                                        \
    do {                                                                                                               \
        if (!begun++) LLVMBuildCall2(r->b, t0, function(r, "__weft_take_begin", t0), NULL, 0, "");                     \
    } while (0)
    if (e) {
        for (unsigned k = 0; k < e->count; k++) {
            const struct weft_effect *x = &e->effect[k];
            int varargs = x->kind == WEFT_EFF_VARREAD || x->kind == WEFT_EFF_VARWRITE;
            if (varargs) {
                LLVMTypeRef ft = LLVMGetCalledFunctionType(call);
                for (unsigned a = LLVMCountParamTypes(ft); a < nargs; a++) {
                    LLVMValueRef v = LLVMGetOperand(call, a);
                    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind) continue;
                    if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
                    BEGIN();
                    take_object(r, v);
                    if (x->kind == WEFT_EFF_VARREAD) { /* it may be a string: as far as that goes */
                        LLVMTypeRef p2[2] = {r->ptr, r->i64}, strn_t = LLVMFunctionType(r->vd, p2, 2, 0);
                        LLVMValueRef sa[2] = {v, i64c(r, 1 << 20)};
                        LLVMBuildCall2(r->b, strn_t, function(r, "__weft_take_strn", strn_t), sa, 2, "");
                    }
                }
                continue;
            }
            int whole = x->kind == WEFT_EFF_TOUCH || x->kind == WEFT_EFF_REACH || x->kind == WEFT_EFF_ALONE;
            if (x->kind != WEFT_EFF_READ && x->kind != WEFT_EFF_WRITE && !whole) continue;
            if (x->arg < 0 || (unsigned)x->arg >= nargs) continue;
            LLVMValueRef p = LLVMGetOperand(call, (unsigned)x->arg);
            if (LLVMGetTypeKind(LLVMTypeOf(p)) != LLVMPointerTypeKind) continue;
            if (weft__facts_access(r->f, call, x->arg) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            if (whole || x->size == WEFT_SIZE_WHOLE || x->size == WEFT_SIZE_NONE) {
                take_object(r, p);
            } else if (x->size == WEFT_SIZE_STRING) {
                LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_str", one_t), &p, 1, "");
            } else if (x->size == WEFT_SIZE_WSTRING) {
                LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_wcs", one_t), &p, 1, "");
            } else {
                LLVMValueRef n = i64c(r, x->constant);
                if (x->size == WEFT_SIZE_ARG) {
                    n = arg_int(r, call, x->arg2);
                    if (x->arg3 >= 0) n = LLVMBuildMul(r->b, n, arg_int(r, call, x->arg3), "");
                    if (x->constant > 1) n = LLVMBuildMul(r->b, n, i64c(r, x->constant), "");
                }
                if (x->kind == WEFT_EFF_READ && x->size == WEFT_SIZE_ARG && (strstr(e->name, "strn") || !strcmp(e->name, "stpncpy"))) {
                    /* Reads up to a NUL, if that comes first: the number may be anything then. */
                    LLVMTypeRef ps[2] = {r->ptr, r->i64}, strn_t = LLVMFunctionType(r->vd, ps, 2, 0);
                    LLVMValueRef as[2] = {p, n};
                    LLVMBuildCall2(r->b, strn_t, function(r, "__weft_take_strn", strn_t), as, 2, "");
                    continue;
                }
                LLVMValueRef a[3] = {p, n, LLVMConstInt(r->i32, x->kind == WEFT_EFF_WRITE, 0)};
                LLVMBuildCall2(r->b, range_t, function(r, "__weft_take_range", range_t), a, 3, "");
            }
        }
    } else
        for (unsigned a = 0; a < nargs; a++) {
            LLVMValueRef v = LLVMGetOperand(call, a);
            if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind || LLVMIsAConstantPointerNull(v) || LLVMIsAFunction(v)) continue;
            if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            take_object(r, v);
        }
    if (begun) {
        LLVMBuildCall2(r->b, t0, function(r, "__weft_take_end", t0), NULL, 0, "");
        r->s->takes++;
    }
}

static int listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p && *p;) {
        const char *e = strchr(p, ',');
        size_t k = e ? (size_t)(e - p) : strlen(p);
        if (k == n && !memcmp(p, name, n)) return 1;
        p = e ? e + 1 : NULL;
    }
    return 0;
}

/* Functions of libc with a state of their own behind them: calls of a group are ordered among each other. */
static unsigned hidden_state(const char *name) {
    static const char *const groups[] = {
        "rand,srand,random,srandom,initstate,setstate",
        "drand48,lrand48,mrand48,srand48,seed48,lcong48,erand48,nrand48,jrand48",
        "localtime,gmtime,ctime,asctime,mktime,localtime_r,gmtime_r,ctime_r,asctime_r,strftime,strptime,tzset,timelocal,timegm,wcsftime",
        "getenv,secure_getenv,setenv,putenv,unsetenv,clearenv",
        "strerror,strsignal,setlocale,localeconv,nl_langinfo,newlocale,uselocale",
        "getopt,getopt_long,getopt_long_only",
        "tmpnam,tempnam,mktemp,mkstemp,mkostemp,mkdtemp,tmpfile,mkstemp64,tmpfile64",
        "getpwnam,getpwuid,getgrnam,getgrgid,getpwnam_r,getpwuid_r,getgrnam_r,getgrgid_r,getlogin,ttyname",
        "gethostbyname,gethostbyaddr,getaddrinfo,getnameinfo,getservbyname,getservbyport,getprotobyname",
        "atexit,on_exit,__cxa_atexit,at_quick_exit",
        "dlopen,dlmopen,dlsym,dlvsym,dlclose,dlerror,dladdr,dladdr1,dlinfo,dl_iterate_phdr",
        "lgamma,lgammaf,lgammal,gamma",
        "readdir,readdir64,opendir,closedir,rewinddir,seekdir,telldir,fdopendir",
        "sysconf,get_nprocs,get_nprocs_conf,getloadavg",
        "syslog,openlog,closelog,setlogmask,vsyslog",
        "strtok",
    };
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (listed(groups[i], name)) return i + 1;
    return 0;
}

/* Members and operators of C++ streams, which have state of their own (width, flags): ordered per stream, the first
 * argument. */
static int cxx_stream(const char *name) {
    static const char *const heads[] = {"_ZNSo", "_ZNSi", "_ZNSd", "_ZStls", "_ZStrs", "_ZSt16__ostream_insert", "_ZSt4endl", "_ZSt5flush",
                                        "_ZNSt13basic_ostream", "_ZNSt13basic_istream", "_ZSt7getline", "_ZSt4ends"};
    for (unsigned k = 0; k < sizeof heads / sizeof *heads; k++)
        if (!strncmp(name, heads[k], strlen(heads[k]))) return 1;
    return 0;
}

/* First instruction after a call on its normal way; NULL: none (no return). */
static LLVMValueRef after(LLVMValueRef call) {
    if (LLVMIsAInvokeInst(call)) return weft__shim_first(weft__shim_normal_edge(call));
    return LLVMGetNextInstruction(call);
}

/* Whether the runtime defines the function itself; the list is made from its symbols when weft is built. */
static int interposed(const char *name) {
    static const char *const names[] = {
#include "interposed.inc"
        NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name)) return 1;
    return 0;
}

static int is_asm(LLVMValueRef callee) { return LLVMIsAInlineAsm(callee) != NULL; }

/* ---- inline assembly, and instructions that are inputs */

static void warn_asm(LLVMValueRef i, const char *what) {
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
    unsigned len = 0, dir_len = 0, line = LLVMGetDebugLocLine(i);
    const char *file = LLVMGetDebugLocFilename(i, &len), *dir = LLVMGetDebugLocDirectory(i, &dir_len);
    int relative = len && file[0] != '/' && dir_len;
    static LLVMValueRef last_fn;
    static unsigned last_line;
    if (getenv("WEFT_QUIET") || (fn == last_fn && line == last_line && line)) return;
    last_fn = fn;
    last_line = line;
    if (line)
        fprintf(stderr, "weft: warning: %.*s%s%.*s:%u: inline assembly in '%s' %s\n", relative ? (int)dir_len : 0, dir,
                relative ? "/" : "", (int)len, file, line, name_of(fn), what);
    else
        fprintf(stderr, "weft: warning: inline assembly in '%s' %s\n", name_of(fn), what);
}

/* A call of the runtime in place of an instruction: two words. */
static LLVMValueRef input_pair(struct rw *r, LLVMValueRef i, const char *name) {
    LLVMTypeRef two[2] = {r->i64, r->i64}, t = LLVMFunctionType(LLVMStructTypeInContext(r->c, two, 2, 0), NULL, 0, 0);
    at(r, i);
    return LLVMBuildCall2(r->b, t, function(r, name, t), NULL, 0, "");
}
static LLVMValueRef fit(struct rw *r, LLVMValueRef v, LLVMTypeRef t) {
    return LLVMTypeOf(v) == t ? v : LLVMBuildIntCast2(r->b, v, t, 0, "");
}
/* The result of i becomes v[0], or a structure of the n values. */
static void input_result(struct rw *r, LLVMValueRef i, LLVMValueRef *v, unsigned n) {
    LLVMTypeRef t = LLVMTypeOf(i);
    LLVMValueRef all;
    if (LLVMGetTypeKind(t) == LLVMStructTypeKind) {
        all = LLVMGetUndef(t);
        for (unsigned k = 0; k < n && k < LLVMCountStructElementTypes(t); k++)
            all = LLVMBuildInsertValue(r->b, all, fit(r, v[k], LLVMStructGetTypeAtIndex(t, k)), k, "");
    } else
        all = fit(r, v[0], t);
    LLVMReplaceAllUsesWith(i, all);
    LLVMInstructionEraseFromParent(i);
}

static void asm_inst(struct rw *r, LLVMValueRef i) {
    struct weft_asm a;
    weft__asm_look(&a, r->dl, i);
    if (a.input >= WEFT_ASM_TSC_HALVES && LLVMIsACallInst(i)) {
        LLVMValueRef p = input_pair(r, i, a.input == WEFT_ASM_TSCP ? "__weft_rdtscp" : "__weft_rdtsc");
        LLVMValueRef whole = LLVMBuildExtractValue(r->b, p, 0, ""), v[3] = {whole};
        if (a.input != WEFT_ASM_TSC_WHOLE) {
            v[0] = LLVMBuildAnd(r->b, whole, i64c(r, 0xffffffff), "");
            v[1] = LLVMBuildLShr(r->b, whole, i64c(r, 32), "");
            v[2] = LLVMBuildExtractValue(r->b, p, 1, "");
        }
        input_result(r, i, v, a.input == WEFT_ASM_TSC_WHOLE ? 1 : a.input == WEFT_ASM_TSCP ? 3 : 2);
        return;
    }
    if (a.input) warn_asm(i, "reads what differs from run to run (rdtsc, rdrand, ...): replay cannot give it the same");
    if (a.opaque) warn_asm(i, "may touch memory that is not among its operands: that is not ordered");
    unsigned n = 0, k = 0;
    for (unsigned j = 0; j < a.count; j++)
        if (weft__facts_access(r->f, i, (int)a.operand[j].arg) == WEFT_WHY_ORDERED) a.operand[n++] = a.operand[j];
    int objects = 0;
    if (a.opaque && a.pointers)
        for (; k < LLVMGetNumArgOperands(i); k++)
            objects |= weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED;
    if (!n && !objects) return;
    if (n == 1 && !objects && a.operand[0].size) {
        check_any(r, i, a.operand[0].pointer, a.operand[0].size, 1, a.operand[0].write ? WEFT_ACC_WRITE : 0);
        if (LLVMIsACallInst(i)) verify(r, i, a.operand[0].pointer, a.operand[0].size, a.operand[0].write ? WEFT_ACC_WRITE : 0);
        return;
    }
    group_begin(r, i);
    for (k = 0; k < n; k++)
        if (a.operand[k].size)
            group_range(r, a.operand[k].pointer, i64c(r, a.operand[k].size), a.operand[k].write);
        else
            group_object(r, a.operand[k].pointer);
    if (objects)
        for (k = 0; k < LLVMGetNumArgOperands(i); k++)
            if (weft__facts_access(r->f, i, (int)k) == WEFT_WHY_ORDERED) group_object(r, LLVMGetOperand(i, k));
    group_end(r);
}

/* Intrinsics that touch memory or are inputs; the rest is left as it is. */
static void intrinsic(struct rw *r, LLVMValueRef i, const char *name) {
    static const struct {
        const char *intrinsic, *call;
    } inputs[] = {{"llvm.readcyclecounter", "rdtsc"}, {"llvm.x86.rdtsc", "rdtsc"},         {"llvm.x86.rdtscp", "rdtscp"},
                  {"llvm.x86.rdpid", "rdpid"},        {"llvm.x86.rdrand.16", "rdrand16"}, {"llvm.x86.rdrand.32", "rdrand32"},
                  {"llvm.x86.rdrand.64", "rdrand64"}, {"llvm.x86.rdseed.16", "rdseed16"}, {"llvm.x86.rdseed.32", "rdseed32"},
                  {"llvm.x86.rdseed.64", "rdseed64"}};
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        if (!strcmp(name, inputs[k].intrinsic)) {
            char wn[32];
            snprintf(wn, sizeof wn, "__weft_%s", inputs[k].call);
            LLVMValueRef p = input_pair(r, i, wn);
            LLVMValueRef v[2] = {LLVMBuildExtractValue(r->b, p, 0, ""), LLVMBuildExtractValue(r->b, p, 1, "")};
            input_result(r, i, v, 2);
            return;
        }
    int store = !strncmp(name, "llvm.masked.store", 17) || !strncmp(name, "llvm.masked.compressstore", 25);
    if (store || !strncmp(name, "llvm.masked.load", 16) || !strncmp(name, "llvm.masked.expandload", 22)) {
        /* All lanes, masked out or not: their lines are only owned, not touched. So there is no verify either. */
        unsigned arg = (unsigned)store;
        LLVMTypeRef t = store ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
        if (weft__facts_access(r->f, i, (int)arg) == WEFT_WHY_ORDERED)
            check_any(r, i, LLVMGetOperand(i, arg), size_of(r, t), 1, store ? WEFT_ACC_WRITE : 0);
        return;
    }
    int scatter = !strncmp(name, "llvm.masked.scatter", 19);
    if (scatter || !strncmp(name, "llvm.masked.gather", 18)) {
        LLVMValueRef ptrs = LLVMGetOperand(i, (unsigned)scatter), mask = LLVMGetOperand(i, scatter ? 3 : 2);
        LLVMTypeRef vt = scatter ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i);
        uint64_t n = size_of(r, LLVMGetElementType(vt));
        enum weft_why why = weft__facts_access(r->f, i, scatter);
        if (LLVMGetTypeKind(vt) != LLVMVectorTypeKind) return;
        if (why != WEFT_WHY_ORDERED && why != WEFT_WHY_NOTHING) return; /* NOTHING: not a pointer, but a vector of them */
        group_begin(r, i);
        for (unsigned k = 0; k < LLVMGetVectorSize(vt); k++) {
            LLVMValueRef ix = LLVMConstInt(r->i32, k, 0), p = LLVMBuildExtractElement(r->b, ptrs, ix, "");
            LLVMValueRef on = LLVMBuildExtractElement(r->b, mask, ix, "");
            group_range(r, p, LLVMBuildSelect(r->b, on, i64c(r, n), i64c(r, 0), ""), scatter);
        }
        group_end(r);
    }
}

/* A structure passed by value is read by the call itself, maybe after the thread has gone outside: read it before. */
static void by_value(struct rw *r, LLVMValueRef i) {
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5);
    for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++) {
        LLVMAttributeRef t = LLVMGetCallSiteEnumAttribute(i, k + 1, kind);
        if (!t || weft__facts_access(r->f, i, (int)k) != WEFT_WHY_ORDERED) continue;
        LLVMTypeRef type = LLVMGetTypeAttributeValue(t);
        LLVMValueRef p = LLVMGetOperand(i, k), n = i64c(r, size_of(r, type));
        unsigned al = param_align(i, k);
        if (weft__shim_must_tail(i)) { /* may not have an alloca's address; it stays inside */
            check_any(r, i, p, size_of(r, type), al, 0);
            continue;
        }
        LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(i));
        at(r, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
        LLVMValueRef copy = LLVMBuildAlloca(r->b, type, "");
        if (al > LLVMGetAlignment(copy)) LLVMSetAlignment(copy, al);
        LLVMTypeRef pt[3] = {r->ptr, r->ptr, r->i64}, ft = LLVMFunctionType(r->ptr, pt, 3, 0);
        LLVMValueRef a[3] = {copy, p, n};
        at(r, i);
        LLVMBuildCall2(r->b, ft, function(r, "__weft_memcpy", ft), a, 3, "");
        LLVMSetOperand(i, k, copy);
        if (LLVMIsACallInst(i)) LLVMSetTailCall(i, 0);
        r->s->takes++;
    }
}

/* Nothing but the return follows the call, so no site is passed before the caller's own tick: the call may stay a tail
 * call, and a program that recurses that way does not need more stack than before. */
static int in_tail_position(LLVMValueRef i) {
    LLVMValueRef nx = LLVMIsACallInst(i) ? LLVMGetNextInstruction(i) : NULL;
    if (nx && LLVMGetInstructionOpcode(nx) == LLVMBr && !LLVMIsConditional(nx)) { /* one return for all */
        nx = LLVMGetFirstInstruction(LLVMGetSuccessor(nx, 0));
        while (LLVMGetInstructionOpcode(nx) == LLVMPHI) nx = LLVMGetNextInstruction(nx);
    }
    return nx && LLVMGetInstructionOpcode(nx) == LLVMRet;
}

static void call_inst(struct rw *r, LLVMValueRef i) {
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (is_asm(callee)) {
        asm_inst(r, i);
        return;
    }
    const char *name = LLVMIsAFunction(callee) ? name_of(callee) : "";
    if (!strncmp(name, "llvm.memcpy", 11) || !strncmp(name, "llvm.memmove", 12) || !strncmp(name, "llvm.memset", 11)) {
        memory_intrinsic(r, i, name);
        return;
    }
    if (!strncmp(name, "llvm.", 5)) intrinsic(r, i, name);
    if (!strncmp(name, "llvm.", 5) || !strncmp(name, "__weft", 6)) return;
    by_value(r, i);
    int reenter = weft__facts_may_reenter(r->f, i), out = weft__facts_may_call_out(r->f, i);
    int external = LLVMIsAFunction(callee) && LLVMIsDeclaration(callee);
    int must_tail = weft__shim_must_tail(i);
    const struct weft_external *e = external ? weft__external(name) : NULL;
    if (external && e && e->class == WEFT_EXT_RENAME && !LLVMIsAInvokeInst(i)) {
        static const char *const own[] = {"strdup", "__strdup", "strndup", "__strndup", "memcpy",  "memmove",      "memset", "strcpy",       "__strcpy_chk", "stpcpy",
                                          "__stpcpy_chk", "strcat", "__strcat_chk", "strncat", "__strncat_chk", NULL};
        for (int k = 0; own[k]; k++)
            if (!strcmp(name, own[k])) {
                char wn[64];
                snprintf(wn, sizeof wn, "__weft_%s", name);
                LLVMSetOperand(i, LLVMGetNumOperands(i) - 1, function(r, wn, LLVMGetCalledFunctionType(i)));
                r->s->takes++;
                return;
            }
    }
    unsigned group = external ? hidden_state(name) : 0;
    int serialize = external && !must_tail && (group || listed(r->o->serialize, name));
    LLVMValueRef object = group ? LLVMConstIntToPtr(i64c(r, group), r->ptr) : callee;
    if (external && !must_tail && cxx_stream(name) && LLVMGetNumArgOperands(i) &&
        weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED) {
        serialize = 1;
        object = LLVMGetOperand(i, 0);
    }
    if (serialize && LLVMIsAInvokeInst(i)) r->unwinds = 1;
    LLVMTypeRef t1 = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    if (serialize) {
        at(r, i);
        LLVMBuildCall2(r->b, t1, function(r, "__weft_serial_begin", t1), &object, 1, "");
    }
    if (external && !(e && e->class == WEFT_EXT_WRAP && interposed(name)) && (e || !weft__external_ordered(name))) take(r, i, e);
    if (out && !must_tail) {
        at(r, i);
        call0(r, r->go_out);
        r->s->outs++;
    }
    int twice = weft__shim_returns_twice(i);
    if (must_tail || !(out || reenter || twice || serialize)) return;
    LLVMValueRef nx = after(i);
    if (!nx) return;
    if (out) {
        at(r, nx);
        call0(r, r->come_in);
    }
    if (serialize) {
        at(r, nx);
        LLVMBuildCall2(r->b, t1, function(r, "__weft_serial_end", t1), &object, 1, "");
    }
    if (twice || out || (reenter && !in_tail_position(i))) tick(r, nx);
}

/* ---- one function */

struct list {
    LLVMValueRef *v;
    size_t n, cap;
};
static void push(struct list *l, LLVMValueRef v) {
    if (l->n == l->cap) l->v = realloc(l->v, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->v);
    l->v[l->n++] = v;
}

/* Heads of cycles: targets of retreating edges of a depth-first walk, iterative. */
static void cycle_heads(LLVMValueRef fn, struct list *heads) {
    unsigned n = LLVMCountBasicBlocks(fn);
    LLVMBasicBlockRef *bb = malloc(n * sizeof *bb);
    LLVMGetBasicBlocks(fn, bb);
    /* Number the blocks through a small hash on their address. */
    size_t cap = 16;
    while (cap < n * 2) cap *= 2;
    struct slot {
        LLVMBasicBlockRef b;
        unsigned k;
    } *h = calloc(cap, sizeof *h);
#define FIND(blk, out)                                                                                                 \
    do {                                                                                                               \
        size_t z = ((size_t)(blk) >> 4) * 0x9e3779b97f4a7c15ull >> 20;                                                 \
        for (z &= cap - 1; h[z].b && h[z].b != (blk); z = (z + 1) & (cap - 1)) {}                                      \
        (out) = &h[z];                                                                                                 \
    } while (0)
    struct slot *s;
    for (unsigned i = 0; i < n; i++) {
        FIND(bb[i], s);
        s->b = bb[i];
        s->k = i;
    }
    unsigned char *state = calloc(n, 1), *head = calloc(n, 1);
    struct {
        unsigned b, next;
    } *st = malloc((n + 1) * sizeof *st);
    for (unsigned root = 0; root < n; root++) {
        if (state[root]) continue;
        unsigned d = 0;
        st[0].b = root;
        st[0].next = 0;
        state[root] = 1;
        for (;;) {
            LLVMValueRef te = LLVMGetBasicBlockTerminator(bb[st[d].b]);
            if (te && st[d].next < LLVMGetNumSuccessors(te)) {
                LLVMBasicBlockRef to = LLVMGetSuccessor(te, st[d].next++);
                FIND(to, s);
                if (state[s->k] == 1)
                    head[s->k] = 1;
                else if (!state[s->k]) {
                    state[s->k] = 1;
                    d++;
                    st[d].b = s->k;
                    st[d].next = 0;
                }
                continue;
            }
            state[st[d].b] = 2;
            if (!d) break;
            d--;
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (head[i]) push(heads, LLVMBasicBlockAsValue(bb[i]));
    free(bb);
    free(h);
    free(state);
    free(head);
    free(st);
}

static int is_access(LLVMOpcode o) {
    return o == LLVMLoad || o == LLVMStore || o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg || o == LLVMVAArg;
}

/* Blocks are split at every check: an alloca behind one would be in a block of its own then, and not in the frame. */
static void gather_allocas(struct rw *r, LLVMValueRef fn) {
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)), next;
    while (first && LLVMGetInstructionOpcode(first) == LLVMAlloca) first = LLVMGetNextInstruction(first);
    for (LLVMValueRef i = first; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (LLVMGetInstructionOpcode(i) != LLVMAlloca || !LLVMIsAConstantInt(LLVMGetOperand(i, 0))) continue;
        char *name = strdup(name_of(i));
        LLVMInstructionRemoveFromParent(i);
        LLVMPositionBuilderBefore(r->b, first);
        LLVMInsertIntoBuilderWithName(r->b, i, name ? name : "");
        free(name);
    }
}

/* Whether the cycle through this block only waits: it is small, stores nothing, calls nothing but pause, and looks at the
 * same places again and again. Who waits so gives what it is asked for at once. */
#define SPIN_BLOCKS 24 /* that are looked at */
static int leads_to(LLVMBasicBlockRef b, LLVMBasicBlockRef to) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
    for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++)
        if (LLVMGetSuccessor(end, k) == to) return 1;
    return 0;
}
static int spins(LLVMBasicBlockRef head) {
    LLVMBasicBlockRef near[SPIN_BLOCKS] = {head}, in[SPIN_BLOCKS] = {head};
    unsigned seen = 1, n = 1, back = 0;
    for (unsigned k = 0; k < seen; k++) { /* forward from the head */
        LLVMValueRef end = LLVMGetBasicBlockTerminator(near[k]);
        for (unsigned j = 0; j < LLVMGetNumSuccessors(end) && seen < SPIN_BLOCKS; j++) {
            unsigned x = 0;
            while (x < seen && near[x] != LLVMGetSuccessor(end, j)) x++;
            if (x == seen) near[seen++] = LLVMGetSuccessor(end, j);
        }
    }
    back = (unsigned)leads_to(head, head);
    for (unsigned k = 0; k < n; k++) /* and of these, what comes back to it */
        for (unsigned j = 1; j < seen; j++)
            if (near[j] && leads_to(near[j], in[k])) {
                in[n++] = near[j];
                near[j] = NULL;
                back = 1;
            }
    int looks = 0;
    for (unsigned k = 0; k < n; k++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(in[k]); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            if (o == LLVMStore || o == LLVMInvoke || o == LLVMCallBr) return 0;
            if (o == LLVMCall) {
                LLVMValueRef callee = LLVMGetCalledValue(i);
                if (is_asm(callee) ? LLVMGetNumArgOperands(i) != 0
                                   : strncmp(name_of(callee), "llvm.dbg", 8) && strcmp(name_of(callee), "llvm.x86.sse2.pause"))
                    return 0;
            }
            if (!is_access(o)) continue;
            LLVMValueRef p = LLVMGetOperand(i, 0);
            if (LLVMIsAInstruction(p))
                for (unsigned x = 0; x < n; x++)
                    if (LLVMGetInstructionParent(p) == in[x]) return 0;
            looks = 1;
        }
    return back && looks;
}

/* What was true of the function before is not any more: it touches memory, and others' progress depends on its ticks. */
static void forget(LLVMValueRef fn) {
    static const char *const names[] = {"memory", "speculatable", "nosync", "willreturn", "nofree"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[k], strlen(names[k]));
        LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
        for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef c = LLVMGetUser(u);
            if ((LLVMIsACallInst(c) || LLVMIsAInvokeInst(c)) && LLVMGetCalledValue(c) == fn)
                LLVMRemoveCallSiteEnumAttribute(c, LLVMAttributeFunctionIndex, kind);
        }
    }
}

/* Atomics of 16 bytes are an instruction, not a call of a library. */
static void wide_atomics(struct rw *r, LLVMValueRef fn) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            LLVMTypeRef t = o == LLVMLoad ? LLVMTypeOf(i) : o == LLVMStore ? LLVMTypeOf(LLVMGetOperand(i, 0)) : NULL;
            if (o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg)
                t = LLVMTypeOf(LLVMGetOperand(i, 1));
            else if (!t || LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
                continue;
            if (size_of(r, t) != 16) continue;
            LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, "target-features", 15);
            unsigned n = 0;
            const char *had = a ? LLVMGetStringAttributeValue(a, &n) : "";
            char *now = malloc(n + 8);
            if (!now) abort();
            snprintf(now, n + 8, "%.*s%s+cx16", (int)n, had, n ? "," : "");
            LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                    LLVMCreateStringAttribute(r->c, "target-features", 15, now, (unsigned)strlen(now)));
            free(now);
            return;
        }
}

static void one_function(struct rw *r, LLVMValueRef fn) {
    /* The code generator's quick mode would keep flags of checks on the stack, where they differ between record and replay. */
    LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName("optnone", 7));
    struct list accesses = {0}, calls = {0}, heads = {0}, pads = {0}, rets = {0};
    int has_calls = 0;
    gather_allocas(r, fn);
    wide_atomics(r, fn);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            if (is_access(o)) {
                if (weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED) push(&accesses, i);
            } else if (o == LLVMCall || o == LLVMInvoke || o == LLVMCallBr) {
                LLVMValueRef callee = LLVMGetCalledValue(i);
                push(&calls, i);
                if (is_asm(callee) ? LLVMGetNumArgOperands(i) > 0 : !(LLVMIsAFunction(callee) && !strncmp(name_of(callee), "llvm.dbg", 8)))
                    has_calls = 1;
            } else if (o == LLVMLandingPad)
                push(&pads, i);
            else if (o == LLVMRet || o == LLVMResume)
                push(&rets, i);
        }
    int taken = weft__facts_address_taken(r->f, fn) && strcmp(name_of(fn), "main");
    cycle_heads(fn, &heads);
    char *waits = calloc(heads.n + 1, 1);
    if (!waits) abort();
    for (size_t k = 0; k < heads.n; k++) waits[k] = (char)spins(LLVMValueAsBasicBlock(heads.v[k]));
    r->s->functions++;
    for (size_t k = 0; k < accesses.n; k++) access_inst(r, accesses.v[k]);
    for (size_t k = 0; k < calls.n; k++) call_inst(r, calls.v[k]);
    for (size_t k = 0; k < heads.n; k++)
        tick_to(r, weft__shim_first(LLVMValueAsBasicBlock(heads.v[k])), waits[k] ? r->tick_spin : r->tick_cold);
    free(waits);
    for (size_t k = 0; k < pads.n; k++) {
        LLVMValueRef first = LLVMGetNextInstruction(pads.v[k]);
        at(r, first);
        LLVMValueRef o = load(r, r->i8, tls_word(r, WEFT_TLS_OUTSIDE), 1);
        LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, o, LLVMConstInt(r->i8, 0, 0), ""), first);
        at(r, cold);
        call0(r, r->come_in);
        if (r->unwinds) { /* an ordered call may have thrown: its turn is over */
            LLVMTypeRef t0 = LLVMFunctionType(r->vd, NULL, 0, 0);
            at(r, first);
            LLVMBuildCall2(r->b, t0, function(r, "__weft_serial_unwind", t0), NULL, 0, "");
        }
        tick(r, first);
    }
    r->unwinds = 0;
    LLVMValueRef was = NULL;
    if (accesses.n || has_calls || heads.n) forget(fn);
    if (accesses.n || has_calls) tick(r, weft__shim_first(LLVMGetEntryBasicBlock(fn)));
    if (taken && (accesses.n || has_calls)) {
        LLVMValueRef first = weft__shim_first(LLVMGetEntryBasicBlock(fn));
        at(r, first);
        was = LLVMBuildICmp(r->b, LLVMIntNE, load(r, r->i8, tls_word(r, WEFT_TLS_OUTSIDE), 1), LLVMConstInt(r->i8, 0, 0), "");
        LLVMValueRef cold = weft__shim_cold(was, first);
        at(r, cold);
        call0(r, r->come_in);
        r->s->callbacks++;
        for (size_t k = 0; k < rets.n; k++) {
            LLVMValueRef ret = rets.v[k], prev = LLVMGetPreviousInstruction(ret);
            if (prev && weft__shim_must_tail(prev)) continue;
            cold = weft__shim_cold(was, ret);
            at(r, cold);
            call0(r, r->go_out);
        }
    }
    free(accesses.v);
    free(calls.v);
    free(heads.v);
    free(pads.v);
    free(rets.v);
}

/* ---- functions that run before the runtime has started */

/* Resolvers of ifuncs run while the program is being relocated, functions in .preinit_array before all initialisers. The
 * owner table does not exist then. They, and what they call, are left alone. */
static int in_list(const struct list *l, LLVMValueRef v) {
    for (size_t k = 0; k < l->n; k++)
        if (l->v[k] == v) return 1;
    return 0;
}
static void early_constant(LLVMValueRef c, struct list *early) {
    if (LLVMIsAFunction(c)) {
        if (!LLVMIsDeclaration(c) && !in_list(early, c)) push(early, c);
        return;
    }
    if (LLVMIsAGlobalAlias(c)) {
        early_constant(LLVMAliasGetAliasee(c), early);
        return;
    }
    if (!LLVMIsAConstant(c) || LLVMIsAGlobalValue(c) || LLVMIsABlockAddress(c)) return;
    for (int k = 0; k < LLVMGetNumOperands(c); k++) early_constant(LLVMGetOperand(c, (unsigned)k), early);
}
static void find_early(struct rw *r, struct list *early) {
    for (LLVMValueRef g = LLVMGetFirstGlobalIFunc(r->m); g; g = LLVMGetNextGlobalIFunc(g))
        early_constant(LLVMGetGlobalIFuncResolver(g), early);
    for (LLVMValueRef g = LLVMGetFirstGlobal(r->m); g; g = LLVMGetNextGlobal(g)) {
        const char *section = LLVMGetSection(g);
        if (section && !strncmp(section, ".preinit_array", 14) && LLVMGetInitializer(g)) early_constant(LLVMGetInitializer(g), early);
    }
    for (size_t k = 0; k < early->n; k++)
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(early->v[k]); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                LLVMOpcode o = LLVMGetInstructionOpcode(i);
                if (o == LLVMCall || o == LLVMInvoke) early_constant(LLVMGetCalledValue(i), early);
            }
}

static int left_alone(const struct list *early, LLVMValueRef fn) {
    unsigned naked = LLVMGetEnumAttributeKindForName("naked", 5);
    return LLVMGetEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, naked) || in_list(early, fn);
}

static const char note[] = ".section .note.weft,\"a\",@note\n.p2align 2\n.long 5\n.long 4\n.long 1\n.asciz \"weft\"\n.p2align 2\n"
                           ".long 1\n.previous\n";

/* The executable's first initialiser (weft__scrub). */
static const char first[] = ".section .init_array.0,\"aw\",@init_array\n.p2align 3\n.quad __weft_start_program\n.previous\n";

void weft__rewrite(LLVMModuleRef m, const struct weft_facts *f, const struct weft_pass_options *o, struct weft_pass_stats *s) {
    struct rw r = {.m = m, .c = LLVMGetModuleContext(m), .f = f, .o = o, .s = s};
    r.b = LLVMCreateBuilderInContext(r.c);
    r.dl = LLVMGetModuleDataLayout(m);
    r.i8 = LLVMInt8TypeInContext(r.c);
    r.i16 = LLVMInt16TypeInContext(r.c);
    r.i32 = LLVMInt32TypeInContext(r.c);
    r.i64 = LLVMInt64TypeInContext(r.c);
    r.ptr = LLVMPointerTypeInContext(r.c, 0);
    r.vd = LLVMVoidTypeInContext(r.c);
    LLVMTypeRef tls_t = LLVMArrayType2(r.i64, WEFT_TLS_SIZE / 8);
    r.tls = LLVMAddGlobal(m, tls_t, "__weft_tls");
    LLVMSetThreadLocalMode(r.tls, LLVMInitialExecTLSModel);
    LLVMSetAlignment(r.tls, 64);
    /* An executable defines its own, which the runtime and all libraries then use: one fs-relative instruction. */
    if (!o->shared_library) LLVMSetInitializer(r.tls, LLVMConstNull(tls_t));
    r.cold_t = LLVMFunctionType(r.vd, NULL, 0, 0);
    LLVMTypeRef p2[2] = {r.ptr, r.i64};
    r.cold2_t = LLVMFunctionType(r.vd, p2, 2, 0);
    const char *c0 = "~{rax},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
    const char *c2 = "{rdi},{rsi},~{rax},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
    const char *rax_only = "~{rax},~{memory},~{dirflag},~{fpsr},~{flags}";
    r.tick_cold = asm_jump(&r, "__weft_tick_cold", r.cold_t, rax_only, "\n\tmovq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq %fs:(%rax), %rax");
    r.tick_spin = asm_jump(&r, "__weft_tick_spin", r.cold_t, rax_only, "\n\tmovq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq %fs:(%rax), %rax");
    r.come_in = asm_jump(&r, "__weft_come_in", r.cold_t, c0, "");
    r.go_out = asm_jump(&r, "__weft_go_out", r.cold_t, c0, "");
    /* Address and access go through tls.saved[9] and [10] (abi.h). */
    static const char miss[] = "movq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq $0, %fs:112(%rax)\n\tmovl $1, %fs:120(%rax)\n\t"
                               "leaq 777f(%rip), %rax\n\tjmpq *__weft_miss@GOTPCREL(%rip)\n777:\n\txorl %eax, %eax";
    static const char miss_c[] = "r,i,~{rax},~{memory},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef miss_in[2] = {r.ptr, r.i32};
    r.miss = LLVMGetInlineAsm(LLVMFunctionType(r.vd, miss_in, 2, 0), miss, sizeof miss - 1, miss_c, sizeof miss_c - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    r.verify = asm_jump(&r, "__weft_verify", r.cold2_t, c2, "");
    r.barrier_t = r.cold_t;
    r.barrier = LLVMGetInlineAsm(r.cold_t, "", 0, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
    struct list fns = {0}, early = {0};
    find_early(&r, &early);
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && strncmp(name_of(fn), "__weft", 6) && !left_alone(&early, fn)) push(&fns, fn);
    for (size_t k = 0; k < fns.n; k++) one_function(&r, fns.v[k]);
    free(fns.v);
    free(early.v);
    LLVMAppendModuleInlineAsm(m, note, sizeof note - 1);
    if (!o->shared_library) LLVMAppendModuleInlineAsm(m, first, sizeof first - 1);
    LLVMDisposeBuilder(r.b);
}
