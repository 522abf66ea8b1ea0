/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plan `races` (Chimera, section 2): which of the accesses that plan `shared` checks can do without?
 *
 * A recording has the order of two accesses if both are checked, or if something between them is in it that orders them.
 * So an access loses its check if the detector finds none that it may race with. Whoever may race keeps the check, on both
 * sides. What the detector takes for an order has to be one that the recording has, whatever the program does:
 *
 * - A lock: its operations are a chain. A mutex that is unlocked by another thread than its owner guards nothing: the runtime
 *   refuses that by name (weft__owned), as it does if a lock or a join fails that is counted on (`sure`). Locks of which it
 *   cannot know the owner are not counted: spinlocks, and rwlocks held by readers.
 * - Start and join of threads. Turns of loops that start and join them are never left out (`sure`).
 * - Fresh memory, which others know of only by a pointer that they have read. That read and the write of the pointer are
 *   ordered in their turn: by a lock, start or join; or they race, and are checked. But a pointer that takes its way through
 *   files, exceptions or code outside is not ordered by anything: such memory is never fresh.
 * - malloc after free: the heap's pools are in the recording. But if a free may race, a stale pointer may be used when the memory is
 *   somebody else's: then all accesses to the heap stay.
 *
 * Memory that code outside knows stays checked: other modules that were built with weft have plans and locks of their own,
 * and other processes do not care about ours. So does what mmap gave: it can be unmapped, moved and discarded. */
#include "../pass.h"
#include "../races/races.h"
#include "plan.h"

/* Of all that the access may touch, what keeps its check. */
static enum weft_kept touches(const struct weft_races *r, uint32_t node) {
    const struct weft_points *p = r->p;
    const struct weft_set *s = &p->node[weft__points_find(r->p, node)].pts;
    if (!s->count) return WEFT_KEPT_OUTSIDE;
    enum weft_kept kept = WEFT_KEPT_NOT;
    WEFT_SET_EACH(s, l) {
        const struct weft_object *o = &p->object[p->location[l].object];
        if (o->kind == WEFT_OBJ_UNKNOWN || o->exposed || o->cloned) return WEFT_KEPT_OUTSIDE;
        if (o->kind != WEFT_OBJ_HEAP) continue;
        LLVMValueRef callee = o->value && LLVMIsAInstruction(o->value) && weft__ir_is_call(o->value) ? weft__ir_callee(o->value) : NULL;
        if (!callee) return WEFT_KEPT_OUTSIDE;
        const char *name = LLVMIsAFunction(callee) ? weft__ir_name(callee) : "";
        if (!strncmp(name, "mmap", 4) || !strcmp(name, "mremap")) return WEFT_KEPT_OUTSIDE;
        if (r->stale) kept = WEFT_KEPT_STALE;
    }
    return kept;
}

/* What the detector says of all that the instruction does: a call may touch more than one thing. */
static enum weft_kept races(const struct weft_races *r, LLVMValueRef inst, int which) {
    const uint32_t *at = weft__map_find(&r->access_at, weft__key(inst));
    enum weft_kept kept = WEFT_KEPT_NOT;
    int seen = 0;
    for (uint32_t k = at ? *at : 0; k; k = r->access[k - 1].next) {
        const struct weft_race_access *a = &r->access[k - 1];
        if (a->starts) continue;
        if (a->racy == 2) return WEFT_KEPT_RACE;
        if (a->racy == 1) kept = WEFT_KEPT_ATOMIC;
        if (a->unguarded && !kept) kept = WEFT_KEPT_OUTSIDE;
        seen |= a->seen && a->which == which;
    }
    return !kept && !seen ? WEFT_KEPT_OUTSIDE : kept;
}

static enum weft_kept look(const struct weft_races *r, const struct weft_access *a) {
    enum weft_kept kept = races(r, a->inst, a->which);
    return kept ? kept : touches(r, a->node);
}

/* A call through a pointer, or inline assembly. */
static int is_opaque(LLVMValueRef inst) {
    return weft__ir_is_call(inst) && !LLVMIsAFunction(weft__ir_callee(inst));
}

int weft__plan_races(struct weft_facts *f, struct weft_regions *regions, const struct weft_profile *profile, int apart, struct weft_pass_stats *s) {
    struct weft_weak weak;
    weft__weak_init(&weak, regions, profile);
    struct weft_races *r = weft__races_new(f, 1, regions && (profile || apart) ? &weak : NULL);
    struct weft_points *p = f->points;
    if (r->gave_up) {
        weft__weak_fini(&weak);
        weft__races_free(r);
        return 0;
    }
    struct weft_map kept = {0}; /* instruction and argument -> largest reason + 1 */
    for (size_t i = 0; i < p->accesses; i++) {
        const struct weft_access *a = &p->access[i];
        if (a->which == WEFT_NOT_ASKED || weft__facts_access(f, a->inst, a->which) != WEFT_WHY_ORDERED) continue;
        uint32_t *at = weft__map_at(&kept, weft__facts_key(a->inst, a->which)), now = is_opaque(a->inst) ? WEFT_KEPT_OUTSIDE : look(r, a);
        if (now + 1 > *at) *at = now + 1;
    }
    for (size_t i = 0; i < p->accesses; i++) {
        const struct weft_access *a = &p->access[i];
        if (a->which == WEFT_NOT_ASKED || weft__facts_access(f, a->inst, a->which) != WEFT_WHY_ORDERED) continue;
        uint32_t *at = weft__map_at(&kept, weft__facts_key(a->inst, a->which));
        if (!*at) continue; /* counted */
        f->counts.kept[*at - 1]++;
        if (*at == WEFT_KEPT_NOT + 1) {
            weft__facts_set(f, a->inst, a->which, WEFT_WHY_RACE_FREE);
            f->counts.by[WEFT_WHY_ORDERED]--, f->counts.by[WEFT_WHY_RACE_FREE]++;
        }
        *at = 0;
    }
    for (size_t i = 0; i < r->sure.room; i++)
        if (r->sure.key[i]) *weft__map_at(&f->sure, r->sure.key[i]) = 1;
    for (size_t i = 0; i < f->calls && !r->lock_may_fail; i++) {
        enum weft_sync_kind k = weft__sync_of(weft__ir_callee(f->call[i].inst));
        if (k == WEFT_SYNC_LOCK) *weft__map_at(&f->sure, weft__key(f->call[i].inst)) = 1;
    }
    for (uint32_t i = 0; i < r->accesses; i++) { /* loops and functions that are regions need to know nothing of what is in them */
        const struct weft_race_access *a = &r->access[i];
        s->weak += a->weak && !a->racy;
        if (a->weak && regions->function[a->function].within == WEFT_WITHIN_LOOPS && weft__region_at(regions, a->inst) < 0)
            *weft__map_at(&regions->code, weft__key(a->inst)) = 1;
    }
    if (regions) weft__weak_end(&weak);
    s->weak_locks = weak.locks;
    for (unsigned i = 0; i < weak.locks; i++) s->weak_sides += weak.lock[i].sides;
    weft__weak_fini(&weak);
    weft__map_fini(&kept);
    weft__races_free(r);
    return 1;
}
