/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relative locksets and guarded accesses, bottom-up over the call graph (RELAY: Voung, Jhala, Lerner 2007).
 *
 * A function is looked at once, without knowing who calls it (members of a cycle until nothing changes). What happens in
 * it is said relative to its entry: locks acquired since then and still held, on all ways; locks that may have been
 * released; threads that may have been started, and those that surely were joined. The summary is that for its exits, and
 * a list of all accesses in it and below it, each with the same for the moment of the access. A caller translates: the
 * callee's parameters are its arguments, its own locks are added unless the callee may have released them. So one helper
 * that is called with different locks for different objects keeps these apart.
 *
 * A lock is known by its address (address.c). If it has the same root as the address of an access, their distance is kept,
 * too: it still means something where the root does not (weft__pairs_find has the argument).
 *
 * An access has at most VARIANTS entries in a list. Then they become one: what the pointer may point to at all, with the
 * locks that all have. */
#include "../pass.h"
#include "races.h"

enum { VARIANTS = 8 };
#define MAX_WORK 40000000u /* for a plan: some 15 seconds; counted, not timed, so that builds can be repeated */
#define MAX_ENTRIES 8000000u /* of all lists: some 600 MB */
#define EVERY (~0ull)

/* ---- accesses -------------------------------------------------------------------------------------------------- */

/* Can the memory be known to two threads, and be written at all? */
static int may_be_shared(struct weft_races *r, uint32_t node) {
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, node)].pts;
    if (!s->count) return 1; /* from nowhere: we do not know */
    WEFT_SET_EACH(s, l) {
        const struct weft_object *o = &r->p->object[r->p->location[l].object];
        if (o->kind == WEFT_OBJ_UNKNOWN) return 1;
        if (o->kind == WEFT_OBJ_FUNCTION || o->kind == WEFT_OBJ_DIFFERENCE || o->constant) continue;
        if (o->escaped || o->exposed) return 1;
    }
    return 0;
}

static void add_access(struct weft_races *r, struct weft_race_access a) {
    uint32_t *at = weft__map_at(&r->access_at, weft__key(a.inst));
    WEFT_GROW(r->access, r->accesses, r->access_room);
    a.next = *at;
    r->access[r->accesses++] = a;
    *at = r->accesses;
}

static int is_atomic(LLVMValueRef inst, int which) {
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return 1;
    case LLVMLoad:
    case LLVMStore:
        return LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
    case LLVMCall:
    case LLVMInvoke: {
        LLVMValueRef callee = weft__ir_callee(inst);
        return weft__sync_of(callee) != WEFT_SYNC_NONE && weft__sync_owns(weft__ir_name(callee), which);
    }
    default:
        return 0;
    }
}

static int is_relaxed(LLVMValueRef inst) {
    LLVMOpcode o = LLVMGetInstructionOpcode(inst);
    if (o == LLVMCall || o == LLVMInvoke) return !strncmp(weft__ir_name(weft__ir_callee(inst)), "__atomic_", 9);
    if (o != LLVMLoad && o != LLVMStore && o != LLVMAtomicRMW && o != LLVMAtomicCmpXchg) return 0;
    LLVMAtomicOrdering w = o == LLVMAtomicCmpXchg ? LLVMGetCmpXchgSuccessOrdering(inst) : LLVMGetOrdering(inst);
    return w == LLVMAtomicOrderingUnordered || w == LLVMAtomicOrderingMonotonic;
}

static int is_aligned(LLVMValueRef inst, int64_t size) {
    LLVMOpcode o = LLVMGetInstructionOpcode(inst);
    return (o == LLVMLoad || o == LLVMStore || o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg) && size > 0 &&
           !(size & (size - 1)) && LLVMGetAlignment(inst) >= (unsigned)size;
}

/* Of an external function, called by name or through a pointer: free, as if all of it was written; and memory of the library
 * that several calls return. Node 0 stands for memory that code outside knows. */
static void add_external(struct weft_races *r, const struct weft_call *c, LLVMValueRef fn) {
    const struct weft_external *ext =
        LLVMIsAFunction(fn) && LLVMIsDeclaration(fn) ? weft__external(weft__ir_name(fn)) : NULL;
    if (ext && weft__external_has(ext, WEFT_EFF_STATIC))
        add_access(r, (struct weft_race_access){
                          .inst = c->inst, .which = WEFT_NOT_ASKED, .function = c->caller, .size = WEFT_WHOLE, .write = 1});
    for (unsigned i = 0; ext && i < ext->count; i++) {
        if (ext->effect[i].kind != WEFT_EFF_FREE || (unsigned)ext->effect[i].arg >= LLVMGetNumArgOperands(c->inst))
            continue;
        LLVMValueRef arg = LLVMGetArgOperand(c->inst, (unsigned)ext->effect[i].arg);
        uint32_t *n = weft__map_find(&r->p->value, weft__key(arg));
        if (n && *n && may_be_shared(r, *n))
            add_access(r, (struct weft_race_access){.inst = c->inst,
                                                   .which = WEFT_NOT_ASKED,
                                                   .pointer = arg,
                                                   .function = c->caller,
                                                   .node = *n,
                                                   .address = weft__address_of(r, arg),
                                                   .size = WEFT_WHOLE,
                                                   .write = 1,
                                                   .frees = 1});
    }
}

/* Functions that a call through a pointer may reach. */
static const struct weft_set *callees(struct weft_races *r, const struct weft_call *c) {
    uint32_t *n = weft__map_find(&r->p->value, weft__key(weft__ir_callee(c->inst)));
    return n && *n ? &r->p->node[weft__points_find(r->p, *n)].pts : NULL;
}

static void find_accesses(struct weft_races *r) {
    for (size_t i = 0; i < r->p->accesses; i++) {
        const struct weft_access *a = &r->p->access[i];
        if (!r->f->threads.mask[a->function]) continue;
        int write, born = a->which == WEFT_NOT_ASKED; /* an allocation writes what it gives */
        LLVMTypeRef type;
        LLVMValueRef pointer = born                      ? NULL
                               : weft__ir_is_call(a->inst) ? LLVMGetArgOperand(a->inst, (unsigned)a->which)
                                                         : weft__ir_access_pointer(a->inst, &write, &type);
        if (a->deep || born || LLVMGetTypeKind(LLVMTypeOf(pointer)) != LLVMPointerTypeKind) pointer = NULL;
        if (!may_be_shared(r, a->node)) continue;
        add_access(r, (struct weft_race_access){.inst = a->inst,
                                               .which = a->which,
                                               .pointer = pointer,
                                               .function = a->function,
                                               .node = weft__points_find(r->p, a->node),
                                               .address = pointer ? weft__address_of(r, pointer) : 0,
                                               .size = a->size,
                                               .write = a->write,
                                               .fresh = (uint8_t)born,
                                               .atomic = (uint8_t)is_atomic(a->inst, a->which),
                                               .relaxed = (uint8_t)is_relaxed(a->inst),
                                               .aligned = (uint8_t)is_aligned(a->inst, a->size)});
    }
    for (size_t i = 0; i < r->f->calls; i++) {
        const struct weft_call *c = &r->f->call[i];
        if (!r->f->threads.mask[c->caller]) continue;
        LLVMValueRef callee = weft__ir_callee(c->inst);
        const struct weft_set *s = LLVMIsAFunction(callee) || LLVMIsAInlineAsm(callee) ? NULL : callees(r, c);
        if (LLVMIsAFunction(callee)) add_external(r, c, callee);
        if (s) {
            WEFT_SET_EACH(s, l) {
                const struct weft_object *o = &r->p->object[r->p->location[l].object];
                if (o->kind == WEFT_OBJ_FUNCTION) add_external(r, c, o->value);
            }
        }
        if (c->unknown) /* it touches all that it can know of */
            add_access(r, (struct weft_race_access){.inst = c->inst,
                                                   .which = WEFT_NOT_ASKED,
                                                   .function = c->caller,
                                                   .size = WEFT_WHOLE,
                                                   .write = 1,
                                                   .unguarded = 1});
        if (r->call_starts[i])
            add_access(r, (struct weft_race_access){.inst = c->inst, .function = c->caller, .starts = r->call_starts[i]});
    }
}

/* ---- states ---------------------------------------------------------------------------------------------------- */

static struct weft_state meet(struct weft_races *r, struct weft_state a, struct weft_state b) {
    if (!a.reached) return b;
    if (!b.reached) return a;
    return (struct weft_state){1, weft__lockset_both(r, a.held, b.held), weft__released_either(r, a.released, b.released),
                               a.started | b.started, a.joined & b.joined};
}

static int equal(struct weft_state a, struct weft_state b) {
    return a.reached == b.reached && a.held == b.held && a.released == b.released && a.started == b.started &&
           a.joined == b.joined;
}

/* Locks of a callee in the caller's words. `call` NULL: they have none in common. */
static uint32_t translate(struct weft_races *r, uint32_t held, LLVMValueRef call, LLVMValueRef callee) {
    uint32_t n, count = 0;
    const uint32_t *x = weft__lockset_get(r, held, &n);
    if (!n) return 0;
    uint32_t *lock = weft__an_alloc(NULL, n, sizeof *lock);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = weft__address_translate(r, x[i] >> 1, call, callee);
        if (a) lock[count++] = a << 1 | (x[i] & 1);
    }
    uint32_t set = weft__lockset_make(r, lock, count);
    free(lock);
    return set;
}

/* Keeps those locks that pass the test. */
static uint32_t filter(struct weft_races *r, uint32_t held, int (*keep)(struct weft_races *, uint32_t, void *), void *arg) {
    uint32_t n, count = 0;
    const uint32_t *x = weft__lockset_get(r, held, &n);
    if (!n) return 0;
    uint32_t *lock = weft__an_alloc(NULL, n, sizeof *lock);
    for (uint32_t i = 0; i < n; i++)
        if (keep(r, x[i] >> 1, arg)) lock[count++] = x[i];
    uint32_t set = count == n ? held : weft__lockset_make(r, lock, count);
    free(lock);
    return set;
}

static int not_loaded(struct weft_races *r, uint32_t a, void *arg) {
    return r->address[a].kind != WEFT_ROOT_LOAD;
}

static uint32_t root_of(const struct weft_races *r, uint32_t a) {
    while (r->address[a].kind == WEFT_ROOT_LOAD) a = r->address[a].base;
    return a;
}

static int not_of_value(struct weft_races *r, uint32_t a, void *value) {
    a = root_of(r, a);
    return r->address[a].kind != WEFT_ROOT_VALUE || r->address[a].value != value;
}

/* Whether callers can understand it. */
static int means_something(struct weft_races *r, uint32_t a, void *fn) {
    a = root_of(r, a);
    return r->address[a].kind != WEFT_ROOT_VALUE || weft__address_parameter(r, a, fn) >= 0;
}

static void start(struct weft_races *r, struct weft_state *s, uint64_t threads) {
    s->started |= threads;
    if (threads) s->held = filter(r, s->held, not_loaded, NULL);
}

/* After a call of a function with this summary. */
static struct weft_state after(struct weft_races *r, struct weft_state s, const struct weft_state *e, LLVMValueRef call,
                               LLVMValueRef callee) {
    if (!s.reached || !e->reached) return (struct weft_state){0};
    s.held = weft__lockset_without(r, s.held, e->released);
    s.released = weft__released_either(r, s.released, e->released);
    s.started &= ~e->joined;
    s.joined |= e->joined;
    start(r, &s, e->started);
    s.held = weft__lockset_either(r, s.held, translate(r, e->held, call, callee));
    return s;
}

/* ---- what instructions do -------------------------------------------------------------------------------------- */

static uint32_t node_of(struct weft_races *r, LLVMValueRef v) {
    uint32_t *n = weft__map_find(&r->p->value, weft__key(v));
    return n ? *n : 0;
}

/* A plan counts on locks only that the runtime sees to (weft__owned): not if anybody can unlock them unnoticed. */
static int counts(const struct weft_races *r, LLVMValueRef call, int shared) {
    return !r->plan || (!shared && !weft__shim_must_tail(call) && strncmp(weft__ir_name(weft__ir_callee(call)), "pthread_spin_", 13));
}

static void acquire(struct weft_races *r, struct weft_state *s, LLVMValueRef call, int shared) {
    LLVMValueRef lock = LLVMGetArgOperand(call, 0);
    if (!counts(r, call, shared)) return;
    uint32_t a = weft__address_of(r, lock), u = weft__address_unique(r, lock);
    s->held = weft__lockset_add(r, s->held, a << 1 | !shared);
    if (u && u != a) s->held = weft__lockset_add(r, s->held, u << 1 | !shared);
}

struct released {
    uint32_t a, locations;
};

/* Of two addresses with the same root, the offsets decide. */
static int survives(struct weft_races *r, uint32_t lock, void *arg) {
    const struct released *d = arg;
    if (weft__address_same_root(r, lock, d->a)) return r->address[lock].offset != r->address[d->a].offset;
    uint32_t one = weft__lockset_make(r, &(uint32_t){lock << 1}, 1);
    return weft__lockset_without(r, one, d->locations) != 0;
}

static void release(struct weft_races *r, struct weft_state *s, LLVMValueRef lock) {
    struct released d = {weft__address_of(r, lock), weft__released_of(r, node_of(r, lock))};
    uint32_t u = weft__address_unique(r, lock);
    s->held = filter(r, s->held, survives, &d);
    if (u && u != d.a) d.a = u, s->held = filter(r, s->held, survives, &d);
    s->released = weft__released_either(r, s->released, d.locations);
}

static int acquires_on_zero(const struct weft_races *r, enum weft_sync_kind k) {
    return k == WEFT_SYNC_TRY || k == WEFT_SYNC_TRYREAD || (r->lock_may_fail && (k == WEFT_SYNC_LOCK || k == WEFT_SYNC_READ));
}

static void anything(struct weft_state *s) {
    s->held = 0, s->released = WEFT_ALL, s->started = EVERY;
}

/* Does the call bring its arguments to the target in their places? Not if an external function calls back. */
static int positional(const struct weft_call *c, LLVMValueRef target) {
    LLVMValueRef callee = weft__ir_callee(c->inst);
    return !LLVMIsAFunction(callee) || callee == target;
}

/* The state after a call; *unwound: if it is left by an exception. */
static struct weft_state call(struct weft_races *r, struct weft_state s, LLVMValueRef inst, struct weft_state *unwound) {
    uint32_t *known = weft__map_find(&r->f->call_of, weft__key(inst));
    LLVMValueRef callee = weft__ir_callee(inst);
    *unwound = s;
    if (weft__shim_returns_twice(inst)) {
        anything(&s);
        s.joined = 0;
        *unwound = s;
        return s;
    }
    if (!known) return s; /* intrinsic */
    const struct weft_call *c = &r->f->call[*known - 1];
    enum weft_sync_kind k = weft__sync_of(callee);
    if (k != WEFT_SYNC_NONE && !LLVMGetNumArgOperands(inst)) k = WEFT_SYNC_NONE;
    if (k == WEFT_SYNC_UNLOCK) release(r, &s, LLVMGetArgOperand(inst, 0));
    if (r->lock_may_fail && k == WEFT_SYNC_OTHER && strstr(weft__ir_name(callee), "wait"))
        s.held = 0, s.released = WEFT_ALL; /* of a condition: it may come back without the mutex */
    if ((k == WEFT_SYNC_LOCK || k == WEFT_SYNC_READ) && !r->lock_may_fail)
        acquire(r, &s, inst, k == WEFT_SYNC_READ);
    uint64_t joined = weft__joins_call(r, inst);
    s.started &= ~joined;
    s.joined |= joined;
    start(r, &s, r->call_starts[c - r->f->call]);
    if (!LLVMIsAFunction(callee) && !LLVMIsAInlineAsm(callee)) {
        const struct weft_set *set = callees(r, c); /* a pointer to an unlocking function */
        if (set)
            WEFT_SET_EACH(set, l) {
                const struct weft_object *o = &r->p->object[r->p->location[l].object];
                if (o->kind == WEFT_OBJ_FUNCTION && weft__sync_of(o->value) == WEFT_SYNC_UNLOCK) s.held = 0, s.released = WEFT_ALL;
            }
    }
    /* Otherwise it is an external function, which may call back or not. */
    struct weft_state out = {0};
    *unwound = s;
    if (!c->targets || c->resolved || (LLVMIsAFunction(callee) && LLVMIsDeclaration(callee))) out = s;
    for (uint32_t t = 0; t < c->targets; t++) {
        uint32_t to = r->f->target[c->target + t];
        if (to == r->f->node_unknown) {
            struct weft_state u = s;
            anything(&u);
            out = meet(r, out, u);
            *unwound = meet(r, *unwound, u);
            continue;
        }
        LLVMValueRef fn = r->f->function[to].fn;
        const struct weft_summary *sum = &r->summary[to];
        out = meet(r, out, after(r, s, &sum->exit, positional(c, fn) ? inst : NULL, fn));
        struct weft_state u = s;
        u.held = weft__lockset_without(r, s.held, sum->unwind.released);
        u.released = weft__released_either(r, s.released, sum->unwind.released);
        start(r, &u, sum->unwind.started);
        *unwound = meet(r, *unwound, u);
    }
    return out;
}

/* The call whose result 0 leads to block `to`, if the branch at the end of `b` asks for that; NULL: it does not. Nothing but
 * intrinsics may stand between. */
static LLVMValueRef zero_leads_to(struct weft_races *r, LLVMValueRef br, LLVMBasicBlockRef to) {
    if (!LLVMIsABranchInst(br) || !LLVMIsConditional(br) || LLVMGetSuccessor(br, 0) == LLVMGetSuccessor(br, 1)) return NULL;
    LLVMValueRef c = LLVMGetCondition(br);
    if (!LLVMIsAICmpInst(c) || !LLVMIsAConstantInt(LLVMGetOperand(c, 1)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(c, 1)) != 0)
        return NULL;
    LLVMValueRef v = LLVMGetOperand(c, 0);
    LLVMIntPredicate is = LLVMGetICmpPredicate(c);
    if ((is != LLVMIntEQ && is != LLVMIntNE) || !LLVMIsACallInst(v) ||
        LLVMGetInstructionParent(v) != LLVMGetInstructionParent(br))
        return NULL;
    if (LLVMGetSuccessor(br, is == LLVMIntNE) != to) return NULL;
    for (LLVMValueRef i = LLVMGetNextInstruction(v); i && i != br; i = LLVMGetNextInstruction(i))
        if (weft__ir_is_call(i) && !weft__ir_is_intrinsic(weft__ir_callee(i))) return NULL;
    return v;
}

/* From the end of a block to one of its successors. */
static struct weft_state edge(struct weft_races *r, struct weft_state s, struct weft_state unwound, LLVMValueRef end,
                              unsigned i) {
    LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
    if (LLVMIsAInvokeInst(end) && i == 1) return unwound;
    LLVMValueRef v = zero_leads_to(r, end, to);
    enum weft_sync_kind k = v ? weft__sync_of(weft__ir_callee(v)) : WEFT_SYNC_NONE;
    if (s.reached && acquires_on_zero(r, k))
        acquire(r, &s, v, k == WEFT_SYNC_READ || k == WEFT_SYNC_TRYREAD);
    uint64_t joined = weft__joins_edge(r, LLVMGetInstructionParent(end), to);
    s.started &= ~joined;
    s.joined |= joined;
    return s;
}

/* ---- a function ------------------------------------------------------------------------------------------------ */

struct flow {
    uint32_t function;
    LLVMValueRef fn;
    struct weft_map index; /* block -> index + 1 */
    LLVMBasicBlockRef *block;
    struct weft_state *in;
    uint32_t blocks, room;
};

static struct weft_state step(struct weft_races *r, struct weft_state s, LLVMValueRef i, struct weft_state *unwound) {
    if (s.held && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMPointerTypeKind)
        s.held = filter(r, s.held, not_of_value, i); /* in a loop, it is another value now */
    return weft__ir_is_call(i) ? call(r, s, i, unwound) : s;
}

static void open_flow(struct weft_races *r, struct flow *w, uint32_t function) {
    *w = (struct flow){.function = function, .fn = r->f->function[function].fn};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(w->fn); b; b = LLVMGetNextBasicBlock(b)) {
        WEFT_GROW(w->block, w->blocks, w->room);
        w->block[w->blocks++] = b;
        *weft__map_at(&w->index, weft__key(b)) = w->blocks;
    }
    w->in = weft__an_alloc(NULL, w->blocks, sizeof *w->in);
    memset(w->in, 0, w->blocks * sizeof *w->in);
}

static void close_flow(struct flow *w) {
    free(w->block), free(w->in);
    weft__map_fini(&w->index);
}

/* States at the beginning of each block, until nothing changes; then at the exits. */
static void run_flow(struct weft_races *r, struct flow *w, struct weft_state *exit, struct weft_state *unwind) {
    w->in[0] = (struct weft_state){.reached = 1};
    *exit = (struct weft_state){0};
    *unwind = (struct weft_state){.reached = 1};
    uint8_t *todo = weft__an_alloc(NULL, w->blocks, 1);
    memset(todo, 0, w->blocks);
    todo[0] = 1;
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t b = 0; b < w->blocks; b++) {
            if (!todo[b]) continue;
            todo[b] = 0;
            struct weft_state s = w->in[b], unwound = s;
            for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b]); i; i = LLVMGetNextInstruction(i))
                s = step(r, s, i, &unwound);
            LLVMValueRef end = LLVMGetBasicBlockTerminator(w->block[b]);
            for (unsigned k = 0, n = end ? LLVMGetNumSuccessors(end) : 0; k < n; k++) {
                uint32_t to = *weft__map_find(&w->index, weft__key(LLVMGetSuccessor(end, k))) - 1;
                struct weft_state was = w->in[to], now = meet(r, was, edge(r, s, unwound, end, k));
                if (equal(was, now)) continue;
                w->in[to] = now;
                todo[to] = 1;
                again = 1;
            }
        }
    }
    free(todo);
    for (uint32_t b = 0; b < w->blocks; b++) {
        struct weft_state s = w->in[b], unwound = s;
        if (!s.reached) continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b]); i; i = LLVMGetNextInstruction(i)) {
            s = step(r, s, i, &unwound);
            struct weft_state u = weft__ir_is_call(i) ? unwound : s;
            unwind->released = weft__released_either(r, unwind->released, u.released);
            unwind->started |= u.started;
            if (LLVMGetInstructionOpcode(i) == LLVMRet) *exit = meet(r, *exit, s);
        }
    }
    if (exit->reached) exit->held = filter(r, exit->held, means_something, w->fn);
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

/* The locks that guard an access at `address`, for callers of `fn`. */
static uint32_t guards(struct weft_races *r, uint32_t held, uint32_t address, LLVMValueRef fn) {
    uint32_t n, count = 0;
    const uint32_t *x = weft__lockset_get(r, held, &n);
    if (!n) return 0;
    uint32_t *lock = weft__an_alloc(NULL, 2 * n, sizeof *lock);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = x[i] >> 1;
        if (address && weft__address_same_root(r, a, address))
            lock[count++] =
                weft__address_delta(r, r->address[a].offset - r->address[address].offset) << 1 | (x[i] & 1);
        if (means_something(r, a, fn)) lock[count++] = x[i];
    }
    uint32_t set = weft__lockset_make(r, lock, count);
    free(lock);
    return set;
}

/* 1: the list has changed. */
static int add_guarded(struct weft_races *r, struct weft_summary *sum, struct weft_guarded g) {
    uint32_t *first = weft__map_at(&sum->first, (uint64_t)g.access + 1), variants = 0;
    for (uint32_t i = *first; i; i = sum->list[i - 1].next) {
        struct weft_guarded *o = &sum->list[i - 1];
        if (o->merged) {
            struct weft_guarded was = *o;
            o->held = weft__lockset_both(r, o->held, g.held);
            o->released = weft__released_either(r, o->released, g.released);
            o->started |= g.started, o->joined &= g.joined;
            if (was.held == o->held && was.released == o->released && was.started == o->started && was.joined == o->joined) return 0;
            o->changed = sum->changed = ++r->now;
            return 1;
        }
        if (o->address == g.address && o->node == g.node && o->offset == g.offset && o->held == g.held &&
            o->released == g.released && o->started == g.started && o->joined == g.joined)
            return 0;
        variants++;
    }
    if (variants == VARIANTS) {
        for (uint32_t i = *first; i; i = sum->list[i - 1].next) {
            g.held = weft__lockset_both(r, g.held, sum->list[i - 1].held);
            g.released = weft__released_either(r, g.released, sum->list[i - 1].released);
            g.started |= sum->list[i - 1].started, g.joined &= sum->list[i - 1].joined;
            sum->list[i - 1].access = UINT32_MAX; /* not there any more */
        }
        g.address = 0, g.node = r->access[g.access].node, g.offset = 0, g.merged = 1;
        *first = 0;
    }
    if (r->plan && ++r->entries > MAX_ENTRIES) r->gave_up = 1;
    WEFT_GROW(sum->list, sum->count, sum->room);
    g.changed = sum->changed = ++r->now;
    g.next = *first;
    sum->list[sum->count++] = g;
    *first = sum->count;
    return 1;
}

static int add_callees(struct weft_races *r, struct weft_summary *sum, LLVMValueRef fn, struct weft_state s,
                       const struct weft_call *c) {
    int changed = 0;
    for (uint32_t t = 0; t < c->targets; t++) {
        uint32_t to = r->f->target[c->target + t];
        if (to == r->f->node_unknown) continue;
        LLVMValueRef callee = r->f->function[to].fn, call = positional(c, callee) ? c->inst : NULL;
        const struct weft_summary *below = &r->summary[to];
        /* What has not changed since gives the same as it did. In the cycles of xz, that is nearly all. */
        uint32_t *looked = &r->looked[c->target + t], before = *looked;
        *looked = r->now;
        if (below->changed <= before) continue;
        for (uint32_t i = 0, n = below->count; i < n; i++) {
            if (below->list[i].access == UINT32_MAX || below->list[i].changed <= before) continue;
            struct weft_guarded g = below->list[i]; /* the list may be our own, and move */
            if (r->plan && ++r->work > MAX_WORK) {
                r->gave_up = 1;
                return changed;
            }
            int param = g.address ? weft__address_parameter(r, g.address, callee) : -1;
            int64_t offset = param >= 0 ? r->address[g.address].offset : 0;
            g.address = g.address ? weft__address_translate(r, g.address, call, callee) : 0;
            if (param >= 0 && g.address) {
                g.node = weft__points_find(r->p, node_of(r, LLVMGetArgOperand(c->inst, (unsigned)param)));
                g.offset = offset;
                if (!g.node) continue; /* NULL */
            }
            uint32_t held = weft__lockset_without(r, s.held, g.released);
            g.held = weft__lockset_either(r, translate(r, g.held, call, callee), guards(r, held, g.address, fn));
            g.released = weft__released_either(r, s.released, g.released);
            g.started = (s.started & ~g.joined) | g.started;
            g.joined |= s.joined;
            g.call = (uint32_t)(c - r->f->call) + 1;
            g.from = i;
            g.merged = 0;
            g.held = filter(r, g.held, means_something, fn);
            changed |= add_guarded(r, sum, g);
        }
    }
    return changed;
}

static int fill_list(struct weft_races *r, struct flow *w) {
    struct weft_summary *sum = &r->summary[w->function];
    int changed = 0;
    for (uint32_t b = 0; b < w->blocks; b++) {
        struct weft_state s = w->in[b], unwound = s;
        if (!s.reached) continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b]); i && s.reached; i = LLVMGetNextInstruction(i)) {
            uint32_t *at = weft__map_find(&r->access_at, weft__key(i));
            for (uint32_t k = at ? *at : 0; k; k = r->access[k - 1].next) {
                const struct weft_race_access *a = &r->access[k - 1];
                changed |= add_guarded(r, sum,
                                       (struct weft_guarded){.access = k - 1,
                                                             .address = a->address,
                                                             .node = a->node,
                                                             .held = a->unguarded ? 0 : guards(r, s.held, a->address, w->fn),
                                                             .released = a->unguarded ? WEFT_ALL : s.released,
                                                             .started = s.started,
                                                             .joined = s.joined});
            }
            uint32_t *c = weft__ir_is_call(i) ? weft__map_find(&r->f->call_of, weft__key(i)) : NULL;
            if (c) {
                struct weft_state at_call = s;
                start(r, &at_call, r->call_starts[*c - 1]);
                changed |= add_callees(r, sum, w->fn, at_call, &r->f->call[*c - 1]);
            }
            s = step(r, s, i, &unwound);
        }
    }
    return changed;
}

/* ---- all functions --------------------------------------------------------------------------------------------- */

static void component(struct weft_races *r, const uint32_t *member, uint32_t count, int cyclic) {
    struct flow *w = weft__an_alloc(NULL, count, sizeof *w);
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct weft_summary *sum = &r->summary[member[i]];
            struct weft_state exit, unwind;
            open_flow(r, &w[i], member[i]);
            run_flow(r, &w[i], &exit, &unwind);
            again |= cyclic && (!equal(exit, sum->exit) || !equal(unwind, sum->unwind));
            sum->exit = exit, sum->unwind = unwind;
            if (again || cyclic) close_flow(&w[i]);
        }
    }
    for (uint32_t i = 0; i < count && cyclic; i++) {
        struct weft_state exit, unwind;
        open_flow(r, &w[i], member[i]);
        run_flow(r, &w[i], &exit, &unwind);
    }
    for (uint32_t i = 0; i < count; i++)
        weft__fresh_find(r, member[i]);
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t i = 0; i < count; i++)
            again |= fill_list(r, &w[i]) && cyclic && !r->gave_up;
    }
    for (uint32_t i = 0; i < count; i++)
        close_flow(&w[i]);
    free(w);
}

void weft__summary_all(struct weft_races *r) {
    struct weft_facts *f = r->f;
    struct weft_graph g; /* without code outside, which would make one large cycle */
    find_accesses(r);
    r->summary = weft__an_alloc(NULL, f->functions + 1, sizeof *r->summary);
    memset(r->summary, 0, (f->functions + 1) * sizeof *r->summary);
    r->looked = weft__an_alloc(NULL, f->targets + 1, sizeof *r->looked);
    memset(r->looked, 0, (f->targets + 1) * sizeof *r->looked);
    weft__graph_init(&g, f->functions);
    for (size_t i = 0; i < f->calls; i++)
        for (uint32_t t = 0; t < f->call[i].targets; t++)
            if (f->target[f->call[i].target + t] != f->node_unknown)
                weft__graph_edge(&g, f->call[i].caller, f->target[f->call[i].target + t]);
    weft__graph_scc(&g);
    uint32_t *first = weft__an_alloc(NULL, g.scc_count + 2, sizeof *first), *member = weft__an_alloc(NULL, f->functions + 1, sizeof *member);
    memset(first, 0, (g.scc_count + 2) * sizeof *first);
    for (uint32_t i = 0; i < f->functions; i++)
        first[g.scc[i] + 2]++;
    for (uint32_t i = 2; i < g.scc_count + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < f->functions; i++)
        member[first[g.scc[i] + 1]++] = i;
    for (uint32_t c = 0; c < g.scc_count && !r->gave_up; c++) {
        uint32_t n = first[c + 1] - first[c];
        if (n && f->function[member[first[c]]].defined && f->threads.mask[member[first[c]]])
            component(r, member + first[c], n, g.cyclic[c]);
    }
    free(first), free(member);
    weft__graph_fini(&g);
}
