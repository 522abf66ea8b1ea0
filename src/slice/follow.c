/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a thread does, instruction by instruction, becomes part of the graph. Each instruction that is executed is a node; it depends on who
 * wrote the registers and the memory that it reads, and on the branch (or the call) that decided that it is executed.
 *
 * A call into the runtime is one node, whatever happens in there: it depends on its arguments, on the memory that the runtime notes it to
 * read for the program, and on the operation before it on the same object of synchronisation; what it is noted to write and what it
 * returns depends on it. Functions of the program that the runtime calls are followed again (a thread's routine, handlers). So a
 * thread has frames: of calls, of the runtime, and of what that called. One is over when the stack pointer is above it, however
 * it was left.
 *
 * Instructions of the loader are not followed, nor is memory of the runtime's: what weft adds to a program depends on nothing, and nothing
 * of the program on it. */
#include "slice/slice.h"

#include <stdlib.h>
#include <string.h>

enum kind { CALL, RUNTIME, SIGNAL, CALLED_BACK };
struct frame {
    enum kind kind;
    uint64_t sp;           /* it is over when the stack pointer is above this */
    weft_node node;        /* the call */
    struct weft_function *fn;
    size_t regions;        /* of the frames below */
    weft_node *writer;     /* RUNTIME, SIGNAL: of registers, before it */
    uint64_t from;         /* RUNTIME: ticks before */
    bool call;             /* SIGNAL: by a system call */
    bool thread;           /* RUNTIME: it is the start of the thread, or its end */
    enum weft_operation operation; /* RUNTIME */
};
struct region { /* what a branch decides, and where that is over */
    weft_node node;
    uint64_t join;
};
struct weft_follow_thread {
    uint32_t number, slot;
    struct frame *frames;
    size_t nframes, frames_cap;
    struct region *regions;
    size_t nregions, regions_cap;
    weft_node writer[WEFT_R_COUNT];
    weft_node kept; /* of rcx, while a check keeps it */
    uint64_t jumped; /* the last instruction, if it was an indirect jump */
    bool called;     /* the last instruction was a call */
    weft_node call;
    weft_node last;  /* instruction */
    /* the last check */
    uint32_t place;
    uint64_t addr;
    uint32_t size;
};
struct weft_follow_object {
    uint64_t object; /* 0: free */
    weft_node last;
};

static struct frame *top(struct weft_follow_thread *t) { return &t->frames[t->nframes - 1]; }

static void begin_range(struct weft_following *f, struct weft_follow_thread *t) {
    if (top(t)->kind == RUNTIME || top(t)->kind == SIGNAL) top(t)->from = f->clock(f->ctx, t);
}
static void end_range(struct weft_following *f, struct weft_follow_thread *t, uint64_t now) {
    const struct frame *k = top(t);
    if ((k->kind != RUNTIME && k->kind != SIGNAL) || now <= k->from) return;
    f->ranges = weft__grow(f->ranges, &f->ranges_cap, f->nranges + 1, sizeof *f->ranges);
    f->ranges[f->nranges++] = (struct weft_follow_range){k->node, t->number, k->from + 1, now};
}

static void push(struct weft_follow_thread *t, enum kind kind, uint64_t sp, weft_node node, struct weft_function *fn) {
    t->frames = weft__grow(t->frames, &t->frames_cap, t->nframes + 1, sizeof *t->frames);
    t->frames[t->nframes++] = (struct frame){.kind = kind, .sp = sp, .node = node, .fn = fn, .regions = t->nregions};
}

/* What it calls back has registers of its own. */
static void push_runtime(struct weft_following *f, struct weft_follow_thread *t, enum kind kind, uint64_t sp, weft_node node) {
    push(t, kind, sp, node, NULL);
    top(t)->writer = weft__alloc(sizeof t->writer);
    memcpy(top(t)->writer, t->writer, sizeof t->writer);
    begin_range(f, t);
}

struct weft_follow_thread *weft__follow_new(struct weft_following *f, uint32_t number, weft_node maker) {
    struct weft_follow_thread *t = weft__alloc(sizeof *t);
    t->number = number;
    weft_node start = weft__graph_add(&f->graph, 0, 0);
    weft__graph_dep(&f->graph, start, maker);
    push(t, RUNTIME, UINT64_MAX, start, NULL);
    top(t)->thread = true;
    return t;
}

void weft__follow_free(struct weft_follow_thread *t) {
    if (!t) return;
    for (size_t i = 0; i < t->nframes; i++) free(t->frames[i].writer);
    free(t->frames);
    free(t->regions);
    free(t);
}

void weft__follow_slot(struct weft_follow_thread *t, uint32_t slot) { t->slot = slot; }
uint32_t weft__follow_number(const struct weft_follow_thread *t) { return t->number; }
uint32_t weft__follow_slot_of(const struct weft_follow_thread *t) { return t->slot; }

/* Who decided that the next instruction is executed. */
static weft_node control(struct weft_follow_thread *t) {
    return t->nregions > top(t)->regions ? t->regions[t->nregions - 1].node : top(t)->node;
}

/* ---- the runtime ---- */

static const uint8_t argument[] = {WEFT_R_RDI, WEFT_R_RSI, WEFT_R_RDX, WEFT_R_RCX, WEFT_R_R8, WEFT_R_R9};

static void enter_runtime(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r) {
    weft_node n = weft__graph_add(&f->graph, weft__code_at(&f->code, r->pc), 0);
    unsigned args = f->arguments(f->ctx, r->pc);
    weft__graph_dep(&f->graph, n, control(t));
    if (t->called) weft__graph_dep(&f->graph, n, t->call);
    for (unsigned i = 0; i < args && i < sizeof argument; i++) weft__graph_dep(&f->graph, n, t->writer[argument[i]]);
    push_runtime(f, t, RUNTIME, r->r[WEFT_R_RSP], n);
    top(t)->operation = f->operation(f->ctx, r->pc);
}

/* What a call leaves: its results; other registers that it need not preserve tell nothing. A signal leaves all as it was, but for the
 * result of a system call. */
static void leave_runtime(struct weft_follow_thread *t, const struct frame *k) {
    memcpy(t->writer, k->writer, sizeof t->writer);
    for (unsigned i = 0; i < WEFT_R_COUNT && k->kind == RUNTIME; i++)
        if (i != WEFT_R_RBX && i != WEFT_R_RBP && (i < 12 || i > WEFT_R_R15)) t->writer[i] = 0;
    if (k->kind == RUNTIME) t->writer[WEFT_R_RDX] = t->writer[WEFT_R_VECTOR] = k->node;
    if (k->kind == RUNTIME || k->call) t->writer[WEFT_R_RAX] = k->node;
}

static void call_back(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r) {
    weft_node n = top(t)->node;
    end_range(f, t, f->clock(f->ctx, t));
    push(t, CALLED_BACK, r->r[WEFT_R_RSP], n, weft__function_at(&f->functions, r->pc));
    memset(t->writer, 0, sizeof t->writer);
    for (unsigned i = 0; i < sizeof argument; i++) t->writer[argument[i]] = n;
}

/* Where a branch decides; a loop decides again and again about the same. */
static void decide(struct weft_follow_thread *t, weft_node n, uint64_t join) {
    if (t->nregions > top(t)->regions && t->regions[t->nregions - 1].join == join) t->nregions--;
    t->regions = weft__grow(t->regions, &t->regions_cap, t->nregions + 1, sizeof *t->regions);
    t->regions[t->nregions++] = (struct region){n, join};
}

/* Frames that the thread has left. If not by a return (an exception, longjmp), all that comes in the function depends on that. */
static void leave(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r) {
    enum weft_zone zone = f->zone(f->ctx, r->pc);
    weft_node jump = 0;
    while (t->nframes > 1) {
        struct frame *k = top(t);
        uint64_t sp = r->r[WEFT_R_RSP];
        bool over = sp > k->sp;
        if (k->kind == SIGNAL) over = sp >= k->sp && zone != WEFT_ZONE_RUNTIME; /* the same instruction, or behind it */
        if (k->kind == RUNTIME) over = over && zone != WEFT_ZONE_RUNTIME && zone != WEFT_ZONE_LOADER;
        if (!over) break;
        end_range(f, t, f->clock(f->ctx, t));
        struct frame was = *k;
        if (was.kind != SIGNAL) jump = sp == was.sp + 8 ? 0 : was.kind == RUNTIME ? was.node : t->last;
        t->nframes--;
        t->nregions = was.regions;
        if (was.kind == RUNTIME || was.kind == SIGNAL) leave_runtime(t, &was);
        free(was.writer);
        if (was.kind != CALLED_BACK) continue;
        k = top(t);
        weft_node result = t->writer[WEFT_R_RAX];
        if (k->thread) { /* it has come to its end */
            weft_node end = weft__graph_add(&f->graph, 0, 0);
            weft__graph_dep(&f->graph, end, k->node);
            weft__graph_dep(&f->graph, end, result);
            k->node = end;
        }
        begin_range(f, t);
    }
    if (jump && weft__follow_outside(t)) decide(t, jump, 0);
}

void weft__follow_signal(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r, bool call) {
    if (top(t)->kind == RUNTIME || top(t)->kind == SIGNAL) return;
    uint32_t k = weft__code_at(&f->code, call ? r->pc - 2 : r->pc);
    uint64_t uses = k ? f->code.list[k].uses : 0;
    weft_node n = weft__graph_add(&f->graph, k, 0);
    if (call) uses = 1ull << WEFT_R_RAX | 1ull << WEFT_R_RDI | 1ull << WEFT_R_RSI | 1ull << WEFT_R_RDX;
    weft__graph_dep(&f->graph, n, control(t));
    for (unsigned i = 0; i < WEFT_R_COUNT; i++)
        if (uses >> i & 1) weft__graph_dep(&f->graph, n, t->writer[i]);
    push_runtime(f, t, SIGNAL, r->r[WEFT_R_RSP], n);
    top(t)->call = call;
}

void weft__follow_handler(struct weft_following *f, struct weft_follow_thread *t, uint64_t sp) {
    if (top(t)->kind == RUNTIME || top(t)->kind == SIGNAL) return; /* a call back as any other */
    weft_node n = weft__graph_add(&f->graph, 0, 0);
    weft__graph_dep(&f->graph, n, control(t));
    push_runtime(f, t, SIGNAL, sp, n);
}

static struct weft_follow_object *object_at(struct weft_following *f, uint64_t object) {
    if (f->nobjects * 2 >= f->objects_room) {
        struct weft_follow_object *old = f->objects;
        size_t room = f->objects_room;
        f->objects_room = room ? room * 2 : 64;
        f->objects = weft__alloc(f->objects_room * sizeof *f->objects);
        f->nobjects = 0;
        for (size_t i = 0; i < room; i++)
            if (old[i].object) *object_at(f, old[i].object) = old[i];
        free(old);
    }
    size_t i = (size_t)(object * 0x9e3779b97f4a7c15ull >> 20) & (f->objects_room - 1);
    while (f->objects[i].object && f->objects[i].object != object) i = (i + 1) & (f->objects_room - 1);
    if (!f->objects[i].object) {
        f->objects[i].object = object;
        f->nobjects++;
    }
    return &f->objects[i];
}

void weft__follow_note(struct weft_following *f, struct weft_follow_thread *t, const struct weft_access *a) {
    if (a->what & WEFT_ACCESS_SYNC) {
        struct weft_follow_object *o = object_at(f, a->addr);
        weft_node n = weft__follow_at(t);
        if (a->what & (WEFT_ACCESS_LOCK | WEFT_ACCESS_UNLOCK)) {
            f->locks = weft__grow(f->locks, &f->locks_cap, f->nlocks + 1, sizeof *f->locks);
            f->locks[f->nlocks++] = (struct weft_follow_lock){a->addr, a->tick, t->number, a->what & WEFT_ACCESS_LOCK};
        }
        if (!n) return;
        if (top(t)->operation != WEFT_OPERATION_CREATES) weft__graph_dep(&f->graph, n, o->last); /* a new thread is at the place of one that has ended */
        o->last = n;
    } else if (a->site) {
        f->places = weft__grow(f->places, &f->places_cap, (f->nplaces ? f->nplaces : 1) + 1, sizeof *f->places);
        if (!f->nplaces) f->places[f->nplaces++] = (struct weft_follow_place){0};
        f->places[f->nplaces] = (struct weft_follow_place){a->tick, a->site, t->number};
        t->place = (uint32_t)f->nplaces++;
        t->addr = a->addr;
        t->size = a->what & WEFT_ACC_SIZE;
    } else if (a->what & WEFT_ACCESS_FRESH) {
        weft__graph_forget(&f->graph, a->addr, a->what & WEFT_ACC_SIZE);
    } else if (top(t)->operation != WEFT_OPERATION_TAKES) {
        bool write = a->what & WEFT_ACC_WRITE;
        uint64_t size = a->what & WEFT_ACC_SIZE;
        weft_node n = weft__follow_at(t);
        if (!write && (size == 1 || size == 4)) size = f->string(f->ctx, a->addr, (unsigned)size); /* of a string only the first character is noted */
        if (n) weft__graph_access(&f->graph, n, t->slot, a->addr, size, !write, write);
    }
}

bool weft__follow_outside(const struct weft_follow_thread *t) {
    enum kind k = t->frames[t->nframes - 1].kind;
    return k == CALL || k == CALLED_BACK;
}

weft_node weft__follow_at(const struct weft_follow_thread *t) {
    for (size_t i = t->nframes; i-- > 0;)
        if (t->frames[i].kind == RUNTIME || t->frames[i].kind == SIGNAL) return t->frames[i].node;
    return 0;
}

void weft__follow_wait(struct weft_following *f, struct weft_follow_thread *t, uint64_t object) {
    weft__graph_dep(&f->graph, weft__follow_at(t), object_at(f, object)->last);
}

void weft__follow_end(struct weft_following *f, struct weft_follow_thread *t) { end_range(f, t, UINT64_MAX); }

/* ---- the program ---- */

static uint64_t address_of(const struct weft_operand *m, const struct weft_registers *r) {
    uint64_t a = (uint64_t)m->disp + (m->fs ? r->fs : m->gs ? r->gs : 0);
    if (m->base != WEFT_R_NONE && m->base < 16) a += r->r[m->base];
    if (m->index != WEFT_R_NONE && m->index < 16) a += r->r[m->index] * m->scale;
    return a;
}

/* It is in a line that the last check was about. */
static bool checked(const struct weft_follow_thread *t, uint64_t addr, uint64_t size) {
    return t->place && addr < ((t->addr + t->size - 1) | (WEFT_LINE - 1)) + 1 && addr + size > (t->addr & ~(uint64_t)(WEFT_LINE - 1));
}

static void execute(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r) {
    uint32_t number = weft__code_at(&f->code, r->pc);
    if (!number) {
        f->unknown++;
        return;
    }
    struct weft_insn i = f->code.list[number];
    uint32_t place = 0;
    bool any = !i.repeats || r->r[WEFT_R_RCX], kept = false;
    uint64_t addr[WEFT_INSN_MEMORY];
    for (unsigned k = 0; k < i.nmemory && any; k++) {
        addr[k] = address_of(&i.memory[k], r);
        if (checked(t, addr[k], i.memory[k].size)) place = t->place;
    }
    weft_node n = weft__graph_add(&f->graph, number, place);
    weft__graph_dep(&f->graph, n, control(t));
    t->last = n;
    for (uint64_t uses = i.uses; uses; uses &= uses - 1) weft__graph_dep(&f->graph, n, t->writer[__builtin_ctzll(uses)]);
    for (unsigned k = 0; k < i.nmemory && any; k++) {
        enum weft_whose whose = f->whose(f->ctx, t, addr[k]);
        if (whose == WEFT_WHOSE_PROGRAM) weft__graph_access(&f->graph, n, t->slot, addr[k], i.memory[k].size, i.memory[k].read, i.memory[k].write);
        if (whose == WEFT_WHOSE_KEPT && i.memory[k].write) t->kept = t->writer[WEFT_R_RCX];
        kept |= whose == WEFT_WHOSE_KEPT && i.memory[k].read;
    }
    for (uint64_t defs = i.defs; defs; defs &= defs - 1) t->writer[__builtin_ctzll(defs)] = n;
    if (kept) t->writer[WEFT_R_RCX] = t->kept;
    if (i.flow == WEFT_FLOW_CALL) {
        t->called = true;
        t->call = n;
    }
    if (i.flow == WEFT_FLOW_INDIRECT && !i.through_memory) t->jumped = i.pc;
    if (i.flow != WEFT_FLOW_BRANCH && !t->jumped) return;
    decide(t, n, weft__function_join(&f->functions, top(t)->fn, i.pc));
}

bool weft__follow_step(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r) {
    leave(f, t, r);
    enum weft_zone zone = f->zone(f->ctx, r->pc);
    struct frame *k = top(t);
    if (k->kind == RUNTIME || k->kind == SIGNAL) {
        if (zone != WEFT_ZONE_PROGRAM || r->r[WEFT_R_RSP] >= k->sp) return false;
        call_back(f, t, r);
    } else if (zone == WEFT_ZONE_RUNTIME) {
        enter_runtime(f, t, r);
        t->called = false;
        t->jumped = 0;
        return true;
    } else if (zone == WEFT_ZONE_LOADER) {
        t->called = false;
        t->writer[WEFT_R_RAX] = 0; /* where something is */
        return false;
    } else if (t->called)
        push(t, CALL, r->r[WEFT_R_RSP], t->call, weft__function_at(&f->functions, r->pc));
    k = top(t);
    if (t->jumped && k->fn) weft__function_seen(&f->functions, k->fn, t->jumped, r->pc);
    t->called = false;
    t->jumped = 0;
    if (!weft__function_has(&f->functions, k->fn, r->pc)) k->fn = weft__function_at(&f->functions, r->pc); /* a call in place of a return */
    while (t->nregions > k->regions && t->regions[t->nregions - 1].join == r->pc) t->nregions--;
    execute(f, t, r);
    return false;
}

void weft__following_fini(struct weft_following *f) {
    weft__graph_fini(&f->graph);
    weft__functions_fini(&f->functions);
    weft__code_fini(&f->code);
    free(f->ranges);
    free(f->places);
    free(f->objects);
    free(f->locks);
}
