/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For a debugger that is attached to a replay (`weft debug`; abi.h tells the whole story): where things are, a place to stop
 * at, and the wait for it. Nothing here depends on time, so a replay may be stopped for as long as one likes: gates wait for
 * flags, and whether a replay is stuck is seen from the flags (check_stuck in gate.c). */
#include "runtime.h"
#include "sys.h"
#include <linux/futex.h>
#include <linux/time_types.h>
#include <sys/prctl.h>

#define SCRATCH 0x50 /* stubs.S */

struct weft_debug __weft_debug = {
    .version = WEFT_DEBUG_VERSION,
    .slot = offsetof(struct weft_thread, slot),
    .alive = offsetof(struct weft_thread, alive),
    .waiting = offsetof(struct weft_thread, waiting),
    .waiting_flag = offsetof(struct weft_thread, waiting_flag),
    .waiting_site = offsetof(struct weft_thread, waiting_site),
    .items = offsetof(struct weft_thread, items),
    .scratch = SCRATCH,
};

__attribute__((noinline)) void __weft_debug_hook(uint64_t event, uint64_t slot, uint64_t tick, uint64_t site) {
    __asm__ volatile("" : : "r"(event), "r"(slot), "r"(tick), "r"(site) : "memory");
}

void weft__debug_at(struct weft_thread *t, uint64_t site) {
    struct weft_debug *d = &__weft_debug;
    if (likely(!d->stop_tick) || t->slot != d->stop_slot || t->tls->clock < d->stop_tick) return;
    if (t->tls->clock > d->stop_tick)
        __weft_debug_hook(WEFT_DEBUG_MISSED, t->slot, t->tls->clock, site);
    else if (site == d->stop_site || (site && d->stop_site == WEFT_DEBUG_ANY))
        __weft_debug_hook(WEFT_DEBUG_STOP, t->slot, t->tls->clock, site);
}

void weft__debug_wait(void) {
    struct weft_control *c = weft__control;
    struct weft_debug *d = &__weft_debug;
    struct __kernel_timespec now_and_then = {0, 10000000};
    const char *fs;
    __asm__("movq %%fs:0, %0" : "=r"(fs));
    d->state = (uint64_t)&c->debug;
    d->message = (uint64_t)c->message;
    d->launcher = c->launcher;
    d->fd = c->file;
    d->sched_off = c->sched_off;
    d->file = (uint64_t)weft__file;
    d->tls = (const char *)&__weft_tls - fs;
    d->mode = (uint64_t)&weft__mode;
    d->selector = (uint64_t)&weft__selector;
    d->stop_tick = 0;
    if (likely(c->debug != WEFT_DEBUG_WANTED)) return;
    weft__raw(SYS_prctl, PR_SET_PTRACER, c->launcher); /* and what it starts */
    c->pid = (uint64_t)weft__raw(SYS_getpid);
    __atomic_store_n(&c->debug, WEFT_DEBUG_READY, __ATOMIC_RELEASE);
    while (__atomic_load_n(&c->debug, __ATOMIC_ACQUIRE) == WEFT_DEBUG_READY)
        weft__raw(SYS_futex, &c->debug, FUTEX_WAIT, WEFT_DEBUG_READY, &now_and_then);
}
