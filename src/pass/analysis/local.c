/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Locals whose address goes nowhere: every use is a load, a store into it or a memory intrinsic, at a constant offset
 * and inside its bounds. This needs no assumption about the rest of the program, so it holds in programs with memory
 * errors too, and it is all that plan ALL leaves unchecked. An index that is not constant could lead out of the
 * variable, so one such access disqualifies it. */
#include "analysis.h"

/* The alloca under constant GEPs, and the offset from it; NULL otherwise. */
static LLVMValueRef base_of(LLVMTargetDataRef td, LLVMValueRef p, int64_t *offset) {
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    *offset = 0;
    for (;;) {
        int64_t fixed;
        if (LLVMIsAAllocaInst(p)) return p;
        if (!LLVMIsAGetElementPtrInst(p) || weft__ir_gep(td, p, &fixed, terms) != 0) return NULL;
        *offset += fixed;
        p = LLVMGetOperand(p, 0);
    }
}

static int inside(LLVMTargetDataRef td, LLVMValueRef alloca, int64_t offset, int64_t size) {
    int64_t all = weft__ir_alloca_size(td, alloca);
    return size >= 0 && offset >= 0 && all >= 0 && offset + size <= all;
}

static int uses_are_plain(LLVMTargetDataRef td, LLVMValueRef alloca, LLVMValueRef v, int64_t offset) {
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAInstruction(i)) return 0;
        if (LLVMIsAGetElementPtrInst(i)) {
            struct weft_gep_term terms[WEFT_GEP_TERMS];
            int64_t fixed;
            if (weft__ir_gep(td, i, &fixed, terms) != 0 || !uses_are_plain(td, alloca, i, offset + fixed)) return 0;
            continue;
        }
        if (weft__ir_is_call(i)) {
            LLVMValueRef callee = weft__ir_callee(i);
            if (!weft__ir_is_intrinsic(callee)) return 0;
            const char *name = weft__ir_name(callee);
            if (!strncmp(name, "llvm.dbg.", 9) || !strncmp(name, "llvm.lifetime.", 14)) continue;
            if (strncmp(name, "llvm.memcpy.p", 13) && strncmp(name, "llvm.memmove.p", 14) &&
                strncmp(name, "llvm.memset.p", 13) && strncmp(name, "llvm.memcpy.inline.", 19))
                return 0;
            LLVMValueRef size = LLVMGetArgOperand(i, 2);
            if (!LLVMIsAConstantInt(size) || !inside(td, alloca, offset, LLVMConstIntGetSExtValue(size))) return 0;
            continue;
        }
        int is_write;
        LLVMTypeRef type;
        LLVMValueRef pointer = weft__ir_access_pointer(i, &is_write, &type);
        if (!pointer || LLVMIsAVAArgInst(i) || !inside(td, alloca, offset, weft__ir_size_of(td, type))) return 0;
        /* stored, compared or exchanged as a value: it escapes */
        for (int k = 0, n = LLVMGetNumOperands(i), seen = 0; k < n; k++)
            if (LLVMGetOperand(i, (unsigned)k) == v && (++seen > 1 || pointer != v)) return 0;
    }
    return 1;
}

void weft__local_find(LLVMTargetDataRef td, LLVMValueRef fn, struct weft_map *set) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAAllocaInst(i) && uses_are_plain(td, i, i, 0)) *weft__map_at(set, weft__key(i)) = 1;
}

int weft__local_access(LLVMTargetDataRef td, const struct weft_map *set, LLVMValueRef pointer, int64_t size) {
    int64_t offset;
    LLVMValueRef base = base_of(td, pointer, &offset);
    (void)size; /* all uses were found to be inside */
    return base && weft__map_find(set, weft__key(base));
}
