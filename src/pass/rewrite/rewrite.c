/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which places of a program get a check, a tick or a take? The rewriter from above: goes through the functions of the
 * module and puts in what the facts ask for.
 *
 * Ticks: at function entries (unless nothing in the function could be a site), at the head of every cycle of the control
 * flow graph (targets of retreating edges of a depth-first walk: each cycle has one, reducible or not), after calls that
 * may come back into the function, at landing pads, and after calls that return twice.
 *
 * Functions that foreign code may call come inside at entry. What is put in looks as weft__rw_check and its neighbours
 * say; calls are weft__rw_call_inst. */
#include "../bounds.h"
#include "rewrite.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

static uint32_t atomic_op(LLVMValueRef i) {
    if (LLVMIsAAtomicCmpXchgInst(i)) return WEFT_AT_CAS;
    switch (LLVMGetAtomicRMWBinOp(i)) {
    case LLVMAtomicRMWBinOpXchg: return WEFT_AT_XCHG;
    case LLVMAtomicRMWBinOpAdd: return WEFT_AT_ADD;
    case LLVMAtomicRMWBinOpSub: return WEFT_AT_SUB;
    case LLVMAtomicRMWBinOpAnd: return WEFT_AT_AND;
    case LLVMAtomicRMWBinOpNand: return WEFT_AT_NAND;
    case LLVMAtomicRMWBinOpOr: return WEFT_AT_OR;
    case LLVMAtomicRMWBinOpXor: return WEFT_AT_XOR;
    case LLVMAtomicRMWBinOpMax: return WEFT_AT_MAX;
    case LLVMAtomicRMWBinOpMin: return WEFT_AT_MIN;
    case LLVMAtomicRMWBinOpUMax: return WEFT_AT_UMAX;
    case LLVMAtomicRMWBinOpUMin: return WEFT_AT_UMIN;
    default: return WEFT_AT_UNKNOWN;
    }
}

/* Stores that go past the cache may be seen after later ones, the release of their word among them: not across a fence. */
void weft__rw_fence_after(struct weft_rw *r, LLVMValueRef i) {
    LLVMPositionBuilderBefore(r->b, LLVMGetNextInstruction(i));
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(i));
    LLVMValueRef fence = LLVMGetInlineAsm(r->cold_t, "sfence", 6, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
    weft__rw_call0(r, fence);
}

/* `checked`: else the access is only verified. */
static void access_inst(struct weft_rw *r, LLVMValueRef i, int checked) {
    LLVMValueRef p;
    uint64_t n;
    uint32_t flags = 0;
    unsigned al;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = LLVMGetOperand(i, 0);
        n = weft__rw_size_of(r, LLVMTypeOf(i));
        al = LLVMGetAlignment(i);
        break;
    case LLVMStore:
        p = LLVMGetOperand(i, 1);
        n = weft__rw_size_of(r, LLVMTypeOf(LLVMGetOperand(i, 0)));
        al = LLVMGetAlignment(i);
        flags = WEFT_ACC_WRITE;
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        p = LLVMGetOperand(i, 0);
        n = weft__rw_size_of(r, LLVMTypeOf(LLVMGetOperand(i, 1)));
        al = LLVMGetAlignment(i);
        flags = WEFT_ACC_WRITE | WEFT_ACC_ATOMIC | atomic_op(i) << WEFT_ACC_OP_SHIFT;
        r->atomic = i;
        break;
    case LLVMVAArg:
        p = LLVMGetOperand(i, 0);
        n = 24; /* the va_list */
        al = 8;
        flags = WEFT_ACC_WRITE | WEFT_ACC_PARTIAL;
        break;
    default: return;
    }
    if ((LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) && LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic && n < 16) flags |= WEFT_ACC_ORDERED;
    if (!flags && n == 16 && LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic)
        flags = WEFT_ACC_ATOMIC | WEFT_AT_LOAD << WEFT_ACC_OP_SHIFT; /* smaller ones are of one piece anyway */
    if (checked && n && !LLVMGetPointerAddressSpace(LLVMTypeOf(p))) /* fs:, gs: relative: thread-local by nature */
        weft__rw_check_any(r, i, p, n, al, flags);
    r->atomic = NULL;
    if (!n || LLVMGetPointerAddressSpace(LLVMTypeOf(p))) return;
    if ((flags & WEFT_ACC_WRITE) && LLVMGetMetadata(i, LLVMGetMDKindIDInContext(r->c, "nontemporal", 11))) weft__rw_fence_after(r, i);
    weft__rw_verify(r, i, p, n, flags);
}

static void paired(struct weft_rw *r, LLVMValueRef i, int checked, uint64_t pair) {
    r->pair = pair;
    access_inst(r, i, checked);
    r->pair = 0;
}

/* ---- one function */

struct list {
    LLVMValueRef *v;
    size_t n, cap;
};
static void push(struct list *l, LLVMValueRef v) {
    if (l->n == l->cap) l->v = realloc(l->v, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->v);
    l->v[l->n++] = v;
}

static int in_list(const struct list *l, LLVMValueRef v) {
    for (size_t k = 0; k < l->n; k++)
        if (l->v[k] == v) return 1;
    return 0;
}

/* Heads of cycles: targets of retreating edges of a depth-first walk, iterative. */
static void cycle_heads(LLVMValueRef fn, struct list *heads) {
    unsigned n = LLVMCountBasicBlocks(fn);
    LLVMBasicBlockRef *bb = malloc(n * sizeof *bb);
    LLVMGetBasicBlocks(fn, bb);
    /* Number the blocks through a small hash on their address. */
    size_t cap = 16;
    while (cap < n * 2) cap *= 2;
    struct slot {
        LLVMBasicBlockRef b;
        unsigned k;
    } *h = calloc(cap, sizeof *h);
#define FIND(blk, out)                                                                                                 \
    do {                                                                                                               \
        size_t z = ((size_t)(blk) >> 4) * 0x9e3779b97f4a7c15ull >> 20;                                                 \
        for (z &= cap - 1; h[z].b && h[z].b != (blk); z = (z + 1) & (cap - 1)) {}                                      \
        (out) = &h[z];                                                                                                 \
    } while (0)
    struct slot *s;
    for (unsigned i = 0; i < n; i++) {
        FIND(bb[i], s);
        s->b = bb[i];
        s->k = i;
    }
    unsigned char *state = calloc(n, 1), *head = calloc(n, 1);
    struct {
        unsigned b, next;
    } *st = malloc((n + 1) * sizeof *st);
    for (unsigned root = 0; root < n; root++) {
        if (state[root]) continue;
        unsigned d = 0;
        st[0].b = root;
        st[0].next = 0;
        state[root] = 1;
        for (;;) {
            LLVMValueRef te = LLVMGetBasicBlockTerminator(bb[st[d].b]);
            if (te && st[d].next < LLVMGetNumSuccessors(te)) {
                LLVMBasicBlockRef to = LLVMGetSuccessor(te, st[d].next++);
                FIND(to, s);
                if (state[s->k] == 1)
                    head[s->k] = 1;
                else if (!state[s->k]) {
                    state[s->k] = 1;
                    d++;
                    st[d].b = s->k;
                    st[d].next = 0;
                }
                continue;
            }
            state[st[d].b] = 2;
            if (!d) break;
            d--;
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (head[i]) push(heads, LLVMBasicBlockAsValue(bb[i]));
    free(bb);
    free(h);
    free(state);
    free(head);
    free(st);
}

static int is_access(LLVMOpcode o) {
    return o == LLVMLoad || o == LLVMStore || o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg || o == LLVMVAArg;
}

/* Blocks are split at every check: an alloca behind one would be in a block of its own then, and not in the frame. */
static void gather_allocas(struct weft_rw *r, LLVMValueRef fn) {
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)), next;
    while (first && LLVMGetInstructionOpcode(first) == LLVMAlloca) first = LLVMGetNextInstruction(first);
    for (LLVMValueRef i = first; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (LLVMGetInstructionOpcode(i) != LLVMAlloca || !LLVMIsAConstantInt(LLVMGetOperand(i, 0))) continue;
        char *name = strdup(weft__rw_name_of(i));
        LLVMInstructionRemoveFromParent(i);
        LLVMPositionBuilderBefore(r->b, first);
        LLVMInsertIntoBuilderWithName(r->b, i, name ? name : "");
        free(name);
    }
}

/* Loops that only wait: small ones that store nothing, call nothing but pause, and look at the same places again and again. That they do if
 * each iteration begins as the one before (then what they do with an array they do again), or no address depends on the iteration. Who waits
 * so gives what it is asked for at once, and sleeps after a while. */
#define SPIN_BLOCKS 24
static int is_within(LLVMValueRef v, const LLVMBasicBlockRef *in, unsigned n) {
    for (unsigned k = 0; k < n && LLVMIsAInstruction(v); k++)
        if (LLVMGetInstructionParent(v) == in[k]) return 1;
    return 0;
}
static LLVMValueRef incoming(LLVMValueRef phi, LLVMBasicBlockRef from) {
    unsigned k = 0;
    while (LLVMGetIncomingBlock(phi, k) != from) k++;
    return LLVMGetIncomingValue(phi, k);
}
/* Whether v is not computed in the loop, but at most read there, at the same place each time. */
#define SEEN_MOST 16
static int is_read(LLVMValueRef v, const LLVMBasicBlockRef *in, unsigned n, LLVMValueRef *seen, unsigned *nseen) {
    if (!is_within(v, in, n)) return 1;
    for (unsigned k = 0; k < *nseen; k++)
        if (seen[k] == v) return 1;
    if (*nseen == SEEN_MOST) return 0;
    seen[(*nseen)++] = v;
    if (LLVMIsALoadInst(v)) return !is_within(LLVMGetOperand(v, 0), in, n);
    if (LLVMIsACastInst(v)) return is_read(LLVMGetOperand(v, 0), in, n, seen, nseen);
    if (!LLVMIsAPHINode(v)) return 0;
    for (unsigned k = 0; k < LLVMCountIncoming(v); k++)
        if (!is_read(LLVMGetIncomingValue(v, k), in, n, seen, nseen)) return 0;
    return 1;
}
/* Whether something that was computed in the loop goes back to its head. */
static int goes_on(const LLVMBasicBlockRef *in, unsigned n, LLVMBasicBlockRef through) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(in[0]); LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
        LLVMValueRef v = incoming(i, through);
        if (through != in[n > 1] && LLVMIsAPHINode(v) && LLVMGetInstructionParent(v) == through) v = incoming(v, in[n > 1]);
        LLVMValueRef seen[SEEN_MOST];
        unsigned nseen = 0;
        if (!is_read(v, in, n, seen, &nseen)) return 1;
    }
    return 0;
}
static int spins(const LLVMBasicBlockRef *in, unsigned n, LLVMBasicBlockRef through) {
    int looks = 0, counts = goes_on(in, n, through);
    for (unsigned k = 0; k < n; k++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(in[k]); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            if (o == LLVMStore || o == LLVMInvoke || o == LLVMCallBr) return 0;
            if (o == LLVMCall) {
                LLVMValueRef callee = LLVMGetCalledValue(i);
                const char *name = weft__rw_name_of(callee);
                if (LLVMIsAInlineAsm(callee) ? LLVMGetNumArgOperands(i) != 0
                                             : strncmp(name, "llvm.dbg", 8) && strcmp(name, "llvm.x86.sse2.pause") && strcmp(name, "__weft_repeat"))
                    return 0;
            }
            if (!is_access(o)) continue;
            if (counts && is_within(LLVMGetOperand(i, 0), in, n)) return 0;
            looks = 1;
        }
    return looks;
}
static void look_at_loop(void *ctx, const LLVMBasicBlockRef *in, unsigned n, LLVMBasicBlockRef through) {
    if (spins(in, n, through)) push(ctx, LLVMBasicBlockAsValue(in[0]));
}

int weft__rw_waits_in(LLVMValueRef fn, const LLVMBasicBlockRef *blocks, unsigned n) {
    struct list waits = {0};
    int found = 0;
    weft__shim_loops(fn, SPIN_BLOCKS, look_at_loop, &waits);
    for (size_t k = 0; k < waits.n; k++) {
        if (!blocks) found = 1;
        for (unsigned i = 0; i < n; i++) found |= LLVMValueAsBasicBlock(waits.v[k]) == blocks[i];
    }
    free(waits.v);
    return found;
}
int weft__rw_only_waits(LLVMValueRef fn) { return weft__rw_waits_in(fn, NULL, 0); }

/* What was true of the function before is not any more: it touches memory, and others' progress depends on its ticks. */
static void forget(LLVMValueRef fn) {
    static const char *const names[] = {"memory", "speculatable", "nosync", "willreturn", "nofree"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[k], strlen(names[k]));
        LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
        for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef c = LLVMGetUser(u);
            if ((LLVMIsACallInst(c) || LLVMIsAInvokeInst(c)) && LLVMGetCalledValue(c) == fn)
                LLVMRemoveCallSiteEnumAttribute(c, LLVMAttributeFunctionIndex, kind);
        }
    }
}

/* Atomics of 16 bytes are an instruction, not a call of a library. */
static void wide_atomics(struct weft_rw *r, LLVMValueRef fn) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            LLVMTypeRef t = o == LLVMLoad ? LLVMTypeOf(i) : o == LLVMStore ? LLVMTypeOf(LLVMGetOperand(i, 0)) : NULL;
            if (o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg)
                t = LLVMTypeOf(LLVMGetOperand(i, 1));
            else if (!t || LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
                continue;
            if (weft__rw_size_of(r, t) != 16) continue;
            LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, "target-features", 15);
            unsigned n = 0;
            const char *had = a ? LLVMGetStringAttributeValue(a, &n) : "";
            char *now = malloc(n + 8);
            if (!now) abort();
            snprintf(now, n + 8, "%.*s%s+cx16", (int)n, had, n ? "," : "");
            LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                    LLVMCreateStringAttribute(r->c, "target-features", 15, now, (unsigned)strlen(now)));
            free(now);
            return;
        }
}

static void one_function(struct weft_rw *r, LLVMValueRef fn) {
    /* The code generator's quick mode would keep flags of checks on the stack, where they differ between record and replay. */
    LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName("optnone", 7));
    struct list accesses = {0}, unchecked = {0}, calls = {0}, heads = {0}, waits = {0}, pads = {0}, rets = {0};
    struct list memory = {0}, alone = {0}, looks = {0}; /* all accesses; accesses in no region but their own; calls in regions */
    int has_calls = 0;
    gather_allocas(r, fn);
    wide_atomics(r, fn);
    weft__rw_region_returns(r, fn);
    r->nmoves = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), then; i; i = then) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            then = LLVMGetNextInstruction(i);
            if (o == LLVMCall && weft__rw_move(r, i)) continue; /* before loops are looked at: in them it is no call */
            if (is_access(o)) {
                push(&memory, i);
                enum weft_why why = weft__facts_access(r->f, i, 0);
                if (why == WEFT_WHY_ORDERED) push(&accesses, i);
                if (why == WEFT_WHY_RACE_FREE) push(&unchecked, i);
                if ((why == WEFT_WHY_ORDERED || why == WEFT_WHY_RACE_FREE) && weft__rw_is_alone(r, i)) push(&alone, i);
            } else if (o == LLVMCall || o == LLVMInvoke || o == LLVMCallBr) {
                LLVMValueRef callee = LLVMGetCalledValue(i);
                push(&calls, i);
                if (weft__rw_loses(r, i)) push(&looks, i);
                if (weft__rw_is_small(i) && weft__rw_is_alone(r, i)) push(&alone, i);
                if (LLVMIsAInlineAsm(callee) ? LLVMGetNumArgOperands(i) > 0 : !(LLVMIsAFunction(callee) && !strncmp(weft__rw_name_of(callee), "llvm.dbg", 8)))
                    has_calls = 1;
            } else if (o == LLVMLandingPad)
                push(&pads, i);
            else if (o == LLVMRet || o == LLVMResume)
                push(&rets, i);
        }
    weft__shim_loops(fn, SPIN_BLOCKS, look_at_loop, &waits);
    uint64_t *sides = pads.n ? calloc(pads.n, sizeof *sides) : NULL;
    for (size_t k = 0; k < pads.n; k++) sides[k] = weft__rw_sides(r, pads.v[k]);
    weft__rw_regions(r, fn);
    for (size_t k = 0; k < alone.n; k++) weft__rw_region_access(r, alone.v[k]);
    weft__rw_ranges(r, fn, waits.v, waits.n);
    cycle_heads(fn, &heads);
    int taken = weft__facts_address_taken(r->f, fn) && strcmp(weft__rw_name_of(fn), "main");
    if (taken && !LLVMGetSection(fn)) LLVMSetSection(fn, WEFT_TAKEN_SECTION);
    r->s->functions++;
    for (size_t k = 0; k < memory.n; k++) weft__rw_count(r, memory.v[k], WEFT_COUNT_MEMORY);
    for (size_t k = 0; k < r->nmoves; k++) weft__rw_count(r, r->moves[k].inst, WEFT_COUNT_MEMORY);
    for (size_t k = 0; k < r->nin_copies; k++) weft__rw_count(r, r->in_copies[k].inst, WEFT_COUNT_MEMORY);
    for (size_t k = 0; k < accesses.n; k++) paired(r, accesses.v[k], 1, weft__rw_pair_of(r, accesses.v[k]));
    for (size_t k = 0; k < unchecked.n; k++) access_inst(r, unchecked.v[k], 0);
    for (size_t k = 0; k < r->nmoves; k++)
        if (r->moves[k].checked) paired(r, r->moves[k].inst, 1, weft__rw_pair_of(r, r->moves[k].inst));
    for (size_t k = 0; k < r->nin_copies; k++) paired(r, r->in_copies[k].inst, r->in_copies[k].checked, r->in_copies[k].pair);
    for (size_t k = 0, look = 0; k < calls.n; k++) {
        LLVMValueRef next = NULL;
        if (look < looks.n && looks.v[look] == calls.v[k]) next = weft__rw_after(calls.v[k]), look++;
        weft__rw_call_inst(r, calls.v[k]);
        if (next) weft__rw_region_look(r, next);
    }
    for (size_t k = 0; k < heads.n; k++) {
        LLVMBasicBlockRef head = LLVMValueAsBasicBlock(heads.v[k]);
        weft__rw_copy_tick(r, head, weft__rw_tick_to(r, weft__shim_first(head), in_list(&waits, heads.v[k]) ? r->tick_spin : r->tick_cold));
    }
    weft__rw_copies(r);
    free(waits.v);
    for (size_t k = 0; k < pads.n; k++) {
        LLVMValueRef first = LLVMGetNextInstruction(pads.v[k]);
        weft__rw_come_in(r, first);
        if (r->unwinds) { /* an ordered call may have thrown: its turn is over */
            weft__rw_at(r, first);
            weft__rw_call_named(r, "__weft_serial_unwind", r->cold_t, NULL, 0);
        }
        weft__rw_tick(r, first);
        pads.v[k] = first;
    }
    weft__rw_region_function(r, fn, rets.v, rets.n, pads.v, sides, pads.n);
    free(sides);
    free(memory.v);
    free(alone.v);
    free(looks.v);
    r->unwinds = 0;
    LLVMValueRef was = NULL;
    if (accesses.n || unchecked.n || has_calls || r->nmoves || heads.n) forget(fn);
    /* All plans have the same ticks: signals come there. */
    if (accesses.n || unchecked.n || has_calls || r->nmoves) weft__rw_tick(r, weft__shim_first(LLVMGetEntryBasicBlock(fn)));
    if (taken && (accesses.n || unchecked.n || has_calls || r->nmoves)) {
        was = weft__rw_come_in(r, weft__shim_first(LLVMGetEntryBasicBlock(fn)));
        r->s->callbacks++;
        for (size_t k = 0; k < rets.n; k++) {
            LLVMValueRef ret = rets.v[k], prev = LLVMGetPreviousInstruction(ret);
            if (prev && weft__shim_must_tail(prev)) continue;
            LLVMValueRef cold = weft__shim_cold(was, ret);
            weft__rw_at(r, cold);
            weft__rw_call0(r, r->go_out);
        }
    }
    if (heads.n) weft__clock(fn, r->tls);
    free(accesses.v);
    free(unchecked.v);
    free(calls.v);
    free(heads.v);
    free(pads.v);
    free(rets.v);
}

/* ---- functions that run before the runtime has started */

/* Resolvers of ifuncs run while the program is being relocated, functions in .preinit_array before all initialisers. The
 * owner table does not exist then. They, and what they call, are left alone. */
static void early_constant(LLVMValueRef c, struct list *early) {
    if (LLVMIsAFunction(c)) {
        if (!LLVMIsDeclaration(c) && !in_list(early, c)) push(early, c);
        return;
    }
    if (LLVMIsAGlobalAlias(c)) {
        early_constant(LLVMAliasGetAliasee(c), early);
        return;
    }
    if (!LLVMIsAConstant(c) || LLVMIsAGlobalValue(c) || LLVMIsABlockAddress(c)) return;
    for (int k = 0; k < LLVMGetNumOperands(c); k++) early_constant(LLVMGetOperand(c, (unsigned)k), early);
}
static void find_early(struct weft_rw *r, struct list *early) {
    for (LLVMValueRef g = LLVMGetFirstGlobalIFunc(r->m); g; g = LLVMGetNextGlobalIFunc(g))
        early_constant(LLVMGetGlobalIFuncResolver(g), early);
    for (LLVMValueRef g = LLVMGetFirstGlobal(r->m); g; g = LLVMGetNextGlobal(g)) {
        const char *section = LLVMGetSection(g);
        if (section && !strncmp(section, ".preinit_array", 14) && LLVMGetInitializer(g)) early_constant(LLVMGetInitializer(g), early);
    }
    for (size_t k = 0; k < early->n; k++)
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(early->v[k]); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                LLVMOpcode o = LLVMGetInstructionOpcode(i);
                if (o == LLVMCall || o == LLVMInvoke) early_constant(LLVMGetCalledValue(i), early);
            }
}

static int left_alone(const struct list *early, LLVMValueRef fn) {
    unsigned naked = LLVMGetEnumAttributeKindForName("naked", 5);
    return LLVMGetEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, naked) || in_list(early, fn);
}

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
static const char note[] = ".section .note.weft,\"a\",@note\n.p2align 2\n.long 5\n.long 4\n.long 1\n.asciz \"weft\"\n.p2align 2\n"
                           ".long " NUMBER(WEFT_ABI_VERSION) "\n.previous\n";

/* The executable's first initialiser (weft__scrub). */
static const char first[] = ".section .init_array.0,\"aw\",@init_array\n.p2align 3\n.quad __weft_start_program\n.previous\n";

/* Not empty, so that the linker makes it, and the symbols of its bounds. */
static const char taken_section[] = ".section " WEFT_TAKEN_SECTION ",\"ax\",@progbits\n.p2align 4\n.skip 16, 0xcc\n.previous\n";
/* Tells the runtime that the module counts on locks. */
static const char plan[] = ".section .init_array.0,\"aw\",@init_array\n.p2align 3\n.quad __weft_plan_races\n.previous\n";

void weft__rewrite(LLVMModuleRef m, const struct weft_facts *f, const struct weft_regions *g, const struct weft_pass_options *o, struct weft_pass_stats *s) {
    struct weft_rw r;
    weft__rw_init(&r, m, f, g, o, s);
    struct list fns = {0}, early = {0};
    find_early(&r, &early);
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && strncmp(weft__rw_name_of(fn), "__weft", 6) && !left_alone(&early, fn)) push(&fns, fn);
    for (size_t k = 0; k < fns.n; k++) one_function(&r, fns.v[k]);
    free(fns.v);
    free(early.v);
    LLVMAppendModuleInlineAsm(m, note, sizeof note - 1);
    LLVMAppendModuleInlineAsm(m, taken_section, sizeof taken_section - 1);
    if (!o->shared_library) LLVMAppendModuleInlineAsm(m, first, sizeof first - 1);
    if (o->plan == WEFT_PLAN_RACES) LLVMAppendModuleInlineAsm(m, plan, sizeof plan - 1);
    weft__rw_fini(&r);
}
