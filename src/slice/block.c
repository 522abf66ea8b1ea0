/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How far a thread can run without being looked at: a single step takes 20 to 40 us here, most of it for the debug exception, and of most
 * instructions all is known beforehand. What is needed of an instruction is the addresses that it accesses; they are known as long as the
 * registers that they are made of have not been written since the thread was looked at last. So it runs to the first instruction of which
 * they are not, or to where a branch or a direct call leads.
 *
 * Returns, indirect jumps, system calls and string instructions that repeat are stepped. */
#include "slice/slice.h"

#include <string.h>

size_t weft__run_plan(struct weft_code *c, const struct weft_registers *r, bool (*may)(void *ctx, uint64_t pc), void *ctx, struct weft_run_ahead *out) {
    struct weft_registers now = *r;
    uint64_t known = 0xffff;
    bool more = true;
    out->n = out->nstops = 0;
    while (more && out->n < WEFT_RUN_MAX) {
        uint32_t k = may(ctx, now.pc) ? weft__code_at(c, now.pc) : 0;
        if (!k) break;
        const struct weft_insn *i = &c->list[k];
        if (i->repeats || i->flow == WEFT_FLOW_RETURN || i->flow == WEFT_FLOW_INDIRECT || i->flow == WEFT_FLOW_SYSCALL || i->flow == WEFT_FLOW_STOP ||
            (i->flow == WEFT_FLOW_CALL && !i->target))
            break;
        uint64_t needs = 0;
        for (unsigned m = 0; m < i->nmemory; m++) {
            if (i->memory[m].base < 16) needs |= 1ull << i->memory[m].base;
            if (i->memory[m].index < 16) needs |= 1ull << i->memory[m].index;
        }
        if (needs & ~known) break;
        uint64_t next = now.pc + i->length;
        if (i->flow != WEFT_FLOW_NEXT) { /* where it goes must not be on the way */
            uint64_t stop[2] = {i->target, next};
            size_t n = i->flow == WEFT_FLOW_BRANCH ? 2 : 1;
            bool free = true;
            for (size_t s = 0; s < n; s++) {
                if (!may(ctx, stop[s])) free = false;
                for (size_t b = 0; b < out->n && free; b++) free = out->r[b].pc != stop[s];
                if (stop[s] == now.pc) free = false;
            }
            if (!free) break;
            memcpy(out->stop, stop, sizeof stop);
            out->nstops = n;
            more = false;
        }
        out->r[out->n++] = now;
        known &= ~i->defs;
        if (i->moves_stack && !i->stack_by) more = more && false, known &= ~(1ull << WEFT_R_RSP);
        now.r[WEFT_R_RSP] += (uint64_t)(int64_t)i->stack_by;
        now.pc = next;
    }
    if (!out->nstops) {
        out->stop[0] = now.pc;
        out->nstops = 1;
        for (size_t b = 0; b < out->n; b++)
            if (out->r[b].pc == now.pc) return out->n = 0;
        if (out->n && !may(ctx, now.pc)) out->n = 0;
    }
    return out->n;
}
