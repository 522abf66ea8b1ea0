/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order of a trace as turns for a steered run: the blocks of the minimal linearisation, each with where its thread stops. That is
 * where its next block begins; in its last one it goes on to its end, or, if it had none (the process ended first, or it was
 * stuck), to where it had come. */
#include "replay/replay.h"

#include <stdlib.h>

/* The thread that has the slot after k; UINT32_MAX: none. */
static uint32_t next_in_slot(const struct weft_tree *tree, uint32_t k) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < tree->n; i++)
        if (tree->list[i].slot == tree->list[k].slot && tree->list[i].from_tick > tree->list[k].from_tick &&
            (best == UINT32_MAX || tree->list[i].from_tick < tree->list[best].from_tick))
            best = i;
    return best;
}

size_t weft__turns_join(struct weft_turn *turns, size_t n) {
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out && turns[out - 1].thread == turns[i].thread)
            turns[out - 1] = turns[i];
        else
            turns[out++] = turns[i];
    }
    return out;
}

size_t weft__turns_of(const struct weft_blocks *b, const struct weft_tree *tree, struct weft_turn **out) {
    struct weft_turn *list = NULL, *next = weft__alloc((tree->n + 1) * sizeof *next);
    size_t n = 0, cap = 0;
    /* First where each begins. A block may go on from a thread to the next one that has its slot. */
    for (size_t i = 0; i < b->n; i++) {
        const struct weft_block *o = &b->list[i];
        uint64_t tick = o->from_tick, site = o->from_site;
        for (uint32_t k = weft__tree_at(tree, o->slot, tick); k != UINT32_MAX; k = next_in_slot(tree, k)) {
            if (tree->list[k].from_tick > o->to_tick) break;
            if (tree->list[k].from_tick > tick) tick = tree->list[k].from_tick, site = 0;
            list = weft__grow(list, &cap, n + 1, sizeof *list);
            list[n++] = (struct weft_turn){.thread = k, .tick = tick, .site = site};
        }
    }
    for (size_t k = 0; k < tree->n; k++) {
        const struct weft_tree_thread *x = &tree->list[k];
        next[k] = (struct weft_turn){.thread = (uint32_t)k, .tick = UINT64_MAX};
        if (!x->ended) next[k] = (struct weft_turn){.thread = (uint32_t)k, .done = x->to_done, .tick = x->to_tick, .site = x->to_site};
    }
    for (size_t i = n; i-- > 0;) {
        struct weft_turn begin = list[i];
        list[i] = next[begin.thread];
        next[begin.thread] = begin;
    }
    /* Who has only started did nothing; in a slot that is used again that comes with the end of the one before, long before it is created. */
    size_t all = n;
    n = 0;
    for (size_t i = 0; i < all; i++)
        if (list[i].tick != tree->list[list[i].thread].from_tick || list[i].site || list[i].done) list[n++] = list[i];
    free(next);
    *out = list;
    return weft__turns_join(list, n);
}
