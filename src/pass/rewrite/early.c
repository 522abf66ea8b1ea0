/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is changed before the facts are found, so that analysis and rewriting see only one form of things.
 *
 * Calls of external functions take memory, and are ordered, where they are called by name. So pointers to such functions
 * (a comparison, a generator of random numbers, a copying routine that the program chooses) become pointers to a function
 * of the module that calls it by name. Functions that the runtime itself defines need none.
 *
 * The definition of __weft_repeat that each object brings is for links without weft; here it is a function of the runtime's.
 *
 * That main returns is a call of exit: the runtime orders these (lc_exit.c).
 *
 * A value that the program never gave (undef: a local that was not set, fresh memory of malloc, as far as the optimiser sees it) would be
 * whatever some register holds where it is used. That is something else after the cold side of a check, and a replay goes there at other
 * times than its recording. Any value is right, so it is zero. Only the operands of shuffles stay: what they have of undef is in lanes
 * that nobody asks for. */
#include "rewrite.h"
#include <llvm-c/Comdat.h>
#include <stdlib.h>
#include <string.h>

static int starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* Whether a pointer to the function must not be used as it is. Those of the C++ runtime are given to it by compilers. */
static int wants_body(LLVMValueRef fn) {
    size_t n;
    const char *name = LLVMGetValueName2(fn, &n);
    if (!LLVMIsDeclaration(fn) || LLVMIsFunctionVarArg(LLVMGlobalGetValueType(fn)) || LLVMGetIntrinsicID(fn)) return 0;
    if (starts(name, "_Z") || starts(name, "__cxa") || starts(name, "_Unwind") || starts(name, "__gxx") || starts(name, "__weft"))
        return 0;
    return weft__external(name) && !weft__rw_interposed(name);
}

static int is_callee(LLVMUseRef use, LLVMValueRef user) {
    return (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) &&
           use == LLVMGetOperandUse(user, (unsigned)LLVMGetNumOperands(user) - 1);
}

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMValueRef call, unsigned params) {
    for (unsigned k = 0; k <= params; k++) {
        LLVMAttributeRef a[32];
        unsigned n = LLVMGetAttributeCountAtIndex(from, k);
        if (n > 32) continue;
        LLVMGetAttributesAtIndex(from, k, a);
        for (unsigned i = 0; i < n; i++) {
            LLVMAddAttributeAtIndex(to, k, a[i]);
            LLVMAddCallSiteAttribute(call, k, a[i]);
        }
    }
}

static LLVMValueRef by_name(LLVMModuleRef m, LLVMValueRef fn) {
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMGlobalGetValueType(fn);
    unsigned params = LLVMCountParams(fn);
    char name[256];
    size_t n;
    snprintf(name, sizeof name, "weft.%s", LLVMGetValueName2(fn, &n));
    LLVMValueRef body = LLVMAddFunction(m, name, type);
    LLVMSetLinkage(body, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, body, ""));
    LLVMValueRef *args = malloc((params + 1) * sizeof *args);
    LLVMGetParams(body, args);
    LLVMValueRef call = LLVMBuildCall2(b, type, fn, args, params, "");
    if (LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(b);
    else
        LLVMBuildRet(b, call);
    copy_attributes(fn, body, call, params);
    free(args);
    LLVMDisposeBuilder(b);
    return body;
}

static void pointers(LLVMModuleRef m) {
    LLVMValueRef next;
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = next) {
        next = LLVMGetNextFunction(fn);
        if (!wants_body(fn)) continue;
        size_t calls = 0, others = 0, k = 0;
        for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u)) *(is_callee(u, LLVMGetUser(u)) ? &calls : &others) += 1;
        if (!others) continue;
        LLVMValueRef *call = malloc((calls + 1) * sizeof *call);
        for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u))
            if (is_callee(u, LLVMGetUser(u))) call[k++] = LLVMGetUser(u);
        LLVMValueRef placeholder = LLVMAddFunction(m, "", LLVMGlobalGetValueType(fn));
        LLVMReplaceAllUsesWith(fn, placeholder);
        while (k) k--, LLVMSetOperand(call[k], (unsigned)LLVMGetNumOperands(call[k]) - 1, fn);
        LLVMReplaceAllUsesWith(placeholder, by_name(m, fn));
        LLVMDeleteFunction(placeholder);
        free(call);
    }
}

static void main_exits(LLVMModuleRef m) {
    LLVMValueRef fn = LLVMGetNamedFunction(m, "main");
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), type = LLVMFunctionType(LLVMVoidTypeInContext(c), &i32, 1, 0);
    /* A program may call its main again. */
    if (!fn || LLVMIsDeclaration(fn) || LLVMGetFirstUse(fn) || LLVMGetReturnType(LLVMGlobalGetValueType(fn)) != i32) return;
    LLVMValueRef exits = LLVMGetNamedFunction(m, "exit");
    if (!exits) exits = LLVMAddFunction(m, "exit", type);
    if (!LLVMIsDeclaration(exits)) return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef ret = LLVMGetBasicBlockTerminator(bb), value;
        if (!ret || !LLVMIsAReturnInst(ret)) continue;
        value = LLVMGetOperand(ret, 0);
        LLVMPositionBuilderBefore(b, ret); /* takes its source line */
        LLVMBuildCall2(b, type, exits, &value, 1, "");
        LLVMBuildUnreachable(b);
        LLVMInstructionEraseFromParent(ret);
    }
    LLVMDisposeBuilder(b);
}

static void repeat(LLVMModuleRef m) {
    LLVMValueRef fn = LLVMGetNamedFunction(m, "__weft_repeat");
    if (!fn || LLVMIsDeclaration(fn)) return;
    for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(fn));) LLVMDeleteBasicBlock(b);
    LLVMSetComdat(fn, NULL);
    LLVMSetLinkage(fn, LLVMExternalLinkage);
    LLVMSetVisibility(fn, LLVMDefaultVisibility);
}

/* The constant with zero for all that is undef in it. */
static LLVMValueRef given(LLVMValueRef v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    switch (LLVMGetTypeKind(t)) {
    case LLVMVoidTypeKind:
    case LLVMLabelTypeKind:
    case LLVMMetadataTypeKind:
    case LLVMTokenTypeKind:
    case LLVMX86_AMXTypeKind:
    case LLVMTargetExtTypeKind: return v; /* there is no zero of these */
    default:
        if (LLVMIsUndef(v)) return LLVMConstNull(t);
    }
    int array = LLVMGetValueKind(v) == LLVMConstantArrayValueKind;
    if (!array && LLVMGetValueKind(v) != LLVMConstantStructValueKind) return v;
    unsigned n = (unsigned)LLVMGetNumOperands(v);
    LLVMValueRef *part = malloc((n + 1) * sizeof *part);
    for (unsigned k = 0; k < n; k++) part[k] = given(LLVMGetOperand(v, k));
    v = array ? LLVMConstArray2(LLVMGetElementType(t), part, n) : LLVMConstNamedStruct(t, part, n);
    free(part);
    return v;
}

static void never_given(LLVMModuleRef m) {
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                if (LLVMIsAShuffleVectorInst(i)) continue;
                for (int k = 0; k < LLVMGetNumOperands(i); k++) {
                    LLVMValueRef was = LLVMGetOperand(i, (unsigned)k), is = was && LLVMIsConstant(was) ? given(was) : was;
                    if (is != was) LLVMSetOperand(i, (unsigned)k, is);
                }
            }
}

void weft__rewrite_early(LLVMModuleRef m, const struct weft_pass_options *o) {
    repeat(m);
    weft__rewrite_asm_loops(m);
    never_given(m);
    pointers(m);
    if (!o->shared_library) main_exits(m);
}
