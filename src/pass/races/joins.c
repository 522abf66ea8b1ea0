/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where is every thread that a pthread_create has made surely joined?
 *
 * Looked at are calls that start threads, whose handle is kept in memory that nothing else writes, and a join in the same
 * function that reads it there. Two forms: at the same address, always the same one; or both in loops that go through
 * an array, from the same start in steps of one, until the same bound: then all are joined on the edge by which the second
 * loop ends because of its bound. (An early end of the first loop leaves fewer to be joined.)
 *
 * That is only so if no thread of this call was left over before. So the call must not be reached again without a join on
 * the way; and the function must either run only once, or on no thread but main, not recursively, and not return between
 * the two. */
#include "../pass.h"
#include "races.h"

uint64_t weft__joins_call(const struct weft_races *r, LLVMValueRef call) {
    uint32_t *i = weft__map_find(&r->join_at, weft__key(call));
    return i ? r->join[*i - 1] : 0;
}

static uint64_t edge_key(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    return weft__key(from) * 0x9e3779b97f4a7c15u ^ weft__key(to);
}

uint64_t weft__joins_edge(const struct weft_races *r, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    uint32_t *i = r->join_edge.count ? weft__map_find(&r->join_edge, edge_key(from, to)) : NULL;
    return i ? r->join[*i - 1] : 0;
}

static void add(struct weft_races *r, uint32_t *at, uint64_t threads) {
    if (!*at) {
        WEFT_GROW(r->join, r->joins, r->join_room);
        r->join[r->joins++] = 0;
        *at = r->joins;
    }
    r->join[*at - 1] |= threads;
}

/* ---- ways through a function ----------------------------------------------------------------------------------- */

/* The place that a way may not pass: a call, or an edge. */
struct gate {
    LLVMValueRef call;
    LLVMBasicBlockRef from, to;
};

struct walk {
    struct weft_map seen;
    LLVMBasicBlockRef *stack;
    size_t n, room;
};

static void push(struct walk *w, LLVMBasicBlockRef b) {
    uint32_t *seen = weft__map_at(&w->seen, weft__key(b));
    if ((*seen)++) return;
    WEFT_GROW(w->stack, w->n, w->room);
    w->stack[w->n++] = b;
}

static void push_successors(struct walk *w, LLVMBasicBlockRef b, const struct gate *g) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
    for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k; i++) {
        LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
        if (!(g->from == b && g->to == to)) push(w, to);
    }
}

static int stands_in(LLVMValueRef inst, LLVMBasicBlockRef b) {
    return inst && LLVMGetInstructionParent(inst) == b;
}

static int comes_before(LLVMValueRef a, LLVMValueRef b) { /* in the same block */
    for (LLVMValueRef i = LLVMGetNextInstruction(a); i; i = LLVMGetNextInstruction(i))
        if (i == b) return 1;
    return 0;
}

/* From behind `from` (an instruction), without passing the gate: does a way lead back to the call `again`, or out of the
 * function? */
static void ways(LLVMValueRef from, LLVMValueRef again, const struct gate *g, int *back, int *out) {
    struct walk w = {0};
    LLVMBasicBlockRef home = LLVMGetInstructionParent(from);
    *back = *out = 0;
    if (stands_in(g->call, home) && comes_before(from, g->call)) return;
    if (stands_in(again, home) && comes_before(from, again)) *back = 1;
    push_successors(&w, home, g);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(home);
    *out |= LLVMIsAReturnInst(end) || LLVMIsAResumeInst(end);
    while (w.n) {
        LLVMBasicBlockRef b = w.stack[--w.n];
        int gate = stands_in(g->call, b), call = stands_in(again, b);
        if (call && !(gate && comes_before(g->call, again))) *back = 1;
        if (gate) continue;
        end = LLVMGetBasicBlockTerminator(b);
        *out |= LLVMIsAReturnInst(end) || LLVMIsAResumeInst(end);
        push_successors(&w, b, g);
    }
    free(w.stack);
    weft__map_fini(&w.seen);
}

/* ---- loops ----------------------------------------------------------------------------------------------------- */

/* A loop that counts from a constant in steps of one, with the edge by which it ends when a bound is reached. Without
 * optimisation the counter is a local that is stored to twice: before the loop, and at its end. */
struct loop {
    LLVMValueRef counter; /* phi or alloca */
    LLVMValueRef next;    /* counter + 1 */
    LLVMBasicBlockRef head, latch;
    struct weft_map in; /* block -> 1 */
    int64_t start;
    LLVMValueRef bound; /* extensions stripped */
    struct gate exit;
    LLVMValueRef branch;
    uint8_t ahead; /* the branch asks for the counter itself, not for the next one */
    struct gate around; /* the edge by which it is not entered at all, because the bound is not above 0; or nothing */
};

/* The number before it was made wider or narrower. Nobody starts 2^31 threads, so it is the same one unless bits below are lost. */
static LLVMValueRef narrowed(LLVMValueRef v) {
    while (LLVMIsAZExtInst(v) || LLVMIsASExtInst(v) || LLVMIsATruncInst(v)) {
        LLVMValueRef from = LLVMGetOperand(v, 0);
        if (LLVMGetIntTypeWidth(LLVMTypeOf(v)) < 32 || LLVMGetIntTypeWidth(LLVMTypeOf(from)) < 32) break;
        v = from;
    }
    return v;
}

static int same_value(LLVMValueRef a, LLVMValueRef b) {
    if (LLVMIsAConstantInt(a) && LLVMIsAConstantInt(b)) return LLVMConstIntGetSExtValue(a) == LLVMConstIntGetSExtValue(b);
    return a == b;
}

/* Blocks from which the latch is reached without passing the head. */
static void body(struct loop *l) {
    LLVMValueRef fn = LLVMGetBasicBlockParent(l->head);
    *weft__map_at(&l->in, weft__key(l->head)) = 1;
    *weft__map_at(&l->in, weft__key(l->latch)) = 1;
    for (int again = 1; again;) {
        again = 0;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
            if (weft__map_find(&l->in, weft__key(b))) continue;
            for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k; i++) {
                LLVMBasicBlockRef s = LLVMGetSuccessor(end, i);
                if (s == l->head || !weft__map_find(&l->in, weft__key(s))) continue;
                *weft__map_at(&l->in, weft__key(b)) = 1;
                again = 1;
                break;
            }
        }
    }
}

static LLVMValueRef counted(LLVMValueRef v) {
    v = narrowed(v);
    return LLVMIsALoadInst(v) && LLVMIsAAllocaInst(LLVMGetOperand(v, 0)) ? LLVMGetOperand(v, 0) : v;
}

/* A bound that is kept in a local is what was stored there, once. */
static LLVMValueRef settled(struct weft_races *r, LLVMValueRef v) {
    LLVMValueRef from;
    v = narrowed(v);
    while (LLVMIsALoadInst(v) && (from = weft__address_stored(r, LLVMGetOperand(v, 0)))) v = narrowed(from);
    return v;
}

/* Does this branch leave the loop just when the counter has come to the bound? */
static int ends_at_bound(struct weft_races *r, struct loop *l, LLVMValueRef br) {
    if (!LLVMIsABranchInst(br) || !LLVMIsConditional(br)) return 0;
    LLVMValueRef c = LLVMGetCondition(br);
    if (!LLVMIsAICmpInst(c)) return 0;
    LLVMBasicBlockRef yes = LLVMGetSuccessor(br, 0), no = LLVMGetSuccessor(br, 1);
    int out = !weft__map_find(&l->in, weft__key(yes)), stay = !weft__map_find(&l->in, weft__key(no));
    if (out == stay) return 0;
    LLVMValueRef x = counted(LLVMGetOperand(c, 0));
    if (x != l->counter && x != l->next) return 0;
    switch (LLVMGetICmpPredicate(c)) { /* leaves on */
    case LLVMIntEQ:
    case LLVMIntSGE:
    case LLVMIntUGE:
        if (!out) return 0;
        break;
    case LLVMIntNE:
    case LLVMIntSLT:
    case LLVMIntULT:
        if (out) return 0;
        break;
    default:
        return 0;
    }
    LLVMValueRef bound = settled(r, LLVMGetOperand(c, 1));
    if (LLVMIsAInstruction(bound) && weft__map_find(&l->in, weft__key(LLVMGetInstructionParent(bound)))) return 0;
    l->bound = bound;
    l->exit = (struct gate){NULL, LLVMGetInstructionParent(br), out ? yes : no};
    l->branch = br;
    l->ahead = x == l->counter;
    return 1;
}

static int is_one_more(LLVMValueRef v, LLVMValueRef counter) {
    if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAdd) return 0;
    LLVMValueRef one = LLVMGetOperand(v, 1);
    return counted(LLVMGetOperand(v, 0)) == counter && LLVMIsAConstantInt(one) && LLVMConstIntGetSExtValue(one) == 1;
}

static int count_by_phi(struct loop *l) {
    if (LLVMCountIncoming(l->counter) != 2) return 0;
    l->head = LLVMGetInstructionParent(l->counter);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef first = LLVMGetIncomingValue(l->counter, i), next = LLVMGetIncomingValue(l->counter, 1 - i);
        if (!LLVMIsAConstantInt(first) || !is_one_more(next, l->counter)) continue;
        l->start = LLVMConstIntGetSExtValue(first);
        l->next = next;
        l->latch = LLVMGetIncomingBlock(l->counter, 1 - i);
    }
    if (!l->next) return 0;
    body(l);
    return 1;
}

static int count_by_local(struct weft_races *r, struct loop *l) {
    LLVMBasicBlockRef before = NULL;
    if (!weft__map_find(&r->locals, weft__key(l->counter))) return 0;
    for (LLVMUseRef u = LLVMGetFirstUse(l->counter); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(i)) {
            if (!LLVMIsALoadInst(i) && !LLVMIsACallInst(i)) return 0;
            continue; /* a local's calls are about its life and debugging; those that copy are not of a counter's kind */
        }
        LLVMValueRef v = LLVMGetOperand(i, 0);
        if (LLVMIsAConstantInt(v) && !before)
            before = LLVMGetInstructionParent(i), l->start = LLVMConstIntGetSExtValue(v);
        else if (is_one_more(v, l->counter) && !l->next)
            l->next = v, l->latch = LLVMGetInstructionParent(i);
        else
            return 0;
    }
    LLVMValueRef end = l->latch ? LLVMGetBasicBlockTerminator(l->latch) : NULL;
    if (!before || !end || LLVMGetNumSuccessors(end) != 1) return 0;
    l->head = LLVMGetSuccessor(end, 0);
    body(l);
    /* It is entered from where the counter is set, and from nowhere else. */
    LLVMValueRef fn = LLVMGetBasicBlockParent(l->head);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef t = LLVMGetBasicBlockTerminator(b);
        if (b == before || weft__map_find(&l->in, weft__key(b))) continue;
        for (unsigned i = 0, k = t ? LLVMGetNumSuccessors(t) : 0; i < k; i++)
            if (weft__map_find(&l->in, weft__key(LLVMGetSuccessor(t, i)))) return 0;
    }
    return !weft__map_find(&l->in, weft__key(before));
}

static LLVMBasicBlockRef only_way_to(LLVMBasicBlockRef b, const struct loop *l) {
    LLVMBasicBlockRef only = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(b)); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef t = LLVMGetUser(u);
        if (!LLVMIsAInstruction(t)) return NULL;
        LLVMBasicBlockRef from = LLVMGetInstructionParent(t);
        if (!LLVMIsATerminatorInst(t) || weft__map_find(&l->in, weft__key(from))) continue;
        if (only && only != from) return NULL;
        only = from;
    }
    return only;
}

static void find_guard(struct weft_races *r, struct loop *l) {
    LLVMBasicBlockRef b = l->head, from;
    while ((from = only_way_to(b, l))) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
        if (LLVMGetNumSuccessors(end) == 1) {
            b = from;
            continue;
        }
        if (!LLVMIsABranchInst(end) || LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1)) return;
        LLVMValueRef c = LLVMGetCondition(end);
        if (!LLVMIsAICmpInst(c) || !LLVMIsAConstantInt(LLVMGetOperand(c, 1))) return;
        int64_t k = LLVMConstIntGetSExtValue(LLVMGetOperand(c, 1));
        LLVMIntPredicate p = LLVMGetICmpPredicate(c);
        int inside = (p == LLVMIntSGT && k == 0) || (p == LLVMIntNE && k == 0) ? 0 : (p == LLVMIntSLT && k == 1) || (p == LLVMIntEQ && k == 0) ? 1 : -1;
        if (inside < 0 || l->start != 0 || LLVMGetSuccessor(end, (unsigned)inside) != b) return;
        if (!same_value(settled(r, LLVMGetOperand(c, 0)), l->bound)) return;
        l->around = (struct gate){NULL, from, LLVMGetSuccessor(end, (unsigned)!inside)};
        return;
    }
}

/* The loop that counts `index`. */
static int find_loop(struct weft_races *r, LLVMValueRef index, struct loop *l) {
    *l = (struct loop){.counter = counted(index)};
    if (LLVMIsAPHINode(l->counter) ? !count_by_phi(l) : !LLVMIsAAllocaInst(l->counter) || !count_by_local(r, l)) return 0;
    LLVMValueRef fn = LLVMGetBasicBlockParent(l->head);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        if (weft__map_find(&l->in, weft__key(b)) && ends_at_bound(r, l, LLVMGetBasicBlockTerminator(b))) {
            find_guard(r, l);
            return 1;
        }
    return 0;
}

/* The block that a branch on __weft_repeat goes to when weft simplify leaves a turn out: the program itself never does. */
static LLVMBasicBlockRef left_out(LLVMBasicBlockRef b) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end)) return NULL;
    LLVMValueRef c = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(c) || !LLVMIsACallInst(LLVMGetOperand(c, 0)) || !LLVMIsNull(LLVMGetOperand(c, 1))) return NULL;
    if (strcmp(weft__ir_name(weft__ir_callee(LLVMGetOperand(c, 0))), "__weft_repeat")) return NULL;
    LLVMIntPredicate p = LLVMGetICmpPredicate(c);
    return p == LLVMIntEQ ? LLVMGetSuccessor(end, 1) : p == LLVMIntNE ? LLVMGetSuccessor(end, 0) : NULL;
}

/* From the head of the loop, does every way in the same turn pass the block `through` before it comes to the end of `to`? */
static int passes(const struct loop *l, LLVMBasicBlockRef through, LLVMBasicBlockRef to) {
    struct walk w = {0};
    int ok = 1;
    if (through != l->head) push(&w, l->head);
    while (w.n && ok) {
        LLVMBasicBlockRef b = w.stack[--w.n];
        if (b == through || !weft__map_find(&l->in, weft__key(b))) continue;
        ok = b != to;
        push_successors(&w, b, &(struct gate){.from = l->latch, .to = l->head});
    }
    free(w.stack);
    weft__map_fini(&w.seen);
    return ok;
}

/* Is the call made at most once for each number from the start up to the bound? */
static int once_each(const struct loop *l, LLVMValueRef call) {
    LLVMBasicBlockRef home = LLVMGetInstructionParent(call);
    int back, out;
    ways(call, call, &(struct gate){.from = l->latch, .to = l->head}, &back, &out);
    if (back || !weft__map_find(&l->in, weft__key(home)) || !passes(l, l->exit.from, l->latch)) return 0;
    return !l->ahead || (home != l->exit.from && passes(l, l->exit.from, home));
}

/* Does it not begin with a turn before it has asked whether there is one? */
static int asks_first(const struct loop *l) {
    return l->ahead || l->around.from || (LLVMIsAConstantInt(l->bound) && LLVMConstIntGetSExtValue(l->bound) > l->start);
}

/* Is the call made in every turn before the loop's branch and latch? */
static int in_every_turn(const struct loop *l, LLVMValueRef call) {
    struct walk w = {0};
    LLVMBasicBlockRef home = LLVMGetInstructionParent(call), at = l->exit.from;
    int ok = weft__map_find(&l->in, weft__key(home)) != NULL, first = at == l->head && home != at;
    if (ok && home != l->head) push(&w, l->head);
    while (w.n && ok) {
        LLVMBasicBlockRef b = w.stack[--w.n];
        if (b == home || !weft__map_find(&l->in, weft__key(b))) continue;
        if (b == l->latch) ok = 0;
        /* A loop that asks at its head has made all turns before. */
        if (b == at && !(first && counted(LLVMGetOperand(LLVMGetCondition(l->branch), 0)) == l->counter)) ok = 0;
        push_successors(&w, b, &(struct gate){.from = b, .to = left_out(b)});
    }
    free(w.stack);
    weft__map_fini(&w.seen);
    return ok;
}

/* ---- handles --------------------------------------------------------------------------------------------------- */

/* Where a handle is: base + offset, plus index * stride (stride 0: no index). */
struct handle {
    uint32_t base;
    int64_t offset, stride;
    LLVMValueRef index, pointer;
};

static int find_handle(struct weft_races *r, LLVMValueRef pointer, struct handle *h) {
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    LLVMValueRef v = pointer;
    int64_t fixed;
    *h = (struct handle){.pointer = pointer};
    while (LLVMIsAGetElementPtrInst(v)) {
        int n = weft__ir_gep(r->f->td, v, &fixed, terms);
        if (n < 0 || n > 1 || (n == 1 && h->index)) return 0;
        if (n == 1) h->index = terms[0].index, h->stride = terms[0].stride;
        h->offset += fixed;
        v = LLVMGetOperand(v, 0);
    }
    h->base = weft__address_of(r, v);
    return 1;
}

/* Does nothing but this call write what may be there? */
static int only_writer(struct weft_races *r, LLVMValueRef call, LLVMValueRef pointer) {
    uint32_t *n = weft__map_find(&r->p->value, weft__key(pointer));
    if (!n || !*n) return 0;
    const struct weft_set *mine = &r->p->node[weft__points_find(r->p, *n)].pts;
    if (!mine->count || weft__set_has(mine, r->p->loc_unknown)) return 0;
    for (size_t i = 0; i < r->p->accesses; i++) {
        const struct weft_access *a = &r->p->access[i];
        if (!a->write || a->inst == call || a->which == WEFT_NOT_ASKED || !r->f->threads.mask[a->function]) continue;
        const struct weft_set *s = &r->p->node[weft__points_find(r->p, a->node)].pts;
        WEFT_SET_EACH(s, l)
        WEFT_SET_EACH(mine, k) {
            int64_t lo, hi, from, to;
            if (r->p->location[l].object != r->p->location[k].object) continue;
            if (weft__points_range(r->p, (uint32_t)l, 0, a->size, &lo, &hi) &&
                weft__points_range(r->p, (uint32_t)k, 0, 8, &from, &to) && lo < to && from < hi)
                return 0;
        }
    }
    return 1;
}

static int no_way_around(struct weft_races *r, uint32_t function, LLVMValueRef from, LLVMValueRef again, const struct gate *g) {
    int back, out;
    ways(from, again, g, &back, &out);
    if (back) return 0;
    if (r->f->threads.once[function]) return 1;
    return !out && r->f->threads.mask[function] == 1ull << WEFT_BIT_MAIN &&
           !r->f->graph.cyclic[r->f->graph.scc[function]];
}

/* Each turn of the loop has to be made. */
static void keep_turns(struct weft_races *r, const struct loop *l) {
    for (size_t i = 0; i < l->in.room; i++) {
        LLVMBasicBlockRef b = (LLVMBasicBlockRef)(uintptr_t)l->in.key[i];
        if (!b || !left_out(b)) continue;
        LLVMValueRef c = LLVMGetCondition(LLVMGetBasicBlockTerminator(b));
        *weft__map_at(&r->sure, weft__key(LLVMGetOperand(c, 0))) = 1;
    }
}

static void match(struct weft_races *r, const struct weft_call *c, LLVMValueRef join, uint64_t threads) {
    struct handle made, asked;
    LLVMValueRef load = LLVMGetArgOperand(join, 0);
    if (weft__threads_jumped_to(r->f->function[c->caller].fn)) return;
    if (r->plan && weft__shim_must_tail(join)) return; /* it could not be asked whether it has failed */
    if (!LLVMIsALoadInst(load) || LLVMGetInstructionParent(load) != LLVMGetInstructionParent(join)) return;
    if (!find_handle(r, LLVMGetArgOperand(c->inst, 0), &made) || !find_handle(r, LLVMGetOperand(load, 0), &asked)) return;
    if (made.base != asked.base || made.offset != asked.offset || made.stride != asked.stride) return;
    if (!only_writer(r, c->inst, made.pointer)) return;
    if (!made.index) {
        struct gate g = {.call = join};
        if (no_way_around(r, c->caller, c->inst, c->inst, &g))
            add(r, weft__map_at(&r->join_at, weft__key(join)), threads), *weft__map_at(&r->sure, weft__key(join)) = 1;
        return;
    }
    struct loop l1, l2;
    int ok = find_loop(r, made.index, &l1);
    ok &= find_loop(r, asked.index, &l2);
    ok = ok && l1.head != l2.head && l1.start == l2.start && same_value(l1.bound, l2.bound) && in_every_turn(&l2, join);
    ok = ok && once_each(&l1, c->inst) && (!l2.ahead || asks_first(&l1));
    /* Ways from where the first loop is left. Its own turns are not a second time. */
    LLVMValueRef fn = r->f->function[c->caller].fn;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b && ok; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!weft__map_find(&l1.in, weft__key(b))) continue;
        for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k && ok; i++) {
            LLVMBasicBlockRef s = LLVMGetSuccessor(end, i);
            if (weft__map_find(&l1.in, weft__key(s)) || (b == l2.exit.from && s == l2.exit.to)) continue;
            LLVMValueRef first = LLVMGetFirstInstruction(s);
            ok = no_way_around(r, c->caller, first, c->inst, &l2.exit);
        }
        if (LLVMIsAReturnInst(end)) ok = 0;
    }
    if (ok) {
        add(r, weft__map_at(&r->join_edge, edge_key(l2.exit.from, l2.exit.to)), threads);
        *weft__map_at(&r->sure, weft__key(join)) = 1;
        keep_turns(r, &l1); /* or a handle would be joined that was never set */
        keep_turns(r, &l2);
    }
    /* Not entered at all, and neither was the first one. */
    if (ok && l1.around.from && l2.around.from)
        add(r, weft__map_at(&r->join_edge, edge_key(l2.around.from, l2.around.to)), threads);
    weft__map_fini(&l1.in);
    weft__map_fini(&l2.in);
}

void weft__joins_find(struct weft_races *r) {
    for (unsigned t = WEFT_THREAD_FIRST; t < r->threads; t++) {
        if (t == WEFT_THREAD_OVERFLOW || r->thread[t].call == UINT32_MAX) continue;
        const struct weft_call *c = &r->f->call[r->thread[t].call];
        LLVMValueRef callee = weft__ir_callee(c->inst);
        const char *name = LLVMIsAFunction(callee) ? weft__ir_name(callee) : "";
        if (strcmp(name, "pthread_create") && strcmp(name, "thrd_create")) continue;
        for (size_t i = 0; i < r->f->calls; i++)
            if (r->f->call[i].caller == c->caller && weft__sync_of(weft__ir_callee(r->f->call[i].inst)) == WEFT_SYNC_JOIN)
                match(r, c, r->f->call[i].inst, 1ull << t);
    }
}
