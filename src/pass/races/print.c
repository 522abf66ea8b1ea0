/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The answer as text, for `weft races` (src/races/answer.c reads it). One record per line, fields apart by tabs:
 *
 *   weft-races 1
 *   counts  ACCESSES RACY ATOMIC RACES
 *   site    KIND FUNCTION FILE LINE COLUMN        numbered from 0 in this order; KIND: r w (read, write), R W (atomic), f (free)
 *   class   THREAD LOCKS SITE:CALLS ...           CALLS: FUNCTION@FILE:LINE, outermost first, joined by >
 *   race    VARIABLE CLASS CLASS                  every site of the one with every site of the other */
#include "races.h"
#include <llvm-c/DebugInfo.h>
#include <stdarg.h>

struct text {
    char *s;
    size_t n, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...) {
    va_list ap;
    for (;;) {
        va_start(ap, fmt);
        int n = vsnprintf(t->s + t->n, t->room - t->n, fmt, ap);
        va_end(ap);
        if (n >= 0 && t->n + (size_t)n < t->room) {
            t->n += (size_t)n;
            return;
        }
        t->s = weft__an_alloc(t->s, t->room = 2 * t->room + (size_t)n + 1, 1);
    }
}

/* ---- debug information ----------------------------------------------------------------------------------------- */

/* The source function that an instruction came from, inlined or not. */
static const char *function_name(struct weft_races *r, LLVMMetadataRef location, unsigned *length) {
    LLVMMetadataRef scope = location ? LLVMDILocationGetScope(location) : NULL;
    for (int depth = 0; scope && depth < 64; depth++) {
        LLVMMetadataKind k = LLVMGetMetadataKind(scope);
        if (k == LLVMDISubprogramMetadataKind) {
            return weft__name_string(r, scope, 2, length);
        }
        int block = k == LLVMDILexicalBlockMetadataKind || k == LLVMDILexicalBlockFileMetadataKind;
        scope = block ? weft__name_operand(r, scope, 1) : NULL;
    }
    return NULL;
}

static void put_function(struct weft_races *r, struct text *t, LLVMValueRef inst, LLVMMetadataRef location) {
    unsigned n = 0;
    const char *name = function_name(r, location, &n);
    if (name)
        put(t, "%.*s", (int)n, name);
    else
        put(t, "%s", weft__ir_name(LLVMGetBasicBlockParent(LLVMGetInstructionParent(inst))));
}

static void put_file(struct text *t, LLVMMetadataRef location) {
    LLVMMetadataRef scope = location ? LLVMDILocationGetScope(location) : NULL;
    LLVMMetadataRef file = scope ? LLVMDIScopeGetFile(scope) : NULL;
    unsigned n = 0;
    const char *name = file ? LLVMDIFileGetFilename(file, &n) : NULL;
    put(t, "%.*s", (int)(name ? n : 1), name ? name : "?");
}

static void put_line(struct text *t, LLVMMetadataRef location) {
    put_file(t, location);
    put(t, ":%u", location ? LLVMDILocationGetLine(location) : 0);
}

/* Where the code of an instruction was inlined to, outermost first. */
static void put_inlined(struct weft_races *r, struct text *t, LLVMValueRef inst, LLVMMetadataRef location) {
    LLVMMetadataRef at = location ? LLVMDILocationGetInlinedAt(location) : NULL;
    if (!at) return;
    put_inlined(r, t, inst, at);
    put_function(r, t, inst, at);
    put(t, "@");
    put_line(t, at);
    put(t, ">");
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void put_offset(struct text *t, int64_t lo) {
    if (lo && lo < WEFT_FAR) put(t, "+%lld", (long long)lo);
}

static void put_object(struct weft_races *r, struct text *t, uint32_t object, int64_t lo) {
    const struct weft_object *o = &r->p->object[object];
    char name[512];
    switch (o->kind) {
    case WEFT_OBJ_GLOBAL:
    case WEFT_OBJ_TLS:
        if (o->value && lo >= 0 && lo < WEFT_FAR && weft__name_variable(r, o->value, (uint64_t)lo, name, sizeof name)) {
            put(t, "%s", name);
            break;
        }
        put(t, "%s", o->value ? weft__ir_name(o->value) : "?");
        put_offset(t, lo);
        break;
    case WEFT_OBJ_HEAP:
    case WEFT_OBJ_STACK:
        put(t, o->kind == WEFT_OBJ_HEAP ? "heap" : "local");
        put_offset(t, lo);
        if (o->value && LLVMIsAInstruction(o->value)) {
            put(t, " from ");
            LLVMMetadataRef location = LLVMInstructionGetDebugLoc(o->value);
            if (location)
                put_line(t, location);
            else
                put(t, "%s", weft__ir_name(LLVMGetBasicBlockParent(LLVMGetInstructionParent(o->value))));
        }
        break;
    default:
        put(t, "memory that other code knows");
    }
}

static void put_address(struct weft_races *r, struct text *t, uint32_t a) {
    const struct weft_address *x = &r->address[a];
    if (x->kind == WEFT_ROOT_OBJECT) {
        put_object(r, t, x->base, x->offset);
    } else if (x->kind == WEFT_ROOT_LOAD) {
        put(t, "*");
        put_address(r, t, x->base);
        put_offset(t, x->offset);
    } else {
        put(t, "a lock of the same object (%+lld bytes)", (long long)x->offset);
    }
}

static void put_locks(struct weft_races *r, struct text *t, uint32_t held) {
    uint32_t n, seen = 0;
    const uint32_t *x = weft__lockset_get(r, held, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = x[i] >> 1;
        if (r->address[a].kind != WEFT_ROOT_DELTA && !weft__address_absolute(r, a)) continue;
        if (seen++) put(t, ", ");
        put_address(r, t, a);
        if (!(x[i] & 1)) put(t, " (shared)");
    }
}

static void put_thread(struct weft_races *r, struct text *t, unsigned thread) {
    static const char *const name[] = {"main", "exit", "outside"};
    if (thread < WEFT_THREAD_FIRST)
        put(t, "%s", name[thread]);
    else if (r->thread[thread].function == UINT32_MAX)
        put(t, "others");
    else
        put(t, "%s", weft__ir_name(r->f->function[r->thread[thread].function].fn));
}

/* The calls from the root to the access. */
static void put_calls(struct weft_races *r, struct text *t, const struct weft_race_side *side) {
    const struct weft_summary *sum = &r->summary[r->root[side->root].function];
    const struct weft_guarded *g = &sum->list[side->guarded];
    for (int depth = 0; g->call && depth < 64; depth++) {
        const struct weft_call *c = &r->f->call[g->call - 1];
        LLVMMetadataRef location = LLVMInstructionGetDebugLoc(c->inst);
        put_inlined(r, t, c->inst, location);
        put_function(r, t, c->inst, location);
        put(t, "@");
        put_line(t, location);
        put(t, ">");
        const struct weft_guarded *below = NULL;
        for (uint32_t k = 0; k < c->targets && !below; k++) {
            uint32_t to = r->f->target[c->target + k];
            if (to == r->f->node_unknown || g->from >= r->summary[to].count) continue;
            const struct weft_guarded *b = &r->summary[to].list[g->from];
            if (b->access == g->access) below = b;
        }
        if (!below) break;
        g = below;
    }
    const struct weft_race_access *a = &r->access[side->access];
    put_inlined(r, t, a->inst, LLVMInstructionGetDebugLoc(a->inst));
}

static void put_site(struct weft_races *r, struct text *t, const struct weft_race_access *a) {
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(a->inst);
    put(t, "site\t%c\t", a->frees ? 'f' : a->write ? (a->atomic ? 'W' : 'w') : (a->atomic ? 'R' : 'r'));
    put_function(r, t, a->inst, location);
    put(t, "\t");
    put_file(t, location);
    put(t, "\t%u\t%u\n", location ? LLVMDILocationGetLine(location) : 0, location ? LLVMDILocationGetColumn(location) : 0);
}

char *weft__races_text(struct weft_races *r) {
    const struct weft_races_result *res = r->result;
    struct text t = {weft__an_alloc(NULL, 4096, 1), 0, 4096};
    uint32_t sites = 0, *site = weft__an_alloc(NULL, r->accesses + 1, sizeof *site);
    put(&t, "weft-races 1\ncounts\t%zu\t%zu\t%zu\t%zu\n", res->accesses, res->racy, res->atomic_only, res->races);
    for (uint32_t i = 0; i < r->accesses; i++)
        if (r->access[i].racy == 2) {
            site[i] = sites++;
            put_site(r, &t, &r->access[i]);
        }
    for (uint32_t i = 0; i < res->classes; i++) {
        const struct weft_race_class *c = &res->class[i];
        put(&t, "class\t");
        put_thread(r, &t, c->thread);
        put(&t, "\t");
        put_locks(r, &t, c->held);
        for (uint32_t k = 0; k < c->sides; k++) {
            put(&t, "\t%u:", site[c->side[k].access]);
            put_calls(r, &t, &c->side[k]);
        }
        put(&t, "\n");
    }
    for (size_t i = 0; i < res->races; i++) {
        put(&t, "race\t");
        put_object(r, &t, res->race[i].object, res->race[i].lo);
        put(&t, "\t%u\t%u\n", res->race[i].a, res->race[i].b);
    }
    free(site);
    return t.s;
}
