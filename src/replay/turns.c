/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order of a trace as turns for a steered run: the blocks of the minimal linearisation, each with where its thread stops. That is
 * where its next block begins; in its last one it goes on to its end, or, if it had none (the process ended first, or it was
 * stuck), to where it had come. */
#include "replay/replay.h"

#include <stdlib.h>

int weft__turns_make(struct weft_trace *t, const struct weft_tree *tree, struct weft_turn **out, size_t *n, struct weft_err *err) {
    struct weft_blocks b;
    *out = NULL;
    *n = 0;
    int r = weft__blocks_make(t, &b, NULL, NULL, err);
    if (r < 0) return r;
    struct weft_turn *list = weft__alloc((b.n + 1) * sizeof *list);
    uint64_t *later = weft__alloc((tree->n + 1) * sizeof *later); /* of each thread: its next block, + 1 */
    uint32_t *thread = weft__alloc((b.n + 1) * sizeof *thread);
    for (size_t i = b.n; i-- > 0;) {
        uint32_t k = thread[i] = weft__tree_at(tree, b.list[i].slot, b.list[i].from_tick);
        if (k == UINT32_MAX) continue;
        const struct weft_tree_thread *x = &tree->list[k];
        uint64_t next = later[k];
        list[i] = (struct weft_turn){.thread = k, .tick = UINT64_MAX};
        if (next) {
            list[i].tick = b.list[next - 1].from_tick;
            list[i].site = b.list[next - 1].from_site;
        } else if (!x->ended)
            list[i] = (struct weft_turn){.thread = k, .done = x->to_done, .tick = x->to_tick, .site = x->to_site};
        later[k] = i + 1;
    }
    for (size_t i = 0; i < b.n; i++) {
        if (thread[i] == UINT32_MAX) continue;
        if (*n && list[*n - 1].thread == thread[i])
            list[*n - 1] = list[i];
        else
            list[(*n)++] = list[i];
    }
    *out = list;
    free(later);
    free(thread);
    weft__blocks_fini(&b);
    return 0;
}
