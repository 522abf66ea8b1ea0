/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which node stands for a value, which object for a variable, and what do they hold before the program runs?
 *
 * Nodes and objects are made when they are first asked for. Every value that can hold a pointer, or part of one, has a
 * node (weft__ir_holds); results of first-class aggregates are one node. The node of a constant is complete; that of an
 * instruction or a parameter is empty, and is filled when the module is gone through (weft__points_new).
 *
 * The second half goes through the variables of the module: initial values, and what code outside can reach because of
 * linkage: anything that is not internal, after the linker has made internal whatever nobody refers to. */
#include "analysis.h"

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

/* %n, %hhn, %3$n: printf writes there. %p: printf gives a pointer away as text, and scanf takes one. */
static int has_percent(LLVMValueRef c, char what) {
    if (!LLVMIsAConstantDataSequential(c)) return 0;
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(c));
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return 0;
    unsigned n = LLVMGetArrayLength2(LLVMTypeOf(c)) < (1u << 30) ? (unsigned)LLVMGetArrayLength2(LLVMTypeOf(c)) : 0, bits = LLVMGetIntTypeWidth(type);
    if (bits != 8 && bits != 32) return 0;
    int open = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned long long x = LLVMConstIntGetZExtValue(LLVMGetAggregateElement(c, i));
        if (x == '%')
            open = !open;
        else if (open && x == (unsigned char)what)
            return 1;
        else if (open && !(x && x < 128 && strchr("0123456789$*.-+ #'hlLjztqI", (int)x)))
            open = 0;
    }
    return 0;
}

uint32_t weft__build_object(struct weft_points *p, LLVMValueRef v) {
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

/* ---- constants ------------------------------------------------------------------------------------------------- */

struct weft_gep weft__build_gep(struct weft_points *p, LLVMValueRef gep) {
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    struct weft_gep g = {0};
    int n = weft__ir_gep(p->facts->td, gep, &g.fixed, terms);
    if (n < 0) return WEFT_ANYWHERE;
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
    if (g.fixed > WEFT_FAR / 2 || g.fixed < -WEFT_FAR / 2) return WEFT_ANYWHERE;
    return g;
}

static uint32_t constant_node(struct weft_points *p, LLVMValueRef v) {
    uint32_t n;
    switch (LLVMGetValueKind(v)) {
    case LLVMGlobalVariableValueKind:
    case LLVMFunctionValueKind:
        n = weft__points_new_node(p);
        weft__points_add(p, n, weft__points_location(p, weft__build_object(p, v), 0, 1));
        return n;
    case LLVMGlobalAliasValueKind:
        return weft__build_node(p, LLVMAliasGetAliasee(v));
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
            return weft__build_node(p, LLVMGetOperand(v, 0));
        n = weft__points_new_node(p);
        if (o == LLVMGetElementPtr) {
            weft__points_shift(p, weft__build_node(p, LLVMGetOperand(v, 0)), weft__build_gep(p, v), n);
        } else if (o == LLVMIntToPtr) {
            LLVMValueRef i = LLVMGetOperand(v, 0);
            weft__points_copy(p, weft__build_node(p, i), n);
            if (LLVMIsAConstantInt(i)) {
                int64_t a = LLVMConstIntGetSExtValue(i); /* small numbers are marks, not addresses */
                if (a > 65536 || a < -65536) weft__points_add(p, n, p->loc_unknown);
            }
        } else {
            for (int i = 0, k = LLVMGetNumOperands(v); i < k; i++)
                weft__points_blur(p, weft__build_node(p, LLVMGetOperand(v, (unsigned)i)), n);
        }
        return n;
    }
    case LLVMBlockAddressValueKind:
        return 0;
    default: /* aggregates, dso_local_equivalent and the like: what their operands hold; numbers have none */
        n = 0;
        for (int i = 0, k = LLVMIsAUser(v) ? LLVMGetNumOperands(v) : 0; i < k; i++) {
            uint32_t e = weft__build_node(p, LLVMGetOperand(v, (unsigned)i));
            if (e && !n) n = weft__points_new_node(p);
            if (e) weft__points_copy(p, e, n);
        }
        return n;
    }
}

uint32_t weft__build_node(struct weft_points *p, LLVMValueRef v) {
    uint32_t *known = weft__map_find(&p->value, weft__key(v));
    if (known) return *known;
    uint32_t n = LLVMIsAInstruction(v) || LLVMIsAArgument(v)
                     ? weft__ir_holds(LLVMTypeOf(v)) ? weft__points_new_node(p) : 0
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
        uint32_t n = weft__build_node(p, c);
        int64_t lo, hi;
        if (n && weft__points_range(p, weft__points_location(p, object, offset, offset + 1), 0,
                                    weft__ir_size_of(p->facts->td, type), &lo, &hi))
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

/* Initial value of llvm.NAME, an array of n. */
static LLVMValueRef list_named(struct weft_points *p, const char *name, int *n) {
    LLVMValueRef g = LLVMGetNamedGlobal(p->facts->module, name);
    LLVMValueRef list = g ? LLVMGetInitializer(g) : NULL;
    *n = list && LLVMIsAConstantArray(list) ? LLVMGetNumOperands(list) : 0;
    return list;
}

static void expose_used(struct weft_points *p, const char *name) {
    int n;
    LLVMValueRef list = list_named(p, name, &n);
    for (int i = 0; i < n; i++)
        weft__points_expose(p, weft__build_node(p, LLVMGetOperand(list, (unsigned)i)));
}

/* llvm.global_ctors and llvm.global_dtors: { i32 priority, ptr function, ptr data }. */
static void run_list(struct weft_points *p, const char *name, uint8_t effect) {
    int n;
    LLVMValueRef list = list_named(p, name, &n);
    for (int i = 0; i < n; i++) {
        LLVMValueRef e = LLVMGetOperand(list, (unsigned)i);
        LLVMValueRef fn = LLVMGetNumOperands(e) > 1 ? weft__ir_strip(LLVMGetOperand(e, 1)) : NULL;
        uint32_t *f = fn && LLVMIsAFunction(fn) ? weft__map_find(&p->facts->function_of, weft__key(fn)) : NULL;
        if (f) weft__build_add_entry(p, *f - 1, UINT32_MAX, effect);
    }
}

static int any_percent(LLVMValueRef c, char what, int depth) {
    if (has_percent(c, what)) return 1;
    if (!depth || (!LLVMIsAConstantStruct(c) && !LLVMIsAConstantArray(c))) return 0;
    for (int i = 0, n = LLVMGetNumOperands(c); i < n; i++)
        if (any_percent(LLVMGetOperand(c, (unsigned)i), what, depth - 1)) return 1;
    return 0;
}

void weft__build_globals(struct weft_points *p) {
    int scans = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(p->facts->module); f; f = LLVMGetNextFunction(f))
        scans |= LLVMIsDeclaration(f) && LLVMGetFirstUse(f) && strstr(weft__ir_name(f), "scanf") != NULL;
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->facts->module); g; g = LLVMGetNextGlobal(g)) {
        LLVMValueRef init = LLVMGetInitializer(g);
        if (init) p->percent_n |= any_percent(init, 'n', 8), p->percent_p |= scans && any_percent(init, 'p', 8);
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->facts->module); g; g = LLVMGetNextGlobal(g)) {
        const char *name = weft__ir_name(g);
        if (!strncmp(name, "llvm.", 5) || weft__facts_is_runtime(name)) continue;
        uint32_t o = weft__build_object(p, g);
        LLVMValueRef init = LLVMGetInitializer(g);
        if (init && o != p->constants) initialise(p, o, 0, init);
        if (!weft__ir_is_local(g) || in_walkable_section(g)) weft__points_expose(p, weft__build_node(p, g));
    }
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(p->facts->module); a; a = LLVMGetNextGlobalAlias(a))
        if (!weft__ir_is_local(a)) weft__points_expose(p, weft__build_node(p, a));
    for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(p->facts->module); i; i = LLVMGetNextGlobalIFunc(i)) {
        uint32_t *f = weft__map_find(&p->facts->function_of, weft__key(weft__ir_strip(LLVMGetGlobalIFuncResolver(i))));
        if (f) weft__build_add_entry(p, *f - 1, UINT32_MAX, WEFT_EFF_LATER);
        if (!weft__ir_is_local(i)) weft__points_expose(p, weft__build_node(p, i));
    }
    expose_used(p, "llvm.used");
    expose_used(p, "llvm.compiler.used");
    run_list(p, "llvm.global_ctors", WEFT_EFF_CALL);
    run_list(p, "llvm.global_dtors", WEFT_EFF_ATEXIT);
}
