/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strongly connected components of a graph of numbers (Tarjan 1972, without recursion). */
#include "analysis.h"

void weft__graph_init(struct weft_graph *g, uint32_t nodes) {
    *g = (struct weft_graph){.nodes = nodes};
}

void weft__graph_fini(struct weft_graph *g) {
    free(g->from);
    free(g->to);
    free(g->scc);
    free(g->first);
    free(g->out);
    free(g->cyclic);
    *g = (struct weft_graph){0};
}

void weft__graph_edge(struct weft_graph *g, uint32_t from, uint32_t to) {
    WEFT_CHECK(from < g->nodes && to < g->nodes);
    if (g->edges == g->room) {
        g->room = g->room ? 2 * g->room : 64;
        g->from = weft__an_alloc(g->from, g->room, sizeof *g->from);
        g->to = weft__an_alloc(g->to, g->room, sizeof *g->to);
    }
    g->from[g->edges] = from, g->to[g->edges++] = to;
}

void weft__graph_scc(struct weft_graph *g) {
    uint32_t n = g->nodes;
    free(g->first), free(g->out), free(g->scc), free(g->cyclic);
    g->first = weft__an_alloc(NULL, n + 2, sizeof *g->first);
    g->out = weft__an_alloc(NULL, g->edges, sizeof *g->out);
    g->scc = weft__an_alloc(NULL, n, sizeof *g->scc);
    g->cyclic = weft__an_alloc(NULL, n, 1);
    memset(g->first, 0, (n + 2) * sizeof *g->first);
    memset(g->cyclic, 0, n);
    for (size_t e = 0; e < g->edges; e++)
        g->first[g->from[e] + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        g->first[i] += g->first[i - 1];
    for (size_t e = 0; e < g->edges; e++)
        g->out[g->first[g->from[e] + 1]++] = g->to[e];

    uint32_t *index = weft__an_alloc(NULL, n, sizeof *index), *low = weft__an_alloc(NULL, n, sizeof *low);
    uint32_t *stack = weft__an_alloc(NULL, n, sizeof *stack), *work = weft__an_alloc(NULL, n, sizeof *work);
    uint32_t *next = weft__an_alloc(NULL, n, sizeof *next);
    memset(index, 0, n * sizeof *index);
    uint32_t counter = 0, depth = 0, top = 0;
    g->scc_count = 0;
    for (uint32_t root = 0; root < n; root++) {
        if (index[root]) continue;
        work[depth++] = root, next[root] = g->first[root];
        index[root] = low[root] = ++counter, stack[top++] = root, g->scc[root] = UINT32_MAX;
        while (depth) {
            uint32_t v = work[depth - 1];
            if (next[v] < g->first[v + 1]) {
                uint32_t w = g->out[next[v]++];
                if (!index[w]) {
                    index[w] = low[w] = ++counter, stack[top++] = w, g->scc[w] = UINT32_MAX;
                    work[depth++] = w, next[w] = g->first[w];
                } else if (g->scc[w] == UINT32_MAX && index[w] < low[v])
                    low[v] = index[w];
                continue;
            }
            depth--;
            if (depth && low[v] < low[work[depth - 1]]) low[work[depth - 1]] = low[v];
            if (low[v] != index[v]) continue;
            uint32_t members = 0, w;
            do {
                w = stack[--top];
                g->scc[w] = g->scc_count;
                members++;
            } while (w != v);
            g->cyclic[g->scc_count++] = members > 1;
        }
    }
    for (size_t e = 0; e < g->edges; e++)
        if (g->from[e] == g->to[e]) g->cyclic[g->scc[g->from[e]]] = 1;
    free(index), free(low), free(stack), free(work), free(next);
}
