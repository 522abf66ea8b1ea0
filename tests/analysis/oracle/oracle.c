/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Turns what the analyses claim about a program into checks that the program makes while it runs: the other way round
 * from a recording, which checks what they do not claim.
 *
 *   oracle [--shared-library] IN.bc OUT.bc SITES
 *
 * Every access tells oracle_rt.c its address, size and class; every object that comes into being is announced, so that
 * classes of dead objects do not count; every indirect call brings the list of callees it may have. oracle_rt.c keeps a
 * state per byte and reports an access that breaks a claim. SITES gets one line per site, to read the report with.
 * run.sh does all of this for a list of programs. */
#include "../../../src/pass/facts.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

static LLVMModuleRef module;
static LLVMContextRef context;
static LLVMTargetDataRef td;
static LLVMBuilderRef builder;
static LLVMTypeRef ptr, i64, i32, voidt;
static LLVMTypeRef access_type, fresh_type, object_type, call_type;
static LLVMValueRef access_fn, fresh_fn, object_fn, call_fn;
static FILE *sites;
static unsigned site_count;

struct job {
    LLVMValueRef inst, address, size;
    enum weft_why why;
    int write, string;
    unsigned site;
};

static LLVMValueRef number(uint64_t n) {
    return LLVMConstInt(i64, n, 0);
}

static unsigned new_site(LLVMValueRef inst, const char *why) {
    char *text = LLVMPrintValueToString(inst);
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst));
    size_t n;
    unsigned len;
    const char *file = LLVMGetDebugLocFilename(inst, &len);
    fprintf(sites, "%u %s %s", ++site_count, why, LLVMGetValueName2(fn, &n));
    if (file) fprintf(sites, " %.*s:%u", (int)len, file, LLVMGetDebugLocLine(inst));
    fprintf(sites, " %.160s\n", text);
    LLVMDisposeMessage(text);
    return site_count;
}

static LLVMValueRef declare(const char *name, LLVMTypeRef *type, LLVMTypeRef *args, unsigned n) {
    *type = LLVMFunctionType(voidt, args, n, 0);
    return LLVMAddFunction(module, name, *type);
}

static void tell_access(LLVMValueRef before, LLVMValueRef address, LLVMValueRef size, unsigned flags, unsigned site) {
    LLVMPositionBuilderBefore(builder, before);
    if (LLVMTypeOf(size) != i64) size = LLVMBuildIntCast2(builder, size, i64, 0, "");
    LLVMValueRef args[4] = {address, size, LLVMConstInt(i32, flags, 0), LLVMConstInt(i32, site, 0)};
    LLVMBuildCall2(builder, access_type, access_fn, args, 4, "");
}

/* Right after an instruction; NULL if that is not one place. */
static LLVMValueRef after(LLVMValueRef inst) {
    if (LLVMGetInstructionOpcode(inst) != LLVMInvoke) return LLVMGetNextInstruction(inst);
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(LLVMGetNormalDest(inst)));
    if (!use || LLVMGetNextUse(use)) return NULL;
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetNormalDest(inst));
    while (i && LLVMIsAPHINode(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

static void tell_object(LLVMValueRef before, LLVMValueRef address, LLVMValueRef size) {
    LLVMPositionBuilderBefore(builder, before);
    LLVMValueRef args[2] = {address, size};
    LLVMBuildCall2(builder, object_type, object_fn, args, 2, "");
}

static LLVMValueRef effect_size(const struct weft_effect *e, LLVMValueRef call, int *string) {
    *string = 0;
    if (e->size == WEFT_SIZE_CONSTANT) return number(e->constant);
    if (e->size == WEFT_SIZE_STRING) {
        *string = 1;
        return number(0);
    }
    if (e->size != WEFT_SIZE_ARG || (unsigned)e->arg2 >= LLVMGetNumArgOperands(call)) return NULL;
    LLVMPositionBuilderBefore(builder, call);
    LLVMValueRef s = LLVMBuildIntCast2(builder, LLVMGetArgOperand(call, (unsigned)e->arg2), i64, 0, "");
    if (e->arg3 >= 0)
        s = LLVMBuildMul(builder, s, LLVMBuildIntCast2(builder, LLVMGetArgOperand(call, (unsigned)e->arg3), i64, 0, ""),
                         "");
    return LLVMBuildMul(builder, s, number(e->constant), "");
}

static void do_call(const struct weft_facts *facts, LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (LLVMIsAInlineAsm(callee)) return;
    if (!LLVMIsAFunction(callee)) {
        LLVMValueRef target[512];
        int complete;
        size_t n = weft__facts_callees(facts, call, target, 512, &complete);
        if (LLVMIsAConstant(callee) || n > 512) return;
        unsigned site = new_site(call, complete ? "call" : "call-open");
        LLVMTypeRef type = LLVMArrayType2(ptr, n + 1);
        LLVMValueRef list = LLVMAddGlobal(module, type, "oracle.callees");
        target[n < 512 ? n : 511] = LLVMConstNull(ptr);
        LLVMSetInitializer(list, LLVMConstArray2(ptr, target, n + 1));
        LLVMSetLinkage(list, LLVMInternalLinkage);
        LLVMPositionBuilderBefore(builder, call);
        LLVMValueRef args[4] = {callee, list, LLVMConstInt(i32, (unsigned)complete, 0), LLVMConstInt(i32, site, 0)};
        LLVMBuildCall2(builder, call_type, call_fn, args, 4, "");
        return;
    }
    size_t len;
    const char *name = LLVMGetValueName2(callee, &len);
    if (!LLVMIsDeclaration(callee)) return;
    const struct weft_external *ext = weft__external(name);
    for (unsigned i = 0; ext && i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        if ((e->kind == WEFT_EFF_READ || e->kind == WEFT_EFF_WRITE) && (unsigned)e->arg < LLVMGetNumArgOperands(call)) {
            int string;
            LLVMValueRef address = LLVMGetArgOperand(call, (unsigned)e->arg);
            LLVMValueRef size = effect_size(e, call, &string);
            enum weft_why why = weft__facts_access(facts, call, e->arg);
            if (size && LLVMGetTypeKind(LLVMTypeOf(address)) == LLVMPointerTypeKind && !LLVMIsNull(address) &&
                LLVMGetPointerAddressSpace(LLVMTypeOf(address)) == 0)
                tell_access(call, address, size,
                            (e->kind == WEFT_EFF_WRITE) | (string ? 2u : 0) | 4u | (unsigned)why << 8,
                            new_site(call, weft__why_name(why)));
        }
        if (e->kind == WEFT_EFF_FRESH && after(call) && LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind) {
            LLVMPositionBuilderBefore(builder, after(call));
            LLVMValueRef size = !strncmp(name, "mmap", 4)     ? LLVMGetArgOperand(call, 1)
                                : !strncmp(name, "mremap", 6) ? LLVMGetArgOperand(call, 2)
                                                              : number(0);
            LLVMValueRef args[2] = {call, size};
            LLVMBuildCall2(builder, fresh_type, fresh_fn, args, 2, "");
        }
        if (e->kind == WEFT_EFF_MAKES && after(call)) {
            LLVMPositionBuilderBefore(builder, after(call));
            LLVMValueRef made = LLVMBuildLoad2(builder, ptr, LLVMGetArgOperand(call, (unsigned)e->arg), "");
            LLVMValueRef args[2] = {made, number(0)};
            LLVMBuildCall2(builder, fresh_type, fresh_fn, args, 2, "");
        }
    }
}

static void do_function(const struct weft_facts *facts, LLVMValueRef fn) {
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef next;
        for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = next) {
            next = LLVMGetNextInstruction(in);
            LLVMOpcode o = LLVMGetInstructionOpcode(in);
            if (o == LLVMAlloca) {
                LLVMValueRef count = LLVMGetOperand(in, 0);
                uint64_t unit = LLVMABISizeOfType(td, LLVMGetAllocatedType(in));
                LLVMPositionBuilderBefore(builder, next);
                LLVMValueRef size =
                    LLVMBuildMul(builder, LLVMBuildIntCast2(builder, count, i64, 0, ""), number(unit), "");
                LLVMValueRef args[2] = {in, size};
                LLVMBuildCall2(builder, object_type, object_fn, args, 2, "");
            } else if (o == LLVMLoad || o == LLVMStore || o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg) {
                LLVMValueRef p = LLVMGetOperand(in, o == LLVMStore ? 1 : 0);
                LLVMTypeRef type =
                    o == LLVMLoad ? LLVMTypeOf(in) : LLVMTypeOf(LLVMGetOperand(in, o == LLVMStore ? 0 : 1));
                enum weft_why why = weft__facts_access(facts, in, 0);
                if (LLVMGetPointerAddressSpace(LLVMTypeOf(p)) == 0)
                    tell_access(in, p, number(LLVMStoreSizeOfType(td, type)), (o != LLVMLoad) | (unsigned)why << 8,
                                new_site(in, weft__why_name(why)));
            } else if (o == LLVMCall || o == LLVMInvoke) {
                size_t n;
                LLVMValueRef callee = LLVMGetCalledValue(in);
                const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &n) : "";
                if (!strncmp(name, "__oracle_", 9)) continue;
                if (!strncmp(name, "llvm.lifetime.start", 19))
                    tell_object(next, LLVMGetArgOperand(in, 1), LLVMGetArgOperand(in, 0));
                else if (strncmp(name, "llvm.", 5) || !strncmp(name, "llvm.mem", 8))
                    do_call(facts, in);
            }
        }
    }
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(fn));
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++) {
        LLVMAttributeRef attr = LLVMGetEnumAttributeAtIndex(fn, a + 1, byval);
        if (attr)
            tell_object(first, LLVMGetParam(fn, a), number(LLVMABISizeOfType(td, LLVMGetTypeAttributeValue(attr))));
    }
}

int main(int argc, char **argv) {
    struct weft_facts_options o = {.plan = WEFT_PLAN_SHARED};
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (argc > 1 && !strcmp(argv[1], "--shared-library")) o.shared_library = 1, argc--, argv++;
    if (argc != 4) {
        fprintf(stderr, "usage: oracle [--shared-library] IN.bc OUT.bc SITES\n");
        return 2;
    }
    context = LLVMContextCreate();
    if (LLVMCreateMemoryBufferWithContentsOfFile(argv[1], &buffer, &message) ||
        LLVMParseIRInContext(context, buffer, &module, &message)) {
        fprintf(stderr, "%s: %s\n", argv[1], message);
        return 2;
    }
    sites = fopen(argv[3], "w");
    if (!sites) {
        perror(argv[3]);
        return 2;
    }
    td = LLVMGetModuleDataLayout(module);
    builder = LLVMCreateBuilderInContext(context);
    ptr = LLVMPointerTypeInContext(context, 0);
    i64 = LLVMInt64TypeInContext(context), i32 = LLVMInt32TypeInContext(context),
    voidt = LLVMVoidTypeInContext(context);
    struct weft_facts *facts = weft__facts_new(module, &o);
    LLVMTypeRef a[4] = {ptr, i64, i32, i32}, c[4] = {ptr, ptr, i32, i32};
    access_fn = declare("__oracle_access", &access_type, a, 4);
    fresh_fn = declare("__oracle_fresh", &fresh_type, a, 2);
    object_fn = declare("__oracle_object", &object_type, a, 2);
    call_fn = declare("__oracle_call", &call_type, c, 4);
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn)) do_function(facts, fn);
    weft__facts_free(facts);
    fclose(sites);
    return LLVMWriteBitcodeToFile(module, argv[2]) != 0;
}
