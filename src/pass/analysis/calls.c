/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What does a call do with pointers, and what may code outside do with those that it got?
 *
 * Functions of the module get their arguments and give their result. What code outside does comes from the table of
 * externals; a function that is not in it gets hold of all its arguments (see `exposed`). Intrinsics have their own
 * rules where they touch memory, and else are arithmetic.
 *
 * Calls through pointers, callbacks and exposed objects are connected while the solver runs, by the weft__build_
 * functions at the end. What an allocator returns: weft__build_allocation. */
#define _GNU_SOURCE
#include "analysis.h"
#include <sys/mman.h>

static void add_pair(struct weft_points *p, uint32_t call, uint32_t target) {
    WEFT_GROW(p->pair, p->pairs, p->pair_room);
    p->pair[p->pairs++] = (uint64_t)call << 32 | target;
}

void weft__build_add_entry(struct weft_points *p, uint32_t function, uint32_t call, uint8_t effect) {
    WEFT_GROW(p->entry, p->entries, p->entry_room);
    p->entry[p->entries++] = (struct weft_entry){function, call, effect};
}

static uint32_t arg_of(struct weft_points *p, LLVMValueRef inst, int arg) {
    return arg >= 0 && (unsigned)arg < LLVMGetNumArgOperands(inst)
               ? weft__build_node(p, LLVMGetArgOperand(inst, (unsigned)arg))
               : 0;
}

static void add_callback(struct weft_points *p, uint32_t function, uint32_t call, uint8_t effect, uint32_t arg) {
    if (!function) return;
    WEFT_GROW(p->callback, p->callbacks, p->callback_room);
    p->callback[p->callbacks] = (struct weft_callback){call, effect, arg};
    weft__points_constrain(p, function, (struct weft_constraint){WEFT_C_CALLBACK, 0, p->callbacks++, 0, 0});
}

/* Bytes of an effect: known only if its arguments are constants. */
static int64_t effect_size(const struct weft_effect *e, LLVMValueRef inst) {
    if (e->size == WEFT_SIZE_CONSTANT) return (int64_t)e->constant;
    if (e->size != WEFT_SIZE_ARG) return WEFT_TO_END;
    uint64_t bytes = e->constant;
    const int8_t args[2] = {e->arg2, e->arg3};
    for (int i = 0; i < 2; i++) {
        if (args[i] < 0) continue;
        if ((unsigned)args[i] >= LLVMGetNumArgOperands(inst)) return WEFT_TO_END;
        LLVMValueRef a = LLVMGetArgOperand(inst, (unsigned)args[i]);
        if (!LLVMIsAConstantInt(a) || LLVMConstIntGetZExtValue(a) > (1u << 30)) return WEFT_TO_END;
        bytes *= LLVMConstIntGetZExtValue(a);
    }
    return bytes < (1u << 30) ? (int64_t)bytes : WEFT_TO_END;
}

/* memcpy: word by word if it is short, so that fields stay apart. */
static void build_copy(struct weft_points *p, uint32_t to, uint32_t from, int64_t size) {
    enum { WORDS = 64 };
    if (!to || !from) return;
    if (size >= 0 && size <= 8 * WORDS) {
        for (int64_t at = 0; at < size; at += 8) {
            uint32_t t = weft__points_new_node(p);
            int64_t n = size - at < 8 ? size - at : 8;
            weft__points_load(p, from, at, n, t);
            weft__points_store(p, to, at, n, t);
        }
        return;
    }
    uint32_t t = weft__points_new_node(p);
    weft__points_load(p, from, 0, size, t);
    weft__points_store(p, to, 0, size, t);
}

/* Whoever gets these arguments may do anything with them. */
static void give_all(struct weft_points *p, LLVMValueRef inst, uint32_t caller) {
    for (unsigned a = 0, n = LLVMGetNumArgOperands(inst); a < n; a++) {
        LLVMValueRef v = LLVMGetArgOperand(inst, a);
        uint32_t node = weft__build_node(p, v);
        weft__points_expose(p, node);
        if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind)
            weft__build_add_access(p, inst, (int)a, caller, node, WEFT_WHOLE, 1, 1, 0);
    }
}

/* Somebody we know nothing about is called, here. */
static void unknown_call(struct weft_points *p, uint32_t call) {
    struct weft_call *c = &p->facts->call[call];
    c->out = c->starts = c->exits = c->unknown = 1;
    add_pair(p, call, p->facts->node_unknown);
    give_all(p, c->inst, c->caller);
    if (weft__ir_is_word(LLVMTypeOf(c->inst))) weft__points_add(p, weft__build_node(p, c->inst), p->loc_unknown);
}

/* Where pointers to functions are mixed up, every call may reach every allocator; one object for each of them will do.
 */
static uint32_t made_by(struct weft_points *p, LLVMValueRef inst, const struct weft_external *ext) {
    uint32_t *l = weft__map_at(&p->made, weft__key(ext));
    if (!*l) *l = weft__build_heap_object(p, inst, -1, 0);
    return *l;
}

/* Of a size that is not known. */
static uint32_t some_memory(struct weft_points *p, LLVMValueRef inst, const struct weft_external *ext, int direct) {
    return direct ? weft__build_heap_object(p, inst, -1, 0) : made_by(p, inst, ext);
}

/* Memory that mmap may give to other processes too: not with MAP_PRIVATE. */
static int may_share(LLVMValueRef inst, const char *name) {
    if (strcmp(name, "mmap") && strcmp(name, "mmap64")) return 0;
    LLVMValueRef flags = LLVMGetNumArgOperands(inst) > 3 ? LLVMGetArgOperand(inst, 3) : NULL;
    return !flags || !LLVMIsAConstantInt(flags) || (LLVMConstIntGetZExtValue(flags) & MAP_TYPE) != MAP_PRIVATE;
}

/* Takes a format and a va_list. */
static int is_format(const struct weft_external *ext) {
    return ext->name[0] == 'v' || strstr(ext->name, "_v") != NULL;
}

/* What the table says. `call` is UINT32_MAX for intrinsics. */
static void build_external(struct weft_points *p, uint32_t call, LLVMValueRef inst, uint32_t caller,
                           const struct weft_external *ext, unsigned fixed, int direct) {
    struct weft_call *c = call == UINT32_MAX ? NULL : &p->facts->call[call];
    uint32_t result = weft__ir_holds(LLVMTypeOf(inst)) ? weft__build_node(p, inst) : 0;
    uint32_t touched = 0, reached = 0, given = 0, fresh = 0;
    int64_t limit = WEFT_WHOLE;
    unsigned args = LLVMGetNumArgOperands(inst);
    int input = weft__external_has(ext, WEFT_EFF_INPUT), output = weft__external_has(ext, WEFT_EFF_OUTPUT);
    int returns = 0, scans = strstr(ext->name, "scanf") != NULL;

    if (c) c->resolved = 1;
    if (c && ext->class == WEFT_EXT_OUT) c->out = 1;
    for (unsigned i = 0; i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        if (e->kind == WEFT_EFF_TOUCH) {
            if (!touched) touched = weft__points_new_node(p);
            weft__points_copy(p, arg_of(p, inst, e->arg), touched);
            if (e->size == WEFT_SIZE_CONSTANT) limit = (int64_t)e->constant;
        } else if (e->kind == WEFT_EFF_REACH) {
            if (!reached) reached = weft__points_new_node(p);
            weft__points_copy(p, arg_of(p, inst, e->arg), reached);
        } else if (e->kind == WEFT_EFF_FRESH && result) {
            int64_t size;
            uint32_t stride;
            weft__build_allocation_shape(inst, ext->name, &size, &stride);
            fresh = direct ? weft__build_heap_object(p, inst, size, stride) : made_by(p, inst, ext);
        }
    }
    if (touched) {
        weft__points_load(p, touched, 0, limit, touched);
        weft__points_store(p, touched, 0, limit, touched);
        if (limit == WEFT_WHOLE) weft__points_add(p, touched, some_memory(p, inst, ext, direct));
        if (weft__external_calls_found(ext)) add_callback(p, touched, call, WEFT_EFF_TOUCH, touched);
        if (input || (p->percent_p && scans)) weft__points_copy(p, p->io, touched);
        if (output) weft__points_copy(p, touched, p->io);
    }
    if (reached) {
        weft__points_load(p, reached, 0, WEFT_WHOLE, reached);
        if (output || (p->percent_p && is_format(ext))) weft__points_copy(p, reached, p->io);
    }
    for (unsigned i = 0; i < ext->count; i++) {
        const struct weft_effect *e = &ext->effect[i];
        uint32_t a = arg_of(p, inst, e->arg);
        switch (e->kind) {
        case WEFT_EFF_READ:
            weft__build_add_access(p, inst, e->arg, caller, a, effect_size(e, inst), 1, 0, 0);
            if (output && a) weft__points_load(p, a, 0, effect_size(e, inst), p->io);
            break;
        case WEFT_EFF_WRITE:
            weft__build_add_access(p, inst, e->arg, caller, a, effect_size(e, inst), 0, 1, 0);
            if (input && a) weft__points_store(p, a, 0, effect_size(e, inst), p->io);
            break;
        case WEFT_EFF_TOUCH:
            if (a) weft__build_add_access(p, inst, e->arg, caller, touched, limit, 1, 1, 1);
            break;
        case WEFT_EFF_ALONE:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_copy(p, a, t);
                weft__points_load(p, t, 0, WEFT_WHOLE, t);
                weft__points_store(p, t, 0, WEFT_WHOLE, t);
                weft__points_add(p, t, some_memory(p, inst, ext, direct));
                weft__build_add_access(p, inst, e->arg, caller, t, WEFT_WHOLE, 1, 1, 1);
            }
            break;
        case WEFT_EFF_REACH:
            if (a) weft__build_add_access(p, inst, e->arg, caller, reached, WEFT_WHOLE, 1, p->percent_n && is_format(ext), 1);
            break;
        case WEFT_EFF_COPY: {
            int64_t size = WEFT_TO_END;
            for (unsigned k = 0; k < ext->count; k++)
                if (ext->effect[k].kind == WEFT_EFF_WRITE && ext->effect[k].arg == e->arg)
                    size = effect_size(&ext->effect[k], inst);
            uint32_t to = a;
            if (fresh && e->arg == e->arg2) { /* realloc */
                to = weft__points_new_node(p);
                weft__points_add(p, to, fresh);
            }
            build_copy(p, to, arg_of(p, inst, e->arg2), e->arg == e->arg2 ? WEFT_TO_END : size);
            break;
        }
        case WEFT_EFF_KEEP:
            weft__points_expose(p, a);
            break;
        case WEFT_EFF_INTO:
            returns = 1;
            if (!result || !a) break;
            if (touched) weft__points_copy(p, touched, result);
            if (ext->class == WEFT_EXT_PURE && !weft__external_has(ext, WEFT_EFF_READ) &&
                !weft__external_has(ext, WEFT_EFF_WRITE))
                weft__points_copy(p, a, result);
            else
                weft__points_blur(p, a, result);
            break;
        case WEFT_EFF_FRESH:
            returns = 1;
            if (!result) break;
            weft__points_add(p, result, fresh);
            weft__build_born(p, inst, caller, fresh);
            if (may_share(inst, ext->name)) weft__points_add(p, result, p->loc_unknown);
            break;
        case WEFT_EFF_GLOBAL:
            returns = 1;
            if (result) weft__points_add(p, result, p->loc_unknown);
            break;
        case WEFT_EFF_ERRNO:
        case WEFT_EFF_CTYPE:
            returns = 1;
            if (result) weft__points_add(p, result, e->kind == WEFT_EFF_ERRNO ? p->loc_errno : p->loc_ctype);
            break;
        case WEFT_EFF_CALL:
            if (!given) {
                given = weft__points_new_node(p);
                for (unsigned k = 0; k < args; k++)
                    if ((int)k != e->arg) weft__points_blur(p, arg_of(p, inst, (int)k), given);
                if (touched) weft__points_copy(p, touched, given);
            }
            add_callback(p, a, call, WEFT_EFF_CALL, given);
            break;
        case WEFT_EFF_LATER:
        case WEFT_EFF_ATEXIT:
            add_callback(p, a, call, e->kind, arg_of(p, inst, e->arg2));
            break;
        case WEFT_EFF_HANDLER:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_load(p, a, 0, 8, t);
                add_callback(p, t, call, WEFT_EFF_LATER, 0);
            }
            break;
        case WEFT_EFF_THREAD:
            weft__points_copy(p, arg_of(p, inst, e->arg2), p->thread_arg);
            add_callback(p, a, call, e->kind, arg_of(p, inst, e->arg2));
            if (c) c->starts = 1;
            break;
        case WEFT_EFF_STARTS:
            if (c) c->starts = 1;
            break;
        case WEFT_EFF_EXIT:
        case WEFT_EFF_RUNS:
            if (c) {
                c->exits |= e->kind == WEFT_EFF_EXIT;
                add_pair(p, call, p->facts->node_unknown);
            }
            break;
        case WEFT_EFF_NORETURN:
            returns = 1;
            break;
        case WEFT_EFF_VARREAD:
        case WEFT_EFF_VARWRITE:
            for (unsigned k = fixed; k < args; k++) {
                LLVMValueRef v = LLVMGetArgOperand(inst, k);
                if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind || !weft__build_node(p, v)) continue;
                weft__build_add_access(p, inst, (int)k, caller, weft__build_node(p, v), WEFT_TO_END, 1,
                                       e->kind == WEFT_EFF_VARWRITE || p->percent_n, 0);
                if (p->percent_p && !scans) weft__points_copy(p, weft__build_node(p, v), p->io);
                if (e->kind == WEFT_EFF_VARWRITE && scans) { /* %ms */
                    uint32_t t = weft__points_new_node(p);
                    weft__points_add(p, t, some_memory(p, inst, ext, direct));
                    if (p->percent_p) weft__points_copy(p, p->io, t);
                    weft__points_store(p, weft__build_node(p, v), 0, 8, t);
                }
            }
            break;
        case WEFT_EFF_MAKES:
        case WEFT_EFF_LIBPTR:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_add(p, t, e->kind == WEFT_EFF_LIBPTR ? p->loc_unknown : some_memory(p, inst, ext, direct));
                weft__points_store(p, a, 0, e->kind == WEFT_EFF_MAKES ? 8 : WEFT_TO_END, t);
                if (e->kind == WEFT_EFF_MAKES)
                    weft__build_add_access(p, inst, WEFT_NOT_ASKED, caller, t, WEFT_WHOLE, 0, 1, 0);
            }
            break;
        case WEFT_EFF_POINTS:
            if (a) {
                uint32_t t = weft__points_new_node(p);
                weft__points_blur(p, arg_of(p, inst, e->arg2), t);
                weft__points_store(p, a, 0, 8, t);
            }
            break;
        case WEFT_EFF_SETOWN:
            if (a) weft__points_copy(p, a, weft__points_contents(p, p->own, 0, WEFT_FAR, 1));
            break;
        case WEFT_EFF_GETOWN:
            returns = 1;
            if (result) weft__points_copy(p, weft__points_contents(p, p->own, 0, WEFT_FAR, 0), result);
            break;
        case WEFT_EFF_ENDOWN:
            add_callback(p, a, call, WEFT_EFF_LATER, weft__points_contents(p, p->own, 0, WEFT_FAR, 0));
            weft__points_constrain(p, arg_of(p, inst, 0), (struct weft_constraint){.kind = WEFT_C_KEY});
            break;
        case WEFT_EFF_THROW:
            weft__points_copy(p, a, p->thrown);
            break;
        case WEFT_EFF_JOIN:
            weft__points_store(p, a, 0, 8, p->results);
            break;
        case WEFT_EFF_RESULT:
            weft__points_copy(p, a, p->results);
            if (c) c->leaves = 1;
            break;
        default:
            break;
        }
    }
    /* An entry that forgot to say what it returns. */
    if (!returns && result && LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind)
        weft__points_add(p, result, p->loc_unknown);
}

/* Through a pointer, a call is linked to functions of other types, too (programs do that), but a pointer does not
 * become an integer on the way. */
static int passes(LLVMTypeRef from, LLVMTypeRef to) {
    return (LLVMGetTypeKind(from) == LLVMPointerTypeKind) == (LLVMGetTypeKind(to) == LLVMPointerTypeKind) &&
           (weft__ir_is_word(to) || !weft__ir_is_word(from));
}

static void link_call(struct weft_points *p, uint32_t call, uint32_t function, int direct) {
    struct weft_facts *f = p->facts;
    LLVMValueRef inst = f->call[call].inst, fn = f->function[function].fn;
    unsigned args = LLVMGetNumArgOperands(inst), params = LLVMCountParams(fn);
    for (unsigned a = 0; a < args; a++) {
        uint32_t from = weft__build_node(p, LLVMGetArgOperand(inst, a));
        if (!from) continue;
        if (a < params) {
            uint32_t to = weft__build_node(p, LLVMGetParam(fn, a));
            uint32_t *copy = weft__map_find(&p->byval, weft__key(LLVMGetParam(fn, a)));
            if (copy) { /* the callee gets a copy of its own */
                uint32_t t = weft__points_new_node(p);
                weft__points_add(p, t, *copy);
                build_copy(p, t, from, p->object[p->location[*copy].object].size);
            } else if (to &&
                       (direct || passes(LLVMTypeOf(LLVMGetArgOperand(inst, a)), LLVMTypeOf(LLVMGetParam(fn, a))))) {
                weft__points_copy(p, from, to);
            }
        } else if (p->va[function]) {
            weft__points_copy(p, from, weft__points_contents(p, p->va[function] - 1, 0, WEFT_FAR, 1));
        }
    }
    uint32_t result = weft__build_node(p, inst), w = direct && result ? weft__build_find_wrapper(p, function) : 0;
    if (w)
        weft__build_allocation(p, inst, f->call[call].caller, &p->wrapper[w - 1]);
    else if (result && p->ret[function] &&
             (direct || passes(LLVMGetReturnType(LLVMGlobalGetValueType(fn)), LLVMTypeOf(inst))))
        weft__points_copy(p, p->ret[function], result);
}

static int preemptible(const struct weft_facts *f, LLVMValueRef fn) {
    return f->opt.shared_library && !weft__ir_is_local(fn) && LLVMGetVisibility(fn) == LLVMDefaultVisibility;
}

/* `call` reaches `fn`, which is a function. Once per pair. */
static void reach(struct weft_points *p, uint32_t call, LLVMValueRef fn, int direct) {
    struct weft_facts *f = p->facts;
    uint32_t *known = weft__map_find(&f->function_of, weft__key(fn));
    LLVMValueRef inst = f->call[call].inst;
    if (!known) { /* an intrinsic cannot be called through a pointer */
        return;
    }
    uint32_t function = *known - 1;
    const char *name = weft__ir_name(fn);
    if (f->function[function].defined) {
        add_pair(p, call, function);
        link_call(p, call, function, direct);
        if (preemptible(f, fn)) unknown_call(p, call);
        return;
    }
    if (weft__facts_is_runtime(name)) return;
    const struct weft_external *ext = weft__external(name);
    if (strstr(name, "current_exception") || strstr(name, "exception_ptr"))
        weft__points_expose(p, p->thrown); /* it can be thrown again on another thread */
    if (!ext) {
        int was = f->call[call].out, ordered = weft__external_ordered(name);
        if (!ordered) weft__facts_note_unknown(f, name);
        unknown_call(p, call);
        if (ordered) f->call[call].out = was;
        return;
    }
    build_external(p, call, inst, f->call[call].caller, ext, LLVMCountParams(fn), direct);
    if (!direct && ext->class == WEFT_EXT_RENAME) f->call[call].out = 1; /* the real one runs, which takes no memory */
}

void weft__build_call(struct weft_points *p, LLVMValueRef inst, uint32_t caller) {
    uint32_t *known = weft__map_find(&p->facts->call_of, weft__key(inst));
    LLVMValueRef callee = weft__ir_callee(inst);
    WEFT_CHECK(known);
    uint32_t call = *known - 1;
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    for (unsigned a = 0, n = LLVMGetNumArgOperands(inst); a < n; a++) {
        LLVMAttributeRef attr = LLVMGetCallSiteEnumAttribute(inst, a + 1, byval);
        if (attr)
            weft__build_add_access(p, inst, (int)a, caller, weft__build_node(p, LLVMGetArgOperand(inst, a)),
                                   weft__ir_size_of(p->facts->td, LLVMGetTypeAttributeValue(attr)), 1, 0, 0);
    }
    if (LLVMIsAInlineAsm(callee)) {
        /* Anything may happen to its operands. It is taken not to start threads and not to call back. */
        uint32_t result = weft__build_node(p, inst);
        give_all(p, inst, caller);
        if (result && weft__ir_is_word(LLVMTypeOf(inst))) weft__points_add(p, result, p->loc_unknown);
        return;
    }
    if (LLVMIsAFunction(callee)) {
        reach(p, call, callee, 1);
        return;
    }
    weft__points_constrain(p, weft__build_node(p, callee), (struct weft_constraint){WEFT_C_CALL, 0, call, 0, 0});
}

static int starts_with(const char *s, const char *prefix) {
    return !strncmp(s, prefix, strlen(prefix));
}

void weft__build_intrinsic(struct weft_points *p, LLVMValueRef inst, LLVMValueRef fn, uint32_t caller) {
    const char *name = weft__ir_name(fn) + 5; /* llvm. */
    uint32_t result = weft__ir_holds(LLVMTypeOf(inst)) ? weft__build_node(p, inst) : 0;
    unsigned args = LLVMGetNumArgOperands(inst);
    if (starts_with(name, "dbg.") || starts_with(name, "lifetime.") || starts_with(name, "assume") ||
        starts_with(name, "prefetch"))
        return;
    if (starts_with(name, "va_start")) {
        uint32_t t = weft__points_new_node(p);
        if (p->va[caller]) weft__points_add(p, t, weft__points_location(p, p->va[caller] - 1, -WEFT_FAR, WEFT_FAR));
        weft__points_store(p, arg_of(p, inst, 0), 0, 24, t);
        weft__build_add_access(p, inst, 0, caller, arg_of(p, inst, 0), 24, 0, 1, 0);
        return;
    }
    if (starts_with(name, "masked.load") || starts_with(name, "masked.gather") ||
        starts_with(name, "masked.expandload") || starts_with(name, "vp.load") || starts_with(name, "vp.gather")) {
        int64_t size = strstr(name, "gather") ? weft__ir_size_of(p->facts->td, LLVMGetElementType(LLVMTypeOf(inst)))
                                              : weft__ir_size_of(p->facts->td, LLVMTypeOf(inst));
        if (result) weft__points_load(p, arg_of(p, inst, 0), 0, size, result);
        weft__build_add_access(p, inst, 0, caller, arg_of(p, inst, 0), size, 1, 0, 0);
        return;
    }
    if (starts_with(name, "masked.store") || starts_with(name, "masked.scatter") ||
        starts_with(name, "masked.compressstore") || starts_with(name, "vp.store") || starts_with(name, "vp.scatter")) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetArgOperand(inst, 0));
        int64_t size = strstr(name, "scatter") ? weft__ir_size_of(p->facts->td, LLVMGetElementType(type))
                                               : weft__ir_size_of(p->facts->td, type);
        weft__points_store(p, arg_of(p, inst, 1), 0, size, arg_of(p, inst, 0));
        weft__build_add_access(p, inst, 1, caller, arg_of(p, inst, 1), size, 0, 1, 0);
        return;
    }
    if (starts_with(name, "ptrmask")) {
        struct weft_gep g = {.fixed = -4096, .part = {{1, 4097, 0}}};
        if (result && arg_of(p, inst, 0)) weft__points_shift(p, arg_of(p, inst, 0), g, result);
        return;
    }
    if (starts_with(name, "x86.")) { /* loads, stores, gathers of vectors: anything between memory and values */
        for (unsigned a = 0; a < args; a++) {
            LLVMTypeRef type = LLVMTypeOf(LLVMGetArgOperand(inst, a));
            while (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
                type = LLVMGetElementType(type);
            if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
                uint32_t at = arg_of(p, inst, (int)a);
                if (result) weft__points_load(p, at, 0, WEFT_WHOLE, result);
                for (unsigned b = 0; b < args; b++)
                    if (b != a) weft__points_store(p, at, 0, WEFT_WHOLE, arg_of(p, inst, (int)b));
                weft__build_add_access(p, inst, (int)a, caller, at, WEFT_WHOLE, 1, 1, 0);
            }
            if (result) weft__points_blur(p, arg_of(p, inst, (int)a), result);
        }
        return;
    }
    const struct weft_external *ext = weft__external(weft__ir_name(fn));
    int pointers = LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind;
    for (unsigned a = 0; a < args; a++)
        pointers |= LLVMGetTypeKind(LLVMTypeOf(LLVMGetArgOperand(inst, a))) == LLVMPointerTypeKind;
    if (!ext && pointers) { /* an intrinsic we have not met: it takes and gives what it wants */
        weft__facts_note_unknown(p->facts, weft__ir_name(fn));
        give_all(p, inst, caller);
        if (result) weft__points_add(p, result, p->loc_unknown);
        return;
    }
    if (ext) build_external(p, UINT32_MAX, inst, caller, ext, args, 1);
    if (!result || LLVMGetTypeKind(LLVMTypeOf(inst)) == LLVMPointerTypeKind || starts_with(name, "objectsize") ||
        starts_with(name, "ct") || starts_with(name, "is.") || starts_with(name, "type.") || starts_with(name, "eh."))
        return;
    for (unsigned a = 0; a < args; a++) /* min, max, shifts, saturating arithmetic, reductions, ... */
        weft__points_blur(p, arg_of(p, inst, (int)a), result);
}

/* ---- while the solver runs ------------------------------------------------------------------------------------- */

/* 1 the first time. Kinds of keys: calls, callbacks. */
static int first_time(struct weft_points *p, uint64_t key) {
    uint32_t *seen = weft__map_at(&p->resolved, key);
    return !(*seen)++;
}

void weft__build_target(struct weft_points *p, uint32_t call, uint32_t object) {
    if (!first_time(p, ((uint64_t)call << 32 | object) + 1)) return;
    if (p->object[object].kind == WEFT_OBJ_UNKNOWN)
        unknown_call(p, call);
    else if (p->object[object].kind == WEFT_OBJ_FUNCTION)
        reach(p, call, p->object[object].value, 0);
}

void weft__build_callback(struct weft_points *p, const struct weft_callback *callback, uint32_t object) {
    struct weft_callback cb = *callback; /* the array may move */
    uint64_t which = (uint64_t)(callback - p->callback);
    struct weft_facts *f = p->facts;
    uint8_t kind = p->object[object].kind;
    if ((kind != WEFT_OBJ_UNKNOWN && kind != WEFT_OBJ_FUNCTION) ||
        !first_time(p, (1ull << 63 | which << 32 | object) + 1))
        return;
    int now = cb.effect == WEFT_EFF_CALL || cb.effect == WEFT_EFF_TOUCH;
    uint32_t function = kind == WEFT_OBJ_FUNCTION ? p->object[object].function : UINT32_MAX;
    if (function == UINT32_MAX || !f->function[function].defined) {
        /* Code outside calls code outside. Entries of the table that only read are common (comparators) and harmless.
         */
        const struct weft_external *ext =
            function == UINT32_MAX ? NULL : weft__external(weft__ir_name(f->function[function].fn));
        int harmless = ext != NULL;
        for (unsigned i = 0; ext && i < ext->count; i++)
            harmless &= ext->effect[i].kind == WEFT_EFF_READ || ext->effect[i].kind == WEFT_EFF_FREE;
        if (harmless) {
            if (cb.call != UINT32_MAX)
                weft__build_add_access(p, f->call[cb.call].inst, 0, f->call[cb.call].caller, cb.arg, WEFT_WHOLE, 1, 0,
                                       0);
            return;
        }
        weft__points_expose(p, cb.arg);
        if (now && cb.call != UINT32_MAX) {
            f->call[cb.call].starts = 1;
            add_pair(p, cb.call, f->node_unknown);
        }
        return;
    }
    weft__build_add_entry(p, function, cb.call, cb.effect);
    if (now && cb.call != UINT32_MAX) add_pair(p, cb.call, function);
    LLVMValueRef fn = f->function[function].fn;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++) {
        uint32_t to = weft__build_node(p, LLVMGetParam(fn, a));
        if (!to) continue;
        if (cb.arg) weft__points_copy(p, cb.arg, to);
        if ((cb.effect == WEFT_EFF_TOUCH || (cb.effect == WEFT_EFF_LATER && !cb.arg)) &&
            weft__ir_is_word(LLVMTypeOf(LLVMGetParam(fn, a))))
            weft__points_add(p, to, p->loc_unknown);
    }
    if (!p->ret[function]) return;
    if (cb.effect == WEFT_EFF_THREAD)
        weft__points_copy(p, p->ret[function], p->results);
    else if (cb.effect == WEFT_EFF_TOUCH)
        weft__points_copy(p, p->ret[function], cb.arg);
}

void weft__build_exposed(struct weft_points *p, uint32_t object) {
    struct weft_object *o = &p->object[object];
    if (o->kind == WEFT_OBJ_UNKNOWN || o->kind == WEFT_OBJ_DIFFERENCE) return;
    if (o->kind != WEFT_OBJ_FUNCTION) {
        int64_t end = o->stride ? o->stride : o->size >= 0 ? o->size : WEFT_FAR;
        if (end == 0) return;
        int constant = o->constant;
        if (o->key) weft__points_copy(p, weft__points_contents(p, p->own, 0, WEFT_FAR, 0), p->exposed);
        weft__points_copy(p, weft__points_contents(p, object, 0, end, 0), p->exposed);
        /* Memory of others that is read-only for us still holds whatever they put there. */
        if (!constant || (o->value && LLVMIsAGlobalVariable(o->value) && LLVMIsDeclaration(o->value)))
            weft__points_add(p, weft__points_contents(p, object, 0, end, 1), p->loc_unknown);
        return;
    }
    uint32_t function = o->function;
    if (function == UINT32_MAX || !p->facts->function[function].defined) return;
    LLVMValueRef fn = p->facts->function[function].fn;
    for (unsigned a = 0, n = LLVMCountParams(fn); a < n; a++)
        if (weft__ir_is_word(LLVMTypeOf(LLVMGetParam(fn, a))))
            weft__points_add(p, weft__build_node(p, LLVMGetParam(fn, a)), p->loc_unknown);
    if (p->va[function])
        weft__points_add(p, weft__points_contents(p, p->va[function] - 1, 0, WEFT_FAR, 1), p->loc_unknown);
    if (p->ret[function]) weft__points_copy(p, p->ret[function], p->exposed);
}
