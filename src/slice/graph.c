/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The multithreaded dependence graph (LEAN, 3.2.1): a node is an instruction as it was executed once, or a call into the runtime. Of
 * each byte of memory it is known who wrote it last, and who has read that: so a read depends on the write that it sees, and a write on
 * the accesses just before it that other threads did: the reads, or if nobody read, the write (READ -> WRITE and WRITE -> WRITE of the paper).
 * Reads of different threads have no order; so all of them count, and the graph does not depend on who is followed first. */
#include "slice/slice.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 1024u

struct weft_graph_node {
    uint32_t deps; /* its last one; 0: none */
    uint32_t insn;
    uint32_t place : 31;
    uint32_t marked : 1;
};
struct weft_graph_dep {
    weft_node on;
    uint32_t next;
};
struct weft_graph_page {
    uint64_t number;
    weft_node writer[PAGE];
    weft_node reader[PAGE];   /* since then, of the last thread that read; 0: nobody */
    uint32_t others[PAGE];    /* and of others: the first of a list; 0: none */
    uint16_t wrote[PAGE], read[PAGE]; /* threads of writer and reader */
};
struct weft_graph_reader {
    weft_node node;
    uint32_t thread;
    uint32_t next;
};

weft_node weft__graph_add(struct weft_graph *g, uint32_t insn, uint32_t place) {
    if (!g->n) g->n = 1;
    g->nodes = weft__grow(g->nodes, &g->cap, g->n + 1, sizeof *g->nodes);
    g->nodes[g->n] = (struct weft_graph_node){.insn = insn, .place = place & 0x7fffffff};
    return (weft_node)g->n++;
}

void weft__graph_dep(struct weft_graph *g, weft_node of, weft_node on) {
    if (!of || !on || of == on) return;
    uint32_t last = g->nodes[of].deps;
    if (last && g->deps[last].on == on) return;
    if (!g->ndeps) g->ndeps = 1;
    g->deps = weft__grow(g->deps, &g->deps_cap, g->ndeps + 1, sizeof *g->deps);
    g->deps[g->ndeps] = (struct weft_graph_dep){on, last};
    g->nodes[of].deps = (uint32_t)g->ndeps++;
}

static size_t slot_of(const struct weft_graph *g, uint64_t number) {
    size_t i = (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & (g->room - 1);
    while (g->pages[i] && g->pages[i]->number != number) i = (i + 1) & (g->room - 1);
    return i;
}

static struct weft_graph_page *page_of(struct weft_graph *g, uint64_t number) {
    if (g->npages * 2 >= g->room) {
        struct weft_graph_page **old = g->pages;
        size_t room = g->room;
        g->room = room ? room * 2 : 256;
        g->pages = weft__alloc(g->room * sizeof *g->pages);
        for (size_t k = 0; k < room; k++)
            if (old[k]) g->pages[slot_of(g, old[k]->number)] = old[k];
        free(old);
    }
    size_t i = slot_of(g, number);
    if (!g->pages[i]) {
        g->pages[i] = weft__alloc(sizeof **g->pages);
        g->pages[i]->number = number;
        g->npages++;
    }
    return g->pages[i];
}

/* Of each thread its last read. */
static void note_read(struct weft_graph *g, struct weft_graph_page *p, size_t k, weft_node n, uint16_t thread) {
    if (p->reader[k] && p->read[k] != thread) {
        uint32_t i = p->others[k];
        while (i && g->readers[i].thread != p->read[k]) i = g->readers[i].next;
        if (!i) {
            if (!g->nreaders) g->nreaders = 1;
            g->readers = weft__grow(g->readers, &g->readers_cap, g->nreaders + 1, sizeof *g->readers);
            i = (uint32_t)g->nreaders++;
            g->readers[i] = (struct weft_graph_reader){.thread = p->read[k], .next = p->others[k]};
            p->others[k] = i;
        }
        g->readers[i].node = p->reader[k];
    }
    p->reader[k] = n;
    p->read[k] = thread;
}

static void note_write(struct weft_graph *g, struct weft_graph_page *p, size_t k, weft_node n, uint16_t thread) {
    if (!p->reader[k] && p->wrote[k] != thread) weft__graph_dep(g, n, p->writer[k]);
    if (p->reader[k] && p->read[k] != thread) weft__graph_dep(g, n, p->reader[k]);
    for (uint32_t i = p->others[k]; i; i = g->readers[i].next)
        if (g->readers[i].thread != thread) weft__graph_dep(g, n, g->readers[i].node);
    p->writer[k] = n;
    p->wrote[k] = thread;
    p->reader[k] = 0;
    p->others[k] = 0;
}

void weft__graph_access(struct weft_graph *g, weft_node n, uint32_t thread, uint64_t addr, uint64_t size, bool read, bool write) {
    struct weft_graph_page *p = NULL;
    for (uint64_t a = addr; a != addr + size; a++) {
        if (!p || p->number != a / PAGE) p = page_of(g, a / PAGE);
        if (read) weft__graph_dep(g, n, p->writer[a % PAGE]);
        if (write)
            note_write(g, p, a % PAGE, n, (uint16_t)thread);
        else if (read)
            note_read(g, p, a % PAGE, n, (uint16_t)thread);
    }
}

void weft__graph_forget(struct weft_graph *g, uint64_t addr, uint64_t size) {
    for (uint64_t a = addr; a != addr + size; a++) {
        struct weft_graph_page *p = page_of(g, a / PAGE);
        p->writer[a % PAGE] = p->reader[a % PAGE] = p->others[a % PAGE] = 0;
    }
}

void weft__graph_mark(struct weft_graph *g, weft_node n) {
    weft_node *todo = NULL;
    size_t cap = 0, ntodo = 0;
    if (!n || g->nodes[n].marked) return;
    g->nodes[n].marked = 1;
    for (;;) {
        for (uint32_t d = g->nodes[n].deps; d; d = g->deps[d].next) {
            weft_node on = g->deps[d].on;
            if (g->nodes[on].marked) continue;
            g->nodes[on].marked = 1;
            todo = weft__grow(todo, &cap, ntodo + 1, sizeof *todo);
            todo[ntodo++] = on;
        }
        if (!ntodo) break;
        n = todo[--ntodo];
    }
    free(todo);
}

bool weft__graph_marked(const struct weft_graph *g, weft_node n) { return g->nodes[n].marked; }
uint32_t weft__graph_insn(const struct weft_graph *g, weft_node n) { return g->nodes[n].insn; }
uint32_t weft__graph_place(const struct weft_graph *g, weft_node n) { return g->nodes[n].place; }

void weft__graph_fini(struct weft_graph *g) {
    for (size_t i = 0; i < g->room; i++) free(g->pages[i]);
    free(g->pages);
    free(g->nodes);
    free(g->deps);
    free(g->readers);
    *g = (struct weft_graph){0};
}
