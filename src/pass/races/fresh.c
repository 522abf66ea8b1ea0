/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Accesses to memory that nobody else can know of yet: what a function has just allocated, or a local of it, as long as
 * no instruction before can have passed the pointer on. Setting up an object before it is published takes no lock, and
 * without this it would race with everything that is done to objects of the same place later.
 *
 * A pointer is passed on by any use but these: an access through it, arithmetic with constants, a comparison, free, an
 * external function that only reads and writes there, a store into a local that only loads and stores use. Phis count as
 * passing on: what they hold may be older than the last allocation.
 *
 * Such an access comes before whatever other threads do to the object, if the way by which they got the pointer is ordered.
 * If it is not, that is a race of its own, and weft__pairs_find looks at the fresh accesses too. */
#include "races.h"

struct object {
    struct weft_races *r;
    LLVMValueRef value;       /* the allocation */
    struct weft_map captures; /* instruction -> 1 */
    LLVMValueRef *use;        /* accesses through it */
    size_t uses, use_room;
    int depth;
};

static int only_touches(LLVMValueRef call, LLVMValueRef v) {
    LLVMValueRef callee = weft__ir_callee(call);
    if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return 0;
    const char *name = weft__ir_name(callee);
    if (!strncmp(name, "llvm.dbg.", 9) || !strncmp(name, "llvm.lifetime.", 14) || !strncmp(name, "llvm.assume", 11)) return 1;
    const struct weft_external *ext = weft__external(name);
    if (!ext) return 0;
    for (unsigned a = 0, n = LLVMGetNumArgOperands(call); a < n; a++) {
        if (LLVMGetArgOperand(call, a) != v) continue;
        int seen = 0;
        for (unsigned i = 0; i < ext->count; i++) {
            const struct weft_effect *e = &ext->effect[i];
            int copied = e->kind == WEFT_EFF_COPY; /* what it points to, not the pointer */
            if (e->arg != (int)a) continue;
            if (e->kind != WEFT_EFF_READ && e->kind != WEFT_EFF_WRITE && e->kind != WEFT_EFF_FREE && !copied) return 0;
            seen = 1;
        }
        for (unsigned i = 0; i < ext->count; i++)
            if (ext->effect[i].arg2 == (int)a && ext->effect[i].kind != WEFT_EFF_READ &&
                ext->effect[i].kind != WEFT_EFF_WRITE && ext->effect[i].kind != WEFT_EFF_COPY)
                return 0;
        if (!seen) return 0;
    }
    return 1;
}

static void capture(struct object *o, LLVMValueRef inst) {
    *weft__map_at(&o->captures, weft__key(inst)) = 1;
}

static void follow(struct object *o, LLVMValueRef v) {
    if (++o->depth > 64) {
        capture(o, o->value);
        return;
    }
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAInstruction(i)) {
            capture(o, o->value);
            continue;
        }
        switch (LLVMGetInstructionOpcode(i)) {
        case LLVMGetElementPtr:
            if (LLVMGetOperand(i, 0) != v) {
                capture(o, i);
                break;
            }
            /* fallthrough */
        case LLVMBitCast:
        case LLVMFreeze:
            follow(o, i);
            break;
        case LLVMICmp:
            break;
        case LLVMLoad:
            WEFT_GROW(o->use, o->uses, o->use_room);
            o->use[o->uses++] = i;
            break;
        case LLVMStore: {
            if (LLVMGetOperand(i, 0) != v) {
                WEFT_GROW(o->use, o->uses, o->use_room);
                o->use[o->uses++] = i;
                break;
            }
            /* A local that is stored to once: its loads are this pointer. */
            LLVMValueRef local = LLVMGetOperand(i, 1);
            int known = 0;
            if (LLVMIsAAllocaInst(local) && weft__map_find(&o->r->locals, weft__key(local))) {
                known = 1;
                for (LLVMUseRef k = LLVMGetFirstUse(local); k && known; k = LLVMGetNextUse(k)) {
                    LLVMValueRef l = LLVMGetUser(k);
                    if (LLVMIsALoadInst(l)) known = weft__address_of(o->r, l) == weft__address_of(o->r, v);
                }
                for (LLVMUseRef k = LLVMGetFirstUse(local); k && known; k = LLVMGetNextUse(k))
                    if (LLVMIsALoadInst(LLVMGetUser(k))) follow(o, LLVMGetUser(k));
            }
            if (!known) capture(o, i);
            break;
        }
        case LLVMCall:
            if (!only_touches(i, v)) {
                capture(o, i);
            } else {
                WEFT_GROW(o->use, o->uses, o->use_room);
                o->use[o->uses++] = i;
            }
            break;
        default:
            capture(o, i);
        }
    }
    o->depth--;
}

/* Which uses no capture can come before. The allocation itself makes a new object: ways through it do not count. */
static void settle(struct object *o, struct weft_map *fresh) {
    LLVMBasicBlockRef home = LLVMGetInstructionParent(o->value), *stack = NULL;
    struct weft_map known = {0}; /* blocks at whose beginning others may know of it */
    size_t n = 0, room = 0;
    if (weft__map_find(&o->captures, weft__key(o->value))) return;
    for (size_t i = 0; i < o->captures.room; i++) {
        if (!o->captures.key[i]) continue;
        WEFT_GROW(stack, n, room);
        stack[n++] = LLVMGetInstructionParent((LLVMValueRef)(uintptr_t)o->captures.key[i]);
    }
    while (n) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(stack[--n]);
        for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k; i++) {
            LLVMBasicBlockRef b = LLVMGetSuccessor(end, i);
            uint32_t *seen = weft__map_at(&known, weft__key(b));
            if (b == home || (*seen)++) continue;
            WEFT_GROW(stack, n, room);
            stack[n++] = b;
        }
    }
    for (size_t i = 0; i < o->uses; i++) {
        LLVMBasicBlockRef b = LLVMGetInstructionParent(o->use[i]);
        int ok = b == home || !weft__map_find(&known, weft__key(b));
        for (LLVMValueRef k = o->use[i]; k && ok; k = LLVMGetPreviousInstruction(k)) {
            ok = !weft__map_find(&o->captures, weft__key(k));
            if (k == o->value) break;
        }
        if (ok) *weft__map_at(fresh, weft__key(o->use[i])) = 1;
    }
    free(stack);
    weft__map_fini(&known);
}

static int allocates(struct weft_races *r, LLVMValueRef i) {
    if (LLVMIsAAllocaInst(i)) return 1;
    if (!LLVMIsACallInst(i)) return 0;
    LLVMValueRef callee = weft__ir_callee(i);
    uint32_t *f = LLVMIsAFunction(callee) ? weft__map_find(&r->f->function_of, weft__key(callee)) : NULL;
    if (!f) return 0;
    if (r->f->function[*f - 1].defined) {
        uint32_t w = weft__build_find_wrapper(r->p, *f - 1);
        return w && !r->p->wrapper[w - 1].others;
    }
    const struct weft_external *ext = weft__external(weft__ir_name(callee));
    return ext && weft__external_has(ext, WEFT_EFF_FRESH) && !weft__external_has(ext, WEFT_EFF_INTO) &&
           !weft__external_has(ext, WEFT_EFF_GLOBAL) && strncmp(ext->name, "mmap", 4);
}

/* A call that touches two objects has to stay as it is. */
static int several_pointers(LLVMValueRef inst) {
    int n = 0;
    if (LLVMIsAStoreInst(inst) || LLVMIsALoadInst(inst)) return 0;
    for (unsigned a = 0; a < LLVMGetNumArgOperands(inst); a++)
        n += LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(inst, a))) == LLVMPointerTypeKind;
    return n > 1;
}

void weft__fresh_find(struct weft_races *r, uint32_t function) {
    LLVMValueRef fn = r->f->function[function].fn;
    if (weft__threads_jumped_to(fn)) return; /* back to before the pointer was passed on, and on another way from there */
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (!allocates(r, i)) continue;
            struct object o = {.r = r, .value = i};
            struct weft_map found = {0};
            follow(&o, i);
            settle(&o, &found);
            for (size_t k = 0; k < found.room; k++) {
                LLVMValueRef inst = (LLVMValueRef)(uintptr_t)found.key[k];
                uint32_t *at = inst && !several_pointers(inst) ? weft__map_find(&r->access_at, weft__key(inst)) : NULL;
                for (uint32_t a = at ? *at : 0; a; a = r->access[a - 1].next)
                    r->access[a - 1].fresh = 1;
            }
            free(o.use);
            weft__map_fini(&o.captures);
            weft__map_fini(&found);
        }
}
