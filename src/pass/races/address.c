/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* When are two pointers surely the same? Points-to sets say what may be; locks need what must be.
 *
 * An address is a root and an offset. Roots that mean the same everywhere: an object that exists once (a variable, a
 * local of a function that runs once, what is allocated at a place that is passed once), and what is read from such an
 * address when nobody writes it any more after the first thread was started. Others mean something within one activation
 * of a function: its parameters and other SSA values; callers translate parameters into arguments.
 *
 * Two loads of the same memory are one root only if the memory is not written after the first thread was started, and
 * only for loads that come later (summary.c forgets locks that were named so when a thread is started). A local that
 * only loads and stores use, and that is stored to once, or just before, is what was stored: code that was not optimised
 * needs this. */
#include "races.h"

static uint32_t hash(const struct weft_address *a) {
    uint64_t h = ((uint64_t)a->kind << 56 ^ a->base) * 0x9e3779b97f4a7c15u;
    if (a->kind == WEFT_ROOT_VALUE) h ^= weft__key(a->value) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 29) ^ (uint64_t)a->offset) * 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32);
}

static int same(const struct weft_address *a, const struct weft_address *b) {
    return a->kind == b->kind && a->base == b->base && a->offset == b->offset &&
           (a->kind != WEFT_ROOT_VALUE || a->value == b->value);
}

static uint32_t intern(struct weft_races *r, struct weft_address a) {
    if (r->addresses >= r->buckets) {
        r->buckets = r->buckets ? 2 * r->buckets : 1024;
        r->bucket = weft__an_alloc(r->bucket, r->buckets, sizeof *r->bucket);
        memset(r->bucket, 0, r->buckets * sizeof *r->bucket);
        for (uint32_t i = 1; i < r->addresses; i++) {
            uint32_t *b = &r->bucket[hash(&r->address[i]) & (r->buckets - 1)];
            r->address[i].next = *b;
            *b = i;
        }
    }
    uint32_t *b = &r->bucket[hash(&a) & (r->buckets - 1)];
    for (uint32_t i = *b; i; i = r->address[i].next)
        if (same(&r->address[i], &a)) return i;
    WEFT_GROW(r->address, r->addresses, r->address_room);
    a.next = *b;
    r->address[r->addresses] = a;
    return *b = r->addresses++;
}

static void find_stores(struct weft_races *r, LLVMValueRef fn) {
    weft__local_find(r->f->td, fn, &r->locals);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (!LLVMIsAStoreInst(i)) continue;
            LLVMValueRef to = LLVMGetOperand(i, 1);
            if (!LLVMIsAAllocaInst(to)) continue;
            uint32_t *s = weft__map_at(&r->stored, weft__key(to));
            if (*s) {
                *s = UINT32_MAX;
                continue;
            }
            WEFT_GROW(r->store, r->stores, r->store_room);
            r->store[r->stores++] = i;
            *s = r->stores;
        }
}

void weft__address_init(struct weft_races *r) {
    r->address = weft__an_alloc(NULL, r->address_room = 1024, sizeof *r->address);
    r->addresses = 1;
    for (uint32_t i = 0; i < r->f->functions; i++)
        if (r->f->function[i].defined) find_stores(r, r->f->function[i].fn);
    for (size_t i = 0; i < r->p->made.room; i++)
        if (r->p->made.key[i])
            *weft__map_at(&r->shared_maker, r->p->location[r->p->made.value[i]].object + 1) = 1;
}

void weft__address_fini(struct weft_races *r) {
    free(r->address), free(r->bucket), free(r->store);
    weft__map_fini(&r->address_of);
    weft__map_fini(&r->locals);
    weft__map_fini(&r->stored);
    weft__map_fini(&r->shared_maker);
}

/* Is it loaded and stored as a whole, and nothing else? */
static int is_plain(struct weft_races *r, LLVMValueRef local) {
    if (!LLVMIsAAllocaInst(local) || !weft__map_find(&r->locals, weft__key(local))) return 0;
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || LLVMIsAStoreInst(user)) continue;
        const char *name = LLVMIsACallInst(user) ? weft__ir_name(weft__ir_callee(user)) : "";
        if (strncmp(name, "llvm.dbg.", 9) && strncmp(name, "llvm.lifetime.", 14)) return 0;
    }
    return 1;
}

/* The store comes first in every run that reads a value at all, and the local is not copied or cleared as a whole. */
LLVMValueRef weft__address_stored(struct weft_races *r, LLVMValueRef local) {
    if (!is_plain(r, local)) return NULL;
    uint32_t *s = weft__map_find(&r->stored, weft__key(local));
    if (!s || *s == UINT32_MAX) return NULL;
    LLVMValueRef store = r->store[*s - 1], value = LLVMGetOperand(store, 0);
    if (weft__threads_in_loop(store)) return NULL; /* not the same in every turn */
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) && LLVMTypeOf(user) != LLVMTypeOf(value)) return NULL;
    }
    return value;
}

/* What a load of such a local reads, by going back from it: the value stored last, or the first load of the same. Only as
 * far as there is one way to come; so all that is passed is of the same turn of every loop. */
static LLVMValueRef read_before(struct weft_races *r, LLVMValueRef load) {
    LLVMValueRef local = LLVMGetOperand(load, 0), found = load;
    if (!is_plain(r, local)) return load;
    LLVMBasicBlockRef b = LLVMGetInstructionParent(load);
    LLVMValueRef i = LLVMGetPreviousInstruction(load);
    for (int depth = 0; depth < 64; depth++) {
        for (; i; i = LLVMGetPreviousInstruction(i)) {
            if (LLVMIsALoadInst(i) && LLVMGetOperand(i, 0) == local && LLVMTypeOf(i) == LLVMTypeOf(load)) found = i;
            if (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == local)
                return LLVMTypeOf(LLVMGetOperand(i, 0)) == LLVMTypeOf(load) ? LLVMGetOperand(i, 0) : found;
        }
        LLVMBasicBlockRef only = NULL;
        for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(b)); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef t = LLVMGetUser(u);
            if (!LLVMIsAInstruction(t)) return found;
            if (!LLVMIsATerminatorInst(t)) continue; /* a phi */
            if (only && only != LLVMGetInstructionParent(t)) return found;
            only = LLVMGetInstructionParent(t);
        }
        if (!only) return found;
        b = only;
        i = LLVMGetLastInstruction(b);
    }
    return found;
}

static int is_late(const struct weft_races *r, LLVMValueRef inst) {
    uint32_t *f =
        weft__map_find(&r->f->function_of, weft__key(LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst))));
    return f && (r->f->threads.late[*f - 1] || weft__map_find(&r->f->threads.late_at, weft__key(inst)));
}

/* Is what this load reads the same in all its runs, and those of others, that come after the first thread? */
static int stable(const struct weft_races *r, LLVMValueRef load) {
    enum weft_why why = weft__facts_access(r->f, load, 0);
    return (why == WEFT_WHY_UNWRITTEN || why == WEFT_WHY_CONSTANT) && is_late(r, load);
}

uint32_t weft__address_of(struct weft_races *r, LLVMValueRef v) {
    uint32_t *known = weft__map_find(&r->address_of, weft__key(v));
    if (known) return *known;
    LLVMValueRef start = v, from;
    int64_t offset = 0, fixed;
    struct weft_gep_term terms[WEFT_GEP_TERMS];
    uint32_t a = 0;
    for (;;) {
        v = weft__ir_strip(v);
        if (LLVMIsABitCastInst(v) || LLVMIsAFreezeInst(v)) {
            v = LLVMGetOperand(v, 0);
        } else if ((LLVMIsAGetElementPtrInst(v) ||
                    (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr)) &&
                   weft__ir_gep(r->f->td, v, &fixed, terms) == 0) {
            offset += fixed;
            v = LLVMGetOperand(v, 0);
        } else if (LLVMIsALoadInst(v) &&
                   ((from = weft__address_stored(r, LLVMGetOperand(v, 0))) || (from = read_before(r, v)) != v)) {
            v = from;
        } else {
            break;
        }
    }
    if (LLVMIsALoadInst(v) && stable(r, v)) {
        uint32_t base = weft__address_of(r, LLVMGetOperand(v, 0));
        a = intern(r, (struct weft_address){WEFT_ROOT_LOAD, base, v, offset, 0});
    } else {
        uint32_t *o = LLVMIsAGlobalVariable(v) || LLVMIsAAllocaInst(v) ? weft__map_find(&r->p->of, weft__key(v)) : NULL;
        if (o && *o - 1 != r->p->constants && weft__object_unique(r, *o - 1))
            a = intern(r, (struct weft_address){WEFT_ROOT_OBJECT, *o - 1, NULL, offset, 0});
        else
            a = intern(r, (struct weft_address){WEFT_ROOT_VALUE, 0, v, offset, 0});
    }
    *weft__map_at(&r->address_of, weft__key(start)) = a;
    return a;
}

uint32_t weft__address_delta(struct weft_races *r, int64_t offset) {
    return intern(r, (struct weft_address){WEFT_ROOT_DELTA, 0, NULL, offset, 0});
}

uint32_t weft__address_move(struct weft_races *r, uint32_t a, int64_t offset) {
    struct weft_address b = r->address[a];
    b.offset += offset;
    return intern(r, b);
}

int weft__address_same_root(const struct weft_races *r, uint32_t a, uint32_t b) {
    const struct weft_address *x = &r->address[a], *y = &r->address[b];
    return x->kind == y->kind && x->base == y->base && (x->kind != WEFT_ROOT_VALUE || x->value == y->value);
}

int weft__address_absolute(const struct weft_races *r, uint32_t a) {
    while (r->address[a].kind == WEFT_ROOT_LOAD) a = r->address[a].base;
    return r->address[a].kind == WEFT_ROOT_OBJECT;
}

static int parameter_of(LLVMValueRef v, LLVMValueRef fn) {
    if (!LLVMIsAArgument(v) || LLVMGetParamParent(v) != fn) return -1;
    for (unsigned i = 0, n = LLVMCountParams(fn); i < n; i++)
        if (LLVMGetParam(fn, i) == v) return (int)i;
    return -1;
}

int weft__address_parameter(const struct weft_races *r, uint32_t a, LLVMValueRef fn) {
    return r->address[a].kind == WEFT_ROOT_VALUE ? parameter_of(r->address[a].value, fn) : -1;
}

uint32_t weft__address_translate(struct weft_races *r, uint32_t a, LLVMValueRef call, LLVMValueRef callee) {
    struct weft_address x = r->address[a];
    switch (x.kind) {
    case WEFT_ROOT_OBJECT:
    case WEFT_ROOT_DELTA:
        return a;
    case WEFT_ROOT_LOAD: {
        uint32_t base = weft__address_translate(r, x.base, call, callee);
        if (!base) return 0;
        x.base = base;
        return intern(r, x);
    }
    default: {
        int i = call ? parameter_of(x.value, callee) : -1;
        unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
        if (i < 0 || (unsigned)i >= LLVMGetNumArgOperands(call) ||
            LLVMGetEnumAttributeAtIndex(callee, (unsigned)i + 1, byval))
            return 0;
        LLVMValueRef arg = LLVMGetArgOperand(call, (unsigned)i);
        if (LLVMGetTypeKind(LLVMTypeOf(arg)) != LLVMPointerTypeKind) return 0;
        return weft__address_move(r, weft__address_of(r, arg), x.offset);
    }
    }
}

/* ---- objects ---- */

/* Made by a call that gives fresh memory to nobody but who called it. */
static int is_result(struct weft_races *r, uint32_t object) {
    const struct weft_object *o = &r->p->object[object];
    uint32_t *n = weft__map_find(&r->p->value, weft__key(o->value));
    if (!LLVMIsAInstruction(o->value) || !weft__ir_is_call(o->value) || !n || !*n) return 0;
    if (!LLVMIsAFunction(weft__ir_callee(o->value))) return 0;
    return !weft__map_find(&r->shared_maker, object + 1);
}

/* Is there never more than one of it at a time, and in fact ever? */
int weft__object_unique(struct weft_races *r, uint32_t object) {
    const struct weft_object *o = &r->p->object[object];
    if (o->kind == WEFT_OBJ_GLOBAL) return o->value != NULL;
    if (o->cloned || !o->value || !LLVMIsAInstruction(o->value)) return 0;
    if (o->kind == WEFT_OBJ_STACK ? !LLVMIsAAllocaInst(o->value)
                                  : o->kind != WEFT_OBJ_HEAP || !is_result(r, object))
        return 0;
    uint32_t *f = weft__map_find(&r->f->function_of,
                                 weft__key(LLVMGetBasicBlockParent(LLVMGetInstructionParent(o->value))));
    return f && r->f->threads.once[*f - 1] && !weft__threads_in_loop(o->value);
}

uint32_t weft__address_unique(struct weft_races *r, LLVMValueRef pointer) {
    uint32_t a = weft__address_of(r, pointer);
    if (r->address[a].kind == WEFT_ROOT_OBJECT) return a;
    uint32_t *n = weft__map_find(&r->p->value, weft__key(pointer));
    if (!n || !*n) return 0;
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, *n)].pts;
    if (weft__set_size(s) != 1) return 0;
    WEFT_SET_EACH(s, l) {
        const struct weft_location *at = &r->p->location[l];
        const struct weft_object *o = &r->p->object[at->object];
        if (at->hi != at->lo + 1 || o->stride || o->blurred || o->exposed || !weft__object_unique(r, at->object)) return 0;
        return intern(r, (struct weft_address){WEFT_ROOT_OBJECT, at->object, NULL, at->lo, 0});
    }
    return 0;
}

/* ---- may two be the same? ---- */

static int location_has(const struct weft_races *r, const struct weft_location *l, int64_t offset) {
    const struct weft_object *o = &r->p->object[l->object];
    if (l->hi != l->lo + 1 || o->blurred) return 1;
    if (o->stride) return ((l->lo - offset) % (int64_t)o->stride) == 0;
    return l->lo == offset;
}

int weft__address_meets(struct weft_races *r, uint32_t a, const struct weft_set *locations) {
    const struct weft_address *x = &r->address[a];
    if (x->kind == WEFT_ROOT_DELTA) return 0;
    if (x->kind == WEFT_ROOT_OBJECT) {
        int exposed = r->p->object[x->base].exposed;
        WEFT_SET_EACH(locations, l) {
            const struct weft_location *at = &r->p->location[l];
            if (r->p->object[at->object].kind == WEFT_OBJ_UNKNOWN && exposed) return 1;
            if (at->object == x->base && location_has(r, at, x->offset)) return 1;
        }
        return 0;
    }
    uint32_t *n = weft__map_find(&r->p->value, weft__key(x->value));
    if (!n || !*n) return locations->count != 0;
    const struct weft_set *s = &r->p->node[weft__points_find(r->p, *n)].pts;
    if (!s->count) return locations->count != 0;
    WEFT_SET_EACH(s, k) {
        const struct weft_location *mine = &r->p->location[k];
        int unknown = r->p->object[mine->object].kind == WEFT_OBJ_UNKNOWN;
        WEFT_SET_EACH(locations, l) {
            const struct weft_location *at = &r->p->location[l];
            const struct weft_object *o = &r->p->object[at->object];
            if (unknown && (o->exposed || o->kind == WEFT_OBJ_UNKNOWN)) return 1;
            if (o->kind == WEFT_OBJ_UNKNOWN && r->p->object[mine->object].exposed) return 1;
            if (at->object != mine->object) continue;
            if (mine->hi != mine->lo + 1 || location_has(r, at, mine->lo + x->offset)) return 1;
        }
    }
    return 0;
}
