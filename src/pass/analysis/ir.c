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
            if (o != LLVMBitCast && o != LLVMAddrSpaceCast) return v;
            v = LLVMGetOperand(v, 0);
        } else if (LLVMIsAGlobalAlias(v)) {
            v = LLVMAliasGetAliasee(v);
        } else {
            return v;
        }
    }
}

LLVMValueRef weft__ir_callee(LLVMValueRef call) {
    return weft__ir_strip(LLVMGetCalledValue(call));
}

int weft__ir_is_intrinsic(LLVMValueRef fn) {
    return LLVMIsAFunction(fn) && LLVMGetIntrinsicID(fn) != 0;
}

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

int64_t weft__ir_size_of(LLVMTargetDataRef td, LLVMTypeRef type) {
    return LLVMTypeIsSized(type) ? (int64_t)LLVMStoreSizeOfType(td, type) : -1;
}

/* Of one element: the bits that can be part of a pointer. */
static unsigned pointer_bits(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type);
    case LLVMVectorTypeKind:
    case LLVMScalableVectorTypeKind:
    case LLVMArrayTypeKind:
        return pointer_bits(LLVMGetElementType(type));
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    case LLVMVoidTypeKind:
    case LLVMLabelTypeKind:
    case LLVMMetadataTypeKind:
    case LLVMTokenTypeKind:
        return 0;
    default:
        return 64;
    }
}

int weft__ir_holds(LLVMTypeRef type) {
    return pointer_bits(type) >= 8;
}

int weft__ir_is_word(LLVMTypeRef type) {
    return pointer_bits(type) >= 64;
}

int weft__ir_among(LLVMValueRef v, const LLVMValueRef *list, int n) {
    for (int i = 0; i < n; i++)
        if (list[i] == v) return 1;
    return 0;
}

int64_t weft__ir_alloca_size(LLVMTargetDataRef td, LLVMValueRef alloca) {
    LLVMValueRef count = LLVMGetOperand(alloca, 0);
    LLVMTypeRef type = LLVMGetAllocatedType(alloca);
    if (!LLVMIsAConstantInt(count) || !LLVMTypeIsSized(type)) return -1;
    unsigned long long n = LLVMConstIntGetZExtValue(count), size = LLVMABISizeOfType(td, type);
    if (n > (1u << 30) || size > (1ull << 40)) return -1;
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
        if (LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMVectorTypeKind) return -1;
        if (i > 1) {
            LLVMTypeKind kind = LLVMGetTypeKind(type);
            if (kind == LLVMStructTypeKind) {
                if (!LLVMIsAConstantInt(index)) return -1;
                unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
                *fixed += (int64_t)LLVMOffsetOfElement(td, type, field);
                type = LLVMStructGetTypeAtIndex(type, field);
                continue;
            }
            if (kind != LLVMArrayTypeKind && kind != LLVMVectorTypeKind) return -1;
            array_known = kind == LLVMArrayTypeKind;
            length = array_known ? LLVMGetArrayLength2(type) : 0;
            type = LLVMGetElementType(type);
        }
        if (!LLVMTypeIsSized(type) || LLVMGetTypeKind(type) == LLVMScalableVectorTypeKind) return -1;
        int64_t stride = (int64_t)LLVMABISizeOfType(td, type);
        if (LLVMIsAConstantInt(index)) {
            if (LLVMGetIntTypeWidth(LLVMTypeOf(index)) > 64) return -1;
            *fixed += LLVMConstIntGetSExtValue(index) * stride;
        } else if (stride) {
            if (variable == WEFT_GEP_TERMS) return -1;
            terms[variable++] = (struct weft_gep_term){stride, array_known ? length : 0, index};
        }
    }
    return variable;
}

/* !{base type, access type, offset}, where a scalar type is !{!"name", parent, 0}; or in old style the type itself. */
enum weft_tbaa weft__ir_tbaa(LLVMValueRef inst) {
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(LLVMGetOperand(inst, 0)));
    LLVMValueRef tag = LLVMGetMetadata(inst, LLVMGetMDKindIDInContext(context, "tbaa", 4)), op[8];
    if (!tag) return WEFT_TBAA_ANY;
    unsigned n = LLVMGetMDNodeNumOperands(tag), length;
    if (n < 2 || n > 8) return WEFT_TBAA_ANY;
    LLVMGetMDNodeOperands(tag, op);
    const char *name = LLVMGetMDString(op[0], &length);
    if (!name) {
        unsigned k = LLVMIsAMDNode(op[1]) ? LLVMGetMDNodeNumOperands(op[1]) : 0;
        if (k < 2 || k > 8) return WEFT_TBAA_ANY;
        LLVMGetMDNodeOperands(op[1], op);
        name = LLVMGetMDString(op[0], &length);
        if (!name) return WEFT_TBAA_ANY;
    }
    if (length > 4 && !memcmp(name + length - 4, "char", 4)) return WEFT_TBAA_ANY;
    if ((length >= 7 && !memcmp(name + length - 7, "pointer", 7)) ||
        (length > 1 && name[0] == 'p' && name[1] >= '0' && name[1] <= '9'))
        return WEFT_TBAA_POINTER;
    /* Rust, Swift and others may mean something else by their names. C and C++ name scalars or mangled enums. */
    static const char *const scalar[] = {"int",     "long",     "long long", "short",       "bool",
                                         "_Bool",   "float",    "double",    "long double", "__int128",
                                         "wchar_t", "char16_t", "char32_t",  "half",        "_Float16"};
    for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
        if (strlen(scalar[i]) == length && !memcmp(scalar[i], name, length)) return WEFT_TBAA_NUMBER;
    return length > 4 && !memcmp(name, "_ZTS", 4) ? WEFT_TBAA_NUMBER : WEFT_TBAA_ANY;
}
