/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The early pass: loops of the source get a body that can be left out (LEAN, 3.2.2, for `weft simplify`).
 *
 * It runs when a file is compiled, before anything is optimised: later, loops of the source are unrolled, merged and turned round. At
 * the beginning of the body of each loop that could matter to other threads (quiet.c) it puts
 *
 *     if (__weft_repeat(flags)) goto latch;
 *
 * where the latch is where `continue` goes: the step of the loop is done, the body is not, and locals keep their values. All locals are
 * in memory at that stage, and what the body alone declares begins and ends its life in the body. The call stays what it is until
 * the link, where it becomes a comparison (weft__rw_repeat).
 *
 * How a loop of the source looks in what clang makes of it:
 *
 *   for         head: condition, conditional branch; body; step, in a block of its own, branch to the head
 *   while       head: condition, conditional branch; body, which may branch to the head in several places
 *   do          head is the body's begin; condition in a block of its own, conditional branch to the head
 *
 * Which is which shows in the structure for loops that count (their latch is only the step of a local), and otherwise in source
 * locations: the branch of the condition and the one from the latch to the head have the same, that of the statement; a step stands
 * before the body (in a range-for, it has the statement's own location). A loop that is neither, or has no condition of its own, or is
 * entered elsewhere, is left alone; so is one in a header of the system. */
#include "loops.h"
#include "weft/trace.h"
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct place {
    unsigned line, column;
};

struct work {
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMValueRef repeat;
    LLVMTypeRef repeat_type;
    struct weft_quiet *q;
    const struct weft_graph *g;
    const struct weft_loop *l;
    unsigned char *returns; /* by block: it leads to a return; else to the end of the process, or an exception goes on from it */
    /* The loop, as blocks: */
    unsigned decides; /* ends in the branch of the condition */
    unsigned body;    /* begin of the body */
    unsigned latch;   /* where `continue` goes */
    int is_do;
};

static LLVMValueRef end_of(const struct work *w, unsigned b) { return LLVMGetBasicBlockTerminator(w->g->bb[b]); }
static int is_branch(LLVMValueRef i) { return LLVMGetInstructionOpcode(i) == LLVMBr; }
static int is_call(LLVMValueRef i) { return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i); }
static int begins_with_phi(const struct work *w, unsigned b) { return LLVMGetInstructionOpcode(LLVMGetFirstInstruction(w->g->bb[b])) == LLVMPHI; }

static struct place place_of(LLVMValueRef i) {
    return (struct place){LLVMGetDebugLocLine(i), LLVMGetDebugLocColumn(i)};
}
static int same(struct place a, struct place b) { return a.line && a.line == b.line && a.column == b.column; }
static int before(struct place a, struct place b) {
    return a.line && (a.line < b.line || (a.line == b.line && a.column < b.column));
}

/* ---- the shape of a loop ---------------------------------------------------------------------------------------- */

/* Of a conditional branch with one way out of the loop: the block where it stays; else NONE. */
static unsigned stays(const struct work *w, unsigned b) {
    const struct weft_graph *g = w->g;
    if (!is_branch(end_of(w, b)) || g->succ_at[b + 1] - g->succ_at[b] != 2) return NONE;
    unsigned x = g->succ[g->succ_at[b]], y = g->succ[g->succ_at[b] + 1];
    return w->l->in[x] == w->l->in[y] ? NONE : w->l->in[x] ? x : y;
}

/* Calls that may throw end blocks: the first block of a row of them that ends in b. */
static unsigned row_begin(const struct work *w, unsigned b) {
    const struct weft_graph *g = w->g;
    for (;;) {
        if (g->pred_at[b + 1] - g->pred_at[b] != 1) return b;
        unsigned p = g->pred[g->pred_at[b]];
        LLVMValueRef end = end_of(w, p);
        if (!LLVMIsAInvokeInst(end) || LLVMGetNormalDest(end) != g->bb[b] || !w->l->in[p] || p == w->l->head) return b;
        b = p;
    }
}

static struct place first_place(const struct work *w, unsigned b) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[b]); i; i = LLVMGetNextInstruction(i))
        if (LLVMGetDebugLocLine(i)) return place_of(i);
    return (struct place){0, 0};
}

/* Whether the row of blocks is a step: it stands before the body, or has the location of a range-for. An empty one is not. */
static int is_step(const struct work *w, unsigned from, unsigned to, struct place statement) {
    struct place body = first_place(w, w->body);
    int any = 0;
    for (unsigned b = from;; b = w->g->succ[w->g->succ_at[b]]) { /* the normal way of an invoke comes first */
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[b]); i; i = LLVMGetNextInstruction(i)) {
            if (b == to && i == end_of(w, b)) break;
            struct place p = place_of(i);
            if (!same(p, statement) && !before(p, body)) return 0;
            any = 1;
        }
        if (b == to) return any;
    }
}

/* A local that the instruction steps: stores to it what it was, more or less. */
static LLVMValueRef steps(LLVMValueRef i) {
    if (!LLVMIsAStoreInst(i) || !LLVMIsAAllocaInst(LLVMGetOperand(i, 1))) return NULL;
    LLVMValueRef local = LLVMGetOperand(i, 1), v = LLVMGetOperand(i, 0), was;
    while (LLVMIsATruncInst(v) || LLVMIsASExtInst(v) || LLVMIsAZExtInst(v)) v = LLVMGetOperand(v, 0);
    LLVMOpcode o = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : 0;
    if (o != LLVMAdd && o != LLVMSub && o != LLVMFAdd && o != LLVMFSub && o != LLVMGetElementPtr) return NULL;
    was = LLVMGetOperand(v, 0);
    while (LLVMIsATruncInst(was) || LLVMIsASExtInst(was) || LLVMIsAZExtInst(was)) was = LLVMGetOperand(was, 0);
    return LLVMIsALoadInst(was) && LLVMGetOperand(was, 0) == local ? local : NULL;
}

/* The local that a row of blocks steps, if it does nothing else: by hand, or by a quiet call that is given its address. */
static LLVMValueRef row_steps(const struct work *w, unsigned from, unsigned to) {
    LLVMValueRef local = NULL;
    for (unsigned b = from;; b = w->g->succ[w->g->succ_at[b]]) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[b]); i; i = LLVMGetNextInstruction(i)) {
            if (weft__quiet_inst(w->q, i)) return NULL;
            LLVMValueRef one = NULL;
            if (LLVMIsAStoreInst(i)) {
                if (!(one = steps(i))) return NULL;
            } else if (is_call(i) && !LLVMIsAIntrinsicInst(i)) {
                uint64_t does = weft__quiet_call(w->q, i);
                if (does != 1) return NULL; /* what it writes is its first argument */
                one = LLVMGetOperand(i, 0);
                if (!LLVMIsAAllocaInst(one)) return NULL;
            }
            if (one && local) return NULL;
            if (one) local = one;
        }
        if (b == to) return local;
    }
}

/* Whether the head alone is the condition, and does nothing but load and compare. */
static int plain_condition(const struct work *w, LLVMValueRef local) {
    int looks = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[w->l->head]); i; i = LLVMGetNextInstruction(i)) {
        if (weft__quiet_inst(w->q, i)) return 0;
        if (LLVMIsAStoreInst(i) && steps(i) != local) return 0;
        if (LLVMIsALoadInst(i)) looks |= LLVMGetOperand(i, 0) == local;
        if (is_call(i) && !LLVMIsAIntrinsicInst(i)) {
            if (weft__quiet_call(w->q, i)) return 0;
            for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++) looks |= LLVMGetOperand(i, k) == local;
        }
    }
    return looks;
}

static int in_row(const struct work *w, unsigned from, unsigned to, unsigned b) {
    for (unsigned x = from;; x = w->g->succ[w->g->succ_at[x]]) {
        if (x == b) return 1;
        if (x == to) return 0;
    }
}

/* Whether the local is written in the loop in the row `from` to `to` only, and nobody keeps its address. */
static int stepped_once(const struct work *w, LLVMValueRef local, unsigned from, unsigned to) {
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!LLVMIsAInstruction(i)) return 0;
        unsigned b = weft__graph_number(w->g, LLVMGetInstructionParent(i));
        int loop = w->l->in[b], step = loop && in_row(w, from, to, b);
        if (LLVMIsALoadInst(i) || LLVMIsAIntrinsicInst(i)) continue;
        if (LLVMIsAStoreInst(i)) {
            if (LLVMGetOperand(i, 1) != local || (loop && !step)) return 0;
        } else if (is_call(i)) {
            uint64_t does = weft__quiet_call(w->q, i);
            if (does & WEFT_QUIET_LOUD) return 0;
            for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++)
                if (LLVMGetOperand(i, k) == local && loop && !step && (k >= WEFT_QUIET_ARGS || (does & 1ull << k))) return 0;
        } else if (loop || LLVMGetInstructionOpcode(i) != LLVMGetElementPtr)
            return 0;
    }
    return 1;
}

/* Ways out of the loop; exceptions, and what ends the process, do not count. */
static unsigned exits(const struct work *w) {
    const struct weft_graph *g = w->g;
    unsigned n = 0;
    for (unsigned b = 0; b < g->n; b++) {
        if (!w->l->in[b]) continue;
        LLVMValueRef end = end_of(w, b);
        for (unsigned e = g->succ_at[b]; e < g->succ_at[b + 1]; e++) {
            if (w->l->in[g->succ[e]] || !w->returns[g->succ[e]]) continue;
            if (LLVMIsAInvokeInst(end) && e != g->succ_at[b]) continue;
            n++;
        }
        if (LLVMGetInstructionOpcode(end) == LLVMRet) n++;
    }
    return n;
}

/* Finds what the loop is made of; -1: it is none of these. Else the flags. */
static int look(struct work *w) {
    const struct weft_loop *l = w->l;
    LLVMValueRef back = end_of(w, l->latch[0]), local;
    unsigned from;
    if (!is_branch(back)) return -1;
    w->is_do = LLVMIsConditional(back) && stays(w, l->latch[0]) == l->head;
    if (w->is_do) {
        w->decides = l->latch[0];
        w->body = l->head;
        w->latch = row_begin(w, l->latch[0]);
        return l->latches == 1 && w->latch != l->head && !begins_with_phi(w, w->latch) && !begins_with_phi(w, l->head) ? 0 : -1;
    }
    for (unsigned k = 0; k < l->latches; k++)
        if (!is_branch(end_of(w, l->latch[k])) || LLVMIsConditional(end_of(w, l->latch[k]))) return -1;
    if (begins_with_phi(w, l->head)) return -1;

    /* It counts: nothing but its structure is needed. */
    w->decides = l->head;
    w->body = stays(w, l->head);
    if (w->body != NONE && w->body != l->head) {
        if (l->latches == 1 && l->latch[0] != w->body) {
            from = row_begin(w, l->latch[0]);
            local = from != w->body ? row_steps(w, from, l->latch[0]) : NULL;
            if (local && !begins_with_phi(w, from)) {
                w->latch = from;
                return exits(w) == 1 && plain_condition(w, local) && stepped_once(w, local, from, l->latch[0]);
            }
        }
        w->latch = l->head; /* while (n--) */
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[l->head]); i; i = LLVMGetNextInstruction(i))
            if ((local = steps(i)) && exits(w) == 1 && plain_condition(w, local) && stepped_once(w, local, l->head, l->head)) return 1;
    }

    struct place statement = place_of(back);
    /* A `continue` that is the only way back, out of the life of a local: a while, if its head decides. */
    if (!statement.line && l->latches == 1 && stays(w, l->head) != NONE) statement = place_of(end_of(w, l->head));
    w->decides = NONE;
    for (unsigned b = 0; b < w->g->n; b++) {
        if (!l->in[b] || stays(w, b) == NONE || !same(place_of(end_of(w, b)), statement)) continue;
        if (w->decides != NONE) return -1;
        w->decides = b;
    }
    if (w->decides == NONE) return -1;
    w->body = stays(w, w->decides);
    w->latch = l->head;
    if (w->body == l->head) return -1; /* nothing in it: the condition is all there is */
    from = row_begin(w, l->latch[0]);
    if (l->latches == 1 && from != w->body && is_step(w, from, l->latch[0], statement)) {
        if (begins_with_phi(w, from)) return -1;
        w->latch = from;
    } else if (l->latches == 1 && l->latch[0] != w->body && is_step(w, l->latch[0], l->latch[0], statement))
        return -1; /* the end of a step that is not simple */
    return 0;
}

/* ---- whether it matters ----------------------------------------------------------------------------------------- */

/* The blocks of the body: what is left out. New memory. */
static unsigned char *body_of(const struct work *w) {
    const struct weft_graph *g = w->g;
    unsigned *todo = calloc(g->n + 1, sizeof *todo), n = 0;
    unsigned char *in = calloc(g->n + 1, 1);
    if (!todo || !in) abort();
    in[w->body] = 1;
    todo[n++] = w->body;
    while (n) {
        unsigned b = todo[--n];
        for (unsigned e = g->succ_at[b]; e < g->succ_at[b + 1]; e++) {
            unsigned to = g->succ[e];
            if (!w->l->in[to] || in[to] || to == w->latch || to == w->l->head) continue;
            in[to] = 1;
            todo[n++] = to;
        }
    }
    free(todo);
    return in;
}

/* The latch is where bodies end, not somewhere in a step or condition; and nothing that the body computes is used behind it. */
static int can_be_left_out(const struct work *w, const unsigned char *body) {
    const struct weft_graph *g = w->g;
    for (unsigned e = g->pred_at[w->latch]; e < g->pred_at[w->latch + 1] && w->latch != w->l->head; e++) {
        LLVMValueRef end = end_of(w, g->pred[e]);
        if (!body[g->pred[e]] || !(is_branch(end) ? !LLVMIsConditional(end) : LLVMGetInstructionOpcode(end) == LLVMSwitch)) return 0;
    }
    for (unsigned b = 0; b < g->n; b++)
        for (LLVMValueRef i = body[b] ? LLVMGetFirstInstruction(g->bb[b]) : NULL; i; i = LLVMGetNextInstruction(i))
            for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u))
                if (!body[weft__graph_number(g, LLVMGetInstructionParent(LLVMGetUser(u)))]) return 0;
    return 1;
}

/* Whether the block is on its way out: where locals end, clang stores where to go on and ends them in blocks that all share. */
static int leaves(const struct work *w, unsigned b) {
    LLVMValueRef to = NULL, slot = NULL;
    for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[b]); i; i = LLVMGetNextInstruction(i))
        if (LLVMIsAStoreInst(i) && LLVMIsAConstantInt(LLVMGetOperand(i, 0)) && LLVMIsAAllocaInst(LLVMGetOperand(i, 1))) {
            to = LLVMGetOperand(i, 0);
            slot = LLVMGetOperand(i, 1);
        }
    for (LLVMUseRef u = slot ? LLVMGetFirstUse(slot) : NULL; u; u = LLVMGetNextUse(u)) {
        LLVMUseRef v = LLVMIsALoadInst(LLVMGetUser(u)) ? LLVMGetFirstUse(LLVMGetUser(u)) : NULL;
        LLVMValueRef sw = v ? LLVMGetUser(v) : NULL;
        if (!sw || !LLVMIsASwitchInst(sw) || !w->l->in[weft__graph_number(w->g, LLVMGetInstructionParent(sw))]) continue;
        unsigned way = 0; /* the default; operands: value, default, then cases in pairs */
        for (unsigned k = 1; k < LLVMGetNumSuccessors(sw); k++)
            if (LLVMGetOperand(sw, 2 * k) == to) way = k;
        if (!w->l->in[weft__graph_number(w->g, LLVMGetSuccessor(sw, way))]) return 1;
    }
    return 0;
}

/* A body of which other threads could notice something: a call that synchronises, or an atomic or the like; and if the loop counts, a
 * call that writes elsewhere. What is done on the way out, if something is wrong or found, does not count. (The inner loops of a
 * compressor do that as well, in loops that do not count: the bits of xz's range coder.) */
static int matters(const struct work *w, const unsigned char *body, int counts) {
    for (unsigned b = 0; b < w->g->n; b++)
        for (LLVMValueRef i = body[b] && !leaves(w, b) ? LLVMGetFirstInstruction(w->g->bb[b]) : NULL; i; i = LLVMGetNextInstruction(i)) {
            uint64_t does = weft__quiet_inst(w->q, i);
            if ((does & WEFT_QUIET_LOUD) || (counts && is_call(i) && does && !LLVMIsAIntrinsicInst(i))) return 1;
        }
    return 0;
}

static int is_one_of(LLVMValueRef i, const char *const *names) {
    size_t n;
    LLVMValueRef callee = is_call(i) ? LLVMGetCalledValue(i) : NULL;
    if (!callee || !LLVMIsAFunction(callee)) return 0;
    const char *name = LLVMGetValueName2(callee, &n);
    for (; *names; names++)
        if (!strcmp(*names, name)) return 1;
    return 0;
}

/* Whether the body takes locks and gives none back, or the other way round. Who leaves one out has other locks than the program ever
 * has: an audit that locks all accounts, one in each turn, failed without as well, and what it reads seemed to be raced on. */
static int keeps_locks(const struct work *w, const unsigned char *body) {
    static const char *const take[] = {"pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock", "mtx_lock",
                                       "_ZNSt5mutex4lockEv", "_ZNSt15recursive_mutex4lockEv", "_ZNSt12shared_mutex4lockEv", "_ZNSt12shared_mutex11lock_sharedEv", NULL};
    static const char *const give[] = {"pthread_mutex_unlock", "pthread_rwlock_unlock", "pthread_spin_unlock", "mtx_unlock", "_ZNSt5mutex6unlockEv",
                                       "_ZNSt15recursive_mutex6unlockEv", "_ZNSt12shared_mutex6unlockEv", "_ZNSt12shared_mutex13unlock_sharedEv", NULL};
    int takes = 0, gives = 0;
    for (unsigned b = 0; b < w->g->n; b++)
        for (LLVMValueRef i = body[b] ? LLVMGetFirstInstruction(w->g->bb[b]) : NULL; i; i = LLVMGetNextInstruction(i)) {
            takes |= is_one_of(i, take);
            gives |= is_one_of(i, give);
        }
    return takes != gives;
}

/* Whether the source has one itself, in the loop or in the first block of its body. */
static int has_written(const struct work *w, unsigned b) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(w->g->bb[b]); i; i = LLVMGetNextInstruction(i))
        if (is_call(i) && LLVMGetCalledValue(i) == w->repeat) return 1;
    return 0;
}

/* ---- what is put in --------------------------------------------------------------------------------------------- */

struct found {
    struct weft_loop *l;
    unsigned decides, body, latch;
    unsigned way; /* which successor of `decides` the body is */
    int is_do, flags;
};

/* The statement's own line: clang notes it with the loop, and gives it to the branch back. */
static void put_place(struct work *w, LLVMValueRef back) {
    LLVMValueRef node = LLVMGetMetadata(back, LLVMGetMDKindIDInContext(w->c, "llvm.loop", 9));
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(back);
    unsigned n = node ? LLVMGetMDNodeNumOperands(node) : 0;
    if (n > 1) {
        LLVMValueRef *op = calloc(n, sizeof *op);
        if (!op) abort();
        LLVMGetMDNodeOperands(node, op);
        LLVMMetadataRef m = op[1] ? LLVMValueAsMetadata(op[1]) : NULL;
        if (m && LLVMGetMetadataKind(m) == LLVMDILocationMetadataKind) at = m;
        free(op);
    }
    LLVMSetCurrentDebugLocation2(w->b, at);
}

static void put(struct work *w, LLVMValueRef fn, const struct found *f) {
    const struct weft_graph *g = w->g;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->c);
    LLVMValueRef flags = LLVMConstInt(i32, (unsigned)f->flags, 0);
    LLVMBasicBlockRef check = LLVMInsertBasicBlockInContext(w->c, g->bb[f->body], "");
    LLVMPositionBuilderAtEnd(w->b, check);
    LLVMValueRef back = end_of(w, f->l->latch[0]);
    put_place(w, LLVMGetDebugLocLine(back) ? back : end_of(w, f->decides));
    LLVMValueRef left_out = LLVMBuildCall2(w->b, w->repeat_type, w->repeat, &flags, 1, "");
    left_out = LLVMBuildICmp(w->b, LLVMIntNE, left_out, LLVMConstInt(i32, 0, 0), "");
    if (f->is_do) { /* whoever comes to the body */
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(b); /* NULL: `check` itself */
            for (unsigned k = 0; end && k < LLVMGetNumSuccessors(end); k++)
                if (LLVMGetSuccessor(end, k) == g->bb[f->body]) LLVMSetSuccessor(end, k, check);
        }
        LLVMBuildCondBr(w->b, left_out, g->bb[f->latch], g->bb[f->body]);
    } else {
        LLVMValueRef end = end_of(w, f->decides);
        LLVMBuildCondBr(w->b, left_out, g->bb[f->latch], LLVMGetSuccessor(end, f->way));
        LLVMSetSuccessor(end, f->way, check);
    }
    for (unsigned k = 0; k < f->l->latches; k++) weft__shim_keep_loop(end_of(w, f->l->latch[k]));
}

static int of_system(LLVMValueRef fn) {
    LLVMMetadataRef sub = LLVMGetSubprogram(fn), file = sub ? LLVMDIScopeGetFile(sub) : NULL;
    unsigned n = 0;
    const char *path = file ? LLVMDIFileGetFilename(file, &n) : "";
    return (n > 13 && !strncmp(path, "/usr/include/", 13)) || (n > 9 && !strncmp(path, "/usr/lib/", 9));
}

static void find_returns(struct work *w) {
    const struct weft_graph *g = w->g;
    unsigned *todo = calloc(g->n + 1, sizeof *todo), n = 0;
    w->returns = calloc(g->n + 1, 1);
    if (!todo || !w->returns) abort();
    for (unsigned b = 0; b < g->n; b++)
        if (LLVMGetInstructionOpcode(end_of(w, b)) == LLVMRet) w->returns[todo[n++] = b] = 1;
    while (n) {
        unsigned b = todo[--n];
        for (unsigned e = g->pred_at[b]; e < g->pred_at[b + 1]; e++)
            if (!w->returns[g->pred[e]]) w->returns[todo[n++] = g->pred[e]] = 1;
    }
    free(todo);
}

static void one_function(struct work *w, LLVMValueRef fn) {
    struct weft_graph g;
    struct weft_loop *list;
    size_t n, k = 0;
    weft__graph_make(&g, fn);
    list = weft__graph_loops(&g, &n);
    struct found *f = calloc(n + 1, sizeof *f);
    if (!f) abort();
    w->g = &g;
    find_returns(w);
    for (size_t i = 0; i < n; i++) {
        w->l = &list[i];
        int flags = look(w);
        for (unsigned b = 0; b < g.n && flags >= 0; b++) /* the address of a label is no branch */
            if (list[i].in[b] && LLVMGetInstructionOpcode(end_of(w, b)) == LLVMIndirectBr) flags = -1;
        for (unsigned b = 0; b < g.n; b++)
            if (list[i].in[b] && has_written(w, b))
                for (unsigned e = 0; e < list[i].latches; e++) weft__shim_keep_loop(end_of(w, list[i].latch[e]));
        if (flags < 0 || has_written(w, w->body)) continue;
        unsigned char *body = body_of(w);
        int wanted = can_be_left_out(w, body) && matters(w, body, flags) && !keeps_locks(w, body);
        free(body);
        if (!wanted) continue;
        unsigned way = g.succ[g.succ_at[w->decides]] != w->body;
        f[k++] = (struct found){&list[i], w->decides, w->body, w->latch, way, w->is_do, flags ? WEFT_REPEAT_COUNTS : 0};
    }
    while (k) k--, put(w, fn, &f[k]);
    free(f);
    free(w->returns);
    weft__loops_free(list, n);
    weft__graph_free(&g);
}

/* Each object has a definition, which says no: so what is linked without weft works as it is. Nothing looks into it: it is naked. */
static LLVMValueRef define(struct work *w, LLVMModuleRef m) {
    static const char text[] = "xorl %eax, %eax\n\tretq", clobbers[] = "";
    static const struct {
        const char *name;
        uint64_t value;
    } attributes[] = {{"naked", 0}, {"noinline", 0}, {"nounwind", 0}, {"willreturn", 0}, {"memory", 12 /* inaccessible memory only */}};
    LLVMValueRef fn = LLVMGetNamedFunction(m, "__weft_repeat");
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->c), none = LLVMFunctionType(LLVMVoidTypeInContext(w->c), NULL, 0, 0);
    w->repeat_type = LLVMFunctionType(i32, &i32, 1, 0);
    if (!fn) fn = LLVMAddFunction(m, "__weft_repeat", w->repeat_type);
    for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(fn));) LLVMDeleteBasicBlock(b); /* that of weft/repeat.h */
    LLVMSetSubprogram(fn, NULL);
    LLVMSetLinkage(fn, LLVMLinkOnceODRLinkage);
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    LLVMSetComdat(fn, LLVMGetOrInsertComdat(m, "__weft_repeat"));
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(attributes[k].name, strlen(attributes[k].name));
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(w->c, kind, attributes[k].value));
    }
    LLVMPositionBuilderAtEnd(w->b, LLVMAppendBasicBlockInContext(w->c, fn, ""));
    LLVMSetCurrentDebugLocation2(w->b, NULL);
    LLVMBuildCall2(w->b, none, LLVMGetInlineAsm(none, (char *)text, sizeof text - 1, (char *)clobbers, 0, 1, 0, LLVMInlineAsmDialectATT, 0), NULL, 0, "");
    LLVMBuildUnreachable(w->b);
    return fn;
}

int weft__early_run(LLVMModuleRef m) {
    struct work w = {.c = LLVMGetModuleContext(m)};
    LLVMValueRef had = LLVMGetNamedFunction(m, "__weft_repeat");
    if (had && LLVMGetEnumAttributeAtIndex(had, LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName("naked", 5))) return 0; /* done before */
    w.b = LLVMCreateBuilderInContext(w.c);
    w.q = weft__quiet_new(m);
    w.repeat = define(&w, m);
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && fn != w.repeat && !of_system(fn)) one_function(&w, fn);
    if (!LLVMGetFirstUse(w.repeat)) LLVMDeleteFunction(w.repeat);
    weft__quiet_free(w.q);
    LLVMDisposeBuilder(w.b);
    return 1;
}
