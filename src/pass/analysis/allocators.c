/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What comes out of an allocator, and which functions are allocators?
 *
 * An allocation site is an object. Its size and the size of its elements are read off the arguments, where they can be;
 * the solver folds the elements of an array into one.
 *
 * xmalloc and its kind, wrappers, are found here, too: the result is fresh memory that the function keeps no pointer
 * to. Each direct call is then an allocation site of its own (heap cloning), or everything that is allocated would be
 * one object. */
#include "analysis.h"

uint32_t weft__build_heap_object(struct weft_points *p, LLVMValueRef inst, int64_t size, uint32_t stride) {
    uint32_t o = weft__points_new_object(p, WEFT_OBJ_HEAP, inst, size);
    p->object[o].stride = stride;
    p->object[o].cloned = weft__map_find(&p->cloned, weft__key(inst)) != NULL;
    return weft__points_location(p, o, 0, 1);
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

/* `a` and `b` as in size_arguments. */
static void shape_by_arguments(LLVMValueRef call, int a, int b, int64_t *size, uint32_t *stride) {
    int n = (int)LLVMGetNumArgOperands(call);
    *size = -1, *stride = 0;
    if (a >= 0 && b >= 0 && a < n && b < n)
        shape_of_array(LLVMGetArgOperand(call, (unsigned)a), LLVMGetArgOperand(call, (unsigned)b), size, stride);
    else if (a >= 0 && b < 0 && a < n)
        shape_of(LLVMGetArgOperand(call, (unsigned)a), size, stride);
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

void weft__build_allocation_shape(LLVMValueRef inst, const char *name, int64_t *size, uint32_t *stride) {
    int a, b;
    size_arguments(name, &a, &b);
    shape_by_arguments(inst, a, b, size, stride);
}

/* ---- functions that allocate ----------------------------------------------------------------------------------- */

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
        case LLVMFreeze:
            if (weft__ir_among(user, list, *n)) break;
            if (*n == max) return 0;
            list[(*n)++] = user;
            if (!only_returned(user, list, n, max)) return 0;
            break;
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

/* If v is what an allocator returned, the arguments that are the size. */
static int is_allocation(struct weft_points *p, LLVMValueRef v, LLVMValueRef *a, LLVMValueRef *b) {
    *a = *b = NULL;
    if (!LLVMIsAInstruction(v) || !weft__ir_is_call(v)) return 0;
    LLVMValueRef callee = weft__ir_callee(v);
    uint32_t *f = LLVMIsAFunction(callee) ? weft__map_find(&p->facts->function_of, weft__key(callee)) : NULL;
    int x = -1, y = -1;
    if (!f) return 0;
    if (p->facts->function[*f - 1].defined) {
        uint32_t w = weft__build_find_wrapper(p, *f - 1);
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

uint32_t weft__build_find_wrapper(struct weft_points *p, uint32_t function) {
    enum { MAX = 32 };
    uint32_t *known = weft__map_at(&p->wrapper_of, (uint64_t)function + 1);
    if (*known) return *known - 1;
    *known = 1; /* not while it is being found out: recursion */
    LLVMValueRef fn = p->facts->function[function].fn, list[MAX];
    if (LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(fn))) != LLVMPointerTypeKind) return 0;
    int n = 0, allocations = 0, ok = 1, sites = 0;
    LLVMValueRef site[MAX];
    struct weft_wrapper w = {.a = -1, .b = -1};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b && ok; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!end || !LLVMIsAReturnInst(end) || LLVMGetNumOperands(end) != 1) continue;
        LLVMValueRef v = LLVMGetOperand(end, 0);
        if (!weft__ir_among(v, list, n) && n < MAX) list[n++] = v;
        ok &= n < MAX;
    }
    for (int i = 0; i < n && ok; i++) {
        LLVMValueRef v = list[i], x, y;
        LLVMOpcode o = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMRet;
        if (o == LLVMPHI || o == LLVMSelect || o == LLVMBitCast || o == LLVMFreeze) {
            for (int k = o == LLVMSelect, m = LLVMGetNumOperands(v); k < m && ok; k++) {
                LLVMValueRef e = LLVMGetOperand(v, (unsigned)k);
                if (weft__ir_among(e, list, n)) continue;
                ok = n < MAX;
                if (ok) list[n++] = e;
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
        } else if (!LLVMIsAConstant(v) || weft__build_node(p, v)) {
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

void weft__build_born(struct weft_points *p, LLVMValueRef inst, uint32_t function, uint32_t location) {
    uint32_t t = weft__points_new_node(p);
    weft__points_add(p, t, location);
    weft__build_add_access(p, inst, WEFT_NOT_ASKED, function, t, WEFT_WHOLE, 0, 1, 0);
}

void weft__build_allocation(struct weft_points *p, LLVMValueRef call, uint32_t caller, const struct weft_wrapper *w) {
    int64_t size;
    uint32_t stride;
    shape_by_arguments(call, w->a, w->b, &size, &stride);
    uint32_t fresh = weft__build_heap_object(p, call, size, stride);
    weft__points_add(p, weft__build_node(p, call), fresh);
    weft__build_born(p, call, caller, fresh);
    for (uint32_t i = 0; i < w->others; i++)
        weft__points_copy(p, weft__build_node(p, w->other[i]), weft__build_node(p, call));
}
