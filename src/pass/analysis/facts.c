/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Puts the analyses together and answers the questions of facts.h.
 *
 * Two ways to the same tables. The coarse one believes nothing: an indirect call may reach every function whose address
 * is taken, and only locals whose address goes nowhere are left out (plan ALL: a program with memory errors breaks what
 * the other way assumes). The precise one takes calls and classes of accesses from the points-to solution.
 *
 * Answers are stored per instruction before anybody asks, because the rewriter changes the module while it asks. */
#include "analysis.h"

#include <time.h>

static const char *const why_name[] = {
#define X(name, text) text,
    WEFT_WHYS(X)
#undef X
};

const char *weft__why_name(enum weft_why why) {
    return why < WEFT_WHY_COUNT ? why_name[why] : "?";
}

const char *weft__kept_name(enum weft_kept kept) {
    static const char *const name[] = {
#define X(name, text) text,
        WEFT_KEPTS(X)
#undef X
    };
    return kept < WEFT_KEPT_COUNT ? name[kept] : "?";
}

/* `which` in the low bits would clash with the address of the next instruction only if instructions were smaller than
 * their number of operands. They are not, but mix it in high bits anyway. */
uint64_t weft__facts_key(LLVMValueRef inst, int which) {
    return weft__key(inst) ^ ((uint64_t)(unsigned)(which + 1) << 48);
}

void weft__facts_set(struct weft_facts *f, LLVMValueRef inst, int which, enum weft_why why) {
    *weft__map_at(&f->why, weft__facts_key(inst, which)) = (uint32_t)why + 1;
}

void weft__facts_merge(struct weft_facts *f, LLVMValueRef inst, int which, enum weft_why why) {
    uint32_t *w = weft__map_at(&f->why, weft__facts_key(inst, which));
    if (!*w || why == WEFT_WHY_ORDERED || (*w != WEFT_WHY_ORDERED + 1 && (uint32_t)why + 1 > *w))
        *w = (uint32_t)why + 1;
}

void weft__facts_note_unknown(struct weft_facts *f, const char *name) {
    for (size_t i = 0; i < f->unknowns; i++)
        if (!strcmp(f->unknown[i], name)) return;
    WEFT_GROW(f->unknown, f->unknowns, f->unknown_room);
    f->unknown[f->unknowns++] = name;
}

/* ---- functions and calls --------------------------------------------------------------------------------------- */

int weft__facts_is_runtime(const char *name) {
    return !strncmp(name, "__weft_", 7);
}

/* Of an inline function that is available externally, the copy elsewhere is called. */
static int is_defined(LLVMValueRef fn) {
    return !LLVMIsDeclaration(fn) && LLVMGetLinkage(fn) != LLVMAvailableExternallyLinkage &&
           !weft__facts_is_runtime(weft__ir_name(fn));
}

static void list_functions(struct weft_facts *f) {
    uint32_t room = 0;
    for (LLVMValueRef fn = LLVMGetFirstFunction(f->module); fn; fn = LLVMGetNextFunction(fn)) {
        if (weft__ir_is_intrinsic(fn)) continue;
        WEFT_GROW(f->function, f->functions, room);
        f->function[f->functions] = (struct weft_function){.fn = fn, .defined = is_defined(fn)};
        *weft__map_at(&f->function_of, weft__key(fn)) = ++f->functions;
    }
}

static void add_target(struct weft_facts *f, struct weft_call *c, uint32_t node) {
    WEFT_GROW(f->target, f->targets, f->target_room);
    f->target[f->targets++] = node;
    c->targets++;
}

/* ---- the coarse way -------------------------------------------------------------------------------------------- */

/* Is the function used in any way but being called? */
static int address_is_taken(LLVMValueRef v) {
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsABlockAddress(user)) continue;
        if (LLVMIsAGlobalAlias(user)) {
            if (!weft__ir_is_local(user) || address_is_taken(user)) return 1;
            continue;
        }
        if (!LLVMIsAInstruction(user) || !weft__ir_is_call(user) || LLVMGetCalledValue(user) != v) return 1;
        for (unsigned a = 0, n = LLVMGetNumArgOperands(user); a < n; a++)
            if (LLVMGetArgOperand(user, a) == v) return 1;
    }
    return 0;
}

static void coarse_call(struct weft_facts *f, struct weft_call *c) {
    LLVMValueRef callee = weft__ir_callee(c->inst);
    c->target = (uint32_t)f->targets;
    if (LLVMIsAInlineAsm(callee)) return;
    uint32_t *known = LLVMIsAFunction(callee) ? weft__map_find(&f->function_of, weft__key(callee)) : NULL;
    if (known && f->function[*known - 1].defined) {
        add_target(f, c, *known - 1);
        if (!f->opt.shared_library || weft__ir_is_local(callee)) return;
        c->out = c->starts = 1; /* it may be preempted by a function of another library */
        add_target(f, c, f->node_unknown);
        return;
    }
    const struct weft_external *ext = NULL;
    int ordered = 0;
    if (known) {
        const char *name = weft__ir_name(callee);
        if (weft__facts_is_runtime(name)) return;
        ext = weft__external(name);
        ordered = !ext && weft__external_ordered(name);
        if (!ext && !ordered) weft__facts_note_unknown(f, name);
    }
    if (!ext) {
        c->out = !ordered;
        c->starts = 1;
        add_target(f, c, f->node_unknown);
        return;
    }
    c->out = ext->class == WEFT_EXT_OUT;
    c->starts = weft__external_has(ext, WEFT_EFF_STARTS) || weft__external_has(ext, WEFT_EFF_THREAD);
    if (weft__external_has(ext, WEFT_EFF_CALL) || weft__external_has(ext, WEFT_EFF_EXIT) ||
        (weft__external_has(ext, WEFT_EFF_TOUCH) && weft__external_calls_found(ext)))
        add_target(f, c, f->node_unknown);
}

/* Accesses made by a call itself: what the table says of an external callee, or copies of byval arguments. */
static int call_touches(struct weft_facts *f, LLVMValueRef call, unsigned arg) {
    LLVMValueRef callee = weft__ir_callee(call);
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(call, arg))) != LLVMPointerTypeKind) return 0;
    if (LLVMIsNull(LLVMGetArgOperand(call, arg))) return 0;
    if (LLVMGetCallSiteEnumAttribute(call, arg + 1, byval)) return 1;
    if (!LLVMIsAFunction(callee)) return 1;
    if (is_defined(callee)) return f->opt.shared_library && !weft__ir_is_local(callee);
    const char *name = weft__ir_name(callee);
    if (weft__facts_is_runtime(name)) return 0;
    const struct weft_external *ext = weft__external(name);
    if (!ext) return !weft__external_ordered(name);
    unsigned fixed = LLVMCountParams(callee);
    for (unsigned i = 0; i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        switch (e->kind) {
        case WEFT_EFF_READ:
        case WEFT_EFF_WRITE:
        case WEFT_EFF_TOUCH:
        case WEFT_EFF_ALONE:
        case WEFT_EFF_REACH:
        case WEFT_EFF_MAKES:
        case WEFT_EFF_LIBPTR:
        case WEFT_EFF_JOIN:
            if ((unsigned)e->arg == arg) return 1;
            break;
        case WEFT_EFF_VARREAD:
        case WEFT_EFF_VARWRITE:
            if (arg >= fixed) return 1;
            break;
        default:
            break;
        }
    }
    return 0;
}

static void coarse(struct weft_facts *f) {
    struct weft_map locals = {0};
    for (uint32_t i = 0; i < f->functions; i++) {
        struct weft_function *fn = &f->function[i];
        int main = !f->opt.shared_library && !strcmp(weft__ir_name(fn->fn), "main");
        fn->exposed = fn->defined && ((!main && !weft__ir_is_local(fn->fn)) || address_is_taken(fn->fn));
        fn->taken = fn->exposed || (main && fn->defined);
        if (fn->exposed) weft__graph_edge(&f->graph, f->node_unknown, i);
        if (fn->defined) weft__local_find(f->td, fn->fn, &locals);
    }
    for (size_t i = 0; i < f->calls; i++)
        coarse_call(f, &f->call[i]);
    for (uint32_t i = 0; i < f->functions; i++) {
        if (!f->function[i].defined) continue;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->function[i].fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in)) {
                int is_write;
                LLVMTypeRef type;
                LLVMValueRef p = weft__ir_access_pointer(in, &is_write, &type);
                if (p) {
                    weft__facts_set(f, in, 0,
                                    weft__local_access(f->td, &locals, p, 0) ? WEFT_WHY_LOCAL : WEFT_WHY_ORDERED);
                } else if (weft__ir_is_call(in)) {
                    for (unsigned a = 0, n = LLVMGetNumArgOperands(in); a < n; a++)
                        if (call_touches(f, in, a))
                            weft__facts_set(f, in, (int)a,
                                            weft__local_access(f->td, &locals, LLVMGetArgOperand(in, a), 0)
                                                ? WEFT_WHY_LOCAL
                                                : WEFT_WHY_ORDERED);
                }
            }
    }
    weft__map_fini(&locals);
}

/* ---- the precise way ------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void precise(struct weft_facts *f) {
    struct weft_points *p = f->points = weft__points_new(f);
    weft__points_solve(p);
    if (p->pairs) qsort(p->pair, p->pairs, sizeof *p->pair, by_value);
    f->target = weft__an_alloc(NULL, f->target_room = p->pairs + 1, sizeof *f->target);
    for (size_t i = 0; i < p->pairs; i++) {
        struct weft_call *c = &f->call[p->pair[i] >> 32];
        if (i && p->pair[i] == p->pair[i - 1]) continue;
        if (!c->targets) c->target = (uint32_t)f->targets;
        c->targets++;
        f->target[f->targets++] = (uint32_t)p->pair[i];
    }
    for (size_t i = 0; i < f->calls; i++) {
        LLVMValueRef callee = weft__ir_callee(f->call[i].inst);
        if (f->call[i].targets || LLVMIsAFunction(callee) || LLVMIsAInlineAsm(callee) || f->call[i].resolved) continue;
        /* Through a pointer that nobody sets. It will not happen; if it does, it is no function of ours. */
        f->call[i].out = 1;
        f->call[i].target = (uint32_t)f->targets;
        add_target(f, &f->call[i], f->node_unknown);
    }
    for (uint32_t o = 0; o < p->objects; o++)
        if (p->object[o].kind == WEFT_OBJ_FUNCTION && p->object[o].exposed && p->object[o].function != UINT32_MAX &&
            f->function[p->object[o].function].defined) {
            f->function[p->object[o].function].exposed = 1;
            weft__graph_edge(&f->graph, f->node_unknown, p->object[o].function);
        }
    for (uint32_t i = 0; i < p->entries; i++)
        if (p->entry[i].effect == WEFT_EFF_LATER || p->entry[i].effect == WEFT_EFF_ATEXIT)
            weft__graph_edge(&f->graph, f->node_unknown, p->entry[i].function);
    f->counts.objects = p->objects;
    f->counts.locations = p->locations;
    f->counts.nodes = p->nodes;
    f->counts.constraints = p->constraints;
}

/* ---- both ------------------------------------------------------------------------------------------------------ */

struct weft_facts *weft__facts_new(LLVMModuleRef module, const struct weft_facts_options *options) {
    struct weft_facts *f = weft__an_alloc(NULL, 1, sizeof *f);
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    *f = (struct weft_facts){.module = module, .opt = *options};
    f->td = LLVMGetModuleDataLayout(module);
    list_functions(f);
    f->node_unknown = f->functions;
    weft__graph_init(&f->graph, f->functions + 1);
    for (uint32_t i = 0; i < f->functions; i++) {
        if (!f->function[i].defined) continue;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->function[i].fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in)) {
                if (!weft__ir_is_call(in) || weft__ir_is_intrinsic(weft__ir_callee(in))) continue;
                WEFT_GROW(f->call, f->calls, f->call_room);
                f->call[f->calls] = (struct weft_call){.inst = in, .caller = i};
                *weft__map_at(&f->call_of, weft__key(in)) = (uint32_t)++f->calls;
            }
    }
    if (f->opt.plan == WEFT_PLAN_ALL) f->opt.coarse = 1;
    if (f->opt.coarse)
        coarse(f);
    else
        precise(f);
    for (size_t i = 0; i < f->calls; i++)
        for (uint32_t t = 0; t < f->call[i].targets; t++)
            weft__graph_edge(&f->graph, f->call[i].caller, f->target[f->call[i].target + t]);
    weft__graph_scc(&f->graph);
    if (f->points) weft__threads_classify(f);
    if (f->opt.plan == WEFT_PLAN_SYNC)
        for (size_t i = 0; i < f->why.room; i++)
            if (f->why.key[i]) f->why.value[i] = WEFT_WHY_PLAN + 1;
    for (size_t i = 0; i < f->why.room; i++)
        if (f->why.key[i]) f->counts.accesses++, f->counts.by[f->why.value[i] - 1]++;
    clock_gettime(CLOCK_MONOTONIC, &t1);
    f->counts.seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
    return f;
}

void weft__facts_free(struct weft_facts *f) {
    if (!f) return;
    weft__points_free(f->points);
    weft__threads_fini(&f->threads);
    weft__graph_fini(&f->graph);
    weft__map_fini(&f->function_of);
    weft__map_fini(&f->call_of);
    weft__map_fini(&f->why);
    weft__map_fini(&f->sure);
    free(f->function);
    free(f->call);
    free(f->target);
    free(f->unknown);
    free(f);
}

enum weft_why weft__facts_access(const struct weft_facts *f, LLVMValueRef inst, int which) {
    const uint32_t *w = weft__map_find(&f->why, weft__facts_key(inst, which));
    if (w) return (enum weft_why)(*w - 1);
    int is_write;
    LLVMTypeRef type;
    if (f->opt.plan == WEFT_PLAN_SYNC) return WEFT_WHY_PLAN;
    return weft__ir_access_pointer(inst, &is_write, &type) ? WEFT_WHY_ORDERED : WEFT_WHY_NOTHING;
}

int weft__facts_sure(const struct weft_facts *f, LLVMValueRef call) {
    return f->sure.count && weft__map_find(&f->sure, weft__key(call)) != NULL;
}

static const struct weft_call *call_of(const struct weft_facts *f, LLVMValueRef call) {
    const uint32_t *i = weft__map_find(&f->call_of, weft__key(call));
    return i ? &f->call[*i - 1] : NULL;
}

int weft__facts_may_reenter(const struct weft_facts *f, LLVMValueRef call) {
    const struct weft_call *c = call_of(f, call);
    if (!c) return 0; /* an intrinsic */
    for (uint32_t t = 0; t < c->targets; t++)
        if (f->graph.scc[f->target[c->target + t]] == f->graph.scc[c->caller]) return 1;
    return 0;
}

int weft__facts_may_call_out(const struct weft_facts *f, LLVMValueRef call) {
    const struct weft_call *c = call_of(f, call);
    return c && c->out;
}

static const struct weft_function *function_of(const struct weft_facts *f, LLVMValueRef function) {
    const uint32_t *i = weft__map_find(&f->function_of, weft__key(function));
    return i ? &f->function[*i - 1] : NULL;
}

int weft__facts_address_taken(const struct weft_facts *f, LLVMValueRef function) {
    const struct weft_function *fn = function_of(f, function);
    return !fn || fn->taken;
}

int weft__facts_unreachable(const struct weft_facts *f, LLVMValueRef function) {
    const struct weft_function *fn = function_of(f, function);
    return fn && fn->unreachable;
}

size_t weft__facts_callees(const struct weft_facts *f, LLVMValueRef call, LLVMValueRef *out, size_t max,
                           int *complete) {
    const struct weft_call *c = call_of(f, call);
    size_t n = 0;
    *complete = 1;
    for (uint32_t t = 0; c && t < c->targets; t++) {
        uint32_t node = f->target[c->target + t];
        if (node == f->node_unknown)
            *complete = 0;
        else if (n++ < max)
            out[n - 1] = f->function[node].fn;
    }
    return n;
}

const char *weft__facts_unknown(const struct weft_facts *f, size_t i) {
    return i < f->unknowns ? f->unknown[i] : NULL;
}

void weft__facts_count(const struct weft_facts *f, struct weft_facts_counts *counts) {
    *counts = f->counts;
}

/* ---- printing -------------------------------------------------------------------------------------------------- */

static void print_pointer(const struct weft_facts *f, LLVMValueRef p, FILE *out) {
    int64_t offset = 0, fixed;
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    while (LLVMIsAConstantExpr(p) && LLVMGetConstOpcode(p) == LLVMGetElementPtr &&
           weft__ir_gep(f->td, p, &fixed, terms) == 0) {
        offset += fixed;
        p = LLVMGetOperand(p, 0);
    }
    const char *name = weft__ir_name(p);
    fprintf(out, "%s%s", LLVMIsAGlobalValue(p) ? "@" : "%", *name ? name : "?");
    if (offset) fprintf(out, "%+lld", (long long)offset);
}

static const char *access_name(LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        return "load";
    case LLVMStore:
        return "store";
    case LLVMAtomicRMW:
        return "rmw";
    case LLVMAtomicCmpXchg:
        return "cmpxchg";
    default:
        return "va_arg";
    }
}

void weft__facts_print(const struct weft_facts *f, FILE *out) {
    for (uint32_t i = 0; i < f->functions; i++) {
        const struct weft_function *fn = &f->function[i];
        if (!fn->defined) continue;
        const char *name = weft__ir_name(fn->fn);
        fprintf(out, "function %s%s%s%s\n", name, fn->taken ? " taken" : "", fn->unreachable ? " unreachable" : "",
                f->graph.cyclic[f->graph.scc[i]] ? " recursive" : "");
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn->fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in)) {
                int is_write;
                LLVMTypeRef type;
                LLVMValueRef p = weft__ir_access_pointer(in, &is_write, &type);
                if (p) {
                    fprintf(out, "%s: %s ", name, access_name(in));
                    print_pointer(f, p, out);
                    fprintf(out, " %s\n", weft__why_name(weft__facts_access(f, in, 0)));
                    continue;
                }
                if (!weft__ir_is_call(in)) continue;
                LLVMValueRef callee = weft__ir_callee(in);
                const struct weft_call *c = call_of(f, in);
                const char *called = LLVMIsAInlineAsm(callee)  ? "asm"
                                     : LLVMIsAFunction(callee) ? weft__ir_name(callee)
                                                               : "?";
                for (unsigned a = 0, n = LLVMGetNumArgOperands(in); a < n; a++) {
                    if (weft__facts_access(f, in, (int)a) == WEFT_WHY_NOTHING) continue;
                    fprintf(out, "%s: call %s arg %u ", name, called, a);
                    print_pointer(f, LLVMGetArgOperand(in, a), out);
                    fprintf(out, " %s\n", weft__why_name(weft__facts_access(f, in, (int)a)));
                }
                if (!c) continue;
                fprintf(out, "%s: call %s%s%s%s", name, called, c->out ? " out" : "",
                        weft__facts_may_reenter(f, in) ? " reenter" : "", c->starts ? " starts" : "");
                if (!LLVMIsAFunction(callee)) {
                    fputs(" ->", out);
                    for (uint32_t t = 0; t < c->targets; t++) {
                        uint32_t node = f->target[c->target + t];
                        fprintf(out, " %s", node == f->node_unknown ? "?" : weft__ir_name(f->function[node].fn));
                    }
                }
                fputc('\n', out);
            }
    }
}
