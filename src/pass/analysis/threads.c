/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From points-to and call graph to what is shared (LEAP, section 2.2: thread escape, statics treated like other
 * objects, and shared data that is not written any more when there are threads).
 *
 * Threads are abstract: one for main (with static initialisers), one per start routine, one for what atexit was given,
 * if it may run on another thread than main, and one, `outside`, for everything that code outside may call at any time
 * on any thread. A start routine stands for many threads unless its one pthread_create runs at most once. A function
 * runs on the threads whose entry reaches it in the call graph.
 *
 * An object escapes if a second thread can get to it: it is reachable from the argument or the result of a thread, from
 * a variable that more than one thread accesses, or exposed to code outside. What does not escape is local to whichever
 * thread made it, even if the code that handles it runs on many.
 *
 * Of an object that escapes, the bytes that only one thread accesses, and that thread is one, need no check; nor do
 * bytes that are written only early: at places that can be reached only before any thread was started. (Early accesses
 * are ordered before all others by the creation of threads, so they do not count for the first question either. They do
 * count for escape: a pointer can be kept. What functions access that libraries find by name is never early: these may have threads
 * before main begins.) Early are static initialisers and main up to the first call that may start
 * a thread, whatever that call is, and functions called from such places only. */
#include "analysis.h"

/* Bytes of an object and who accesses them after the first thread was started. */
struct range {
    int64_t lo, hi;
    uint64_t threads;
    int written;
};

struct ranges {
    struct range *range;
    uint32_t count, room;
};

struct threads {
    struct weft_facts *f;
    struct weft_points *p;
    uint64_t *mask;    /* per function: threads that may run it */
    uint64_t many;     /* threads that may be several */
    uint8_t *late;     /* per function: it may be entered after a thread was started */
    uint8_t *starts;   /* per function: it may start one */
    uint8_t *once;     /* per function: 0 not known, 1 no, 2 yes, 3 being found out */
    uint32_t *callers; /* per function: number of calls that reach it, and one of them */
    uint32_t *caller;
    uint8_t *entry;          /* per function: it is entered other than by a call of this module */
    uint8_t *created;        /* per function: number of pthread_create, up to 2 */
    uint32_t *creator;       /* and one of them */
    uint32_t *order;         /* functions, callers before callees */
    struct weft_map late_at; /* instruction -> 1: late although its function is not */
    int initialiser_starts;  /* a thread may run before main does */
    int exports;             /* ... one of a library, and come here */
    uint64_t *object_mask;   /* per object: who accesses it at all */
    struct ranges *ranges;   /* per object */
    struct weft_map locals;  /* see is_plain_local */
    int locals_ready;
};

static int single(const struct threads *t, uint64_t mask) {
    return (mask & (mask - 1)) == 0 && !(mask & t->many);
}

/* ---- who runs what --------------------------------------------------------------------------------------------- */

static int returns_twice(LLVMValueRef call) {
    static unsigned kind;
    if (!kind) kind = LLVMGetEnumAttributeKindForName("returns_twice", 13);
    LLVMValueRef callee = weft__ir_callee(call);
    return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
           (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

/* Does it call setjmp? Then there are ways through it that its blocks do not show. */
int weft__threads_jumped_to(LLVMValueRef fn) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (weft__ir_is_call(i) && returns_twice(i)) return 1;
    return 0;
}

/* May the instruction be run twice in one activation of its function? */
int weft__threads_in_loop(LLVMValueRef inst) {
    LLVMBasicBlockRef home = LLVMGetInstructionParent(inst);
    if (weft__threads_jumped_to(LLVMGetBasicBlockParent(home))) return 1;
    struct weft_map seen = {0};
    LLVMBasicBlockRef *stack = NULL;
    size_t n = 0, room = 0;
    int found = 0;
    WEFT_GROW(stack, n, room);
    stack[n++] = home;
    while (n && !found) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(stack[--n]);
        for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k; i++) {
            LLVMBasicBlockRef s = LLVMGetSuccessor(end, i);
            found |= s == home;
            uint32_t *at = weft__map_at(&seen, weft__key(s));
            if ((*at)++) continue;
            WEFT_GROW(stack, n, room);
            stack[n++] = s;
        }
    }
    free(stack);
    weft__map_fini(&seen);
    return found;
}

/* Is the function run at most once in the life of the process? */
static int runs_once(struct threads *t, uint32_t f) {
    if (t->once[f]) return t->once[f] == 2;
    t->once[f] = 1; /* as long as we are not sure; recursion finds this */
    int yes = 0;
    if (!t->entry[f] && t->callers[f] == 1 && !t->created[f]) {
        const struct weft_call *c = &t->f->call[t->caller[f]];
        yes = !weft__threads_in_loop(c->inst) && runs_once(t, c->caller);
    } else if (t->entry[f] == 1 && !t->callers[f] && !t->created[f]) {
        yes = 1; /* main, or a static initialiser */
    } else if (!t->entry[f] && !t->callers[f] && t->created[f] == 1) {
        const struct weft_call *c = &t->f->call[t->creator[f]];
        yes = !weft__threads_in_loop(c->inst) && runs_once(t, c->caller);
    }
    t->once[f] = yes ? 2 : 1;
    return yes;
}

static void propagate(struct threads *t) {
    const struct weft_graph *g = &t->f->graph;
    /* callers first; members of a cycle need a second round */
    for (int again = 1; again;) {
        again = 0;
        for (uint32_t i = 0; i < t->f->functions; i++) {
            uint32_t f = t->order[i];
            for (uint32_t e = g->first[f]; t->mask[f] && e < g->first[f + 1]; e++) {
                uint32_t to = g->out[e];
                if (to == t->f->node_unknown || !(t->mask[f] & ~t->mask[to])) continue;
                t->mask[to] |= t->mask[f];
                again |= g->scc[to] == g->scc[f];
            }
        }
    }
}

static void find_threads(struct threads *t) {
    struct weft_facts *f = t->f;
    struct weft_points *p = t->p;
    uint32_t *at = weft__an_alloc(NULL, f->graph.scc_count + 2, sizeof *at);
    memset(at, 0, (f->graph.scc_count + 2) * sizeof *at);
    for (uint32_t i = 0; i < f->functions; i++)
        at[f->graph.scc_count - f->graph.scc[i]]++;
    for (uint32_t i = 1; i <= f->graph.scc_count + 1; i++)
        at[i] += at[i - 1];
    for (uint32_t i = f->functions; i-- > 0;)
        t->order[--at[f->graph.scc_count - f->graph.scc[i]]] = i;
    free(at);

    for (size_t i = 0; i < f->calls; i++)
        for (uint32_t k = 0; k < f->call[i].targets; k++) {
            uint32_t to = f->target[f->call[i].target + k];
            if (to != f->node_unknown) t->callers[to]++, t->caller[to] = (uint32_t)i;
        }
    t->many = 1ull << WEFT_BIT_OUTSIDE | 1ull << WEFT_BIT_OVERFLOW;
    unsigned bit = WEFT_BIT_FIRST;
    struct weft_map bit_of = {0};
    for (uint32_t i = 0; i < f->functions; i++) {
        struct weft_function *fn = &f->function[i];
        if (!fn->defined) continue;
        if (!f->opt.shared_library && !strcmp(weft__ir_name(fn->fn), "main"))
            t->mask[i] |= 1ull << WEFT_BIT_MAIN, t->entry[i] |= 1, fn->taken = 1;
        if (fn->exposed) t->mask[i] |= 1ull << WEFT_BIT_OUTSIDE, t->entry[i] |= 2, t->late[i] = 1, fn->taken = 1;
    }
    for (uint32_t i = 0; i < p->entries; i++) {
        const struct weft_entry *e = &p->entry[i];
        f->function[e->function].taken = 1;
        switch (e->effect) {
        case WEFT_EFF_CALL:
        case WEFT_EFF_TOUCH:
            if (e->call != UINT32_MAX) { /* a callback: it is among the callees, any number of times */
                t->entry[e->function] |= 2;
            } else if (f->opt.shared_library) {
                t->mask[e->function] |= 1ull << WEFT_BIT_OUTSIDE, t->entry[e->function] |= 2;
            } else {
                t->mask[e->function] |= 1ull << WEFT_BIT_MAIN, t->entry[e->function] |= 1;
            }
            break;
        case WEFT_EFF_THREAD: {
            uint32_t *b = weft__map_at(&bit_of, e->function + 1);
            if (!*b) *b = bit < WEFT_BIT_OVERFLOW ? bit++ : WEFT_BIT_OVERFLOW;
            t->mask[e->function] |= 1ull << *b, t->late[e->function] = 1;
            if (t->created[e->function] < 2) t->created[e->function]++;
            t->creator[e->function] = e->call;
            break;
        }
        case WEFT_EFF_LATER:
            t->mask[e->function] |= 1ull << WEFT_BIT_OUTSIDE, t->entry[e->function] |= 2, t->late[e->function] = 1;
            break;
        default:
            t->entry[e->function] |= 2, t->late[e->function] = 1;
        }
    }
    propagate(t);

    /* Handlers of exit run on the thread that calls it, and after main has left, on the last one. */
    int elsewhere = f->opt.shared_library;
    for (size_t i = 0; i < f->calls; i++) {
        uint64_t mask = t->mask[f->call[i].caller];
        elsewhere |= f->call[i].exits && (mask & ~(1ull << WEFT_BIT_MAIN));
        elsewhere |= f->call[i].leaves && (mask & 1ull << WEFT_BIT_MAIN);
    }
    for (uint32_t i = 0; i < p->entries; i++)
        if (p->entry[i].effect == WEFT_EFF_ATEXIT)
            t->mask[p->entry[i].function] |= 1ull << (elsewhere ? WEFT_BIT_EXIT : WEFT_BIT_MAIN);
    propagate(t);

    for (size_t i = 0; i < bit_of.room; i++)
        if (bit_of.key[i]) {
            uint32_t fn = (uint32_t)bit_of.key[i] - 1;
            const struct weft_call *c = &f->call[t->creator[fn]];
            if (t->created[fn] > 1 || weft__threads_in_loop(c->inst) || !runs_once(t, c->caller)) t->many |= 1ull << bit_of.value[i];
        }
    weft__map_fini(&bit_of);
    for (uint32_t i = 0; i < f->functions; i++)
        f->function[i].unreachable = f->function[i].defined && !t->mask[i];
}

/* ---- before the first thread ----------------------------------------------------------------------------------- */

static int call_starts(const struct threads *t, const struct weft_call *c) {
    int yes = c->starts;
    for (uint32_t k = 0; k < c->targets; k++) {
        uint32_t to = t->f->target[c->target + k];
        yes |= to != t->f->node_unknown && t->starts[to];
    }
    return yes;
}

static void make_late(struct threads *t, const struct weft_call *c, uint32_t **list, size_t *n, size_t *room) {
    for (uint32_t k = 0; k < c->targets; k++) {
        uint32_t to = t->f->target[c->target + k];
        if (to == t->f->node_unknown || t->late[to]) continue;
        t->late[to] = 1;
        WEFT_GROW(*list, *n, *room);
        (*list)[(*n)++] = to;
    }
}

/* Marks the instructions of an early function that come after (or are) a call that may start a thread. */
static void mark_late_part(struct threads *t, uint32_t function) {
    LLVMValueRef fn = t->f->function[function].fn;
    struct weft_map late = {0}; /* blocks */
    LLVMBasicBlockRef *stack = NULL;
    size_t n = 0, room = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        int started = 0;
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            uint32_t *c = weft__ir_is_call(i) ? weft__map_find(&t->f->call_of, weft__key(i)) : NULL;
            started |= c && call_starts(t, &t->f->call[*c - 1]);
            if (started) *weft__map_at(&t->late_at, weft__key(i)) = 1;
        }
        if (started) {
            WEFT_GROW(stack, n, room);
            stack[n++] = b;
        }
    }
    while (n) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(stack[--n]);
        for (unsigned i = 0, k = end ? LLVMGetNumSuccessors(end) : 0; i < k; i++) {
            LLVMBasicBlockRef s = LLVMGetSuccessor(end, i);
            uint32_t *seen = weft__map_at(&late, weft__key(s));
            if ((*seen)++) continue;
            for (LLVMValueRef in = LLVMGetFirstInstruction(s); in; in = LLVMGetNextInstruction(in))
                *weft__map_at(&t->late_at, weft__key(in)) = 1;
            WEFT_GROW(stack, n, room);
            stack[n++] = s;
        }
    }
    free(stack);
    weft__map_fini(&late);
}

static void find_early(struct threads *t) {
    struct weft_facts *f = t->f;
    uint32_t *list = NULL;
    size_t n = 0, room = 0;
    for (int again = 1; again;) { /* callees first would do in one round but for cycles */
        again = 0;
        for (size_t i = f->calls; i-- > 0;)
            if (!t->starts[f->call[i].caller] && call_starts(t, &f->call[i]))
                t->starts[f->call[i].caller] = 1, again = 1;
        for (uint32_t i = 0; i < t->p->entries; i++) { /* a handler may run at any time after it was given */
            const struct weft_entry *e = &t->p->entry[i];
            if (e->effect != WEFT_EFF_LATER || e->call == UINT32_MAX || !t->starts[e->function]) continue;
            again |= !f->call[e->call].starts;
            f->call[e->call].starts = 1;
        }
    }
    int initialiser_starts = f->opt.shared_library;
    for (uint32_t i = 0; i < t->p->entries; i++)
        if (t->p->entry[i].effect == WEFT_EFF_CALL && t->p->entry[i].call == UINT32_MAX)
            initialiser_starts |= t->starts[t->p->entry[i].function];
    t->initialiser_starts = initialiser_starts;
    for (uint32_t i = 0; i < f->functions; i++) {
        if (initialiser_starts && f->function[i].defined) t->late[i] = 1;
        /* a setjmp can be returned to after a thread was started */
        if (t->late[i]) {
            WEFT_GROW(list, n, room);
            list[n++] = i;
        } else if (t->starts[i]) {
            mark_late_part(t, i);
        }
    }
    for (size_t i = 0; i < f->calls; i++)
        if (weft__map_find(&t->late_at, weft__key(f->call[i].inst))) make_late(t, &f->call[i], &list, &n, &room);
    /* calls by caller */
    uint32_t *first = weft__an_alloc(NULL, f->functions + 2, sizeof *first);
    memset(first, 0, (f->functions + 2) * sizeof *first);
    for (size_t i = 0; i < f->calls; i++)
        first[f->call[i].caller + 1]++;
    for (uint32_t i = 1; i <= f->functions; i++)
        first[i] += first[i - 1];
    while (n) { /* calls are listed in the order of their callers */
        uint32_t fn = list[--n];
        for (uint32_t c = first[fn]; c < first[fn + 1]; c++)
            make_late(t, &f->call[c], &list, &n, &room);
    }
    free(first);
    free(list);
}

static int is_late(const struct threads *t, const struct weft_access *a) {
    return t->late[a->function] || weft__map_find(&t->late_at, weft__key(a->inst)) != NULL;
}

/* Libraries may start threads when they are loaded, and these call functions of ours that they find by name. */
static int finds_functions(struct threads *t) {
    LLVMModuleRef m = t->f->module;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !weft__ir_is_local(f) && strcmp(weft__ir_name(f), "main") && !weft__facts_is_runtime(weft__ir_name(f))) return 1;
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) /* in a table, say */
        if (LLVMGetInitializer(g) && !weft__ir_is_local(g) && strncmp(weft__ir_name(g), "llvm.", 5) && !weft__facts_is_runtime(weft__ir_name(g))) return 1;
    return 0;
}

/* ---- what escapes ---------------------------------------------------------------------------------------------- */

static void escape_node(struct threads *t, uint32_t node, uint32_t **list, size_t *n, size_t *room) {
    const struct weft_set *s = &t->p->node[weft__points_find(t->p, node)].pts;
    WEFT_SET_EACH(s, l) {
        uint32_t o = t->p->location[l].object;
        if (t->p->object[o].escaped) continue;
        t->p->object[o].escaped = 1;
        WEFT_GROW(*list, *n, *room);
        (*list)[(*n)++] = o;
    }
}

static void find_escaped(struct threads *t) {
    struct weft_points *p = t->p;
    uint32_t *list = NULL;
    size_t n = 0, room = 0;
    escape_node(t, p->thread_arg, &list, &n, &room);
    escape_node(t, p->results, &list, &n, &room);
    escape_node(t, p->io, &list, &n, &room);
    escape_node(t, p->exposed, &list, &n, &room);
    for (uint32_t o = 0; o < p->objects; o++)
        if (!p->object[o].escaped &&
            (p->object[o].exposed || (p->object[o].kind == WEFT_OBJ_GLOBAL && !single(t, t->object_mask[o])))) {
            p->object[o].escaped = 1;
            WEFT_GROW(list, n, room);
            list[n++] = o;
        }
    while (n) {
        uint32_t o = list[--n];
        if (p->object[o].kind == WEFT_OBJ_DIFFERENCE && p->undone) escape_node(t, p->differences, &list, &n, &room);
        for (uint32_t i = 0; i < p->object[o].segments; i++)
            escape_node(t, p->object[o].segment[i].out, &list, &n, &room);
    }
    free(list);
}

/* ---- accesses -------------------------------------------------------------------------------------------------- */

/* Accesses that are the same for us are looked at once: same pointer node, size, threads, time and kind. */
struct shape {
    uint32_t node;
    int64_t size;
    uint64_t threads; /* 0: early */
    uint64_t all;     /* early ones too */
    uint8_t written;
};

struct shapes {
    struct shape *shape;
    size_t count, room;
    uint32_t *slot; /* hash table, index + 1 */
    size_t slots;
};

static int same_shape(const struct shape *a, const struct shape *b) {
    return a->node == b->node && a->size == b->size && a->threads == b->threads && a->all == b->all &&
           a->written == b->written;
}

static size_t hash_shape(const struct shape *s) {
    uint64_t h = s->node * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)s->size) * 0xbf58476d1ce4e5b9u;
    h = (h ^ s->threads ^ (s->all << 1) ^ s->written) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static void add_shape(struct shapes *ss, struct shape s) {
    if (2 * (ss->count + 1) > ss->slots) {
        ss->slots = ss->slots ? 2 * ss->slots : 1024;
        ss->slot = weft__an_alloc(ss->slot, ss->slots, sizeof *ss->slot);
        memset(ss->slot, 0, ss->slots * sizeof *ss->slot);
        for (size_t i = 0; i < ss->count; i++) {
            size_t h = hash_shape(&ss->shape[i]) & (ss->slots - 1);
            while (ss->slot[h])
                h = (h + 1) & (ss->slots - 1);
            ss->slot[h] = (uint32_t)i + 1;
        }
    }
    size_t h = hash_shape(&s) & (ss->slots - 1);
    for (; ss->slot[h]; h = (h + 1) & (ss->slots - 1))
        if (same_shape(&ss->shape[ss->slot[h] - 1], &s)) return;
    WEFT_GROW(ss->shape, ss->count, ss->room);
    ss->shape[ss->count++] = s;
    ss->slot[h] = (uint32_t)ss->count;
}

static void add_range(struct ranges *r, int64_t lo, int64_t hi, uint64_t threads, int written) {
    enum { MAX = 128 };
    for (uint32_t i = 0; i < r->count; i++)
        if (r->range[i].lo == lo && r->range[i].hi == hi) {
            r->range[i].threads |= threads;
            r->range[i].written |= written;
            return;
        }
    if (r->count == MAX) { /* too many: all one */
        for (uint32_t i = 0; i < r->count; i++)
            threads |= r->range[i].threads, written |= r->range[i].written;
        r->count = 0;
        lo = 0, hi = WEFT_FAR;
    }
    if (r->count && r->range[0].lo == 0 && r->range[0].hi == WEFT_FAR && r->count == 1) {
        r->range[0].threads |= threads;
        r->range[0].written |= written;
        return;
    }
    WEFT_GROW(r->range, r->count, r->room);
    r->range[r->count++] = (struct range){lo, hi, threads, written};
}

static enum weft_why classify_object(const struct threads *t, uint32_t location, int64_t size) {
    const struct weft_points *p = t->p;
    uint32_t object = p->location[location].object;
    const struct weft_object *o = &p->object[object];
    int64_t lo, hi;
    if (o->kind == WEFT_OBJ_UNKNOWN) return WEFT_WHY_ORDERED;
    if (o->kind == WEFT_OBJ_DIFFERENCE) return WEFT_WHY_NOTHING;
    if (o->kind == WEFT_OBJ_FUNCTION || o->constant) return WEFT_WHY_CONSTANT;
    if (o->exposed || o->cloned) return WEFT_WHY_ORDERED;
    if (!o->escaped)
        return o->kind == WEFT_OBJ_TLS      ? WEFT_WHY_TLS
               : o->kind == WEFT_OBJ_GLOBAL ? WEFT_WHY_ONE_THREAD
                                            : WEFT_WHY_LOCAL;
    uint64_t threads = 0;
    int written = 0;
    if (!weft__points_range(p, location, 0, size, &lo, &hi))
        return WEFT_WHY_NOTHING; /* outside of the object: not this one */
    for (uint32_t i = 0; i < t->ranges[object].count; i++) {
        const struct range *r = &t->ranges[object].range[i];
        if (r->lo < hi && lo < r->hi) threads |= r->threads, written |= r->written;
    }
    return single(t, threads) ? WEFT_WHY_ONE_THREAD : written ? WEFT_WHY_ORDERED : WEFT_WHY_UNWRITTEN;
}

static enum weft_why classify_node(const struct threads *t, uint32_t node, int64_t size) {
    const struct weft_set *s = &t->p->node[node].pts;
    enum weft_why worst = WEFT_WHY_ORDERED;
    int any = 0;
    WEFT_SET_EACH(s, l) {
        enum weft_why w = classify_object(t, (uint32_t)l, size);
        if (w == WEFT_WHY_ORDERED) return w;
        if (w == WEFT_WHY_NOTHING) continue;
        any = 1;
        if (w > worst) worst = w;
    }
    return any ? worst : WEFT_WHY_ORDERED; /* we do not know where it points */
}

/* What needs no solver is left out even if it gave up. */
static int is_plain_local(struct threads *t, const struct weft_access *a) {
    if (!t->locals_ready)
        for (uint32_t i = 0; i < t->f->functions; i++)
            if (t->f->function[i].defined) weft__local_find(t->f->td, t->f->function[i].fn, &t->locals);
    t->locals_ready = 1;
    int is_write;
    LLVMTypeRef type;
    LLVMValueRef pointer = weft__ir_is_call(a->inst) ? LLVMGetArgOperand(a->inst, (unsigned)a->which)
                                                     : weft__ir_access_pointer(a->inst, &is_write, &type);
    return pointer && weft__local_access(t->f->td, &t->locals, pointer, 0);
}

static void classify(struct threads *t) {
    struct weft_points *p = t->p;
    struct shapes ss = {0};
    for (size_t i = 0; i < p->accesses; i++) {
        struct weft_access *a = &p->access[i];
        a->node = weft__points_find(p, a->node);
        uint64_t mask = t->mask[a->function];
        int late = is_late(t, a);
        if (mask) add_shape(&ss, (struct shape){a->node, a->size, late ? mask : 0, mask, a->write});
    }
    for (size_t i = 0; i < ss.count; i++) {
        const struct weft_set *s = &p->node[ss.shape[i].node].pts;
        WEFT_SET_EACH(s, l)
        t->object_mask[p->location[l].object] |= ss.shape[i].all;
    }
    find_escaped(t);
    for (size_t i = 0; i < ss.count; i++) {
        const struct weft_set *s = &p->node[ss.shape[i].node].pts;
        WEFT_SET_EACH(s, l) {
            uint32_t o = p->location[l].object;
            int64_t lo, hi;
            if (!ss.shape[i].threads && !(t->exports && (t->object_mask[o] >> WEFT_BIT_OUTSIDE & 1))) continue;
            if (p->object[o].escaped && !p->object[o].exposed && !p->object[o].constant &&
                weft__points_range(p, (uint32_t)l, 0, ss.shape[i].size, &lo, &hi))
                add_range(&t->ranges[o], lo, hi, ss.shape[i].all, ss.shape[i].written);
        }
    }
    struct weft_map known = {0}; /* shape without threads: index of an access + 1 -> why */
    for (size_t i = 0; i < p->accesses; i++) {
        const struct weft_access *a = &p->access[i];
        enum weft_why why;
        if (a->which == WEFT_NOT_ASKED) continue;
        if (!t->mask[a->function]) {
            why = WEFT_WHY_UNREACHABLE;
        } else {
            uint64_t key = (uint64_t)a->node << 32 | (uint32_t)(int32_t)(a->size > INT32_MAX ? INT32_MAX : a->size);
            uint32_t *w = weft__map_at(&known, key);
            if (!*w) *w = (uint32_t)classify_node(t, a->node, a->size) + 1;
            why = (enum weft_why)(*w - 1);
        }
        if (p->gave_up && why == WEFT_WHY_ORDERED && is_plain_local(t, a)) why = WEFT_WHY_LOCAL;
        weft__facts_merge(t->f, a->inst, a->which, why);
    }
    weft__map_fini(&known);
    free(ss.shape);
    free(ss.slot);
}

void weft__threads_classify(struct weft_facts *f) {
    uint32_t n = f->functions + 1, objects = f->points->objects;
    struct threads t = {.f = f, .p = f->points};
#define MAKE(x, count) ((x) = weft__an_alloc(NULL, (count), sizeof *(x)), memset((x), 0, (count) * sizeof *(x)))
    MAKE(t.mask, n);
    MAKE(t.late, n);
    MAKE(t.starts, n);
    MAKE(t.once, n);
    MAKE(t.callers, n);
    MAKE(t.caller, n);
    MAKE(t.entry, n);
    MAKE(t.created, n);
    MAKE(t.creator, n);
    MAKE(t.order, n);
    MAKE(t.object_mask, objects);
    MAKE(t.ranges, objects);
#undef MAKE
    t.exports = finds_functions(&t);
    find_threads(&t);
    find_early(&t);
    classify(&t);
    for (uint32_t i = 0; i < objects; i++)
        free(t.ranges[i].range);
    for (uint32_t i = 0; i < f->functions; i++)
        runs_once(&t, i);
    for (uint32_t i = 0; i < f->functions; i++)
        t.once[i] = t.once[i] == 2;
    f->threads = (struct weft_threads){t.mask, t.late, t.once, t.late_at, t.initialiser_starts, t.exports};
    free(t.starts), free(t.callers), free(t.caller), free(t.entry);
    free(t.created), free(t.creator), free(t.order), free(t.object_mask), free(t.ranges);
    weft__map_fini(&t.locals);
}

void weft__threads_fini(struct weft_threads *t) {
    free(t->mask), free(t->late), free(t->once);
    weft__map_fini(&t->late_at);
    *t = (struct weft_threads){0};
}
