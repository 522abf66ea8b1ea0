/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Turns a module into constraints for the solver (solve.c).
 *
 * Every value that can hold a pointer, or part of one, has a node: integers, floats and vectors count, since programs
 * keep pointers in integers, tag their low bits, pack them into vectors and copy them byte by byte. Arithmetic on
 * integers of 64 bits that may hold a pointer gives a pointer somewhere into the same objects. Numbers of 32 bits or
 * less are parts of pointers as long as they are copied, shifted by bytes or put together by `or`; arithmetic makes
 * them mere numbers (or all that is computed from a character of argv would be a pointer). The difference of two
 * pointers is a number, too, unless somewhere a pointer is made of it (WEFT_C_UNDO). Where alias tags say that a number
 * is loaded (programs built with strict aliasing), only what is stored as a number somewhere can come out. Not followed
 * are multiplication and division (hashes), comparison, conversion from and to floating-point values, and pointers
 * written as text. Results of first-class aggregates are one node.
 *
 * What code outside does comes from the table of externals; a function that is not in it gets hold of all its arguments
 * (see `exposed`). Linkage tells what else code outside can reach: anything that is not internal, after the linker has
 * made internal whatever nobody refers to.
 *
 * Calls through pointers, callbacks and exposed functions are connected while the solver runs, by the weft__build_
 * functions at the end. */
#include "analysis.h"

static uint32_t node_of(struct weft_points *p, LLVMValueRef v);

static const struct weft_gep anywhere = {.step = 1};

/* `to` gets pointers into the objects that `from` points into. */
static void blur(struct weft_points *p, uint32_t from, uint32_t to) {
    if (from) weft__points_shift(p, from, anywhere, to);
}

static void expose(struct weft_points *p, uint32_t node) {
    weft__points_copy(p, node, p->exposed);
}

static int64_t size_of(struct weft_points *p, LLVMTypeRef type) {
    return LLVMTypeIsSized(type) ? (int64_t)LLVMStoreSizeOfType(p->facts->td, type) : WEFT_TO_END;
}

/* Can values of this type hold a pointer, or eight bits of one? */
static int holds(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 8;
    case LLVMVectorTypeKind:
    case LLVMScalableVectorTypeKind:
    case LLVMArrayTypeKind:
        return holds(LLVMGetElementType(type));
    case LLVMVoidTypeKind:
    case LLVMLabelTypeKind:
    case LLVMMetadataTypeKind:
    case LLVMTokenTypeKind:
        return 0;
    default:
        return 1;
    }
}

/* Does a pointer fit into one element? */
static int is_word(LLVMTypeRef type) {
    while (LLVMGetTypeKind(type) == LLVMVectorTypeKind || LLVMGetTypeKind(type) == LLVMArrayTypeKind)
        type = LLVMGetElementType(type);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= 64;
    case LLVMFloatTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 0;
    default:
        return holds(type);
    }
}

/* base + difference, possibly behind phis. A pointer that was kept in an integer is no sum. */
static int is_sum(LLVMValueRef v, int depth) {
    if (!LLVMIsAInstruction(v)) return 0;
    LLVMOpcode o = LLVMGetInstructionOpcode(v);
    if (o == LLVMAdd || o == LLVMSub)
        return !LLVMIsAConstantInt(LLVMGetOperand(v, 1)) || is_sum(LLVMGetOperand(v, 0), depth);
    int yes = 0;
    if ((o == LLVMPHI || o == LLVMSelect || o == LLVMAnd || o == LLVMFreeze) && depth)
        for (int i = 0, n = LLVMGetNumOperands(v); i < n && !yes; i++)
            yes = is_sum(LLVMGetOperand(v, (unsigned)i), depth - 1);
    return yes;
}

/* ---- objects of variables -------------------------------------------------------------------------------------- */

/* An array of two or more is folded to one element. Arrays of bytes are not: they may be anything. */
static uint32_t stride_of(struct weft_points *p, LLVMTypeRef type) {
    uint64_t n = 1;
    while (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        n *= LLVMGetArrayLength2(type);
        type = LLVMGetElementType(type);
    }
    uint64_t size = LLVMTypeIsSized(type) ? LLVMABISizeOfType(p->facts->td, type) : 0;
    return n > 1 && size > 1 && size < (1u << 30) ? (uint32_t)size : 0;
}

/* Is it read-only, and is there no pointer in it? Strings and tables of numbers need not be told apart. */
static int is_plain_data(LLVMValueRef c) {
    switch (LLVMGetValueKind(c)) {
    case LLVMConstantAggregateZeroValueKind:
    case LLVMConstantDataArrayValueKind:
    case LLVMConstantDataVectorValueKind:
    case LLVMConstantIntValueKind:
    case LLVMConstantFPValueKind:
    case LLVMConstantPointerNullValueKind:
    case LLVMUndefValueValueKind:
        return 1;
    case LLVMConstantStructValueKind:
    case LLVMConstantArrayValueKind:
    case LLVMConstantVectorValueKind:
        for (int i = 0, n = LLVMGetNumOperands(c); i < n; i++)
            if (!is_plain_data(LLVMGetOperand(c, (unsigned)i))) return 0;
        return 1;
    default:
        return 0;
    }
}

static uint32_t object_of(struct weft_points *p, LLVMValueRef v) {
    uint32_t *known = weft__map_at(&p->of, weft__key(v));
    if (*known) return *known - 1;
    uint32_t o;
    if (LLVMIsAFunction(v)) {
        o = weft__points_new_object(p, WEFT_OBJ_FUNCTION, v, 0);
        uint32_t *f = weft__map_find(&p->facts->function_of, weft__key(v));
        p->object[o].function = f ? *f - 1 : UINT32_MAX;
    } else if (LLVMIsAAllocaInst(v)) {
        LLVMTypeRef type = LLVMGetAllocatedType(v);
        o = weft__points_new_object(p, WEFT_OBJ_STACK, v, weft__ir_alloca_size(p->facts->td, v));
        p->object[o].stride = stride_of(p, type);
        LLVMValueRef count = LLVMGetOperand(v, 0);
        if (!p->object[o].stride && !(LLVMIsAConstantInt(count) && LLVMConstIntGetZExtValue(count) == 1)) {
            uint64_t size = LLVMTypeIsSized(type) ? LLVMABISizeOfType(p->facts->td, type) : 0;
            p->object[o].stride = size > 1 && size < (1u << 30) ? (uint32_t)size : 0;
        }
    } else if (LLVMIsGlobalConstant(v) && !LLVMIsThreadLocal(v) && LLVMGetInitializer(v) &&
               is_plain_data(LLVMGetInitializer(v))) {
        o = p->constants;
    } else {
        LLVMTypeRef type = LLVMGlobalGetValueType(v);
        int declared = LLVMIsDeclaration(v) != 0; /* it may be larger than we see */
        int64_t size = declared || !LLVMTypeIsSized(type) ? -1 : (int64_t)LLVMABISizeOfType(p->facts->td, type);
        o = weft__points_new_object(p, LLVMIsThreadLocal(v) ? WEFT_OBJ_TLS : WEFT_OBJ_GLOBAL, v, size);
        p->object[o].stride = declared ? 0 : stride_of(p, type);
        p->object[o].constant = LLVMIsGlobalConstant(v) != 0;
    }
    *weft__map_at(&p->of, weft__key(v)) = o + 1;
    return o;
}

static uint32_t heap_object(struct weft_points *p, LLVMValueRef inst, int64_t size, uint32_t stride) {
    uint32_t o = weft__points_new_object(p, WEFT_OBJ_HEAP, inst, size);
    p->object[o].stride = stride;
    p->object[o].cloned = weft__map_find(&p->cloned, weft__key(inst)) != NULL;
    return weft__points_location(p, o, 0, 1);
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

static struct weft_gep gep_of(struct weft_points *p, LLVMValueRef gep) {
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    struct weft_gep g = {0};
    int n = weft__ir_gep(p->facts->td, gep, &g.fixed, terms);
    if (n < 0) return anywhere;
    for (int i = 0, parts = 0; i < n; i++) {
        uint64_t bytes = terms[i].length * (uint64_t)terms[i].stride;
        if (terms[i].length > 1 && bytes < (1u << 30) && LLVMIsInBounds(gep) && parts < 2 && terms[i].stride > 0) {
            g.part[parts].stride = terms[i].stride;
            g.part[parts].extent = (int64_t)bytes;
            g.part[parts++].array = 1;
        } else {
            int64_t a = g.step, b = terms[i].stride;
            while (b) { /* gcd */
                int64_t t = a % b;
                a = b, b = t;
            }
            g.step = a;
        }
    }
    if (g.fixed > WEFT_FAR / 2 || g.fixed < -WEFT_FAR / 2) return anywhere;
    return g;
}

static uint32_t constant_node(struct weft_points *p, LLVMValueRef v) {
    uint32_t n;
    switch (LLVMGetValueKind(v)) {
    case LLVMGlobalVariableValueKind:
    case LLVMFunctionValueKind:
        n = weft__points_new_node(p);
        weft__points_add(p, n, weft__points_location(p, object_of(p, v), 0, 1));
        return n;
    case LLVMGlobalAliasValueKind:
        return node_of(p, LLVMAliasGetAliasee(v));
    case LLVMGlobalIFuncValueKind: {
        uint32_t *f = weft__map_find(&p->facts->function_of, weft__key(weft__ir_strip(LLVMGetGlobalIFuncResolver(v))));
        n = weft__points_new_node(p);
        if (f) weft__points_copy(p, p->ret[*f - 1], n);
        weft__points_add(p, n, p->loc_unknown);
        return n;
    }
    case LLVMConstantExprValueKind: {
        LLVMOpcode o = LLVMGetConstOpcode(v);
        if (o == LLVMBitCast || o == LLVMAddrSpaceCast || o == LLVMPtrToInt || o == LLVMTrunc)
            return node_of(p, LLVMGetOperand(v, 0));
        n = weft__points_new_node(p);
        if (o == LLVMGetElementPtr) {
            weft__points_shift(p, node_of(p, LLVMGetOperand(v, 0)), gep_of(p, v), n);
        } else if (o == LLVMIntToPtr) {
            LLVMValueRef i = LLVMGetOperand(v, 0);
            weft__points_copy(p, node_of(p, i), n);
            if (LLVMIsAConstantInt(i)) {
                int64_t a = LLVMConstIntGetSExtValue(i); /* small numbers are marks, not addresses */
                if (a > 65536 || a < -65536) weft__points_add(p, n, p->loc_unknown);
            }
        } else {
            for (int i = 0, k = LLVMGetNumOperands(v); i < k; i++)
                blur(p, node_of(p, LLVMGetOperand(v, (unsigned)i)), n);
        }
        return n;
    }
    case LLVMConstantStructValueKind:
    case LLVMConstantArrayValueKind:
    case LLVMConstantVectorValueKind:
        n = 0;
        for (int i = 0, k = LLVMGetNumOperands(v); i < k; i++) {
            uint32_t e = node_of(p, LLVMGetOperand(v, (unsigned)i));
            if (e && !n) n = weft__points_new_node(p);
            if (e) weft__points_copy(p, e, n);
        }
        return n;
    case LLVMBlockAddressValueKind:
    case LLVMUndefValueValueKind:
    case LLVMPoisonValueValueKind:
    case LLVMConstantAggregateZeroValueKind:
    case LLVMConstantDataArrayValueKind:
    case LLVMConstantDataVectorValueKind:
    case LLVMConstantIntValueKind:
    case LLVMConstantFPValueKind:
    case LLVMConstantPointerNullValueKind:
    case LLVMConstantTokenNoneValueKind:
    case LLVMMetadataAsValueValueKind:
    case LLVMInlineAsmValueKind:
    case LLVMBasicBlockValueKind:
        return 0;
    default: /* dso_local_equivalent and the like */
        n = 0;
        for (int i = 0, k = LLVMIsAUser(v) ? LLVMGetNumOperands(v) : 0; i < k; i++) {
            uint32_t e = node_of(p, LLVMGetOperand(v, (unsigned)i));
            if (e && !n) n = weft__points_new_node(p);
            if (e) weft__points_copy(p, e, n);
        }
        return n;
    }
}

/* 0: it cannot hold a pointer. */
static uint32_t node_of(struct weft_points *p, LLVMValueRef v) {
    uint32_t *known = weft__map_find(&p->value, weft__key(v));
    if (known) return *known;
    uint32_t n = LLVMIsAInstruction(v) || LLVMIsAArgument(v) ? holds(LLVMTypeOf(v)) ? weft__points_new_node(p) : 0
                                                             : constant_node(p, v);
    *weft__map_at(&p->value, weft__key(v)) = n;
    return n;
}

static void initialise(struct weft_points *p, uint32_t object, int64_t offset, LLVMValueRef c) {
    LLVMTypeRef type = LLVMTypeOf(c);
    switch (LLVMGetValueKind(c)) {
    case LLVMConstantStructValueKind:
        for (unsigned i = 0, n = (unsigned)LLVMGetNumOperands(c); i < n; i++)
            initialise(p, object, offset + (int64_t)LLVMOffsetOfElement(p->facts->td, type, i), LLVMGetOperand(c, i));
        return;
    case LLVMConstantArrayValueKind: {
        int64_t stride = (int64_t)LLVMABISizeOfType(p->facts->td, LLVMGetElementType(type));
        for (unsigned i = 0, n = (unsigned)LLVMGetNumOperands(c); i < n; i++)
            initialise(p, object, offset + stride * i, LLVMGetOperand(c, i));
        return;
    }
    default: {
        uint32_t n = node_of(p, c);
        int64_t lo, hi;
        if (n &&
            weft__points_range(p, weft__points_location(p, object, offset, offset + 1), 0, size_of(p, type), &lo, &hi))
            weft__points_copy(p, n, weft__points_contents(p, object, lo, hi, 1));
    }
    }
}

/* A section that is named like an identifier can be walked from __start_NAME. */
static int in_walkable_section(LLVMValueRef g) {
    const char *s = LLVMGetSection(g);
    if (!s || !*s) return 0;
    for (; *s; s++)
        if (!(*s == '_' || (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z'))) return 0;
    return 1;
}

static void expose_used(struct weft_points *p, const char *name) {
    LLVMValueRef g = LLVMGetNamedGlobal(p->facts->module, name);
    LLVMValueRef list = g ? LLVMGetInitializer(g) : NULL;
    for (int i = 0, n = list && LLVMIsAConstantArray(list) ? LLVMGetNumOperands(list) : 0; i < n; i++)
        expose(p, node_of(p, LLVMGetOperand(list, (unsigned)i)));
}

static void add_entry(struct weft_points *p, uint32_t function, uint32_t call, uint8_t effect) {
    WEFT_GROW(p->entry, p->entries, p->entry_room);
    p->entry[p->entries++] = (struct weft_entry){function, call, effect};
}

/* llvm.global_ctors and llvm.global_dtors: { i32 priority, ptr function, ptr data }. */
static void run_list(struct weft_points *p, const char *name, uint8_t effect) {
    LLVMValueRef g = LLVMGetNamedGlobal(p->facts->module, name);
    LLVMValueRef list = g ? LLVMGetInitializer(g) : NULL;
    for (int i = 0, n = list && LLVMIsAConstantArray(list) ? LLVMGetNumOperands(list) : 0; i < n; i++) {
        LLVMValueRef e = LLVMGetOperand(list, (unsigned)i);
        LLVMValueRef fn = LLVMGetNumOperands(e) > 1 ? weft__ir_strip(LLVMGetOperand(e, 1)) : NULL;
        uint32_t *f = fn && LLVMIsAFunction(fn) ? weft__map_find(&p->facts->function_of, weft__key(fn)) : NULL;
        if (f) add_entry(p, *f - 1, UINT32_MAX, effect);
    }
}

static void build_globals(struct weft_points *p) {
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->facts->module); g; g = LLVMGetNextGlobal(g)) {
        const char *name = weft__ir_name(g);
        if (!strncmp(name, "llvm.", 5) || weft__facts_is_runtime(name)) continue;
        uint32_t o = object_of(p, g);
        LLVMValueRef init = LLVMGetInitializer(g);
        if (init && o != p->constants) initialise(p, o, 0, init);
        if (!weft__ir_is_local(g) || in_walkable_section(g)) expose(p, node_of(p, g));
    }
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(p->facts->module); a; a = LLVMGetNextGlobalAlias(a))
        if (!weft__ir_is_local(a)) expose(p, node_of(p, a));
    for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(p->facts->module); i; i = LLVMGetNextGlobalIFunc(i)) {
        uint32_t *f = weft__map_find(&p->facts->function_of, weft__key(weft__ir_strip(LLVMGetGlobalIFuncResolver(i))));
        if (f) add_entry(p, *f - 1, UINT32_MAX, WEFT_EFF_LATER);
        if (!weft__ir_is_local(i)) expose(p, node_of(p, i));
    }
    expose_used(p, "llvm.used");
    expose_used(p, "llvm.compiler.used");
    run_list(p, "llvm.global_ctors", WEFT_EFF_CALL);
    run_list(p, "llvm.global_dtors", WEFT_EFF_ATEXIT);
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static void add_access(struct weft_points *p, LLVMValueRef inst, int which, uint32_t function, uint32_t node,
                       int64_t size, int read, int write, int deep) {
    if (!size || !node) return;
    WEFT_GROW(p->access, p->accesses, p->access_room);
    p->access[p->accesses++] =
        (struct weft_access){inst, which, function, node, size, (uint8_t)read, (uint8_t)write, (uint8_t)deep};
}

static void add_pair(struct weft_points *p, uint32_t call, uint32_t target) {
    WEFT_GROW(p->pair, p->pairs, p->pair_room);
    p->pair[p->pairs++] = (uint64_t)call << 32 | target;
}

static uint32_t arg_of(struct weft_points *p, LLVMValueRef inst, int arg) {
    return arg >= 0 && (unsigned)arg < LLVMGetNumArgOperands(inst) ? node_of(p, LLVMGetArgOperand(inst, (unsigned)arg))
                                                                   : 0;
}

static void add_callback(struct weft_points *p, uint32_t function, uint32_t call, uint8_t effect, uint32_t arg) {
    if (!function) return;
    WEFT_GROW(p->callback, p->callbacks, p->callback_room);
    p->callback[p->callbacks] = (struct weft_callback){call, effect, arg};
    weft__points_constrain(p, function, (struct weft_constraint){WEFT_C_CALLBACK, 0, p->callbacks++, 0, 0});
}

/* Bytes of an effect: known only if its arguments are constants. */
static int64_t effect_size(const struct weft_effect *e, LLVMValueRef inst) {
    if (e->size == WEFT_SIZE_CONSTANT) return (int64_t)e->constant;
    if (e->size != WEFT_SIZE_ARG) return WEFT_TO_END;
    uint64_t bytes = e->constant;
    const int8_t args[2] = {e->arg2, e->arg3};
    for (int i = 0; i < 2; i++) {
        if (args[i] < 0) continue;
        if ((unsigned)args[i] >= LLVMGetNumArgOperands(inst)) return WEFT_TO_END;
        LLVMValueRef a = LLVMGetArgOperand(inst, (unsigned)args[i]);
        if (!LLVMIsAConstantInt(a) || LLVMConstIntGetZExtValue(a) > (1u << 30)) return WEFT_TO_END;
        bytes *= LLVMConstIntGetZExtValue(a);
    }
    return bytes < (1u << 30) ? (int64_t)bytes : WEFT_TO_END;
}

/* memcpy: word by word if it is short, so that fields stay apart. */
static void build_copy(struct weft_points *p, uint32_t to, uint32_t from, int64_t size) {
    enum { WORDS = 64 };
    if (!to || !from) return;
    if (size >= 0 && size <= 8 * WORDS) {
        for (int64_t at = 0; at < size; at += 8) {
            uint32_t t = weft__points_new_node(p);
            int64_t n = size - at < 8 ? size - at : 8;
            weft__points_load(p, from, at, n, t);
            weft__points_store(p, to, at, n, t);
        }
        return;
    }
    uint32_t t = weft__points_new_node(p);
    weft__points_load(p, from, 0, size, t);
    weft__points_store(p, to, 0, size, t);
}

/* Size in bytes and element size, as far as the size argument of an allocation tells. Folding by a wrong element size
 * would lose precision only. */
static void shape_of(LLVMValueRef s, int64_t *size, uint32_t *stride) {
    *size = -1, *stride = 0;
    if (LLVMIsAConstantInt(s)) {
        uint64_t bytes = LLVMConstIntGetZExtValue(s);
        *size = bytes < (1ull << 39) ? (int64_t)bytes : -1;
        return;
    }
    if (LLVMIsACallInst(s) && !strncmp(weft__ir_name(weft__ir_callee(s)), "llvm.umax.", 10)) /* malloc(n ? n : 1) */
        s = LLVMGetArgOperand(s, 0);
    if (LLVMIsASelectInst(s)) /* new T[n]: -1 if the multiplication overflows */
        s = LLVMGetOperand(s, LLVMIsAConstantInt(LLVMGetOperand(s, 1)) ? 2 : 1);
    if (LLVMIsAExtractValueInst(s) && LLVMIsACallInst(LLVMGetOperand(s, 0))) s = LLVMGetOperand(s, 0);
    if (!LLVMIsAInstruction(s)) return;
    LLVMOpcode o = LLVMGetInstructionOpcode(s);
    if (o != LLVMMul && o != LLVMShl && !(o == LLVMCall && LLVMGetNumArgOperands(s) == 2)) return;
    if (o == LLVMCall && strncmp(weft__ir_name(weft__ir_callee(s)), "llvm.umul.with", 14)) return;
    LLVMValueRef k = LLVMGetOperand(s, 1);
    if (!LLVMIsAConstantInt(k)) return;
    uint64_t c = LLVMConstIntGetZExtValue(k);
    if (o == LLVMShl) c = c < 30 ? 1ull << c : 0;
    if (c > 1 && c < (1u << 30)) *stride = (uint32_t)c;
}

static void shape_of_array(LLVMValueRef a, LLVMValueRef b, int64_t *size, uint32_t *stride) {
    uint64_t x = LLVMIsAConstantInt(a) ? LLVMConstIntGetZExtValue(a) : 0;
    uint64_t y = LLVMIsAConstantInt(b) ? LLVMConstIntGetZExtValue(b) : 0;
    *size = -1, *stride = 0;
    if (x && y && x < (1u << 30) && y < (1u << 30)) *size = (int64_t)(x * y);
    if (x != 1 && y > 1 && y < (1u << 30))
        *stride = (uint32_t)y;
    else if (!y && x > 1 && x < (1u << 30))
        *stride = (uint32_t)x;
}

/* Which arguments of an allocator are the size; -1: none that we know. */
static void size_arguments(const char *name, int *a, int *b) {
    *a = *b = -1;
    if (!strcmp(name, "calloc"))
        *a = 0, *b = 1;
    else if (!strcmp(name, "reallocarray"))
        *a = 1, *b = 2;
    else if (!strcmp(name, "realloc") || !strcmp(name, "memalign") || !strcmp(name, "aligned_alloc"))
        *a = 1;
    else if (!strcmp(name, "malloc") || !strncmp(name, "_Zn", 3) || !strcmp(name, "valloc") ||
             !strcmp(name, "__cxa_allocate_exception"))
        *a = 0;
}

static void allocation_shape(LLVMValueRef inst, const char *name, int64_t *size, uint32_t *stride) {
    int a, b, n = (int)LLVMGetNumArgOperands(inst);
    size_arguments(name, &a, &b);
    *size = -1, *stride = 0;
    if (b >= 0 && b < n)
        shape_of_array(LLVMGetArgOperand(inst, (unsigned)a), LLVMGetArgOperand(inst, (unsigned)b), size, stride);
    else if (a >= 0 && a < n && b < 0)
        shape_of(LLVMGetArgOperand(inst, (unsigned)a), size, stride);
}

/* ---- functions that allocate
 * xmalloc and its kind: the result is fresh memory that the function keeps no pointer to. Each direct call is then an allocation site
 * of its own (heap cloning), or everything that is allocated would be one object. */

struct wrapper {
    int32_t a, b;        /* parameters that are the size, as in size_arguments */
    LLVMValueRef *other; /* results that do not come from the allocation */
    uint32_t others, other_room;
};

/* Is the value returned, compared, cleared, and nothing else? Values that it flows into are added to the list. */
static int only_returned(LLVMValueRef v, LLVMValueRef *list, int *n, int max) {
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsAInstruction(user)) return 0;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMRet:
        case LLVMICmp:
            break;
        case LLVMPHI:
        case LLVMSelect:
        case LLVMBitCast:
        case LLVMFreeze: {
            int seen = 0;
            for (int i = 0; i < *n; i++)
                seen |= list[i] == user;
            if (seen) break;
            if (*n == max) return 0;
            list[(*n)++] = user;
            if (!only_returned(user, list, n, max)) return 0;
            break;
        }
        case LLVMCall: {
            const char *name = weft__ir_name(weft__ir_callee(user));
            if (strncmp(name, "llvm.memset.", 12) && strncmp(name, "llvm.assume", 11) && strncmp(name, "llvm.dbg.", 9))
                return 0;
            break;
        }
        default:
            return 0;
        }
    }
    return 1;
}

static uint32_t find_wrapper(struct weft_points *p, uint32_t function);

/* If v is what an allocator returned, the arguments that are the size. */
static int is_allocation(struct weft_points *p, LLVMValueRef v, LLVMValueRef *a, LLVMValueRef *b) {
    *a = *b = NULL;
    if (!LLVMIsAInstruction(v) || !weft__ir_is_call(v)) return 0;
    LLVMValueRef callee = weft__ir_callee(v);
    uint32_t *f = LLVMIsAFunction(callee) ? weft__map_find(&p->facts->function_of, weft__key(callee)) : NULL;
    int x = -1, y = -1;
    if (!f) return 0;
    if (p->facts->function[*f - 1].defined) {
        uint32_t w = find_wrapper(p, *f - 1);
        if (!w || p->wrapper[w - 1].others) return 0;
        x = p->wrapper[w - 1].a, y = p->wrapper[w - 1].b;
    } else {
        const struct weft_external *ext = weft__external(weft__ir_name(callee));
        if (!ext || !weft__external_has(ext, WEFT_EFF_FRESH) || weft__external_has(ext, WEFT_EFF_INTO)) return 0;
        size_arguments(ext->name, &x, &y);
    }
    int n = (int)LLVMGetNumArgOperands(v);
    *a = x >= 0 && x < n ? LLVMGetArgOperand(v, (unsigned)x) : NULL;
    *b = y >= 0 && y < n ? LLVMGetArgOperand(v, (unsigned)y) : NULL;
    return 1;
}

static int parameter_of(LLVMValueRef fn, LLVMValueRef v) {
    for (unsigned i = 0, n = LLVMCountParams(fn); v && i < n; i++)
        if (LLVMGetParam(fn, i) == v) return (int)i;
    return -1;
}

/* Index + 1 in p->wrapper, 0: it is none. */
static uint32_t find_wrapper(struct weft_points *p, uint32_t function) {
    enum { MAX = 32 };
    uint32_t *known = weft__map_at(&p->wrapper_of, (uint64_t)function + 1);
    if (*known) return *known - 1;
    *known = 1; /* not while it is being found out: recursion */
    LLVMValueRef fn = p->facts->function[function].fn, list[MAX];
    if (LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(fn))) != LLVMPointerTypeKind) return 0;
    int n = 0, allocations = 0, ok = 1, sites = 0;
    LLVMValueRef site[MAX];
    struct wrapper w = {.a = -1, .b = -1};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b && ok; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!end || !LLVMIsAReturnInst(end) || LLVMGetNumOperands(end) != 1) continue;
        LLVMValueRef v = LLVMGetOperand(end, 0);
        int seen = 0;
        for (int i = 0; i < n; i++)
            seen |= list[i] == v;
        if (!seen && n < MAX) list[n++] = v;
        ok &= n < MAX;
    }
    for (int i = 0; i < n && ok; i++) {
        LLVMValueRef v = list[i], x, y;
        LLVMOpcode o = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMRet;
        if (o == LLVMPHI || o == LLVMSelect || o == LLVMBitCast || o == LLVMFreeze) {
            for (int k = o == LLVMSelect, m = LLVMGetNumOperands(v); k < m && ok; k++) {
                LLVMValueRef e = LLVMGetOperand(v, (unsigned)k);
                int seen = 0;
                for (int j = 0; j < n; j++)
                    seen |= list[j] == e;
                ok &= seen || n < MAX;
                if (!seen && ok) list[n++] = e;
            }
        } else if (is_allocation(p, v, &x, &y)) {
            LLVMValueRef flow[MAX];
            int flows = 0;
            ok &= only_returned(v, flow, &flows, MAX);
            site[sites++] = v;
            int a = parameter_of(fn, x), b = parameter_of(fn, y);
            if (allocations++ && (a != w.a || b != w.b)) a = b = -1;
            w.a = a, w.b = b;
            if ((x && a < 0) || (y && b < 0)) w.a = w.b = -1;
        } else if (!LLVMIsAConstant(v) || node_of(p, v)) {
            WEFT_GROW(w.other, w.others, w.other_room);
            w.other[w.others++] = v;
        }
    }
    if (!ok || !allocations) {
        free(w.other);
        return 0;
    }
    for (int i = 0; i < sites; i++)
        *weft__map_at(&p->cloned, weft__key(site[i])) = 1;
    WEFT_GROW(p->wrapper, p->wrappers, p->wrapper_room);
    p->wrapper[p->wrappers++] = w;
    *weft__map_at(&p->wrapper_of, (uint64_t)function + 1) = p->wrappers + 1;
    return p->wrappers;
}

/* Whoever allocates memory writes it (calloc, strdup), or leaves in it what was there. */
static void born(struct weft_points *p, LLVMValueRef inst, uint32_t function, uint32_t location) {
    uint32_t t = weft__points_new_node(p);
    weft__points_add(p, t, location);
    add_access(p, inst, WEFT_NOT_ASKED, function, t, WEFT_WHOLE, 0, 1, 0);
}

/* The result of a direct call of such a function. */
static void build_allocation(struct weft_points *p, LLVMValueRef call, uint32_t caller, const struct wrapper *w) {
    int64_t size = -1;
    uint32_t stride = 0;
    int n = (int)LLVMGetNumArgOperands(call);
    if (w->a >= 0 && w->b >= 0 && w->a < n && w->b < n)
        shape_of_array(LLVMGetArgOperand(call, (unsigned)w->a), LLVMGetArgOperand(call, (unsigned)w->b), &size,
                       &stride);
    else if (w->a >= 0 && w->b < 0 && w->a < n)
        shape_of(LLVMGetArgOperand(call, (unsigned)w->a), &size, &stride);
    uint32_t fresh = heap_object(p, call, size, stride);
    weft__points_add(p, node_of(p, call), fresh);
    born(p, call, caller, fresh);
    for (uint32_t i = 0; i < w->others; i++)
        weft__points_copy(p, node_of(p, w->other[i]), node_of(p, call));
}

/* Somebody we know nothing about is called, here. */
static void unknown_call(struct weft_points *p, uint32_t call) {
    struct weft_call *c = &p->facts->call[call];
    c->out = c->starts = c->exits = 1;
    add_pair(p, call, p->facts->node_unknown);
    for (unsigned a = 0, n = LLVMGetNumArgOperands(c->inst); a < n; a++) {
        LLVMValueRef v = LLVMGetArgOperand(c->inst, a);
        uint32_t node = node_of(p, v);
        expose(p, node);
        if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind)
            add_access(p, c->inst, (int)a, c->caller, node, WEFT_WHOLE, 1, 1, 0);
    }
    if (is_word(LLVMTypeOf(c->inst))) weft__points_add(p, node_of(p, c->inst), p->loc_unknown);
}

/* Where pointers to functions are mixed up, every call may reach every allocator; one object for each of them will do.
 */
static uint32_t made_by(struct weft_points *p, LLVMValueRef inst, const struct weft_external *ext) {
    uint32_t *l = weft__map_at(&p->made, weft__key(ext));
    if (!*l) *l = heap_object(p, inst, -1, 0);
    return *l;
}

/* What the table says. `call` is UINT32_MAX for intrinsics. */
static void build_external(struct weft_points *p, uint32_t call, LLVMValueRef inst, uint32_t caller,
                           const struct weft_external *ext, unsigned fixed, int direct) {
    struct weft_call *c = call == UINT32_MAX ? NULL : &p->facts->call[call];
    uint32_t result = holds(LLVMTypeOf(inst)) ? node_of(p, inst) : 0;
    uint32_t touched = 0, reached = 0, given = 0, fresh = 0;
    int64_t limit = WEFT_WHOLE;
    unsigned args = LLVMGetNumArgOperands(inst);
    int input = weft__external_has(ext, WEFT_EFF_INPUT), output = weft__external_has(ext, WEFT_EFF_OUTPUT);
    int returns = 0;

    if (c) c->resolved = 1;
    if (c && ext->class == WEFT_EXT_OUT) c->out = 1;
    for (unsigned i = 0; i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        if (e->kind == WEFT_EFF_TOUCH) {
            if (!touched) touched = weft__points_new_node(p);
            weft__points_copy(p, arg_of(p, inst, e->arg), touched);
            if (e->size == WEFT_SIZE_CONSTANT) limit = (int64_t)e->constant;
        } else if (e->kind == WEFT_EFF_REACH) {
            if (!reached) reached = weft__points_new_node(p);
            weft__points_copy(p, arg_of(p, inst, e->arg), reached);
        } else if (e->kind == WEFT_EFF_FRESH && result) {
            int64_t size;
            uint32_t stride;
            allocation_shape(inst, ext->name, &size, &stride);
            fresh = direct ? heap_object(p, inst, size, stride) : made_by(p, inst, ext);
        }
    }
    if (touched) {
        weft__points_load(p, touched, 0, limit, touched);
        weft__points_store(p, touched, 0, limit, touched);
        if (limit == WEFT_WHOLE)
            weft__points_add(p, touched, direct ? heap_object(p, inst, -1, 0) : made_by(p, inst, ext));
        if (ext->class != WEFT_EXT_PURE) add_callback(p, touched, call, WEFT_EFF_TOUCH, touched);
        if (input) weft__points_copy(p, p->io, touched);
        if (output) weft__points_copy(p, touched, p->io);
    }
    if (reached) {
        weft__points_load(p, reached, 0, WEFT_WHOLE, reached);
        if (output) weft__points_copy(p, reached, p->io);
    }
    for (unsigned i = 0; i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        uint32_t a = arg_of(p, inst, e->arg);
        switch (e->kind) {
        case WEFT_EFF_READ:
            add_access(p, inst, e->arg, caller, a, effect_size(e, inst), 1, 0, 0);
            if (output && a) weft__points_load(p, a, 0, effect_size(e, inst), p->io);
            break;
        case WEFT_EFF_WRITE:
            add_access(p, inst, e->arg, caller, a, effect_size(e, inst), 0, 1, 0);
            if (input && a) weft__points_store(p, a, 0, effect_size(e, inst), p->io);
            break;
        case WEFT_EFF_TOUCH:
            if (a) add_access(p, inst, e->arg, caller, touched, limit, 1, 1, 1);
            break;
        case WEFT_EFF_ALONE:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_copy(p, a, t);
                weft__points_load(p, t, 0, WEFT_WHOLE, t);
                weft__points_store(p, t, 0, WEFT_WHOLE, t);
                weft__points_add(p, t, direct ? heap_object(p, inst, -1, 0) : made_by(p, inst, ext));
                add_access(p, inst, e->arg, caller, t, WEFT_WHOLE, 1, 1, 1);
            }
            break;
        case WEFT_EFF_REACH:
            if (a) add_access(p, inst, e->arg, caller, reached, WEFT_WHOLE, 1, 0, 1);
            break;
        case WEFT_EFF_COPY: {
            int64_t size = WEFT_TO_END;
            for (unsigned k = 0; k < ext->count; k++)
                if (ext->effect[k].kind == WEFT_EFF_WRITE && ext->effect[k].arg == e->arg)
                    size = effect_size(&ext->effect[k], inst);
            uint32_t to = a;
            if (fresh && e->arg == e->arg2) { /* realloc */
                to = weft__points_new_node(p);
                weft__points_add(p, to, fresh);
            }
            build_copy(p, to, arg_of(p, inst, e->arg2), e->arg == e->arg2 ? WEFT_TO_END : size);
            break;
        }
        case WEFT_EFF_KEEP:
            expose(p, a);
            break;
        case WEFT_EFF_INTO:
            returns = 1;
            if (!result || !a) break;
            if (touched) weft__points_copy(p, touched, result);
            if (ext->class == WEFT_EXT_PURE && !weft__external_has(ext, WEFT_EFF_READ) &&
                !weft__external_has(ext, WEFT_EFF_WRITE))
                weft__points_copy(p, a, result);
            else
                blur(p, a, result);
            break;
        case WEFT_EFF_FRESH:
            returns = 1;
            if (!result) break;
            weft__points_add(p, result, fresh);
            born(p, inst, caller, fresh);
            break;
        case WEFT_EFF_GLOBAL:
            returns = 1;
            if (result) weft__points_add(p, result, p->loc_unknown);
            break;
        case WEFT_EFF_ERRNO:
        case WEFT_EFF_CTYPE:
            returns = 1;
            if (result) weft__points_add(p, result, e->kind == WEFT_EFF_ERRNO ? p->loc_errno : p->loc_ctype);
            break;
        case WEFT_EFF_CALL:
            if (!given) {
                given = weft__points_new_node(p);
                for (unsigned k = 0; k < args; k++)
                    if ((int)k != e->arg) blur(p, arg_of(p, inst, (int)k), given);
                if (touched) weft__points_copy(p, touched, given);
            }
            add_callback(p, a, call, WEFT_EFF_CALL, given);
            break;
        case WEFT_EFF_LATER:
        case WEFT_EFF_ATEXIT:
            add_callback(p, a, call, e->kind, arg_of(p, inst, e->arg2));
            break;
        case WEFT_EFF_HANDLER:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_load(p, a, 0, 8, t);
                add_callback(p, t, call, WEFT_EFF_LATER, 0);
            }
            break;
        case WEFT_EFF_THREAD:
            weft__points_copy(p, arg_of(p, inst, e->arg2), p->thread_arg);
            add_callback(p, a, call, e->kind, arg_of(p, inst, e->arg2));
            if (c) c->starts = 1;
            break;
        case WEFT_EFF_STARTS:
            if (c) c->starts = 1;
            break;
        case WEFT_EFF_EXIT:
        case WEFT_EFF_RUNS:
            if (c) {
                c->exits |= e->kind == WEFT_EFF_EXIT;
                add_pair(p, call, p->facts->node_unknown);
            }
            break;
        case WEFT_EFF_NORETURN:
            returns = 1;
            break;
        case WEFT_EFF_VARREAD:
        case WEFT_EFF_VARWRITE:
            for (unsigned k = fixed; k < args; k++) {
                LLVMValueRef v = LLVMGetArgOperand(inst, k);
                if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind || !node_of(p, v)) continue;
                add_access(p, inst, (int)k, caller, node_of(p, v), WEFT_TO_END, 1, e->kind == WEFT_EFF_VARWRITE, 0);
                if (e->kind == WEFT_EFF_VARWRITE && strstr(ext->name, "scanf")) { /* %ms */
                    uint32_t t = weft__points_new_node(p);
                    weft__points_add(p, t, direct ? heap_object(p, inst, -1, 0) : made_by(p, inst, ext));
                    weft__points_store(p, node_of(p, v), 0, 8, t);
                }
            }
            break;
        case WEFT_EFF_MAKES:
        case WEFT_EFF_LIBPTR:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_add(p, t,
                                 e->kind == WEFT_EFF_LIBPTR ? p->loc_unknown
                                 : direct                   ? heap_object(p, inst, -1, 0)
                                                            : made_by(p, inst, ext));
                weft__points_store(p, a, 0, e->kind == WEFT_EFF_MAKES ? 8 : WEFT_TO_END, t);
                if (e->kind == WEFT_EFF_MAKES) add_access(p, inst, WEFT_NOT_ASKED, caller, t, WEFT_WHOLE, 0, 1, 0);
            }
            break;
        case WEFT_EFF_POINTS:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                blur(p, arg_of(p, inst, e->arg2), t);
                weft__points_store(p, a, 0, 8, t);
            }
            break;
        case WEFT_EFF_SETOWN:
            if (a) weft__points_copy(p, a, weft__points_contents(p, p->own, 0, WEFT_FAR, 1));
            break;
        case WEFT_EFF_GETOWN:
            returns = 1;
            if (result) weft__points_copy(p, weft__points_contents(p, p->own, 0, WEFT_FAR, 0), result);
            break;
        case WEFT_EFF_ENDOWN:
            add_callback(p, a, call, WEFT_EFF_LATER, weft__points_contents(p, p->own, 0, WEFT_FAR, 0));
            weft__points_constrain(p, arg_of(p, inst, 0), (struct weft_constraint){.kind = WEFT_C_KEY});
            break;
        case WEFT_EFF_THROW:
            weft__points_copy(p, a, p->thrown);
            break;
        case WEFT_EFF_JOIN:
            weft__points_store(p, a, 0, 8, p->results);
            break;
        case WEFT_EFF_RESULT:
            weft__points_copy(p, a, p->results);
            if (c) c->leaves = 1;
            break;
        default:
            break;
        }
    }
    /* An entry that forgot to say what it returns. */
    if (!returns && result && LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind)
        weft__points_add(p, result, p->loc_unknown);
}

/* Through a pointer, a call is linked to functions of other types, too (programs do that), but a pointer does not
 * become an integer on the way. */
static int passes(LLVMTypeRef from, LLVMTypeRef to) {
    return (LLVMGetTypeKind(from) == LLVMPointerTypeKind) == (LLVMGetTypeKind(to) == LLVMPointerTypeKind) &&
           (is_word(to) || !is_word(from));
}

static void link_call(struct weft_points *p, uint32_t call, uint32_t function, int direct) {
    struct weft_facts *f = p->facts;
    LLVMValueRef inst = f->call[call].inst, fn = f->function[function].fn;
    unsigned args = LLVMGetNumArgOperands(inst), params = LLVMCountParams(fn);
    for (unsigned a = 0; a < args; a++) {
        uint32_t from = node_of(p, LLVMGetArgOperand(inst, a));
        if (!from) continue;
        if (a < params) {
            uint32_t to = node_of(p, LLVMGetParam(fn, a));
            uint32_t *copy = weft__map_find(&p->byval, weft__key(LLVMGetParam(fn, a)));
            if (copy) { /* the callee gets a copy of its own */
                uint32_t t = weft__points_new_node(p);
                weft__points_add(p, t, *copy);
                build_copy(p, t, from, p->object[p->location[*copy].object].size);
            } else if (to &&
                       (direct || passes(LLVMTypeOf(LLVMGetArgOperand(inst, a)), LLVMTypeOf(LLVMGetParam(fn, a))))) {
                weft__points_copy(p, from, to);
            }
        } else if (p->va[function]) {
            weft__points_copy(p, from, weft__points_contents(p, p->va[function] - 1, 0, WEFT_FAR, 1));
        }
    }
    uint32_t result = node_of(p, inst), w = direct && result ? find_wrapper(p, function) : 0;
    if (w)
        build_allocation(p, inst, f->call[call].caller, &p->wrapper[w - 1]);
    else if (result && p->ret[function] &&
             (direct || passes(LLVMGetReturnType(LLVMGlobalGetValueType(fn)), LLVMTypeOf(inst))))
        weft__points_copy(p, p->ret[function], result);
}

static int preemptible(const struct weft_facts *f, LLVMValueRef fn) {
    return f->opt.shared_library && !weft__ir_is_local(fn) && LLVMGetVisibility(fn) == LLVMDefaultVisibility;
}

/* `call` reaches `fn`, which is a function. Once per pair. */
static void reach(struct weft_points *p, uint32_t call, LLVMValueRef fn, int direct) {
    struct weft_facts *f = p->facts;
    uint32_t *known = weft__map_find(&f->function_of, weft__key(fn));
    LLVMValueRef inst = f->call[call].inst;
    if (!known) { /* an intrinsic cannot be called through a pointer */
        return;
    }
    uint32_t function = *known - 1;
    const char *name = weft__ir_name(fn);
    if (f->function[function].defined) {
        add_pair(p, call, function);
        link_call(p, call, function, direct);
        if (preemptible(f, fn)) unknown_call(p, call);
        return;
    }
    if (weft__facts_is_runtime(name)) return;
    const struct weft_external *ext = weft__external(name);
    if (strstr(name, "current_exception") || strstr(name, "exception_ptr"))
        expose(p, p->thrown); /* it can be thrown again on another thread */
    if (!ext) {
        int was = f->call[call].out, ordered = weft__external_ordered(name);
        if (!ordered) weft__facts_note_unknown(f, name);
        unknown_call(p, call);
        if (ordered) f->call[call].out = was;
        return;
    }
    build_external(p, call, inst, f->call[call].caller, ext, LLVMCountParams(fn), direct);
    if (!direct && ext->class == WEFT_EXT_RENAME) f->call[call].out = 1; /* the real one runs, which takes no memory */
}

static void build_call(struct weft_points *p, LLVMValueRef inst, uint32_t caller) {
    uint32_t *known = weft__map_find(&p->facts->call_of, weft__key(inst));
    LLVMValueRef callee = weft__ir_callee(inst);
    WEFT_CHECK(known);
    uint32_t call = *known - 1;
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    for (unsigned a = 0, n = LLVMGetNumArgOperands(inst); a < n; a++) {
        LLVMAttributeRef attr = LLVMGetCallSiteEnumAttribute(inst, a + 1, byval);
        if (attr)
            add_access(p, inst, (int)a, caller, node_of(p, LLVMGetArgOperand(inst, a)),
                       size_of(p, LLVMGetTypeAttributeValue(attr)), 1, 0, 0);
    }
    if (LLVMIsAInlineAsm(callee)) {
        /* Anything may happen to its operands. It is taken not to start threads and not to call back. */
        uint32_t result = node_of(p, inst);
        for (unsigned a = 0, n = LLVMGetNumArgOperands(inst); a < n; a++) {
            uint32_t node = node_of(p, LLVMGetArgOperand(inst, a));
            expose(p, node);
            if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(inst, a))) == LLVMPointerTypeKind)
                add_access(p, inst, (int)a, caller, node, WEFT_WHOLE, 1, 1, 0);
        }
        if (result && is_word(LLVMTypeOf(inst))) weft__points_add(p, result, p->loc_unknown);
        return;
    }
    if (LLVMIsAFunction(callee)) {
        reach(p, call, callee, 1);
        return;
    }
    weft__points_constrain(p, node_of(p, callee), (struct weft_constraint){WEFT_C_CALL, 0, call, 0, 0});
}

static int starts_with(const char *s, const char *prefix) {
    return !strncmp(s, prefix, strlen(prefix));
}

static void build_intrinsic(struct weft_points *p, LLVMValueRef inst, LLVMValueRef fn, uint32_t caller) {
    const char *name = weft__ir_name(fn) + 5; /* llvm. */
    uint32_t result = holds(LLVMTypeOf(inst)) ? node_of(p, inst) : 0;
    unsigned args = LLVMGetNumArgOperands(inst);
    if (starts_with(name, "dbg.") || starts_with(name, "lifetime.") || starts_with(name, "assume") ||
        starts_with(name, "prefetch"))
        return;
    if (starts_with(name, "va_start")) {
        uint32_t t = weft__points_new_node(p);
        if (p->va[caller]) weft__points_add(p, t, weft__points_location(p, p->va[caller] - 1, -WEFT_FAR, WEFT_FAR));
        weft__points_store(p, arg_of(p, inst, 0), 0, 24, t);
        add_access(p, inst, 0, caller, arg_of(p, inst, 0), 24, 0, 1, 0);
        return;
    }
    if (starts_with(name, "masked.load") || starts_with(name, "masked.gather") ||
        starts_with(name, "masked.expandload") || starts_with(name, "vp.load") || starts_with(name, "vp.gather")) {
        int64_t size =
            strstr(name, "gather") ? size_of(p, LLVMGetElementType(LLVMTypeOf(inst))) : size_of(p, LLVMTypeOf(inst));
        if (result) weft__points_load(p, arg_of(p, inst, 0), 0, size, result);
        add_access(p, inst, 0, caller, arg_of(p, inst, 0), size, 1, 0, 0);
        return;
    }
    if (starts_with(name, "masked.store") || starts_with(name, "masked.scatter") ||
        starts_with(name, "masked.compressstore") || starts_with(name, "vp.store") || starts_with(name, "vp.scatter")) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetArgOperand(inst, 0));
        int64_t size = strstr(name, "scatter") ? size_of(p, LLVMGetElementType(type)) : size_of(p, type);
        weft__points_store(p, arg_of(p, inst, 1), 0, size, arg_of(p, inst, 0));
        add_access(p, inst, 1, caller, arg_of(p, inst, 1), size, 0, 1, 0);
        return;
    }
    if (starts_with(name, "ptrmask")) {
        struct weft_gep g = {.fixed = -4096, .part = {{1, 4097, 0}}};
        if (result && arg_of(p, inst, 0)) weft__points_shift(p, arg_of(p, inst, 0), g, result);
        return;
    }
    if (starts_with(name, "x86.")) { /* loads, stores, gathers of vectors: anything between memory and values */
        for (unsigned a = 0; a < args; a++) {
            LLVMTypeRef type = LLVMTypeOf(LLVMGetArgOperand(inst, a));
            while (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
                type = LLVMGetElementType(type);
            if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
                uint32_t at = arg_of(p, inst, (int)a);
                if (result) weft__points_load(p, at, 0, WEFT_WHOLE, result);
                for (unsigned b = 0; b < args; b++)
                    if (b != a) weft__points_store(p, at, 0, WEFT_WHOLE, arg_of(p, inst, (int)b));
                add_access(p, inst, (int)a, caller, at, WEFT_WHOLE, 1, 1, 0);
            }
            if (result) blur(p, arg_of(p, inst, (int)a), result);
        }
        return;
    }
    const struct weft_external *ext = weft__external(weft__ir_name(fn));
    int pointers = LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind;
    for (unsigned a = 0; a < args; a++)
        pointers |= LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(inst, a))) == LLVMPointerTypeKind;
    if (!ext && pointers) { /* an intrinsic we have not met: it takes and gives what it wants */
        weft__facts_note_unknown(p->facts, weft__ir_name(fn));
        for (unsigned a = 0; a < args; a++) {
            uint32_t node = arg_of(p, inst, (int)a);
            expose(p, node);
            if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(inst, a))) == LLVMPointerTypeKind)
                add_access(p, inst, (int)a, caller, node, WEFT_WHOLE, 1, 1, 0);
        }
        if (result) weft__points_add(p, result, p->loc_unknown);
        return;
    }
    if (ext) build_external(p, UINT32_MAX, inst, caller, ext, args, 1);
    if (!result || LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind || starts_with(name, "objectsize") ||
        starts_with(name, "ct") || starts_with(name, "is.") || starts_with(name, "type.") || starts_with(name, "eh."))
        return;
    for (unsigned a = 0; a < args; a++) /* min, max, shifts, saturating arithmetic, reductions, ... */
        blur(p, arg_of(p, inst, (int)a), result);
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* Is this GEP, through phis and the like, its own base? Then its offset is added any number of times. */
static int in_cycle(LLVMValueRef gep) {
    enum { MAX = 64 };
    LLVMValueRef list[MAX];
    int n = 0;
    list[n++] = LLVMGetOperand(gep, 0);
    for (int i = 0; i < n; i++) {
        LLVMValueRef v = list[i];
        if (v == gep) return 1;
        if (!LLVMIsAInstruction(v)) continue;
        unsigned first = 0, last = 0;
        switch (LLVMGetInstructionOpcode(v)) {
        case LLVMPHI:
            last = (unsigned)LLVMGetNumOperands(v);
            break;
        case LLVMSelect:
            first = 1, last = 3;
            break;
        case LLVMGetElementPtr:
        case LLVMBitCast:
        case LLVMFreeze:
        case LLVMIntToPtr:
        case LLVMPtrToInt:
            last = 1;
            break;
        default:
            break;
        }
        for (unsigned k = first; k < last; k++) {
            LLVMValueRef o = LLVMGetOperand(v, k);
            int seen = 0;
            for (int j = 0; j < n && !seen; j++)
                seen = list[j] == o;
            if (seen) continue;
            if (n == MAX) return 1;
            list[n++] = o;
        }
    }
    return 0;
}

/* Is the value below 2^32, or sign-extended from there? Then it is no pointer, at most a part of one. */
static int narrow(LLVMValueRef v) {
    if (!LLVMIsAInstruction(v)) return 0;
    LLVMOpcode o = LLVMGetInstructionOpcode(v);
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(v, 0));
    if (o == LLVMZExt || o == LLVMSExt)
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 32;
    if ((o != LLVMAnd && o != LLVMLShr) || !LLVMIsAConstantInt(LLVMGetOperand(v, 1)) || LLVMGetIntTypeWidth(type) > 64)
        return 0;
    uint64_t c = LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1));
    return o == LLVMAnd ? c <= UINT32_MAX : c >= 32;
}

/* Is a part of a pointer made longer to be put together with others? */
static int put_together(LLVMValueRef v) {
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsAInstruction(user)) continue;
        LLVMOpcode o = LLVMGetInstructionOpcode(user);
        if (o == LLVMOr || o == LLVMShl || o == LLVMInsertElement) return 1;
    }
    return 0;
}

static int is_ptrtoint(LLVMValueRef v) {
    return LLVMIsAPtrToIntInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMPtrToInt);
}

static void build_integer(struct weft_points *p, LLVMValueRef in, LLVMOpcode o) {
    uint32_t to = node_of(p, in);
    LLVMValueRef a = LLVMGetOperand(in, 0), b = LLVMGetOperand(in, 1);
    if (!to) return;
    int part = LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(in)) < 64;
    if (!part && LLVMIsAConstantInt(b) && LLVMGetIntTypeWidth(LLVMTypeOf(b)) <= 64) {
        int64_t c = LLVMConstIntGetSExtValue(b);
        uint32_t from = node_of(p, a);
        if (!from) return;
        if (narrow(a) && o != LLVMOr && o != LLVMShl && o != LLVMLShr && o != LLVMAShr) return;
        if ((o == LLVMAdd || o == LLVMSub) && c > -(1 << 30) && c < (1 << 30)) {
            weft__points_shift(p, from, (struct weft_gep){.fixed = o == LLVMAdd ? c : -c}, to);
            return;
        }
        if (o == LLVMAnd && c >= 0 && c < 4096) return; /* low bits: a tag, not a pointer */
        if (o == LLVMAnd && c < 0 && c >= -4096) {
            weft__points_shift(p, from, (struct weft_gep){.fixed = c + 1, .part = {{1, -c, 0}}}, to);
            return;
        }
        if ((o == LLVMOr || o == LLVMXor) && c >= 0 && c < 4096) {
            weft__points_shift(
                p, from,
                (struct weft_gep){.fixed = o == LLVMXor ? -c : 0, .part = {{1, (o == LLVMXor ? 2 * c : c) + 1, 0}}},
                to);
            return;
        }
    }
    if (o == LLVMShl || o == LLVMLShr || o == LLVMAShr) {
        int scaled = o == LLVMShl && LLVMIsAConstantInt(b) && LLVMConstIntGetZExtValue(b) < 8;
        if (!(scaled && (part || narrow(a)))) blur(p, node_of(p, a), to);
        return;
    }
    if (o != LLVMOr && part) return;
    if (o == LLVMSub && is_ptrtoint(b)) {
        blur(p, node_of(p, a), p->differences);
        blur(p, node_of(p, b), p->differences);
        weft__points_add(p, to, p->loc_difference);
        return;
    }
    if (o == LLVMOr || !narrow(a)) blur(p, node_of(p, a), to);
    if (o == LLVMOr || !narrow(b)) blur(p, node_of(p, b), to);
}

static void build_instruction(struct weft_points *p, LLVMValueRef in, uint32_t function) {
    LLVMOpcode o = LLVMGetInstructionOpcode(in);
    switch (o) {
    case LLVMAlloca:
        weft__points_add(p, node_of(p, in), weft__points_location(p, object_of(p, in), 0, 1));
        p->object[object_of(p, in)].function = function;
        break;
    case LLVMLoad: {
        uint32_t from = node_of(p, LLVMGetOperand(in, 0));
        int64_t size = size_of(p, LLVMTypeOf(in));
        if (!holds(LLVMTypeOf(in)))
            ;
        else if (weft__ir_tbaa(in) == WEFT_TBAA_NUMBER)
            weft__points_copy(p, is_word(LLVMTypeOf(in)) ? p->words : p->parts, node_of(p, in));
        else
            weft__points_load(p, from, 0, size, node_of(p, in));
        add_access(p, in, 0, function, from, size, 1, 0, 0);
        break;
    }
    case LLVMStore: {
        uint32_t to = node_of(p, LLVMGetOperand(in, 1)), v = node_of(p, LLVMGetOperand(in, 0));
        LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(in, 0));
        int64_t size = size_of(p, type);
        weft__points_store(p, to, 0, size, v);
        if (v && LLVMGetTypeKind(type) != LLVMPointerTypeKind) {
            enum weft_tbaa tag = weft__ir_tbaa(in);
            if (is_word(type) && tag != WEFT_TBAA_POINTER)
                weft__points_copy(p, v, p->words);
            else if (!is_word(type) && tag == WEFT_TBAA_NUMBER)
                weft__points_copy(p, v, p->parts);
        }
        add_access(p, in, 0, function, to, size, 0, 1, 0);
        break;
    }
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: {
        uint32_t at = node_of(p, LLVMGetOperand(in, 0)), v = node_of(p, LLVMGetOperand(in, o == LLVMAtomicRMW ? 1 : 2));
        int64_t size = size_of(p, LLVMTypeOf(LLVMGetOperand(in, 1)));
        if (node_of(p, in)) weft__points_load(p, at, 0, size, node_of(p, in));
        if (o == LLVMAtomicRMW && LLVMGetAtomicRMWBinOp(in) != LLVMAtomicRMWBinOpXchg && node_of(p, in)) {
            uint32_t t = weft__points_new_node(p); /* pointer and number are added in memory */
            blur(p, node_of(p, in), t);
            blur(p, v, t);
            v = t;
        }
        weft__points_store(p, at, 0, size, v);
        add_access(p, in, 0, function, at, size, 1, 1, 0);
        break;
    }
    case LLVMVAArg: {
        uint32_t list = node_of(p, LLVMGetOperand(in, 0)), area = weft__points_new_node(p);
        weft__points_load(p, list, 0, 24, area);
        weft__points_store(p, list, 0, 24, area);
        if (node_of(p, in)) weft__points_load(p, area, 0, WEFT_WHOLE, node_of(p, in));
        add_access(p, in, 0, function, list, 24, 1, 1, 0);
        break;
    }
    case LLVMGetElementPtr: {
        struct weft_gep g = gep_of(p, in);
        if ((g.fixed || g.part[0].stride) && in_cycle(in)) {
            int64_t step = g.fixed < 0 ? -g.fixed : g.fixed;
            if (g.part[0].stride || g.step || !step)
                g = anywhere;
            else
                g = (struct weft_gep){.step = step};
        }
        weft__points_shift(p, node_of(p, LLVMGetOperand(in, 0)), g, node_of(p, in));
        break;
    }
    case LLVMIntToPtr: {
        uint32_t from = node_of(p, LLVMGetOperand(in, 0));
        WEFT_GROW(p->inttoptr, p->inttoptrs, p->inttoptr_room);
        p->inttoptr[p->inttoptrs++] = node_of(p, in);
        weft__points_copy(p, from, node_of(p, in));
        if (is_sum(LLVMGetOperand(in, 0), 4))
            weft__points_constrain(p, from, (struct weft_constraint){WEFT_C_UNDO, 0, node_of(p, in), 0, 0});
        break;
    }
    case LLVMPHI:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMPtrToInt:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
        if ((o == LLVMZExt || o == LLVMSExt) && narrow(in) && !put_together(in)) break;
        /* fallthrough */
    case LLVMFreeze:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMShuffleVector:
    case LLVMSelect:
    case LLVMExtractElement:
    case LLVMInsertElement: {
        uint32_t to = node_of(p, in);
        if (to)
            for (int i = o == LLVMSelect, n = LLVMGetNumOperands(in); i < n; i++)
                if (!(i == 1 && o == LLVMExtractElement) && !(i == 2 && o == LLVMInsertElement))
                    weft__points_copy(p, node_of(p, LLVMGetOperand(in, (unsigned)i)), to);
        break;
    }
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
        build_integer(p, in, o);
        break;
    case LLVMRet:
        if (LLVMGetNumOperands(in) && p->ret[function])
            weft__points_copy(p, node_of(p, LLVMGetOperand(in, 0)), p->ret[function]);
        break;
    case LLVMLandingPad:
        weft__points_copy(p, p->thrown, node_of(p, in));
        weft__points_add(p, node_of(p, in), p->loc_unknown);
        break;
    case LLVMResume:
        weft__points_copy(p, node_of(p, LLVMGetOperand(in, 0)), p->thrown);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr: {
        LLVMValueRef callee = weft__ir_callee(in);
        if (weft__ir_is_intrinsic(callee))
            build_intrinsic(p, in, callee, function);
        else
            build_call(p, in, function);
        break;
    }
    default: /* comparison, multiplication, floating point, control flow: no pointer comes out */
        break;
    }
}

static void prepare_function(struct weft_points *p, uint32_t i) {
    LLVMValueRef fn = p->facts->function[i].fn;
    LLVMTypeRef type = LLVMGlobalGetValueType(fn);
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    if (holds(LLVMGetReturnType(type))) p->ret[i] = weft__points_new_node(p);
    if (LLVMIsFunctionVarArg(type)) p->va[i] = weft__points_new_object(p, WEFT_OBJ_STACK, fn, -1) + 1;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++) {
        LLVMAttributeRef attr = LLVMGetEnumAttributeAtIndex(fn, a + 1, byval);
        if (!attr) continue;
        LLVMValueRef param = LLVMGetParam(fn, a);
        uint32_t o = weft__points_new_object(p, WEFT_OBJ_STACK, param, size_of(p, LLVMGetTypeAttributeValue(attr)));
        uint32_t l = weft__points_location(p, o, 0, 1);
        *weft__map_at(&p->byval, weft__key(param)) = l;
        weft__points_add(p, node_of(p, param), l);
    }
}

struct weft_points *weft__points_new(struct weft_facts *f) {
    struct weft_points *p = weft__an_alloc(NULL, 1, sizeof *p);
    *p = (struct weft_points){.facts = f, .locations = 1, .constraints = 1};
    p->location = weft__an_alloc(NULL, p->location_room = 1024, sizeof *p->location);
    p->constraint = weft__an_alloc(NULL, p->constraint_room = 1024, sizeof *p->constraint);
    p->location[0] = (struct weft_location){0};
    p->constraint[0] = (struct weft_constraint){0};
    weft__points_new_node(p);
    p->exposed = weft__points_new_node(p);
    p->thrown = weft__points_new_node(p);
    p->results = weft__points_new_node(p);
    p->thread_arg = weft__points_new_node(p);
    p->io = weft__points_new_node(p);
    p->words = weft__points_new_node(p);
    p->parts = weft__points_new_node(p);
    p->ret = calloc(f->functions + 1, sizeof *p->ret);
    p->va = calloc(f->functions + 1, sizeof *p->va);
    WEFT_CHECK(p->ret && p->va);

    p->loc_unknown = weft__points_location(p, weft__points_new_object(p, WEFT_OBJ_UNKNOWN, NULL, -1), 0, 1);
    p->own = weft__points_new_object(p, WEFT_OBJ_TLS, NULL, -1);
    p->loc_difference = weft__points_location(p, weft__points_new_object(p, WEFT_OBJ_DIFFERENCE, NULL, 0), 0, 1);
    p->differences = weft__points_new_node(p);
    uint32_t o = weft__points_new_object(p, WEFT_OBJ_TLS, NULL, 8);
    p->loc_errno = weft__points_location(p, o, 0, 1);
    uint32_t table = p->constants = weft__points_new_object(p, WEFT_OBJ_GLOBAL, NULL, -1);
    p->object[table].constant = p->object[table].blurred = 1;
    o = weft__points_new_object(p, WEFT_OBJ_TLS, NULL, 8);
    p->object[o].constant = 1;
    p->loc_ctype = weft__points_location(p, o, 0, 1);
    weft__points_add(p, weft__points_contents(p, o, 0, 8, 1), weft__points_location(p, table, -WEFT_FAR, WEFT_FAR));

    weft__points_constrain(p, p->exposed, (struct weft_constraint){.kind = WEFT_C_EXPOSE});
    for (uint32_t i = 0; i < f->functions; i++)
        if (f->function[i].defined) prepare_function(p, i);
    for (uint32_t i = 0; i < f->functions; i++)
        if (f->function[i].defined) find_wrapper(p, i);
    build_globals(p);
    for (uint32_t i = 0; i < f->functions; i++) {
        LLVMValueRef fn = f->function[i].fn;
        if (!f->function[i].defined) continue;
        if (!strcmp(weft__ir_name(fn), "main") && !f->opt.shared_library) {
            for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++)
                if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(fn, a))) == LLVMPointerTypeKind)
                    weft__points_add(p, node_of(p, LLVMGetParam(fn, a)), p->loc_unknown);
        } else if (!weft__ir_is_local(fn)) {
            expose(p, node_of(p, fn));
        }
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in))
                build_instruction(p, in, i);
    }
    return p;
}

void weft__points_free(struct weft_points *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->objects; i++)
        free(p->object[i].segment);
    for (uint32_t i = 0; i < p->nodes; i++) {
        weft__set_fini(&p->node[i].pts);
        weft__set_fini(&p->node[i].fresh);
        weft__set_fini(&p->node[i].pend);
        free(p->node[i].succ);
    }
    free(p->object), free(p->location), free(p->node), free(p->constraint), free(p->gep), free(p->callback);
    free(p->entry), free(p->access), free(p->active), free(p->pending), free(p->pair), free(p->ret), free(p->va);
    free(p->inttoptr), free(p->bucket);
    weft__set_fini(&p->absorbed);
    weft__set_fini(&p->blurred);
    weft__set_fini(&p->implied);
    weft__map_fini(&p->made);
    for (uint32_t i = 0; i < p->wrappers; i++)
        free(p->wrapper[i].other);
    free(p->wrapper);
    weft__map_fini(&p->wrapper_of);
    weft__map_fini(&p->cloned);
    weft__map_fini(&p->edge);
    weft__map_fini(&p->value);
    weft__map_fini(&p->of);
    weft__map_fini(&p->byval);
    weft__map_fini(&p->resolved);
    free(p);
}

/* ---- while the solver runs ------------------------------------------------------------------------------------- */

/* 1 the first time. Kinds of keys: calls, callbacks. */
static int first_time(struct weft_points *p, uint64_t key) {
    uint32_t *seen = weft__map_at(&p->resolved, key);
    return !(*seen)++;
}

void weft__build_target(struct weft_points *p, uint32_t call, uint32_t object) {
    if (!first_time(p, ((uint64_t)call << 32 | object) + 1)) return;
    if (p->object[object].kind == WEFT_OBJ_UNKNOWN)
        unknown_call(p, call);
    else if (p->object[object].kind == WEFT_OBJ_FUNCTION)
        reach(p, call, p->object[object].value, 0);
}

void weft__build_callback(struct weft_points *p, const struct weft_callback *callback, uint32_t object) {
    struct weft_callback cb = *callback; /* the array may move */
    uint64_t which = (uint64_t)(callback - p->callback);
    struct weft_facts *f = p->facts;
    uint8_t kind = p->object[object].kind;
    if ((kind != WEFT_OBJ_UNKNOWN && kind != WEFT_OBJ_FUNCTION) ||
        !first_time(p, (1ull << 63 | which << 32 | object) + 1))
        return;
    int now = cb.effect == WEFT_EFF_CALL || cb.effect == WEFT_EFF_TOUCH;
    uint32_t function = kind == WEFT_OBJ_FUNCTION ? p->object[object].function : UINT32_MAX;
    if (function == UINT32_MAX || !f->function[function].defined) {
        /* Code outside calls code outside. Entries of the table that only read are common (comparators) and harmless.
         */
        const struct weft_external *ext =
            function == UINT32_MAX ? NULL : weft__external(weft__ir_name(f->function[function].fn));
        int harmless = ext != NULL;
        for (unsigned i = 0; ext && i < ext->count; i++)
            harmless &= ext->effect[i].kind == WEFT_EFF_READ || ext->effect[i].kind == WEFT_EFF_FREE;
        if (harmless) {
            if (cb.call != UINT32_MAX)
                add_access(p, f->call[cb.call].inst, 0, f->call[cb.call].caller, cb.arg, WEFT_WHOLE, 1, 0, 0);
            return;
        }
        expose(p, cb.arg);
        if (now && cb.call != UINT32_MAX) {
            f->call[cb.call].starts = 1;
            add_pair(p, cb.call, f->node_unknown);
        }
        return;
    }
    add_entry(p, function, cb.call, cb.effect);
    if (now && cb.call != UINT32_MAX) add_pair(p, cb.call, function);
    LLVMValueRef fn = f->function[function].fn;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++) {
        uint32_t to = node_of(p, LLVMGetParam(fn, a));
        if (!to) continue;
        if (cb.arg) weft__points_copy(p, cb.arg, to);
        if ((cb.effect == WEFT_EFF_TOUCH || (cb.effect == WEFT_EFF_LATER && !cb.arg)) &&
            is_word(LLVMTypeOf(LLVMGetParam(fn, a))))
            weft__points_add(p, to, p->loc_unknown);
    }
    if (!p->ret[function]) return;
    if (cb.effect == WEFT_EFF_THREAD)
        weft__points_copy(p, p->ret[function], p->results);
    else if (cb.effect == WEFT_EFF_TOUCH)
        weft__points_copy(p, p->ret[function], cb.arg);
}

void weft__build_exposed(struct weft_points *p, uint32_t object) {
    struct weft_object *o = &p->object[object];
    if (o->kind == WEFT_OBJ_UNKNOWN || o->kind == WEFT_OBJ_DIFFERENCE) return;
    if (o->kind != WEFT_OBJ_FUNCTION) {
        int64_t end = o->stride ? o->stride : o->size >= 0 ? o->size : WEFT_FAR;
        if (end == 0) return;
        int constant = o->constant;
        if (o->key) weft__points_copy(p, weft__points_contents(p, p->own, 0, WEFT_FAR, 0), p->exposed);
        weft__points_copy(p, weft__points_contents(p, object, 0, end, 0), p->exposed);
        /* Memory of others that is read-only for us still holds whatever they put there. */
        if (!constant || (o->value && LLVMIsAGlobalVariable(o->value) && LLVMIsDeclaration(o->value)))
            weft__points_add(p, weft__points_contents(p, object, 0, end, 1), p->loc_unknown);
        return;
    }
    uint32_t function = o->function;
    if (function == UINT32_MAX || !p->facts->function[function].defined) return;
    LLVMValueRef fn = p->facts->function[function].fn;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++)
        if (is_word(LLVMTypeOf(LLVMGetParam(fn, a))))
            weft__points_add(p, node_of(p, LLVMGetParam(fn, a)), p->loc_unknown);
    if (p->va[function])
        weft__points_add(p, weft__points_contents(p, p->va[function] - 1, 0, WEFT_FAR, 1), p->loc_unknown);
    if (p->ret[function]) weft__points_copy(p, p->ret[function], p->exposed);
}
