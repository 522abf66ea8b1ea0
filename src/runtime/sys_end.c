/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A process ends: how far each thread came is in the trace, and a replay ends there too. */
#include "sys_calls.h"

/* The process ends here as the recording did, in replay, whatever the program is about to become. */
__attribute__((noreturn)) void weft__end_as_recorded(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    weft__gate_finish(t);
    weft__gate_end_process(s);
}

/* The same for a process that becomes the program of another part: that one ends it. */
void weft__become_as_recorded(struct weft_thread *t) {
    struct weft_sched *s = (struct weft_sched *)(weft__file + weft__control->sched_off);
    weft__gate_finish(t);
    weft__control->exit_kind = s->end_kind;
    weft__control->exit_code = s->end_code;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
}

void weft__note_reached(struct weft_thread *t) {
    for (uint32_t s = 1; s < weft__slots; s++) {
        struct weft_thread *o = weft__threads[s];
        if (!o || o == t || !o->alive || !o->tls) continue;
        if (weft__given && o->tls->clock == o->last_clock) continue; /* it has not begun */
        /* A tick that it has surely begun: its clock says so. */
        uint64_t c = __atomic_load_n(&o->tls->clock, __ATOMIC_ACQUIRE);
        weft__log_item(t, WEFT_ITEM_REACHED, s, &c, 8, NULL, 0);
    }
}

long weft__sys_exit_group(struct weft_thread *t, const long a[6]) {
    if (weft__mode == WEFT_RECORD) {
        weft__control->last_site = t->last_site;
        weft__control->last_slot = t->slot;
        if (weft__given && a[0]) weft__look(WEFT_LOOK_END);
        weft__console_settle();
        weft__note_reached(t);
        weft__log_input(t, SYS_exit_group, a[0], NULL, 0);
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, SYS_exit_group);
        if (!it) weft__diverged("thread %u ends the process at tick %lu, which the recording does not have there", t->slot, t->tls->clock);
        int64_t was;
        __builtin_memcpy(&was, weft__gate_data(it), 8);
        if (was != a[0]) weft__diverged("the program exits with status %ld, recorded was %ld", a[0], was);
        weft__gate_finish(t);
        weft__access_end();
    }
    weft__control->exit_kind = WEFT_END_EXIT;
    weft__control->exit_code = (uint32_t)a[0] & 0xff;
    __atomic_store_n(&weft__control->outcome, WEFT_OUT_ENDED, __ATOMIC_RELEASE);
    return raw(SYS_exit_group, a);
}
