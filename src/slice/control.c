/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Control dependence, as Xin and Zhang find it while a program runs (ISSTA 2007): what a branch decides is over where all ways from it
 * join again, at its immediate post-dominator. For that the control flow graph of a function is made of its machine code, from its entry
 * on; of indirect jumps it has the targets that were seen, and a way to the end of the function, since there may be others.
 *
 * Ways that do not come back (abort, an assertion that failed) decide nothing about the rest: a branch to one of them joins where its
 * other way goes on. A call that does not come back is known by its name, or by what is behind it: the end of the function, or a place
 * from which only the runtime is reached, which no call goes on to. Only of main, whose return is a call of exit, and where there
 * is no other end (a thread's routine that never returns) these are its ends.
 *
 * A jump to the runtime, with the way back in rax, goes on behind it. Jumps to other functions are the end of this one. */
#include "slice/slice.h"

#include <stdlib.h>
#include <string.h>

#define SUCCESSORS 2u
#define NONE UINT32_MAX
#define COLD_LENGTH 12

struct node { /* an instruction; number 0 is the end of the function */
    uint32_t insn;
    uint32_t next[SUCCESSORS]; /* NONE: none */
    uint32_t join;             /* NONE: it does not come to the end */
    uint32_t order;            /* from the end; 0: it does not come there */
};
struct seen {
    uint64_t jump, to;
};
struct weft_function {
    uint64_t entry, from, to;
    bool bounds, made;
    struct node *nodes;
    size_t n, cap;
    uint32_t *table; /* nodes by address */
    size_t room;
    struct seen *seen;
    size_t nseen, seen_cap;
    /* the edges, as lists: by the node they lead to, and by the node they come from */
    uint32_t *pred_first, *pred_next, *pred_of, *succ_first, *succ_next, *succ_of;
    size_t nedges;
};

static uint64_t pc_of(const struct weft_functions *f, const struct node *n) { return f->code->list[n->insn].pc; }

static size_t slot_of(const struct weft_functions *f, const struct weft_function *fn, uint64_t pc) {
    size_t i = (size_t)(pc * 0x9e3779b97f4a7c15ull >> 20) & (fn->room - 1);
    while (fn->table[i] && pc_of(f, &fn->nodes[fn->table[i]]) != pc) i = (i + 1) & (fn->room - 1);
    return i;
}

/* The node of the address, new if need be; NONE: there is no instruction. */
static uint32_t node_at(struct weft_functions *f, struct weft_function *fn, uint64_t pc) {
    if (fn->n * 2 >= fn->room) {
        free(fn->table);
        fn->room = fn->room ? fn->room * 2 : 64;
        fn->table = weft__alloc(fn->room * sizeof *fn->table);
        for (size_t k = 1; k < fn->n; k++) fn->table[slot_of(f, fn, pc_of(f, &fn->nodes[k]))] = (uint32_t)k;
    }
    size_t i = slot_of(f, fn, pc);
    if (fn->table[i]) return fn->table[i];
    uint32_t insn = weft__code_at(f->code, pc);
    if (!insn) return NONE;
    fn->nodes = weft__grow(fn->nodes, &fn->cap, fn->n + 1, sizeof *fn->nodes);
    fn->nodes[fn->n] = (struct node){.insn = insn, .next = {NONE, NONE}, .join = NONE};
    fn->table[i] = (uint32_t)fn->n;
    return (uint32_t)fn->n++;
}

/* Where a way goes on: NONE if it leaves the function without coming back, 0 if by a call of another one in place of a return. */
static uint32_t way(struct weft_functions *f, struct weft_function *fn, uint64_t pc, uint64_t to, bool jump) {
    uint64_t from, end;
    bool inside = !fn->bounds || pc < fn->from || pc >= fn->to || (to >= fn->from && to < fn->to);
    if (inside) return node_at(f, fn, to);
    if (!jump) return NONE;
    if (f->bounds(f->ctx, to, &from, &end) && from == to) return 0;
    return node_at(f, fn, to);
}

static void add_edge(struct weft_function *fn, uint32_t from, uint32_t to) {
    uint32_t e = (uint32_t)fn->nedges++;
    fn->pred_of[e] = from;
    fn->pred_next[e] = fn->pred_first[to];
    fn->pred_first[to] = e;
    fn->succ_of[e] = to;
    fn->succ_next[e] = fn->succ_first[from];
    fn->succ_first[from] = e;
}

/* Behind a jump to the runtime. */
static bool comes_back(struct weft_functions *f, struct weft_function *fn, const struct weft_insn *i) {
    uint32_t before = fn->table[slot_of(f, fn, i->pc - 7)];
    return i->through_memory && before && f->code->list[fn->nodes[before].insn].sets_return;
}

/* Where a check or a tick that misses goes on: a few instructions, and a jump to the runtime. */
static bool is_cold(struct weft_functions *f, uint64_t pc) {
    bool back = false;
    for (int n = 0; n < COLD_LENGTH; n++) {
        uint32_t k = weft__code_at(f->code, pc);
        const struct weft_insn *i = &f->code->list[k];
        if (!k) return false;
        if (i->flow != WEFT_FLOW_NEXT) return back && i->flow == WEFT_FLOW_INDIRECT && i->through_memory;
        back = i->sets_return;
        pc += i->length;
    }
    return false;
}

static bool call_returns(struct weft_functions *f, const struct weft_insn *i) {
    return f->ends(f->ctx, i) == WEFT_CALL_RETURNS && !is_cold(f, i->pc + i->length);
}

static void discover(struct weft_functions *f, struct weft_function *fn) {
    fn->n = 1; /* the end */
    fn->nodes = weft__grow(fn->nodes, &fn->cap, 1, sizeof *fn->nodes);
    fn->nodes[0] = (struct node){.next = {NONE, NONE}};
    node_at(f, fn, fn->entry);
    for (size_t k = 1; k < fn->n; k++) {
        struct weft_insn i = f->code->list[fn->nodes[k].insn]; /* a copy: the list moves */
        uint32_t a = NONE, b = NONE;
        uint64_t behind = i.pc + i.length;
        switch ((enum weft_flow)i.flow) {
        case WEFT_FLOW_CALL:
            if (!call_returns(f, &i)) break;
            /* fall through */
        case WEFT_FLOW_NEXT:
        case WEFT_FLOW_SYSCALL: a = way(f, fn, i.pc, behind, false); break;
        case WEFT_FLOW_JUMP: a = way(f, fn, i.pc, i.target, true); break;
        case WEFT_FLOW_BRANCH:
            a = way(f, fn, i.pc, behind, false);
            b = way(f, fn, i.pc, i.target, true);
            break;
        case WEFT_FLOW_RETURN: a = 0; break;
        case WEFT_FLOW_INDIRECT:
            a = comes_back(f, fn, &i) ? way(f, fn, i.pc, behind, false) : 0;
            for (size_t s = 0; a == 0 && s < fn->nseen; s++)
                if (fn->seen[s].jump == i.pc) way(f, fn, i.pc, fn->seen[s].to, true); /* its edges are added below */
            break;
        case WEFT_FLOW_STOP: break;
        }
        fn->nodes[k].next[0] = a;
        fn->nodes[k].next[1] = b;
    }
}

/* What is the end of the function: returns; if it never comes to one, calls that end the thread or the process; if there are none, any
 * place where it goes no further. */
enum ends { RETURNS, EXITS, ALL, ENDS };

static void edges(struct weft_functions *f, struct weft_function *fn, enum ends ends) {
    uint32_t **lists[] = {&fn->pred_first, &fn->pred_next, &fn->pred_of, &fn->succ_first, &fn->succ_next, &fn->succ_of};
    size_t most = (SUCCESSORS + 1) * fn->n + fn->nseen;
    fn->nedges = 0;
    for (size_t i = 0; i < 6; i++) {
        free(*lists[i]);
        *lists[i] = weft__alloc((most + 1) * sizeof **lists[i]);
        memset(*lists[i], 0xff, most * sizeof **lists[i]);
    }
    for (uint32_t k = 1; k < fn->n; k++) {
        for (unsigned s = 0; s < SUCCESSORS; s++)
            if (fn->nodes[k].next[s] != NONE) add_edge(fn, k, fn->nodes[k].next[s]);
        if (fn->nodes[k].next[0] != NONE || fn->nodes[k].next[1] != NONE || ends == RETURNS) continue;
        const struct weft_insn *i = &f->code->list[fn->nodes[k].insn];
        if (ends == ALL || (i->flow == WEFT_FLOW_CALL && f->ends(f->ctx, i) == WEFT_CALL_EXITS)) add_edge(fn, k, 0);
    }
    for (size_t s = 0; s < fn->nseen; s++) {
        uint32_t from = fn->table[slot_of(f, fn, fn->seen[s].jump)], to = fn->table[slot_of(f, fn, fn->seen[s].to)];
        if (from && to) add_edge(fn, from, to);
    }
}

/* Cooper, Harvey and Kennedy's dominators, on the graph turned round. */
static void joins(struct weft_function *fn) {
    uint32_t *order = weft__alloc(fn->n * sizeof *order), *stack = weft__alloc(fn->n * sizeof *stack), *at = weft__alloc(fn->n * sizeof *at);
    uint32_t n = 0, depth = 0;
    bool *begun = weft__alloc(fn->n * sizeof *begun);
    stack[depth] = 0;
    at[depth++] = fn->pred_first[0];
    begun[0] = true;
    while (depth) { /* postorder, from the end */
        uint32_t e = at[depth - 1];
        if (e == NONE) {
            order[n++] = stack[--depth];
            continue;
        }
        at[depth - 1] = fn->pred_next[e];
        uint32_t p = fn->pred_of[e];
        if (begun[p]) continue;
        begun[p] = true;
        stack[depth] = p;
        at[depth++] = fn->pred_first[p];
    }
    for (uint32_t k = 0; k < fn->n; k++) fn->nodes[k].order = 0, fn->nodes[k].join = NONE;
    for (uint32_t k = 0; k < n; k++) fn->nodes[order[k]].order = k + 1;
    fn->nodes[0].join = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = n - 1; k-- > 0;) { /* all but the end */
            uint32_t p = order[k], join = NONE;
            for (uint32_t e = fn->succ_first[p]; e != NONE; e = fn->succ_next[e]) {
                uint32_t x = fn->succ_of[e], y = join;
                if (fn->nodes[x].join == NONE) continue;
                while (y != NONE && x != y) {
                    while (fn->nodes[x].order < fn->nodes[y].order) x = fn->nodes[x].join;
                    while (fn->nodes[y].order < fn->nodes[x].order) y = fn->nodes[y].join;
                }
                join = x;
            }
            changed |= fn->nodes[p].join != join;
            fn->nodes[p].join = join;
        }
    }
    free(begun);
    free(at);
    free(stack);
    free(order);
}

static void make(struct weft_functions *f, struct weft_function *fn) {
    if (fn->made) return;
    fn->made = true;
    if (fn->room) memset(fn->table, 0, fn->room * sizeof *fn->table);
    discover(f, fn);
    /* What does not come to an end by the first ones leads only to what does not: so it may be asked about others by itself. */
    uint32_t *join = weft__alloc(fn->n * sizeof *join);
    for (size_t k = 0; k < fn->n; k++) join[k] = NONE;
    for (enum ends e = f->is_main(f->ctx, fn->entry) ? EXITS : RETURNS; e < ENDS; e++) {
        edges(f, fn, e);
        joins(fn);
        for (size_t k = 0; k < fn->n; k++) {
            if (join[k] == NONE) join[k] = fn->nodes[k].join;
            fn->nodes[k].join = join[k];
        }
    }
    free(join);
}

struct weft_function *weft__function_at(struct weft_functions *f, uint64_t entry) {
    if (f->n * 2 >= f->room) {
        free(f->table);
        f->room = f->room ? f->room * 2 : 256;
        f->table = weft__alloc(f->room * sizeof *f->table);
        for (size_t k = 0; k < f->n; k++) {
            size_t i = (size_t)(f->list[k]->entry * 0x9e3779b97f4a7c15ull >> 20) & (f->room - 1);
            while (f->table[i]) i = (i + 1) & (f->room - 1);
            f->table[i] = (uint32_t)k + 1;
        }
    }
    size_t i = (size_t)(entry * 0x9e3779b97f4a7c15ull >> 20) & (f->room - 1);
    while (f->table[i] && f->list[f->table[i] - 1]->entry != entry) i = (i + 1) & (f->room - 1);
    if (f->table[i]) return f->list[f->table[i] - 1];
    struct weft_function *fn = weft__alloc(sizeof *fn);
    fn->entry = entry;
    fn->bounds = f->bounds(f->ctx, entry, &fn->from, &fn->to);
    f->list = weft__grow(f->list, &f->cap, f->n + 1, sizeof *f->list);
    f->list[f->n] = fn;
    f->table[i] = (uint32_t)++f->n;
    return fn;
}

static uint32_t find(struct weft_functions *f, struct weft_function *fn, uint64_t pc) {
    make(f, fn);
    return fn->room ? fn->table[slot_of(f, fn, pc)] : 0;
}

bool weft__function_has(struct weft_functions *f, struct weft_function *fn, uint64_t pc) { return find(f, fn, pc) != 0; }

void weft__function_seen(struct weft_functions *f, struct weft_function *fn, uint64_t jump, uint64_t to) {
    uint64_t from, end;
    for (size_t i = 0; i < fn->nseen; i++)
        if (fn->seen[i].jump == jump && fn->seen[i].to == to) return;
    if (fn->bounds && (to < fn->from || to >= fn->to) && f->bounds(f->ctx, to, &from, &end) && from == to) return; /* another function */
    fn->seen = weft__grow(fn->seen, &fn->seen_cap, fn->nseen + 1, sizeof *fn->seen);
    fn->seen[fn->nseen++] = (struct seen){jump, to};
    fn->made = false;
}

uint64_t weft__function_join(struct weft_functions *f, struct weft_function *fn, uint64_t branch) {
    uint32_t k = find(f, fn, branch), join = k ? fn->nodes[k].join : NONE;
    return join == NONE || join == 0 ? 0 : pc_of(f, &fn->nodes[join]);
}

void weft__functions_fini(struct weft_functions *f) {
    for (size_t i = 0; i < f->n; i++) {
        struct weft_function *fn = f->list[i];
        free(fn->nodes);
        free(fn->table);
        free(fn->seen);
        free(fn->pred_first);
        free(fn->pred_next);
        free(fn->pred_of);
        free(fn->succ_first);
        free(fn->succ_next);
        free(fn->succ_of);
        free(fn);
    }
    free(f->list);
    free(f->table);
    *f = (struct weft_functions){0};
}
