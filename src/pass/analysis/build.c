/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Turns a module into constraints for the solver (weft__points_solve): what does an instruction do with pointers?
 *
 * Integers, floats and vectors count, since programs keep pointers in integers, tag their low bits, pack them into
 * vectors and copy them byte by byte. Arithmetic on integers of 64 bits that may hold a pointer gives a pointer
 * somewhere into the same objects. Numbers of 32 bits or less are parts of pointers as long as they are copied, shifted
 * by bytes or put together by `or`; arithmetic makes them mere numbers (or all that is computed from a character of
 * argv would be a pointer). The difference of two pointers is a number, too, unless somewhere a pointer is made of it
 * (WEFT_C_UNDO). Where alias tags say that a number is loaded (programs built with strict aliasing), only what is
 * stored as a number somewhere can come out. Not followed are multiplication and division (hashes), comparison,
 * conversion from and to floating-point values, and pointers written as text.
 *
 * weft__points_new goes through the module. The other questions have files of their own: constants and variables
 * (weft__build_node), allocations (weft__build_allocation), calls (weft__build_call). */
#include "analysis.h"

void weft__build_add_access(struct weft_points *p, LLVMValueRef inst, int which, uint32_t function, uint32_t node,
                            int64_t size, int read, int write, int deep) {
    if (!size || !node) return;
    WEFT_GROW(p->access, p->accesses, p->access_room);
    p->access[p->accesses++] =
        (struct weft_access){inst, which, function, node, size, (uint8_t)read, (uint8_t)write, (uint8_t)deep};
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
            if (weft__ir_among(o, list, n)) continue;
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
    uint32_t to = weft__build_node(p, in);
    LLVMValueRef a = LLVMGetOperand(in, 0), b = LLVMGetOperand(in, 1);
    if (!to) return;
    int part = LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(in)) < 64;
    if (!part && LLVMIsAConstantInt(b) && LLVMGetIntTypeWidth(LLVMTypeOf(b)) <= 64) {
        int64_t c = LLVMConstIntGetSExtValue(b);
        uint32_t from = weft__build_node(p, a);
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
        if (!(scaled && (part || narrow(a)))) weft__points_blur(p, weft__build_node(p, a), to);
        return;
    }
    if (o != LLVMOr && part) return;
    if (o == LLVMSub && is_ptrtoint(b)) {
        weft__points_blur(p, weft__build_node(p, a), p->differences);
        weft__points_blur(p, weft__build_node(p, b), p->differences);
        weft__points_add(p, to, p->loc_difference);
        return;
    }
    if (o == LLVMOr || !narrow(a)) weft__points_blur(p, weft__build_node(p, a), to);
    if (o == LLVMOr || !narrow(b)) weft__points_blur(p, weft__build_node(p, b), to);
}

/* Where numbers of a type are kept that may be pointers. Those with a point are apart: by the rules of C they were not stored as integers, and an array of
 * doubles would otherwise hold all pointers that any atomic has stored. (Some programs put pointers into doubles; these are found.) */
static uint32_t numbers(const struct weft_points *p, LLVMTypeRef type) {
    LLVMTypeKind k = LLVMGetTypeKind(type);
    if (k == LLVMVectorTypeKind) k = LLVMGetTypeKind(LLVMGetElementType(type));
    if (k == LLVMDoubleTypeKind || k == LLVMFloatTypeKind) return p->doubles;
    return weft__ir_is_word(type) ? p->words : p->parts;
}

static void build_instruction(struct weft_points *p, LLVMValueRef in, uint32_t function) {
    LLVMOpcode o = LLVMGetInstructionOpcode(in);
    switch (o) {
    case LLVMAlloca:
        weft__points_add(p, weft__build_node(p, in), weft__points_location(p, weft__build_object(p, in), 0, 1));
        p->object[weft__build_object(p, in)].function = function;
        break;
    case LLVMLoad: {
        uint32_t from = weft__build_node(p, LLVMGetOperand(in, 0));
        int64_t size = weft__ir_size_of(p->facts->td, LLVMTypeOf(in));
        if (!weft__ir_holds(LLVMTypeOf(in)))
            ;
        else if (weft__ir_tbaa(in) == WEFT_TBAA_NUMBER)
            weft__points_copy(p, numbers(p, LLVMTypeOf(in)), weft__build_node(p, in));
        else
            weft__points_load(p, from, 0, size, weft__build_node(p, in));
        weft__build_add_access(p, in, 0, function, from, size, 1, 0, 0);
        break;
    }
    case LLVMStore: {
        uint32_t to = weft__build_node(p, LLVMGetOperand(in, 1)), v = weft__build_node(p, LLVMGetOperand(in, 0));
        LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(in, 0));
        int64_t size = weft__ir_size_of(p->facts->td, type);
        weft__points_store(p, to, 0, size, v);
        if (v && LLVMGetTypeKind(type) != LLVMPointerTypeKind) {
            enum weft_tbaa tag = weft__ir_tbaa(in);
            if (tag == WEFT_TBAA_NUMBER || (tag == WEFT_TBAA_ANY && weft__ir_is_word(type)))
                weft__points_copy(p, v, tag == WEFT_TBAA_NUMBER ? numbers(p, type) : p->words);
        }
        weft__build_add_access(p, in, 0, function, to, size, 0, 1, 0);
        break;
    }
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: {
        uint32_t at = weft__build_node(p, LLVMGetOperand(in, 0)),
                 v = weft__build_node(p, LLVMGetOperand(in, o == LLVMAtomicRMW ? 1 : 2));
        int64_t size = weft__ir_size_of(p->facts->td, LLVMTypeOf(LLVMGetOperand(in, 1)));
        if (weft__build_node(p, in)) weft__points_load(p, at, 0, size, weft__build_node(p, in));
        if (o == LLVMAtomicRMW && LLVMGetAtomicRMWBinOp(in) != LLVMAtomicRMWBinOpXchg && weft__build_node(p, in)) {
            uint32_t t = weft__points_new_node(p); /* pointer and number are added in memory */
            weft__points_blur(p, weft__build_node(p, in), t);
            weft__points_blur(p, v, t);
            v = t;
        }
        weft__points_store(p, at, 0, size, v);
        weft__build_add_access(p, in, 0, function, at, size, 1, 1, 0);
        break;
    }
    case LLVMVAArg: {
        uint32_t list = weft__build_node(p, LLVMGetOperand(in, 0)), area = weft__points_new_node(p);
        weft__points_load(p, list, 0, 24, area);
        weft__points_store(p, list, 0, 24, area);
        if (weft__build_node(p, in)) weft__points_load(p, area, 0, WEFT_WHOLE, weft__build_node(p, in));
        weft__build_add_access(p, in, 0, function, list, 24, 1, 1, 0);
        break;
    }
    case LLVMGetElementPtr: {
        struct weft_gep g = weft__build_gep(p, in);
        if ((g.fixed || g.part[0].stride) && in_cycle(in)) {
            int64_t step = g.fixed < 0 ? -g.fixed : g.fixed;
            if (g.part[0].stride || g.step || !step)
                g = WEFT_ANYWHERE;
            else
                g = (struct weft_gep){.step = step};
        }
        weft__points_shift(p, weft__build_node(p, LLVMGetOperand(in, 0)), g, weft__build_node(p, in));
        break;
    }
    case LLVMIntToPtr: {
        uint32_t from = weft__build_node(p, LLVMGetOperand(in, 0));
        WEFT_GROW(p->inttoptr, p->inttoptrs, p->inttoptr_room);
        p->inttoptr[p->inttoptrs++] = weft__build_node(p, in);
        weft__points_copy(p, from, weft__build_node(p, in));
        if (is_sum(LLVMGetOperand(in, 0), 4))
            weft__points_constrain(p, from, (struct weft_constraint){WEFT_C_UNDO, 0, weft__build_node(p, in), 0, 0});
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
        uint32_t to = weft__build_node(p, in);
        if (to)
            for (int i = o == LLVMSelect, n = LLVMGetNumOperands(in); i < n; i++)
                if (!(i == 1 && o == LLVMExtractElement) && !(i == 2 && o == LLVMInsertElement))
                    weft__points_copy(p, weft__build_node(p, LLVMGetOperand(in, (unsigned)i)), to);
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
            weft__points_copy(p, weft__build_node(p, LLVMGetOperand(in, 0)), p->ret[function]);
        break;
    case LLVMLandingPad:
        weft__points_copy(p, p->thrown, weft__build_node(p, in));
        weft__points_add(p, weft__build_node(p, in), p->loc_unknown);
        break;
    case LLVMResume:
        weft__points_copy(p, weft__build_node(p, LLVMGetOperand(in, 0)), p->thrown);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr: {
        LLVMValueRef callee = weft__ir_callee(in);
        if (weft__ir_is_intrinsic(callee))
            weft__build_intrinsic(p, in, callee, function);
        else
            weft__build_call(p, in, function);
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
    if (weft__ir_holds(LLVMGetReturnType(type))) p->ret[i] = weft__points_new_node(p);
    if (LLVMIsFunctionVarArg(type)) p->va[i] = weft__points_new_object(p, WEFT_OBJ_STACK, fn, -1) + 1;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++) {
        LLVMAttributeRef attr = LLVMGetEnumAttributeAtIndex(fn, a + 1, byval);
        if (!attr) continue;
        LLVMValueRef param = LLVMGetParam(fn, a);
        uint32_t o = weft__points_new_object(p, WEFT_OBJ_STACK, param,
                                             weft__ir_size_of(p->facts->td, LLVMGetTypeAttributeValue(attr)));
        uint32_t l = weft__points_location(p, o, 0, 1);
        *weft__map_at(&p->byval, weft__key(param)) = l;
        weft__points_add(p, weft__build_node(p, param), l);
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
    p->doubles = weft__points_new_node(p);
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
        if (f->function[i].defined) weft__build_find_wrapper(p, i);
    weft__build_globals(p);
    for (uint32_t i = 0; i < f->functions; i++) {
        LLVMValueRef fn = f->function[i].fn;
        if (!f->function[i].defined) continue;
        if (!strcmp(weft__ir_name(fn), "main") && !f->opt.shared_library) {
            for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++)
                if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(fn, a))) == LLVMPointerTypeKind)
                    weft__points_add(p, weft__build_node(p, LLVMGetParam(fn, a)), p->loc_unknown);
        } else if (!weft__ir_is_local(fn)) {
            weft__points_expose(p, weft__build_node(p, fn));
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
