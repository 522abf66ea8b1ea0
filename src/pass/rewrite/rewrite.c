/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Puts checks, ticks and takes into the module. What they look like (abi.h):
 *
 *   check   entry = table[(uint32_t)p >> 6]; if (entry != tls.me) cold: jump to __weft_miss(p, access); access
 *   tick    if (++tls.clock >= tls.limit) cold: jump to __weft_tick_cold
 *
 * The cold part is inline assembly: `lea back(%rip), %rax; jmp *__weft_miss@GOTPCREL(%rip); back:`, so nothing is pushed on
 * the program's stack and the address of `back` is the site. An empty assembly statement that clobbers memory stands
 * before each access, so that later stages of the compiler cannot move the access above its check.
 *
 * Ticks: at function entries (unless nothing in the function could be a site), at the head of every cycle of the control
 * flow graph (targets of retreating edges of a depth-first walk: each cycle has one, reducible or not), after calls that
 * may come back into the function, at landing pads, and after calls that return twice.
 *
 * Small copies of constant size become a load and a store, each with its check; other memory intrinsics call the runtime.
 * Calls of external functions that touch shared memory take that memory first, as a group, and stay inside; calls of
 * unknown and of long-running ones run outside. Functions that foreign code may call come inside at entry. */
#include "../pass.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

struct rw {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTargetDataRef dl;
    const struct weft_facts *f;
    const struct weft_pass_options *o;
    struct weft_pass_stats *s;
    LLVMTypeRef i8, i16, i32, i64, ptr, vd;
    LLVMValueRef tls;
    LLVMTypeRef cold_t, cold2_t;
    LLVMValueRef tick_cold, come_in, go_out, miss, verify, barrier;
    LLVMTypeRef barrier_t;
    unsigned dbg_kind;
};

static LLVMValueRef i64c(struct rw *r, uint64_t v) { return LLVMConstInt(r->i64, v, 0); }

static LLVMValueRef asm_jump(struct rw *r, const char *target, LLVMTypeRef t, const char *constraints) {
    char s[256];
    snprintf(s, sizeof s, "leaq 777f(%%rip), %%rax\n\tjmpq *%s@GOTPCREL(%%rip)\n777:", target);
    return LLVMGetInlineAsm(t, s, strlen(s), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
}

static LLVMValueRef tls_word(struct rw *r, uint64_t off) {
    LLVMValueRef ix = i64c(r, off);
    return LLVMConstGEP2(r->i8, r->tls, &ix, 1);
}

static LLVMValueRef load(struct rw *r, LLVMTypeRef t, LLVMValueRef p, unsigned align) {
    LLVMValueRef v = LLVMBuildLoad2(r->b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

static void at(struct rw *r, LLVMValueRef before) {
    LLVMPositionBuilderBefore(r->b, before);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
}

static void call0(struct rw *r, LLVMValueRef a) { LLVMBuildCall2(r->b, r->cold_t, a, NULL, 0, ""); }

static void tick(struct rw *r, LLVMValueRef before) {
    if (!before) return;
    at(r, before);
    LLVMValueRef cp = tls_word(r, WEFT_TLS_CLOCK);
    LLVMValueRef c = LLVMBuildAdd(r->b, load(r, r->i64, cp, 8), i64c(r, 1), "");
    LLVMSetAlignment(LLVMBuildStore(r->b, c, cp), 8);
    LLVMValueRef l = load(r, r->i64, tls_word(r, WEFT_TLS_LIMIT), 8);
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntUGE, c, l, ""), before);
    at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
    call0(r, r->tick_cold);
    at(r, before);
    LLVMBuildCall2(r->b, r->barrier_t, r->barrier, NULL, 0, "");
    r->s->ticks++;
}

static LLVMValueRef entry_of(struct rw *r, LLVMValueRef p_int) {
    LLVMValueRef t = LLVMBuildTrunc(r->b, p_int, r->i32, "");
    t = LLVMBuildLShr(r->b, t, LLVMConstInt(r->i32, WEFT_LINE_SHIFT, 0), "");
    t = LLVMBuildZExt(r->b, t, r->i64, "");
    t = LLVMBuildShl(r->b, t, i64c(r, 1), "");
    t = LLVMBuildAdd(r->b, t, i64c(r, WEFT_TABLE_ADDR), "");
    return load(r, r->i16, LLVMBuildIntToPtr(r->b, t, r->ptr, ""), 2);
}

/* A check of n bytes at p, before `before`, which has the debug location of the access. */
static void check(struct rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    at(r, before);
    LLVMValueRef pi = LLVMBuildPtrToInt(r->b, p, r->i64, "");
    LLVMValueRef me = load(r, r->i16, tls_word(r, WEFT_TLS_ME), 2);
    LLVMValueRef bad = LLVMBuildICmp(r->b, LLVMIntNE, entry_of(r, pi), me, "");
    if (!(align >= n && n <= WEFT_LINE && !(n & (n - 1))) && n > 1) {
        LLVMValueRef q = LLVMBuildAdd(r->b, pi, i64c(r, n - 1), "");
        bad = LLVMBuildOr(r->b, bad, LLVMBuildICmp(r->b, LLVMIntNE, entry_of(r, q), me, ""), "");
    }
    LLVMValueRef cold = weft__shim_cold(bad, before);
    LLVMMetadataRef dl = LLVMInstructionGetDebugLoc(before);
    at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, dl);
    LLVMValueRef a[2] = {p, i64c(r, n | flags)};
    LLVMBuildCall2(r->b, r->cold2_t, r->miss, a, 2, "");
    at(r, before);
    LLVMBuildCall2(r->b, r->barrier_t, r->barrier, NULL, 0, "");
    r->s->checks++;
}

static void verify(struct rw *r, LLVMValueRef after, LLVMValueRef p, uint64_t n, uint32_t flags) {
    if (!r->o->verify) return;
    LLVMValueRef next = LLVMGetNextInstruction(after);
    LLVMPositionBuilderBefore(r->b, next);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(after));
    LLVMValueRef a[2] = {p, i64c(r, n | flags)};
    LLVMBuildCall2(r->b, r->cold2_t, r->verify, a, 2, "");
}

static LLVMValueRef function(struct rw *r, const char *name, LLVMTypeRef t) {
    LLVMValueRef f = LLVMGetNamedFunction(r->m, name);
    return f ? f : LLVMAddFunction(r->m, name, t);
}

static uint64_t size_of(struct rw *r, LLVMTypeRef t) { return LLVMStoreSizeOfType(r->dl, t); }

static void access_inst(struct rw *r, LLVMValueRef i) {
    LLVMValueRef p;
    uint64_t n;
    uint32_t flags = 0;
    unsigned al;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        p = LLVMGetOperand(i, 0);
        n = size_of(r, LLVMTypeOf(i));
        al = LLVMGetAlignment(i);
        break;
    case LLVMStore:
        p = LLVMGetOperand(i, 1);
        n = size_of(r, LLVMTypeOf(LLVMGetOperand(i, 0)));
        al = LLVMGetAlignment(i);
        flags = WEFT_ACC_WRITE;
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        p = LLVMGetOperand(i, 0);
        n = size_of(r, LLVMTypeOf(LLVMGetOperand(i, 1)));
        al = (unsigned)n;
        flags = WEFT_ACC_WRITE | WEFT_ACC_ATOMIC;
        break;
    default: return;
    }
    if (!n) return;
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(p))) return; /* fs:, gs: relative: thread-local by nature */
    check(r, i, p, n, al, flags);
    verify(r, i, p, n, flags);
}

/* ---- memory intrinsics */

static int constant(LLVMValueRef v, uint64_t *out) {
    if (!LLVMIsAConstantInt(v)) return 0;
    *out = LLVMConstIntGetZExtValue(v);
    return 1;
}

static unsigned param_align(LLVMValueRef call, unsigned arg) {
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, arg + 1, LLVMGetEnumAttributeKindForName("align", 5));
    return a ? (unsigned)LLVMGetEnumAttributeValue(a) : 1;
}

static void replace_call(struct rw *r, LLVMValueRef i, const char *name, LLVMValueRef *a, unsigned n, LLVMTypeRef t) {
    at(r, i);
    LLVMValueRef c = LLVMBuildCall2(r->b, t, function(r, name, t), a, n, "");
    if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind) LLVMReplaceAllUsesWith(i, c);
    LLVMInstructionEraseFromParent(i);
    r->s->takes++;
}

static void memory_intrinsic(struct rw *r, LLVMValueRef i, const char *name) {
    int set = !strncmp(name, "llvm.memset", 11);
    int d_ord = weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED;
    int s_ord = !set && weft__facts_access(r->f, i, 1) == WEFT_WHY_ORDERED;
    if (!d_ord && !s_ord) return;
    LLVMValueRef d = LLVMGetOperand(i, 0), s = LLVMGetOperand(i, 1), len = LLVMGetOperand(i, 2);
    uint64_t n;
    if (constant(len, &n)) {
        if (!n) return;
        if (set && n <= WEFT_LINE) {
            check(r, i, d, n, param_align(i, 0), WEFT_ACC_WRITE);
            verify(r, i, d, n, WEFT_ACC_WRITE);
            return;
        }
        if (!set && n <= WEFT_LINE) {
            LLVMTypeRef t = LLVMIntTypeInContext(r->c, (unsigned)n * 8);
            at(r, i);
            LLVMValueRef v = LLVMBuildLoad2(r->b, t, s, "");
            LLVMSetAlignment(v, param_align(i, 1));
            at(r, i);
            LLVMValueRef st = LLVMBuildStore(r->b, v, d);
            LLVMSetAlignment(st, param_align(i, 0));
            if (s_ord) {
                check(r, v, s, n, param_align(i, 1), 0);
                verify(r, v, s, n, 0);
            }
            if (d_ord) {
                check(r, st, d, n, param_align(i, 0), WEFT_ACC_WRITE);
                verify(r, st, d, n, WEFT_ACC_WRITE);
            }
            LLVMInstructionEraseFromParent(i);
            return;
        }
    }
    at(r, i);
    if (LLVMTypeOf(len) != r->i64) len = LLVMBuildZExt(r->b, len, r->i64, "");
    if (set) {
        LLVMValueRef v = LLVMBuildZExt(r->b, s, r->i32, "");
        LLVMTypeRef p[3] = {r->ptr, r->i32, r->i64};
        LLVMValueRef a[3] = {d, v, len};
        replace_call(r, i, "__weft_memset", a, 3, LLVMFunctionType(r->ptr, p, 3, 0));
    } else {
        LLVMTypeRef p[3] = {r->ptr, r->ptr, r->i64};
        LLVMValueRef a[3] = {d, s, len};
        replace_call(r, i, !strncmp(name, "llvm.memmove", 12) ? "__weft_memmove" : "__weft_memcpy", a, 3,
                     LLVMFunctionType(r->ptr, p, 3, 0));
    }
}

/* ---- calls of external functions */

static LLVMValueRef arg_int(struct rw *r, LLVMValueRef call, int arg) {
    LLVMValueRef v = LLVMGetOperand(call, (unsigned)arg);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind) return i64c(r, 0);
    unsigned w = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    return w < 64 ? LLVMBuildZExt(r->b, v, r->i64, "") : w > 64 ? LLVMBuildTrunc(r->b, v, r->i64, "") : v;
}

/* Takes what the call touches, as its entry says; unknown functions: the objects that its pointer arguments point into. */
static void take(struct rw *r, LLVMValueRef call, const struct weft_external *e) {
    LLVMTypeRef t0 = LLVMFunctionType(r->vd, NULL, 0, 0);
    LLVMTypeRef p3[3] = {r->ptr, r->i64, r->i32}, p1[1] = {r->ptr};
    LLVMTypeRef range_t = LLVMFunctionType(r->vd, p3, 3, 0), one_t = LLVMFunctionType(r->vd, p1, 1, 0);
    unsigned nargs = LLVMGetNumArgOperands(call);
    int begun = 0;
    at(r, call);
#define BEGIN()                                                                                                        \
    do {                                                                                                               \
        if (!begun++) LLVMBuildCall2(r->b, t0, function(r, "__weft_take_begin", t0), NULL, 0, "");                     \
    } while (0)
    if (e) {
        for (unsigned k = 0; k < e->count; k++) {
            const struct weft_effect *x = &e->effect[k];
            int varargs = x->kind == WEFT_EFF_VARREAD || x->kind == WEFT_EFF_VARWRITE;
            if (varargs) {
                LLVMTypeRef ft = LLVMGetCalledFunctionType(call);
                for (unsigned a = LLVMCountParamTypes(ft); a < nargs; a++) {
                    LLVMValueRef v = LLVMGetOperand(call, a);
                    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind) continue;
                    if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
                    BEGIN();
                    LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_object", one_t), &v, 1, "");
                }
                continue;
            }
            if (x->kind != WEFT_EFF_READ && x->kind != WEFT_EFF_WRITE && x->kind != WEFT_EFF_TOUCH) continue;
            if (x->arg < 0 || (unsigned)x->arg >= nargs) continue;
            LLVMValueRef p = LLVMGetOperand(call, (unsigned)x->arg);
            if (LLVMGetTypeKind(LLVMTypeOf(p)) != LLVMPointerTypeKind) continue;
            if (weft__facts_access(r->f, call, x->arg) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            if (x->kind == WEFT_EFF_TOUCH || x->size == WEFT_SIZE_WHOLE || x->size == WEFT_SIZE_NONE) {
                LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_object", one_t), &p, 1, "");
            } else if (x->size == WEFT_SIZE_STRING) {
                LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_str", one_t), &p, 1, "");
            } else if (x->size == WEFT_SIZE_WSTRING) {
                LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_wcs", one_t), &p, 1, "");
            } else {
                LLVMValueRef n = i64c(r, x->constant);
                if (x->size == WEFT_SIZE_ARG) {
                    n = arg_int(r, call, x->arg2);
                    if (x->arg3 >= 0) n = LLVMBuildMul(r->b, n, arg_int(r, call, x->arg3), "");
                    if (x->constant > 1) n = LLVMBuildMul(r->b, n, i64c(r, x->constant), "");
                }
                LLVMValueRef a[3] = {p, n, LLVMConstInt(r->i32, x->kind == WEFT_EFF_WRITE, 0)};
                LLVMBuildCall2(r->b, range_t, function(r, "__weft_take_range", range_t), a, 3, "");
            }
        }
    } else
        for (unsigned a = 0; a < nargs; a++) {
            LLVMValueRef v = LLVMGetOperand(call, a);
            if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind || LLVMIsAConstantPointerNull(v) || LLVMIsAFunction(v)) continue;
            if (weft__facts_access(r->f, call, (int)a) != WEFT_WHY_ORDERED) continue;
            BEGIN();
            LLVMBuildCall2(r->b, one_t, function(r, "__weft_take_object", one_t), &v, 1, "");
        }
    if (begun) {
        LLVMBuildCall2(r->b, t0, function(r, "__weft_take_end", t0), NULL, 0, "");
        r->s->takes++;
    }
}

static const char *name_of(LLVMValueRef v) {
    size_t n;
    return LLVMGetValueName2(v, &n);
}

static int listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p && *p;) {
        const char *e = strchr(p, ',');
        size_t k = e ? (size_t)(e - p) : strlen(p);
        if (k == n && !memcmp(p, name, n)) return 1;
        p = e ? e + 1 : NULL;
    }
    return 0;
}

/* Functions of libc with a state of their own behind them: calls of a group are ordered among each other. */
static unsigned hidden_state(const char *name) {
    static const char *const groups[] = {
        "rand,srand,random,srandom,initstate,setstate",
        "drand48,lrand48,mrand48,srand48,seed48,lcong48,erand48,nrand48,jrand48",
        "localtime,gmtime,ctime,asctime,mktime,localtime_r,gmtime_r,ctime_r,asctime_r,strftime,strptime,tzset,timelocal,timegm,wcsftime",
        "getenv,secure_getenv,setenv,putenv,unsetenv,clearenv",
        "strerror,strsignal,setlocale,localeconv,nl_langinfo,newlocale,uselocale",
        "getopt,getopt_long,getopt_long_only",
        "tmpnam,tempnam,mktemp,mkstemp,mkostemp,mkdtemp,tmpfile,mkstemp64,tmpfile64",
        "getpwnam,getpwuid,getgrnam,getgrgid,getpwnam_r,getpwuid_r,getgrnam_r,getgrgid_r,getlogin,ttyname",
        "gethostbyname,gethostbyaddr,getaddrinfo,getnameinfo,getservbyname,getservbyport,getprotobyname",
        "atexit,on_exit,__cxa_atexit,at_quick_exit",
        "dlopen,dlsym,dlclose,dlerror,dladdr",
        "lgamma,lgammaf,lgammal,gamma",
        "readdir,readdir64,opendir,closedir,rewinddir,seekdir,telldir,fdopendir",
        "sysconf,get_nprocs,get_nprocs_conf,getloadavg",
        "syslog,openlog,closelog,setlogmask,vsyslog",
        "strtok",
    };
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (listed(groups[i], name)) return i + 1;
    return 0;
}

/* First instruction after a call on its normal way; NULL: none (no return). */
static LLVMValueRef after(LLVMValueRef call) {
    if (LLVMIsAInvokeInst(call)) return weft__shim_first(weft__shim_normal_edge(call));
    return LLVMGetNextInstruction(call);
}

/* Whether the runtime defines the function itself; the list is made from its symbols when weft is built. */
static int interposed(const char *name) {
    static const char *const names[] = {
#include "interposed.inc"
        NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], name)) return 1;
    return 0;
}

static int is_asm(LLVMValueRef callee) { return LLVMIsAInlineAsm(callee) != NULL; }

static void call_inst(struct rw *r, LLVMValueRef i) {
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (is_asm(callee)) return;
    const char *name = LLVMIsAFunction(callee) ? name_of(callee) : "";
    if (!strncmp(name, "llvm.memcpy", 11) || !strncmp(name, "llvm.memmove", 12) || !strncmp(name, "llvm.memset", 11)) {
        memory_intrinsic(r, i, name);
        return;
    }
    if (!strncmp(name, "llvm.", 5) || !strncmp(name, "__weft", 6)) return;
    int reenter = weft__facts_may_reenter(r->f, i), out = weft__facts_may_call_out(r->f, i);
    int external = LLVMIsAFunction(callee) && LLVMIsDeclaration(callee);
    int must_tail = weft__shim_must_tail(i);
    const struct weft_external *e = external ? weft__external(name) : NULL;
    if (external && e && e->class == WEFT_EXT_RENAME && !LLVMIsAInvokeInst(i)) {
        static const char *const own[] = {"memcpy", "memmove", "memset", NULL};
        for (int k = 0; own[k]; k++)
            if (!strcmp(name, own[k])) {
                char wn[64];
                snprintf(wn, sizeof wn, "__weft_%s", name);
                LLVMSetOperand(i, LLVMGetNumOperands(i) - 1, function(r, wn, LLVMGetCalledFunctionType(i)));
                r->s->takes++;
                return;
            }
    }
    unsigned group = external ? hidden_state(name) : 0;
    int serialize = external && !must_tail && (group || listed(r->o->serialize, name));
    LLVMValueRef object = group ? LLVMConstIntToPtr(i64c(r, group), r->ptr) : callee;
    LLVMTypeRef t1 = LLVMFunctionType(r->vd, &r->ptr, 1, 0);
    if (serialize) {
        at(r, i);
        LLVMBuildCall2(r->b, t1, function(r, "__weft_serial_begin", t1), &object, 1, "");
    }
    if (external && !(e && e->class == WEFT_EXT_WRAP && interposed(name))) take(r, i, e);
    if (out && !must_tail) {
        at(r, i);
        call0(r, r->go_out);
        r->s->outs++;
    }
    int twice = weft__shim_returns_twice(i);
    if (must_tail || !(out || reenter || twice || serialize)) return;
    LLVMValueRef nx = after(i);
    if (!nx) return;
    if (out) {
        at(r, nx);
        call0(r, r->come_in);
    }
    if (serialize) {
        at(r, nx);
        LLVMBuildCall2(r->b, t1, function(r, "__weft_serial_end", t1), &object, 1, "");
    }
    if (reenter || twice || out) tick(r, nx);
}

/* ---- one function */

struct list {
    LLVMValueRef *v;
    size_t n, cap;
};
static void push(struct list *l, LLVMValueRef v) {
    if (l->n == l->cap) l->v = realloc(l->v, (l->cap = l->cap ? l->cap * 2 : 64) * sizeof *l->v);
    l->v[l->n++] = v;
}

/* Heads of cycles: targets of retreating edges of a depth-first walk, iterative. */
static void cycle_heads(LLVMValueRef fn, struct list *heads) {
    unsigned n = LLVMCountBasicBlocks(fn);
    LLVMBasicBlockRef *bb = malloc(n * sizeof *bb);
    LLVMGetBasicBlocks(fn, bb);
    /* Number the blocks through a small hash on their address. */
    size_t cap = 16;
    while (cap < n * 2) cap *= 2;
    struct slot {
        LLVMBasicBlockRef b;
        unsigned k;
    } *h = calloc(cap, sizeof *h);
#define FIND(blk, out)                                                                                                 \
    do {                                                                                                               \
        size_t z = ((size_t)(blk) >> 4) * 0x9e3779b97f4a7c15ull >> 20;                                                 \
        for (z &= cap - 1; h[z].b && h[z].b != (blk); z = (z + 1) & (cap - 1)) {}                                      \
        (out) = &h[z];                                                                                                 \
    } while (0)
    struct slot *s;
    for (unsigned i = 0; i < n; i++) {
        FIND(bb[i], s);
        s->b = bb[i];
        s->k = i;
    }
    unsigned char *state = calloc(n, 1), *head = calloc(n, 1);
    struct {
        unsigned b, next;
    } *st = malloc((n + 1) * sizeof *st);
    for (unsigned root = 0; root < n; root++) {
        if (state[root]) continue;
        unsigned d = 0;
        st[0].b = root;
        st[0].next = 0;
        state[root] = 1;
        for (;;) {
            LLVMValueRef te = LLVMGetBasicBlockTerminator(bb[st[d].b]);
            if (te && st[d].next < LLVMGetNumSuccessors(te)) {
                LLVMBasicBlockRef to = LLVMGetSuccessor(te, st[d].next++);
                FIND(to, s);
                if (state[s->k] == 1)
                    head[s->k] = 1;
                else if (!state[s->k]) {
                    state[s->k] = 1;
                    d++;
                    st[d].b = s->k;
                    st[d].next = 0;
                }
                continue;
            }
            state[st[d].b] = 2;
            if (!d) break;
            d--;
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (head[i]) push(heads, LLVMBasicBlockAsValue(bb[i]));
    free(bb);
    free(h);
    free(state);
    free(head);
    free(st);
}

static int is_access(LLVMOpcode o) { return o == LLVMLoad || o == LLVMStore || o == LLVMAtomicRMW || o == LLVMAtomicCmpXchg; }

static void one_function(struct rw *r, LLVMValueRef fn) {
    struct list accesses = {0}, calls = {0}, heads = {0}, pads = {0}, rets = {0};
    int has_calls = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(i);
            if (is_access(o)) {
                if (weft__facts_access(r->f, i, 0) == WEFT_WHY_ORDERED) push(&accesses, i);
            } else if (o == LLVMCall || o == LLVMInvoke) {
                LLVMValueRef callee = LLVMGetCalledValue(i);
                push(&calls, i);
                if (!is_asm(callee) && !(LLVMIsAFunction(callee) && !strncmp(name_of(callee), "llvm.dbg", 8))) has_calls = 1;
            } else if (o == LLVMLandingPad)
                push(&pads, i);
            else if (o == LLVMRet)
                push(&rets, i);
        }
    int taken = weft__facts_address_taken(r->f, fn) && strcmp(name_of(fn), "main");
    cycle_heads(fn, &heads);
    r->s->functions++;
    for (size_t k = 0; k < accesses.n; k++) access_inst(r, accesses.v[k]);
    for (size_t k = 0; k < calls.n; k++) call_inst(r, calls.v[k]);
    for (size_t k = 0; k < heads.n; k++) tick(r, weft__shim_first(LLVMValueAsBasicBlock(heads.v[k])));
    for (size_t k = 0; k < pads.n; k++) {
        LLVMValueRef first = LLVMGetNextInstruction(pads.v[k]);
        at(r, first);
        LLVMValueRef o = load(r, r->i8, tls_word(r, WEFT_TLS_OUTSIDE), 1);
        LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, o, LLVMConstInt(r->i8, 0, 0), ""), first);
        at(r, cold);
        call0(r, r->come_in);
        tick(r, first);
    }
    LLVMValueRef was = NULL;
    if (accesses.n || has_calls) tick(r, weft__shim_first(LLVMGetEntryBasicBlock(fn)));
    if (taken && (accesses.n || has_calls)) {
        LLVMValueRef first = weft__shim_first(LLVMGetEntryBasicBlock(fn));
        at(r, first);
        was = LLVMBuildICmp(r->b, LLVMIntNE, load(r, r->i8, tls_word(r, WEFT_TLS_OUTSIDE), 1), LLVMConstInt(r->i8, 0, 0), "");
        LLVMValueRef cold = weft__shim_cold(was, first);
        at(r, cold);
        call0(r, r->come_in);
        r->s->callbacks++;
        for (size_t k = 0; k < rets.n; k++) {
            LLVMValueRef ret = rets.v[k], prev = LLVMGetPreviousInstruction(ret);
            if (prev && weft__shim_must_tail(prev)) continue;
            cold = weft__shim_cold(was, ret);
            at(r, cold);
            call0(r, r->go_out);
        }
    }
    free(accesses.v);
    free(calls.v);
    free(heads.v);
    free(pads.v);
    free(rets.v);
}

static const char note[] = ".section .note.weft,\"a\",@note\n.p2align 2\n.long 5\n.long 4\n.long 1\n.asciz \"weft\"\n.p2align 2\n"
                           ".long 1\n.previous\n";

/* The executable's first initialiser (weft__scrub). */
static const char first[] = ".section .init_array.0,\"aw\",@init_array\n.p2align 3\n.quad __weft_start_program\n.previous\n";

void weft__rewrite(LLVMModuleRef m, const struct weft_facts *f, const struct weft_pass_options *o, struct weft_pass_stats *s) {
    struct rw r = {.m = m, .c = LLVMGetModuleContext(m), .f = f, .o = o, .s = s};
    r.b = LLVMCreateBuilderInContext(r.c);
    r.dl = LLVMGetModuleDataLayout(m);
    r.i8 = LLVMInt8TypeInContext(r.c);
    r.i16 = LLVMInt16TypeInContext(r.c);
    r.i32 = LLVMInt32TypeInContext(r.c);
    r.i64 = LLVMInt64TypeInContext(r.c);
    r.ptr = LLVMPointerTypeInContext(r.c, 0);
    r.vd = LLVMVoidTypeInContext(r.c);
    LLVMTypeRef tls_t = LLVMArrayType2(r.i64, WEFT_TLS_SIZE / 8);
    r.tls = LLVMAddGlobal(m, tls_t, "__weft_tls");
    LLVMSetThreadLocalMode(r.tls, LLVMInitialExecTLSModel);
    LLVMSetAlignment(r.tls, 64);
    /* An executable defines its own, which the runtime and all libraries then use: one fs-relative instruction. */
    if (!o->shared_library) LLVMSetInitializer(r.tls, LLVMConstNull(tls_t));
    r.cold_t = LLVMFunctionType(r.vd, NULL, 0, 0);
    LLVMTypeRef p2[2] = {r.ptr, r.i64};
    r.cold2_t = LLVMFunctionType(r.vd, p2, 2, 0);
    const char *c0 = "~{rax},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
    const char *c2 = "{rdi},{rsi},~{rax},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
    r.tick_cold = asm_jump(&r, "__weft_tick_cold", r.cold_t, c0);
    r.come_in = asm_jump(&r, "__weft_come_in", r.cold_t, c0);
    r.go_out = asm_jump(&r, "__weft_go_out", r.cold_t, c0);
    r.miss = asm_jump(&r, "__weft_miss", r.cold2_t, c2);
    r.verify = asm_jump(&r, "__weft_verify", r.cold2_t, c2);
    r.barrier_t = r.cold_t;
    r.barrier = LLVMGetInlineAsm(r.cold_t, "", 0, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
    struct list fns = {0};
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && strncmp(name_of(fn), "__weft", 6)) push(&fns, fn);
    for (size_t k = 0; k < fns.n; k++) one_function(&r, fns.v[k]);
    free(fns.v);
    LLVMAppendModuleInlineAsm(m, note, sizeof note - 1);
    if (!o->shared_library) LLVMAppendModuleInlineAsm(m, first, sizeof first - 1);
    LLVMDisposeBuilder(r.b);
}
