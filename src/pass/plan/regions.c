/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Regions: code in which a thread is for a while, and of which a profile says whether two ran beside each other (Chimera, section 4).
 *
 * Chimera takes functions. After the link most of them are gone, and phases of a program that a barrier keeps apart are in one function. So
 * regions are as large as can be without anything in them that waits for other threads, other than for a mutex: outermost loops, and
 * whole functions that are called from elsewhere than such a loop. A function that is only called from within regions is part of these.
 * What is left is code that is run once, or between two waits: there a thread is in a region for one access at a time.
 *
 * A region is named by its place in the source, so that a profile of one build serves the next. */
#include "plan.h"
#include "../pass.h"
#include "../races/races.h"

/* Whether a call of this waits for other threads, or for the world. */
static int external_waits(const char *name) {
    if (!strncmp(name, "llvm.", 5) || !strncmp(name, "__weft", 6) || !strncmp(name, "__atomic_", 9)) return 0;
    switch (weft__sync_named(name)) {
    case WEFT_SYNC_LOCK:
    case WEFT_SYNC_TRY:
    case WEFT_SYNC_READ:
    case WEFT_SYNC_TRYREAD:
    case WEFT_SYNC_UNLOCK: return 0;
    default: break;
    }
    const struct weft_external *e = weft__external(name);
    if (!e || weft__external_has(e, WEFT_EFF_THREAD) || weft__external_has(e, WEFT_EFF_STARTS)) return 1;
    if (weft__external_has(e, WEFT_EFF_FRESH) || weft__external_has(e, WEFT_EFF_FREE)) return 0;
    return e->class != WEFT_EXT_PURE && e->class != WEFT_EXT_RENAME;
}

struct finder {
    struct weft_regions *r;
    uint8_t *waits; /* by function */
    uint32_t function;
};

static int call_waits(const struct finder *d, LLVMValueRef call) {
    const struct weft_facts *f = d->r->f;
    LLVMValueRef callee = weft__ir_callee(call);
    if (LLVMIsAInlineAsm(callee)) return 0;
    const char *name = LLVMIsAFunction(callee) ? weft__ir_name(callee) : "";
    if (LLVMIsAFunction(callee) && (LLVMIsDeclaration(callee) || weft__facts_is_runtime(name))) return external_waits(name);
    const uint32_t *at = weft__map_find(&f->call_of, weft__key(call));
    const struct weft_call *c = at ? &f->call[*at - 1] : NULL;
    if (!c || c->unknown || c->resolved || c->starts || c->exits || c->leaves || weft__shim_must_tail(call)) return 1;
    for (uint32_t k = 0; k < c->targets; k++) {
        uint32_t t = f->target[c->target + k];
        if (t >= f->functions || d->waits[t]) return 1;
    }
    return 0;
}

static int block_waits(const struct finder *d, LLVMBasicBlockRef b) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        if (weft__ir_is_call(i) && call_waits(d, i)) return 1;
    return 0;
}

/* Functions in which something waits, or that they call. */
static void find_waits(struct finder *d) {
    const struct weft_facts *f = d->r->f;
    for (uint32_t k = 0; k < f->functions; k++) d->waits[k] = !f->function[k].defined || weft__rw_only_waits(f->function[k].fn);
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t k = 0; k < f->functions; k++)
            for (LLVMBasicBlockRef b = d->waits[k] ? NULL : LLVMGetFirstBasicBlock(f->function[k].fn); b && !d->waits[k]; b = LLVMGetNextBasicBlock(b))
                if (block_waits(d, b)) again = d->waits[k] = 1;
    }
}

static uint32_t add(struct weft_regions *r, enum weft_region_kind kind, LLVMValueRef fn, const char *name) {
    char text[512];
    unsigned same = 1;
    snprintf(text, sizeof text, "%s", name);
    for (uint32_t k = 0; k < r->count; k++)
        if (!strcmp(r->region[k].name, text)) {
            snprintf(text, sizeof text, "%.480s #%u", name, ++same);
            k = UINT32_MAX; /* from the first on */
        }
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ') *p = '?';
    WEFT_GROW(r->region, r->count, r->room);
    r->region[r->count] = (struct weft_region){.kind = kind, .fn = fn, .name = strdup(text)};
    WEFT_CHECK(r->region[r->count].name);
    return r->count++;
}

static int fits(void *ctx, const LLVMBasicBlockRef *blocks, unsigned n) {
    const struct finder *d = ctx;
    for (unsigned k = 0; k < n; k++)
        if (block_waits(d, blocks[k])) return 0;
    return !weft__rw_waits_in(d->r->f->function[d->function].fn, blocks, n);
}

static void tell(void *ctx, const struct weft_shim_region *s) {
    struct finder *d = ctx;
    uint32_t k = add(d->r, WEFT_REGION_LOOP, d->r->f->function[d->function].fn, s->name);
    struct weft_region *g = &d->r->region[k];
    g->enter = s->enter;
    g->leaves = s->leaves;
    g->leave = weft__an_alloc(NULL, s->leaves + 1, sizeof *g->leave);
    if (s->leaves) memcpy(g->leave, s->leave, s->leaves * sizeof *g->leave);
    for (unsigned i = 0; i < s->count; i++) *weft__map_at(&d->r->block, weft__key(s->blocks[i])) = k + 1;
}

static int has_pads(LLVMValueRef fn) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsALandingPadInst(i)) return 1;
    return 0;
}

static int returns_twice(const struct weft_facts *f) {
    for (size_t k = 0; k < f->calls; k++)
        if (weft__shim_returns_twice(f->call[k].inst)) return 1;
    return 0;
}

/* Which functions run in regions of their callers, and in which. */
static void find_callers(struct weft_regions *r) {
    const struct weft_facts *f = r->f;
    for (int again = 1; again;) {
        again = 0;
        for (size_t k = 0; k < f->calls; k++) {
            const struct weft_call *c = &f->call[k];
            enum weft_within caller = r->function[c->caller].within;
            int code = caller == WEFT_WITHIN_LOOPS && !weft__map_find(&r->block, weft__key(LLVMGetInstructionParent(c->inst)));
            /* A function that is left behind a call in tail position would need stack for it. */
            if (!code && !(caller == WEFT_WITHIN_FUNCTION && weft__rw_in_tail_position(c->inst))) continue;
            for (uint32_t i = 0; i < c->targets; i++) {
                uint32_t t = f->target[c->target + i];
                if (t < f->functions && r->function[t].within == WEFT_WITHIN_CALLERS) r->function[t].within = WEFT_WITHIN_FUNCTION, again = 1;
            }
        }
    }
    for (uint32_t k = 0; k < f->functions; k++) {
        struct weft_regions_function *x = &r->function[k];
        char name[480];
        if (x->within != WEFT_WITHIN_FUNCTION && x->within != WEFT_WITHIN_LOOPS) continue;
        int whole = x->within == WEFT_WITHIN_FUNCTION;
        weft__shim_place(whole ? "function" : "code", f->function[k].fn, name, sizeof name);
        x->region = add(r, whole ? WEFT_REGION_FUNCTION : WEFT_REGION_CODE, f->function[k].fn, name);
    }
    for (int again = 1; again;) {
        again = 0;
        for (size_t k = 0; k < f->calls; k++) {
            const struct weft_call *c = &f->call[k];
            for (uint32_t i = 0; i < c->targets; i++) {
                uint32_t t = f->target[c->target + i];
                if (t < f->functions && r->function[t].within == WEFT_WITHIN_CALLERS) {
                    if (r->function[c->caller].within == WEFT_WITHIN_CALLERS)
                        again |= weft__set_union(&r->function[t].own, &r->function[c->caller].own, NULL);
                    else {
                        int at = weft__region_at(r, c->inst);
                        if (at >= 0) again |= weft__set_add(&r->function[t].own, (uint32_t)at);
                    }
                }
            }
        }
    }
}

struct weft_regions *weft__regions_new(struct weft_facts *f) {
    if (returns_twice(f)) return NULL;
    struct weft_regions *r = weft__an_alloc(NULL, 1, sizeof *r);
    *r = (struct weft_regions){.f = f};
    struct finder d = {r, weft__an_alloc(NULL, f->functions + 1, 1), 0};
    r->function = weft__an_alloc(NULL, f->functions + 1, sizeof *r->function);
    memset(r->function, 0, (f->functions + 1) * sizeof *r->function);
    find_waits(&d);
    for (d.function = 0; d.function < f->functions; d.function++) {
        const struct weft_function *fn = &f->function[d.function];
        if (!fn->defined || fn->unreachable || weft__facts_is_runtime(weft__ir_name(fn->fn))) continue;
        int entry = fn->taken || fn->exposed || !weft__ir_is_local(fn->fn) || has_pads(fn->fn);
        r->function[d.function].within = d.waits[d.function] ? WEFT_WITHIN_LOOPS : entry ? WEFT_WITHIN_FUNCTION : WEFT_WITHIN_CALLERS;
        if (d.waits[d.function]) weft__shim_regions(fn->fn, fits, tell, &d);
    }
    free(d.waits);
    find_callers(r);
    return r;
}

void weft__regions_free(struct weft_regions *r) {
    if (!r) return;
    for (uint32_t k = 0; k < r->count; k++) free(r->region[k].leave), free(r->region[k].name);
    for (uint32_t k = 0; k < r->f->functions; k++) weft__set_fini(&r->function[k].own);
    weft__map_fini(&r->block);
    weft__map_fini(&r->code);
    free(r->region), free(r->function), free(r);
}

uint32_t weft__regions_count(const struct weft_regions *r) { return r->count; }
const struct weft_region *weft__region(const struct weft_regions *r, uint32_t k) { return &r->region[k]; }
int weft__regions_weak(const struct weft_regions *r) { return r->weak; }
int weft__region_code(const struct weft_regions *r, LLVMValueRef inst) { return weft__map_find(&r->code, weft__key(inst)) != NULL; }

static const struct weft_regions_function *function_of(const struct weft_regions *r, LLVMValueRef fn) {
    static const struct weft_regions_function none;
    const uint32_t *at = weft__map_find(&r->f->function_of, weft__key(fn));
    return at ? &r->function[*at - 1] : &none;
}
enum weft_within weft__regions_within(const struct weft_regions *r, LLVMValueRef fn, uint32_t *region) {
    const struct weft_regions_function *x = function_of(r, fn);
    *region = x->region;
    return x->within;
}

int weft__region_at(const struct weft_regions *r, LLVMValueRef inst) {
    LLVMBasicBlockRef block = LLVMGetInstructionParent(inst);
    const struct weft_regions_function *x = function_of(r, LLVMGetBasicBlockParent(block));
    if (x->within == WEFT_WITHIN_FUNCTION) return (int)x->region;
    const uint32_t *at = x->within == WEFT_WITHIN_LOOPS ? weft__map_find(&r->block, weft__key(block)) : NULL;
    return at ? (int)*at - 1 : -1;
}

/* What an instruction does goes through the runtime, where weak locks may be lost in the middle: calls do, and large copies. */
static int goes_through(LLVMValueRef inst) {
    if (LLVMIsAVAArgInst(inst)) return 1;
    if (!weft__ir_is_call(inst)) return 0;
    return !weft__rw_is_small(inst);
}

uint32_t weft__regions_number(const struct weft_regions *r, LLVMValueRef inst, uint32_t function) {
    const struct weft_regions_function *x = &r->function[function];
    if (goes_through(inst) || x->within == WEFT_WITHIN_NONE) return 0;
    if (x->within == WEFT_WITHIN_CALLERS) return 1 + r->count + function;
    int at = weft__region_at(r, inst);
    return 1 + (at >= 0 ? (uint32_t)at : x->region);
}

int weft__regions_of(const struct weft_regions *r, LLVMValueRef inst, uint32_t function, struct weft_set *to) {
    const struct weft_regions_function *x = &r->function[function];
    if (goes_through(inst) || x->within == WEFT_WITHIN_NONE) return 0;
    if (x->within == WEFT_WITHIN_CALLERS) {
        weft__set_union(to, &x->own, NULL);
        return x->own.count != 0;
    }
    int at = weft__region_at(r, inst);
    weft__set_add(to, at >= 0 ? (uint32_t)at : x->region);
    return 1;
}
