/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What plan `races` counts on, seen to while it is recorded: who has locked a mutex is the one who unlocks it, and locks and
 * joins do not fail. Accesses that the plan left unchecked are ordered by nothing else, so a program that does otherwise
 * cannot be recorded with it, and is told so. (Replay does what was recorded.)
 *
 * Modules say that they have the plan when they are loaded; another module may be the one that unlocks. */
#define _GNU_SOURCE
#include "real.h"
#include "runtime.h"
#include <errno.h>

int weft__plan_races;

#define ADVICE "; plan races does not allow that: build with -weft-plan=shared"

WEFT_HIDDEN void weft__t_plan_races(void) {
    weft__plan_races = 1;
    if (weft__control) weft__control->plan_races = 1;
}
WEFT_WRAP(__weft_plan_races, weft__t_plan_races);

/* Locks that a forked process has from its parent belong to a thread that is not here any more. */
static int is_there(int tid) {
    for (uint32_t s = 1; s < weft__slots; s++)
        if (weft__threads[s] && weft__threads[s]->alive && weft__threads[s]->tid == tid) return 1;
    return 0;
}

/* t is about to unlock the mutex. libc itself looks at this for kinds that are recursive, check for errors, are robust or inherit
 * priorities. */
void weft__owned(struct weft_thread *t, const void *mutex) {
    int kind = ((const int *)mutex)[4], owner = weft__mutex_owner(mutex);
    if ((kind & 3) == 1 || (kind & 3) == 2 || (kind & (16 | 32)) || owner == t->tid) return;
    if (!owner) weft__refuse("thread %u unlocks a mutex that nobody has locked" ADVICE, t->slot);
    if (is_there(owner)) weft__refuse("thread %u unlocks a mutex that another thread has locked" ADVICE, t->slot);
}

/* The same for a rwlock that somebody has for writing: libc takes who is not that one for a reader. */
void weft__owned_rwlock(struct weft_thread *t, const void *lock) {
    int owner = __atomic_load_n((const int *)lock + 6, __ATOMIC_RELAXED);
    if (owner && owner != t->tid && is_there(owner))
        weft__refuse("thread %u unlocks a rwlock that another thread has locked" ADVICE, t->slot);
}

/* Has it all the same: it had it before, or whoever had it died. */
WEFT_HIDDEN void weft__t_lock_failed(const void *lock, int why) {
    struct weft_thread *t = weft__active();
    if (!t || weft__mode != WEFT_RECORD || why == EOWNERDEAD || why == EDEADLK) return;
    weft__refuse("thread %u: a lock could not be had, with error %d" ADVICE, t->slot, why);
}
WEFT_WRAP(__weft_lock_failed, weft__t_lock_failed);

WEFT_HIDDEN void weft__t_join_failed(uint64_t handle, int why) {
    struct weft_thread *t = weft__active();
    if (t && weft__mode == WEFT_RECORD) weft__refuse("thread %u: a thread could not be joined, with error %d" ADVICE, t->slot, why);
}
WEFT_WRAP(__weft_join_failed, weft__t_join_failed);
