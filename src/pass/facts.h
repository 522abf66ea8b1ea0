/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Facts about a module, for the plan and the rewriter: which accesses need an owner check and why the others do not,
 * who may be called from where, and what external functions do. Everything is computed by weft__facts_new from the
 * module as it is then; answers are kept per instruction, so the rewriter may insert code while it asks. Do not ask
 * about instructions that were made later, and do not ask after an instruction was deleted (its address may be used
 * again). */
#ifndef WEFT_FACTS_H
#define WEFT_FACTS_H

#include <llvm-c/Core.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum weft_plan {
    WEFT_PLAN_ALL = 0,    /* every access but locals whose address is never taken; no assumption about memory errors */
    WEFT_PLAN_SHARED = 1, /* LEAP: whatever two threads may share and somebody may write */
    WEFT_PLAN_SYNC = 2,   /* no memory access; call graph as for SHARED */
    WEFT_PLAN_RACES = 3,  /* Chimera: of SHARED, what may race; weft__plan_races */
};

struct weft_facts;

struct weft_facts_options {
    int shared_library; /* border unknown: exported functions may be called by anybody, from any thread */
    int plan;           /* enum weft_plan */
    int coarse;         /* no points-to: what plan ALL uses, and a way out should the solver ever be too slow */
};

/* ---- facts.c --------------------------------------------------------------------------------------------------- */

/* Why an access needs no check. Of several objects that it may touch: ORDERED if one needs it, else the largest. */
#define WEFT_WHYS(X)                                                                                                   \
    X(ORDERED, "ordered")       /* it needs one */                                                                     \
    X(LOCAL, "local")           /* stack or heap object that no second thread can reach */                             \
    X(TLS, "tls")               /* thread-local variable, same */                                                      \
    X(CONSTANT, "constant")     /* read-only memory */                                                                 \
    X(ONE_THREAD, "one-thread") /* could be reached by others, but only one single thread ever accesses these bytes */ \
    X(UNWRITTEN, "unwritten")   /* shared, never written after the first thread was started */                         \
    X(UNREACHABLE, "unreachable") /* in a function that nobody calls */                                                \
    X(PLAN, "plan")               /* the plan wants no checks of memory accesses */                                    \
    X(RACE_FREE, "race-free")     /* shared and written, but ordered by something else */                              \
    X(NOTHING, "nothing")         /* not a pointer, or this call does not touch memory through it */

enum weft_why {
#define X(name, text) WEFT_WHY_##name,
    WEFT_WHYS(X)
#undef X
        WEFT_WHY_COUNT
};
const char *weft__why_name(enum weft_why why);

/* Why plan RACES keeps a check that SHARED has; of several reasons the largest. */
#define WEFT_KEPTS(X)                                                                                                  \
    X(NOT, "race-free")                                                                                                \
    X(STALE, "heap, and a free may race") /* somebody may use it after it was freed, and another has it */             \
    X(ATOMIC, "races between atomics")                                                                                 \
    X(OUTSIDE, "known outside") /* to other modules, processes, or libraries; or we do not know */                     \
    X(RACE, "may race")

enum weft_kept {
#define X(name, text) WEFT_KEPT_##name,
    WEFT_KEPTS(X)
#undef X
        WEFT_KEPT_COUNT
};
const char *weft__kept_name(enum weft_kept kept);

struct weft_facts *weft__facts_new(LLVMModuleRef module, const struct weft_facts_options *options);
void weft__facts_free(struct weft_facts *facts);

/* Load, store, atomicrmw, cmpxchg, va_arg: `which` is 0. Calls, invokes and memory intrinsics: `which` is the index of
 * the argument; the memory meant is what the callee's entry in the table says, for an unknown or indirect callee all
 * that can be reached from it, for a `byval` argument of any callee the bytes copied by the call itself, and NOTHING
 * otherwise (a callee in this module checks its own accesses). */
enum weft_why weft__facts_access(const struct weft_facts *facts, LLVMValueRef inst, int which);

/* The plan counts on it: a lock or a join that must succeed, a turn of a loop (__weft_repeat) that must not be left out. */
int weft__facts_sure(const struct weft_facts *facts, LLVMValueRef call);

/* The callee may come back into the function that contains the call (that is: to the same sites) before it returns. */
int weft__facts_may_reenter(const struct weft_facts *facts, LLVMValueRef call);

/* The set of callees includes code not built with weft that is not known to be short (class OUT, no entry in the table,
 * or a function pointer from elsewhere). Such a call runs outside. */
int weft__facts_may_call_out(const struct weft_facts *facts, LLVMValueRef call);

/* Code that is not in this module may call the function: it needs an entry that comes inside. Start routines, handlers,
 * comparators and the like that are passed to external functions count; `main` does. */
int weft__facts_address_taken(const struct weft_facts *facts, LLVMValueRef function);

/* Nobody can call it (and code in it is never run). */
int weft__facts_unreachable(const struct weft_facts *facts, LLVMValueRef function);

/* Possible callees defined in this module; returns how many, writes at most `max`. *complete is 0 if code outside the
 * module may be called as well. */
size_t weft__facts_callees(const struct weft_facts *facts, LLVMValueRef call, LLVMValueRef *out, size_t max,
                           int *complete);

/* External functions that are called, are not in the table, and so are taken to do anything; each once, in order of
 * first use. NULL ends the walk. */
const char *weft__facts_unknown(const struct weft_facts *facts, size_t i);

struct weft_facts_counts {
    size_t accesses;           /* all asked for in weft__facts_access terms */
    size_t by[WEFT_WHY_COUNT]; /* of those */
    size_t kept[WEFT_KEPT_COUNT]; /* plan RACES: of what SHARED would check */
    size_t objects, locations, nodes, constraints;
    double seconds;
};
void weft__facts_count(const struct weft_facts *facts, struct weft_facts_counts *counts);

/* One line per function and per access, without addresses, in module order: for tests. */
void weft__facts_print(const struct weft_facts *facts, FILE *out);

/* ---- externals.c: the table in externals.def ------------------------------------------------------------------- */

enum weft_ext_class {
    WEFT_EXT_PURE,   /* short, never blocks, stays inside; touches only what the effects say */
    WEFT_EXT_WRAP,   /* the runtime interposes this very symbol and orders it itself */
    WEFT_EXT_RENAME, /* call __weft_NAME instead, which takes the memory it touches and does the work */
    WEFT_EXT_OUT,    /* runs outside: may block or take long; the memory of its pointer arguments is taken before */
};

enum weft_effect_kind {
    WEFT_EFF_READ = 'r',  /* rN:SIZE   reads memory at argument N */
    WEFT_EFF_WRITE = 'w', /* wN:SIZE   writes it */
    WEFT_EFF_COPY = 'd',  /* dN:M      what is written at argument N may contain pointers read at argument M */
    WEFT_EFF_KEEP = 'e',  /* eN        argument N is kept: anybody may use it later */
    WEFT_EFF_TOUCH =
        'x', /* xN        reads and writes all that can be reached from argument N; weft__external_calls_found */
    WEFT_EFF_ALONE = 'i',  /* iN        like x, but no pointer passes between it and other arguments */
    WEFT_EFF_REACH = 'R',  /* RN        reads all that can be reached from argument N */
    WEFT_EFF_INTO = 'p',   /* pN        returns a pointer into what argument N points to */
    WEFT_EFF_FRESH = 'f',  /* f         returns fresh memory */
    WEFT_EFF_FREE = 'F',   /* FN        frees what argument N points to */
    WEFT_EFF_GLOBAL = 'g', /* g         returns a pointer to memory of the library */
    WEFT_EFF_ERRNO = 'L',  /* L         returns a pointer to thread-local memory of the library */
    WEFT_EFF_STATIC = 'W', /* W         writes memory of the library that other calls return too (localtime) */
    WEFT_EFF_CTYPE = 'K',  /* K         returns a pointer to a thread-local pointer to constant memory */
    WEFT_EFF_CALL = 'c',   /* cN        calls argument N back before it returns */
    WEFT_EFF_LATER = 'k',  /* kN:M      argument N is called later, on any thread, with argument M (M may be missing) */
    WEFT_EFF_HANDLER = 'h',  /* hN        the same for the function whose address is at argument N */
    WEFT_EFF_SETOWN = 'z',   /* zN        argument N is kept for the calling thread (pthread_setspecific) */
    WEFT_EFF_GETOWN = 'Z',   /* Z         returns what was kept so */
    WEFT_EFF_ENDOWN = 'b',   /* bN        argument N is called later with what was kept so; the key is at argument 0 */
    WEFT_EFF_ATEXIT = 'a',   /* aN:M      the same, when the process ends */
    WEFT_EFF_RUNS = 'Y',     /* Y         may call what a k function was given */
    WEFT_EFF_THROW = 'E',    /* EN        argument N is thrown: landing pads get it */
    WEFT_EFF_THREAD = 't',   /* tN:M      starts a thread at argument N with argument M */
    WEFT_EFF_STARTS = 'T',   /* T         may start threads in some other way */
    WEFT_EFF_NORETURN = 'n', /* n         does not return */
    WEFT_EFF_EXIT = 'X',     /* X         ends the process: runs what atexit was given */
    WEFT_EFF_VARREAD =
        'v', /* v         like printf: pointers among the variable arguments are read, strings possibly */
    WEFT_EFF_VARWRITE = 'V', /* V         like scanf: pointers among the variable arguments are written */
    WEFT_EFF_INPUT = 'I',    /* I         what it writes comes from outside: a file, a pipe */
    WEFT_EFF_OUTPUT = 'O',   /* O         what it reads goes out, and may come back through an I function */
    WEFT_EFF_MAKES = 'm',    /* mN        stores a pointer to fresh memory at argument N */
    WEFT_EFF_LIBPTR = 'u',   /* uN        stores a pointer to memory of the library at argument N */
    WEFT_EFF_POINTS = 'q',   /* qN:M      stores a pointer into what argument M points to at argument N */
    WEFT_EFF_JOIN = 'j',     /* jN        stores the result of some thread at argument N */
    WEFT_EFF_RESULT = 'J',   /* JN        argument N is the result of the calling thread */
};

enum weft_size_kind {
    WEFT_SIZE_NONE,     /* effect takes no size */
    WEFT_SIZE_WHOLE,    /* ?       not known: the object from there to its end */
    WEFT_SIZE_STRING,   /* s       up to and with the NUL */
    WEFT_SIZE_WSTRING,  /* S       the same of wchar_t */
    WEFT_SIZE_CONSTANT, /* =C      C bytes */
    WEFT_SIZE_ARG,      /* A       value of argument A;  A*B  times that of B;  A*=C  times C */
};

struct weft_effect {
    uint8_t kind;      /* enum weft_effect_kind */
    uint8_t size;      /* enum weft_size_kind */
    int8_t arg;        /* N, -1: none */
    int8_t arg2;       /* M, or A; -1: none */
    int8_t arg3;       /* B; -1: none */
    uint64_t constant; /* C; 1 if there is none */
};

struct weft_external {
    const char *name;
    enum weft_ext_class class;
    const char *effects; /* as written */
    const struct weft_effect *effect;
    unsigned count;
};

/* NULL: not in the table. Intrinsics are found by the longest prefix. */
const struct weft_external *weft__external(const char *name);
/* A function of a shared library that was built with weft too (weft-cc lists them): it orders itself. */
int weft__external_ordered(const char *name);

/* Adds the entries of a file in the syntax of externals.def; they come before those of the table. 0, or -1 with a
 * message in `err` ("FILE:LINE: what"). Call it before weft__facts_new; not thread-safe. */
int weft__externals_load(const char *path, char *err, size_t err_size);

/* Whether an entry has an effect of this kind. */
int weft__external_has(const struct weft_external *ext, enum weft_effect_kind kind);
/* Does a function that touches all that it reaches (x) also call functions that it finds there? One that the runtime
 * interposes is known to call none, if it is not marked Y: getopt, readv, getline. */
int weft__external_calls_found(const struct weft_external *ext);

/* Every entry of the built-in table parses; else -1 and a message. For tests and for the pass at start. */
int weft__externals_check(char *err, size_t err_size);

#endif
