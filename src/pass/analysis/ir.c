/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small questions to LLVM-C that several files ask. */
#include "analysis.h"

int weft__ir_is_call(LLVMValueRef inst) {
    LLVMOpcode o = LLVMGetInstructionOpcode(inst);
    return o == LLVMCall || o == LLVMInvoke || o == LLVMCallBr;
}

LLVMValueRef weft__ir_strip(LLVMValueRef v) {
    for (;;) {
        if (LLVMIsAConstantExpr(v)) {
            LLVMOpcode o = LLVMGetConstOpcode(v);
            if (o != LLVMBitCast && o != LLVMAddrSpaceCast)
                return v;
            v = LLVMGetOperand(v, 0);
        } else if (LLVMIsAGlobalAlias(v)) {
            v = LLVMAliasGetAliasee(v);
        } else {
            return v;
        }
    }
}

LLVMValueRef weft__ir_callee(LLVMValueRef call) { return weft__ir_strip(LLVMGetCalledValue(call)); }

int weft__ir_is_intrinsic(LLVMValueRef fn) { return LLVMIsAFunction(fn) && LLVMGetIntrinsicID(fn) != 0; }

int weft__ir_is_local(LLVMValueRef global) {
    LLVMLinkage l = LLVMGetLinkage(global);
    return l == LLVMInternalLinkage || l == LLVMPrivateLinkage;
}

const char *weft__ir_name(LLVMValueRef v) {
    size_t n;
    const char *s = LLVMGetValueName2(v, &n);
    return s ? s : "";
}

LLVMValueRef weft__ir_access_pointer(LLVMValueRef inst, int *is_write, LLVMTypeRef *type) {
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMLoad:
        *is_write = 0, *type = LLVMTypeOf(inst);
        return LLVMGetOperand(inst, 0);
    case LLVMStore:
        *is_write = 1, *type = LLVMTypeOf(LLVMGetOperand(inst, 0));
        return LLVMGetOperand(inst, 1);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        *is_write = 1, *type = LLVMTypeOf(LLVMGetOperand(inst, 1));
        return LLVMGetOperand(inst, 0);
    case LLVMVAArg:
        *is_write = 1, *type = LLVMArrayType2(LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(inst))), 24);
        return LLVMGetOperand(inst, 0);
    default:
        return NULL;
    }
}

int64_t weft__ir_alloca_size(LLVMTargetDataRef td, LLVMValueRef alloca) {
    LLVMValueRef count = LLVMGetOperand(alloca, 0);
    LLVMTypeRef type = LLVMGetAllocatedType(alloca);
    if (!LLVMIsAConstantInt(count) || !LLVMTypeIsSized(type))
        return -1;
    unsigned long long n = LLVMConstIntGetZExtValue(count), size = LLVMABISizeOfType(td, type);
    if (n > (1u << 30) || size > (1ull << 40))
        return -1;
    return (int64_t)(n * size);
}

int weft__ir_gep(LLVMTargetDataRef td, LLVMValueRef gep, int64_t *fixed, struct weft_gep_term *terms) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned n = (unsigned)LLVMGetNumOperands(gep);
    int variable = 0, array_known = 0;
    uint64_t length = 0;
    *fixed = 0;
    for (unsigned i = 1; i < n; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMVectorTypeKind)
            return -1;
        if (i > 1) {
            LLVMTypeKind kind = LLVMGetTypeKind(type);
            if (kind == LLVMStructTypeKind) {
                if (!LLVMIsAConstantInt(index))
                    return -1;
                unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
                *fixed += (int64_t)LLVMOffsetOfElement(td, type, field);
                type = LLVMStructGetTypeAtIndex(type, field);
                continue;
            }
            if (kind != LLVMArrayTypeKind && kind != LLVMVectorTypeKind)
                return -1;
            array_known = kind == LLVMArrayTypeKind;
            length = array_known ? LLVMGetArrayLength2(type) : 0;
            type = LLVMGetElementType(type);
        }
        if (!LLVMTypeIsSized(type) || LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind)
            return -1;
        int64_t stride = (int64_t)LLVMABISizeOfType(td, type);
        if (LLVMIsAConstantInt(index)) {
            if (LLVMGetIntTypeWidth(LLVMTypeOf(index)) > 64)
                return -1;
            *fixed += LLVMConstIntGetSExtValue(index) * stride;
        } else if (stride) {
            if (variable == WEFT_GEP_TERMS)
                return -1;
            terms[variable++] = (struct weft_gep_term){stride, array_known ? length : 0, index};
        }
    }
    return variable;
}
