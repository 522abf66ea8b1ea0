/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks of a function by number, and its natural loops.
 *
 * A loop is what lies between a head and the sources of retreating edges to it (of a depth-first walk). It counts only if nothing
 * enters it but at the head; then it does not depend on the walk. */
#include "loops.h"
#include <stdlib.h>
#include <string.h>

struct weft_graph_slot {
    LLVMBasicBlockRef b;
    unsigned k;
};

static void *get(size_t n, size_t size) {
    void *p = calloc(n + 1, size);
    if (!p) abort();
    return p;
}

static struct weft_graph_slot *slot_of(const struct weft_graph *g, LLVMBasicBlockRef b) {
    size_t z = ((size_t)b >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (g->hash_size - 1);
    while (g->hash[z].b && g->hash[z].b != b) z = (z + 1) & (g->hash_size - 1);
    return &g->hash[z];
}

unsigned weft__graph_number(const struct weft_graph *g, LLVMBasicBlockRef b) { return slot_of(g, b)->k; }

void weft__graph_make(struct weft_graph *g, LLVMValueRef fn) {
    unsigned n = LLVMCountBasicBlocks(fn), edges = 0;
    *g = (struct weft_graph){.n = n, .bb = get(n, sizeof *g->bb), .hash_size = 16};
    while (g->hash_size < 2ul * n) g->hash_size *= 2;
    g->hash = get(g->hash_size, sizeof *g->hash);
    LLVMGetBasicBlocks(fn, g->bb);
    for (unsigned k = 0; k < n; k++) {
        *slot_of(g, g->bb[k]) = (struct weft_graph_slot){g->bb[k], k};
        edges += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(g->bb[k]));
    }
    g->succ = get(edges, sizeof *g->succ);
    g->pred = get(edges, sizeof *g->pred);
    g->succ_at = get(n + 1, sizeof *g->succ_at);
    g->pred_at = get(n + 2, sizeof *g->pred_at);
    for (unsigned k = 0, e = 0; k < n; k++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(g->bb[k]);
        for (unsigned j = 0; j < LLVMGetNumSuccessors(end); j++) {
            g->succ[e] = weft__graph_number(g, LLVMGetSuccessor(end, j));
            g->pred_at[g->succ[e++] + 2]++;
        }
        g->succ_at[k + 1] = e;
    }
    for (unsigned k = 0; k < n; k++) g->pred_at[k + 2] += g->pred_at[k + 1];
    for (unsigned k = 0; k < n; k++)
        for (unsigned e = g->succ_at[k]; e < g->succ_at[k + 1]; e++) g->pred[g->pred_at[g->succ[e] + 1]++] = k;
}

void weft__graph_free(struct weft_graph *g) {
    free(g->bb);
    free(g->hash);
    free(g->succ);
    free(g->pred);
    free(g->succ_at);
    free(g->pred_at);
}

/* Which blocks are reached from the entry, and which edges go back, as a list of (from, to). */
static size_t retreating(const struct weft_graph *g, unsigned char *reached, unsigned (*back)[2]) {
    struct {
        unsigned b, e;
    } *stack = get(g->n, sizeof *stack);
    unsigned char *open = get(g->n, 1);
    unsigned depth = 0;
    size_t count = 0;
    stack[0].b = 0;
    stack[0].e = g->succ_at[0];
    reached[0] = open[0] = 1;
    for (;;) {
        unsigned b = stack[depth].b;
        if (stack[depth].e < g->succ_at[b + 1]) {
            unsigned to = g->succ[stack[depth].e++];
            if (open[to]) {
                back[count][0] = b;
                back[count++][1] = to;
            } else if (!reached[to]) {
                depth++;
                stack[depth].b = to;
                stack[depth].e = g->succ_at[to];
                reached[to] = open[to] = 1;
            }
            continue;
        }
        open[b] = 0;
        if (!depth) break;
        depth--;
    }
    free(stack);
    free(open);
    return count;
}

/* All that leads to the latches without passing the head; 0: something enters it elsewhere. */
static int fill(const struct weft_graph *g, const unsigned char *reached, struct weft_loop *l) {
    unsigned *todo = get(g->n, sizeof *todo), n = 0;
    int whole = 1;
    l->in[l->head] = 1;
    for (unsigned k = 0; k < l->latches; k++)
        if (!l->in[l->latch[k]]) {
            l->in[l->latch[k]] = 1;
            todo[n++] = l->latch[k];
        }
    while (n && whole) {
        unsigned b = todo[--n];
        if (!b) whole = 0; /* the entry */
        for (unsigned e = g->pred_at[b]; e < g->pred_at[b + 1]; e++) {
            unsigned p = g->pred[e];
            if (l->in[p] || !reached[p]) continue;
            l->in[p] = 1;
            todo[n++] = p;
        }
    }
    free(todo);
    return whole;
}

struct weft_loop *weft__graph_loops(const struct weft_graph *g, size_t *count) {
    unsigned char *reached = get(g->n, 1);
    unsigned(*back)[2] = get(g->succ_at[g->n], sizeof *back);
    size_t edges = retreating(g, reached, back), n = 0;
    struct weft_loop *list = get(edges, sizeof *list);
    for (size_t e = 0; e < edges; e++) {
        struct weft_loop l = {.head = back[e][1]};
        int first = 1;
        for (size_t k = 0; k < e; k++) first &= back[k][1] != l.head;
        if (!first) continue;
        l.in = get(g->n, 1);
        l.latch = get(edges, sizeof *l.latch);
        for (size_t k = e; k < edges; k++)
            if (back[k][1] == l.head) l.latch[l.latches++] = back[k][0];
        if (fill(g, reached, &l))
            list[n++] = l;
        else {
            free(l.latch);
            free(l.in);
        }
    }
    free(reached);
    free(back);
    *count = n;
    return list;
}

void weft__loops_free(struct weft_loop *l, size_t count) {
    for (size_t k = 0; k < count; k++) {
        free(l[k].latch);
        free(l[k].in);
    }
    free(l);
}
