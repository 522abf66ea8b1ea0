/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Slicing (LEAN, 3.2.1): on what of a run its failure depends. The run is replayed and every instruction of the program followed
 * (step.c); what each of them reads and writes (decode.c), which branch it depends on (control.c), and what passes between threads
 * make the multithreaded dependence graph (graph.c, follow.c). What leads to the failure in it is relevant (result.c). */
#ifndef WEFT_SLICE_H
#define WEFT_SLICE_H

#include "base/base.h"
#include "replay/replay.h"
#include "trace/trace.h"

/* ---- decode.c: instructions ---- */
/* Registers by number: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15; vectors; masks; flags; x87 and MMX as one. */
enum { WEFT_R_RAX, WEFT_R_RCX, WEFT_R_RDX, WEFT_R_RBX, WEFT_R_RSP, WEFT_R_RBP, WEFT_R_RSI, WEFT_R_RDI, WEFT_R_R8, WEFT_R_R9, WEFT_R_R10,
       WEFT_R_R11, WEFT_R_R15 = 15, WEFT_R_VECTOR = 16, WEFT_R_MASK = 48, WEFT_R_FLAGS = 56, WEFT_R_FLOAT, WEFT_R_COUNT };
#define WEFT_R_NONE 0xff
enum weft_flow {
    WEFT_FLOW_NEXT = 0,
    WEFT_FLOW_BRANCH,   /* to target, or on */
    WEFT_FLOW_JUMP,     /* to target */
    WEFT_FLOW_INDIRECT, /* a jump to anywhere */
    WEFT_FLOW_CALL,     /* target 0: indirect */
    WEFT_FLOW_RETURN,
    WEFT_FLOW_STOP,     /* it goes no further: ud2, hlt, int3 */
    WEFT_FLOW_SYSCALL,
};
#define WEFT_INSN_MEMORY 3u
struct weft_operand { /* memory */
    uint8_t base, index, scale; /* registers, or WEFT_R_NONE */
    bool fs, gs;
    bool read, write;
    uint16_t size;
    int64_t disp; /* with the address of the next instruction if it is relative to that */
};
struct weft_insn {
    uint64_t pc, target;
    uint64_t uses, defs;    /* registers, as bits. Without the stack pointer: everything would depend on all calls before it */
    uint8_t length, flow, nmemory;
    uint8_t first;          /* byte */
    bool moves_stack;       /* the stack pointer: */
    int32_t stack_by;       /* by so much; 0: not known */
    bool repeats;           /* of a string, rcx times */
    bool through_memory;    /* an indirect jump or call through a word at a fixed address: an entry of the procedure linkage table, or to the runtime */
    bool sets_return;       /* lea rax, [rip + 6]: before a jump to the runtime, which comes back behind it */
    struct weft_operand memory[WEFT_INSN_MEMORY];
};
/* The bytes (16, or fewer at the end of what can be read) at pc. False: no instruction. */
bool weft__insn_decode(const uint8_t *bytes, size_t n, uint64_t pc, struct weft_insn *out);
/* All that were met, by address; the program's text does not change. */
struct weft_code {
    bool (*read)(void *ctx, uint64_t pc, uint8_t bytes[16]); /* as the program has it */
    void *ctx;
    struct weft_insn *list; /* number 0 is none */
    size_t n, cap;
    uint32_t *table; /* numbers, by hash of the address */
    size_t room;
};
uint32_t weft__code_at(struct weft_code *c, uint64_t pc); /* its number; 0: none */
void weft__code_fini(struct weft_code *c);

/* ---- control.c: where what a branch decides is over ---- */
struct weft_function;
enum weft_call {
    WEFT_CALL_RETURNS, /* or is not known */
    WEFT_CALL_FAILS,   /* abort and the like */
    WEFT_CALL_EXITS,   /* the thread or the process ends as it should */
};
struct weft_functions {
    struct weft_code *code;
    /* The bounds of the function that an address is in, as far as they are known; false: not. */
    bool (*bounds)(void *ctx, uint64_t pc, uint64_t *from, uint64_t *to);
    enum weft_call (*ends)(void *ctx, const struct weft_insn *call);
    bool (*is_main)(void *ctx, uint64_t entry);
    void *ctx;
    struct weft_function **list;
    size_t n, cap;
    uint32_t *table;
    size_t room;
};
struct weft_function *weft__function_at(struct weft_functions *f, uint64_t entry);
bool weft__function_has(struct weft_functions *f, struct weft_function *fn, uint64_t pc);
/* An indirect jump went there. */
void weft__function_seen(struct weft_functions *f, struct weft_function *fn, uint64_t jump, uint64_t to);
/* The immediate post-dominator of the branch; 0: the end of the function. */
uint64_t weft__function_join(struct weft_functions *f, struct weft_function *fn, uint64_t branch);
void weft__functions_fini(struct weft_functions *f);

/* ---- graph.c: what depends on what ---- */
typedef uint32_t weft_node; /* 0: none */
struct weft_graph {
    struct weft_graph_node *nodes;
    struct weft_graph_dep *deps;
    size_t n, cap, ndeps, deps_cap;
    struct weft_graph_reader *readers; /* cells of lists */
    size_t nreaders, readers_cap;
    struct weft_graph_page **pages; /* hash table */
    size_t npages, room;
};
weft_node weft__graph_add(struct weft_graph *g, uint32_t insn, uint32_t place); /* both are the caller's numbers */
void weft__graph_dep(struct weft_graph *g, weft_node of, weft_node on);
/* Node n of the thread reads or writes memory: it depends on who wrote it; and if it writes, on the accesses before of other
 * threads. */
void weft__graph_access(struct weft_graph *g, weft_node n, uint32_t thread, uint64_t addr, uint64_t size, bool read, bool write);
void weft__graph_forget(struct weft_graph *g, uint64_t addr, uint64_t size); /* it is new memory */
/* All that n depends on, and n itself, is relevant. */
void weft__graph_mark(struct weft_graph *g, weft_node n);
bool weft__graph_marked(const struct weft_graph *g, weft_node n);
uint32_t weft__graph_insn(const struct weft_graph *g, weft_node n);
uint32_t weft__graph_place(const struct weft_graph *g, weft_node n);
void weft__graph_fini(struct weft_graph *g);

/* ---- names.c: functions of the loaded modules, by their symbols ---- */
struct weft_name {
    uint64_t from, to;
    char *name;
};
struct weft_names {
    struct weft_name *list; /* by address */
    size_t n, cap;
};
int weft__names_read(struct weft_names *n, const struct weft_trace *t, struct weft_err *err) WEFT_MUST;
const struct weft_name *weft__names_at(const struct weft_names *n, uint64_t pc);          /* NULL: none */
const struct weft_name *weft__names_find(const struct weft_names *n, const char *name, uint64_t from, uint64_t to); /* between these */
void weft__names_fini(struct weft_names *n);

/* ---- follow.c: from what a thread does to the graph ---- */
struct weft_registers { /* before the instruction */
    uint64_t r[16], pc, fs, gs;
};
enum weft_zone {
    WEFT_ZONE_PROGRAM, /* built with weft */
    WEFT_ZONE_FOREIGN,
    WEFT_ZONE_RUNTIME,
    WEFT_ZONE_LOADER,
};
enum weft_whose { /* memory */
    WEFT_WHOSE_PROGRAM,
    WEFT_WHOSE_WEFT,
    WEFT_WHOSE_KEPT, /* weft's, where a check keeps a register of the program's for a moment */
};
enum weft_operation {
    WEFT_OPERATION_OTHER,
    WEFT_OPERATION_CREATES, /* a thread */
    WEFT_OPERATION_TAKES,   /* what the code behind it will access: that is followed by itself */
};
struct weft_follow_thread;
struct weft_follow_range { /* operations of a call into the runtime */
    weft_node node;
    uint32_t thread; /* number */
    uint64_t from, to; /* ticks; UINT64_MAX: to its end */
};
struct weft_follow_place { /* a checked access */
    uint64_t tick, site;
    uint32_t thread;
};
struct weft_follow_lock { /* the thread gets it, or gives it back */
    uint64_t object, tick;
    uint32_t thread;
    bool got;
};
struct weft_following {
    struct weft_code code;
    struct weft_functions functions;
    struct weft_graph graph;
    enum weft_zone (*zone)(void *ctx, uint64_t pc);
    enum weft_whose (*whose)(void *ctx, const struct weft_follow_thread *t, uint64_t addr);
    unsigned (*arguments)(void *ctx, uint64_t pc); /* how many the function of the runtime takes */
    enum weft_operation (*operation)(void *ctx, uint64_t pc); /* what it does */
    uint64_t (*string)(void *ctx, uint64_t addr, unsigned width); /* bytes of the string there, if it is one; at least a character */
    uint64_t (*clock)(void *ctx, const struct weft_follow_thread *t);
    void *ctx;
    struct weft_follow_range *ranges;
    size_t nranges, ranges_cap;
    struct weft_follow_place *places; /* number 0 is none */
    size_t nplaces, places_cap;
    struct weft_follow_object *objects; /* of synchronisation: hash table */
    size_t nobjects, objects_room;
    struct weft_follow_lock *locks;
    size_t nlocks, locks_cap;
    uint64_t unknown; /* instructions that could not be decoded */
};
struct weft_follow_thread *weft__follow_new(struct weft_following *f, uint32_t number, weft_node maker);
void weft__follow_free(struct weft_follow_thread *t);
void weft__follow_slot(struct weft_follow_thread *t, uint32_t slot);
uint32_t weft__follow_number(const struct weft_follow_thread *t);
uint32_t weft__follow_slot_of(const struct weft_follow_thread *t);
/* The thread is about to execute the instruction at r->pc, or stands there after the runtime did something. True: it has just called
 * a function of the runtime's, and the way back is on the stack. */
bool weft__follow_step(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r);
/* A synchronous signal is about to be delivered: a system call (of the instruction before), or a fault. */
void weft__follow_signal(struct weft_following *f, struct weft_follow_thread *t, const struct weft_registers *r, bool call);
/* A handler is about to be called, for a signal that came between two instructions; sp: of these. */
void weft__follow_handler(struct weft_following *f, struct weft_follow_thread *t, uint64_t sp);
/* What the runtime notes. */
void weft__follow_note(struct weft_following *f, struct weft_follow_thread *t, const struct weft_access *a);
bool weft__follow_outside(const struct weft_follow_thread *t); /* it is in no call into the runtime */
/* What the thread is doing in the runtime, or the instruction that failed; 0: nothing. */
weft_node weft__follow_at(const struct weft_follow_thread *t);
/* It waits for the object. */
void weft__follow_wait(struct weft_following *f, struct weft_follow_thread *t, uint64_t object);
/* The ticks of operations that are still going on. */
void weft__follow_end(struct weft_following *f, struct weft_follow_thread *t);
void weft__following_fini(struct weft_following *f);

/* ---- block.c: what can be run at once ---- */
#define WEFT_RUN_MAX 64u
struct weft_run_ahead {
    size_t n; /* instructions that are known to be executed one after the other, unless one of them fails */
    struct weft_registers r[WEFT_RUN_MAX]; /* before each of them, as far as its addresses are made of them */
    uint64_t stop[2]; /* it comes to one of these */
    size_t nstops;
};
/* From where the thread stands; may: an instruction may be run, or stopped at, there. How many; 0: it has to be stepped. */
size_t weft__run_plan(struct weft_code *c, const struct weft_registers *r, bool (*may)(void *ctx, uint64_t pc), void *ctx, struct weft_run_ahead *out);

/* ---- step.c: the program under ptrace ---- */
#define WEFT_SLICE_WAITS 256u
struct weft_slice_shared { /* between weft and its child that steps */
    uint64_t nwaits;       /* the run was stuck: by these threads */
    struct { uint32_t slot, zero; uint64_t object; } wait[WEFT_SLICE_WAITS];
};
struct weft_stepping {
    pid_t pid;
    const struct weft_trace *t;
    struct weft_schedule *schedule;
    struct weft_accesses *list;
    struct weft_slice_shared *shared;
    uint64_t most; /* instructions */
    bool single;   /* every instruction is stepped: to check what is run at once */
    /* what came out */
    struct weft_following f;
    struct weft_follow_thread **threads; /* all that there were */
    size_t nthreads, threads_cap;
    uint64_t steps;
    struct weft_names names;
    struct weft_step *own;
};
/* The process waits for a debugger: follows it to its end. */
int weft__step_all(struct weft_stepping *s, struct weft_err *err) WEFT_MUST;
void weft__step_fini(struct weft_stepping *s);

/* ---- result.c: what is relevant ---- */
struct weft_slice {
    struct weft_relevant relevant;
    uint64_t steps;   /* instructions that were stepped, weft's as well */
    uint64_t unknown; /* that could not be decoded */
    uint64_t time_us;
    uint64_t *pcs;    /* instructions of the program that are relevant, sorted */
    size_t npcs;
};
#define WEFT_SLICE_MOST 20000000ull /* instructions that are followed at most, unless the user says otherwise */
/* The launch is ready to replay the trace. single: as weft_stepping's. */
int weft__slice_make(struct weft_trace *t, struct weft_schedule *schedule, struct weft_launch *launch, uint64_t most, bool single, struct weft_slice *out,
                     struct weft_err *err) WEFT_MUST;
void weft__slice_fini(struct weft_slice *s);
struct weft_slice_size {
    uint64_t threads, events, switches, preemptive;
};
/* The whole trace, and what of it is relevant. */
int weft__slice_measure(struct weft_trace *t, const struct weft_relevant *s, struct weft_slice_size *all, struct weft_slice_size *relevant,
                        struct weft_err *err) WEFT_MUST;

#endif
