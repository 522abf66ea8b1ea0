/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inline assembly that goes round in a loop and waits there for memory to change (the locks of old kernels and of packet
 * processors): the statement becomes several, and its jumps become branches.
 *
 * As one statement it would be one step: who has taken its memory before it would not come to a tick while it waits, and so never give
 * the memory to whom it waits for. And what several threads do in their turns would have no order.
 *
 *     1: lock; decl %0             b1: asm "lock; decl %0; setns %1"; br %1, b4, b2
 *        jns 2f              ->    b2: asm "rep; nop; cmpl $0, %0; setle %1"; br %1, b2, b3
 *     3: rep; nop; cmpl $0, %0     b3: br b1
 *        jle 3b; jmp 1b            b4:
 *     2:
 *
 * A piece goes from a label, or from behind a jump, to the next one. Its text is left as it is; a conditional jump becomes the setcc of
 * the same condition, into one more output. Outputs in registers are kept in locals from piece to piece, and each piece gets them as inputs too. So
 * nothing else may pass from one piece to the next: a statement that names registers itself, has the flags among its outputs, uses flags
 * across a label, or does what cannot be seen here, stays one, and the build says so. The analysis runs afterwards and sees an
 * ordinary loop. */
#define _GNU_SOURCE
#include "rewrite.h"
#include "../shim.h"
#include <ctype.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 32, OPERANDS = 40 };

/* What the text is cut into. */
struct piece {
    const char *text;
    size_t len;
    char cond[8];       /* how it ends: "" by going on, "mp" by a jump, else by a jump on that condition */
    unsigned to;        /* that jump's label… */
    int forward;        /* …which comes later */
    int label;          /* number of the label in front of it, or -1 */
    unsigned target;    /* the piece that it leads to */
};
struct cut {
    struct piece piece[PIECES];
    unsigned count;
    int waits;  /* a loop looks at memory */
    int failed; /* nor can it be cut */
};

static int is_one(const char *word, size_t n, const char *const *list) {
    for (; *list; list++) {
        size_t k = strlen(*list);
        if ((*list)[k - 1] == '*' ? n >= k - 1 && !strncmp(word, *list, k - 1) : n == k && !strncmp(word, *list, n)) return 1;
    }
    return 0;
}

static struct piece *add_piece(struct cut *c, const char *text, int label) {
    if (c->count == PIECES) {
        c->failed = 1;
        return &c->piece[PIECES - 1];
    }
    c->piece[c->count] = (struct piece){.text = text, .label = label};
    return &c->piece[c->count++];
}

static void cut_text(struct cut *c, const char *p, size_t n) {
    static const char *const sets_flags[] = {"cmp", "test", "add", "sub", "and", "or", "xor", "inc", "dec", "neg", "xadd", "bt", "bts", "btr", "btc", "cmpxchg", "cmpxchg8b", "cmpxchg16b", NULL};
    static const char *const prefixes[] = {"lock", "rep", "repz", "repnz", "xacquire", "xrelease", NULL};
    static const char *const uses_flags[] = {"set*", "cmov*", "adc*", "sbb*", "rc*", "lahf*", "pushf*", NULL};
    static const char *const others[] = {"call*", "ret*", "push*", "pop*", "loop*", "xbegin*", "xend*", "xabort*", "syscall*", "int*", "enter*", "leave*", ".*", NULL};
    const char *end = p + n;
    struct piece *at = add_piece(c, p, -1);
    int flags = 0; /* an instruction of this piece has set them */
    c->failed |= memchr(p, '%', n) || memmem(p, n, "$(", 2);
    while (p < end && !c->failed) {
        if (isspace((unsigned char)*p) || *p == ';') {
            p++;
            continue;
        }
        if (*p == '#') { /* goes with the rest */
            while (p < end && *p != '\n') p++;
            continue;
        }
        const char *w = p, *e;
        while (p < end && !isspace((unsigned char)*p) && *p != ';' && *p != ':' && *p != '#') p++;
        if (p < end && *p == ':') {
            for (const char *q = w; q < p; q++) c->failed |= !isdigit((unsigned char)*q);
            at->len = (size_t)(w - at->text);
            at = add_piece(c, ++p, atoi(w));
            flags = 0;
            continue;
        }
        size_t len = (size_t)(p - w);
        if (is_one(w, len, prefixes)) continue;
        while (p < end && *p != '\n' && *p != ';' && *p != '#') p++;
        for (e = p; isspace((unsigned char)e[-1]);) e--;
        if (*w == 'j') {
            const char *to = w + len;
            while (to < e && isspace((unsigned char)*to)) to++;
            at->len = (size_t)(w - at->text);
            at->to = (unsigned)atoi(to);
            at->forward = e > to && e[-1] == 'f';
            c->failed |= len < 2 || len > sizeof at->cond || e < to + 2 || (e[-1] != 'f' && e[-1] != 'b');
            for (; !c->failed && to < e - 1; to++) c->failed |= !isdigit((unsigned char)*to);
            if (c->failed) return;
            memcpy(at->cond, w + 1, len - 1);
            c->failed |= memchr("cer", w[1], 3) && len > 2 && !strncmp(e - 3, "cxz", 3);
            if (strcmp(at->cond, "mp")) c->failed |= !flags;
            at = add_piece(c, p, -1);
            flags = 0;
            continue;
        }
        c->failed |= is_one(w, len, others) || (!flags && is_one(w, len, uses_flags));
        flags |= is_one(w, len, sets_flags) || (strchr("bwlq", w[len - 1]) && is_one(w, len - 1, sets_flags));
    }
    at->len = (size_t)(end - at->text);
}

/* Finds where the jumps lead, and whether one of the loops looks at memory. memory: which operands are that, a bit each. */
static void find_loops(struct cut *c, uint64_t memory) {
    for (unsigned k = 0; k < c->count && !c->failed; k++) {
        struct piece *p = &c->piece[k];
        if (!p->cond[0]) continue;
        unsigned t = p->forward ? k + 1 : k;
        while (t < c->count && c->piece[t].label != (int)p->to) t = p->forward ? t + 1 : t - 1; /* below 0 it is large */
        if (t >= c->count) {
            c->failed = 1;
            return;
        }
        p->target = t;
        for (; t <= k; t++)
            for (size_t i = 0; i + 1 < c->piece[t].len; i++) {
                const char *s = c->piece[t].text + i;
                if (*s != '$') continue;
                if (s[1] == '$') {
                    i++;
                    continue;
                }
                unsigned o = (unsigned)atoi(s + 1 + (s[1] == '{'));
                c->waits |= o < 64 && (memory >> o & 1);
            }
    }
}

/* The operands, as the constraints have them. */
struct operands {
    unsigned outputs, inputs; /* numbers of the outputs come first; inputs are those that are no outputs */
    unsigned values;          /* outputs in registers */
    struct {
        char text[32];
        int value;  /* an output in a register: which one; an input that is tied to one: that; else -1 */
        int arg;    /* or which argument, else -1 */
    } of[OPERANDS];
    int tied[OPERANDS]; /* by output in a register: an input is */
    uint64_t memory;
    char clobbers[256];
    int failed;
};

static void read_constraints(struct operands *o, const char *s, size_t n, unsigned args) {
    unsigned arg = 0;
    for (size_t i = 0, e; i < n; i = e + 1) {
        int brace = 0;
        for (e = i; e < n && (brace || s[e] != ','); e++) brace += (s[e] == '{') - (s[e] == '}');
        if (s[i] == '~') {
            size_t k = strlen(o->clobbers);
            static const char *const known[] = {"~{memory}", "~{cc}", "~{flags}", "~{fpsr}", "~{dirflag}", NULL};
            if (!is_one(s + i, e - i, known) || k + e - i + 2 > sizeof o->clobbers) {
                o->failed = 1;
                return;
            }
            o->clobbers[k] = ',';
            memcpy(o->clobbers + k + 1, s + i, e - i);
            continue;
        }
        unsigned k = o->outputs + o->inputs;
        if (k == OPERANDS || e - i >= sizeof o->of[k].text || s[i] == '!' || memchr(s + i, '@', e - i) || memchr(s + i, '|', e - i)) {
            o->failed = 1;
            return;
        }
        memcpy(o->of[k].text, s + i, e - i);
        o->of[k].value = o->of[k].arg = -1;
        int out = s[i] == '=', indirect = !!memchr(s + i, '*', e - i);
        if (out && o->inputs) o->failed = 1;
        if (indirect) o->memory |= 1ull << k;
        if (out && !indirect) {
            o->of[k].value = (int)o->values++;
        } else {
            o->of[k].arg = (int)arg++;
            if (isdigit((unsigned char)s[i])) {
                unsigned to = (unsigned)atoi(s + i);
                if (to >= o->outputs || o->of[to].value < 0) {
                    o->failed = 1;
                    return;
                }
                o->of[k].value = o->of[to].value;
                o->tied[o->of[to].value] = 1;
            }
        }
        if (out) o->outputs++;
        else o->inputs++;
    }
    if (arg != args) o->failed = 1;
}

/* The text of a piece. With its condition among the outputs, the inputs have the next numbers. */
static size_t piece_text(char *to, const struct piece *p, unsigned outputs, int condition) {
    size_t n = 0;
    for (size_t i = 0; i < p->len; i++) {
        const char *s = p->text + i;
        to[n++] = *s;
        if (*s != '$' || i + 1 == p->len) continue;
        if (s[1] == '{') to[n++] = '{', i++;
        if (!isdigit((unsigned char)p->text[i + 1])) {
            to[n++] = p->text[++i];
            continue;
        }
        char *rest;
        unsigned long k = strtoul(p->text + i + 1, &rest, 10);
        n += (size_t)sprintf(to + n, "%lu", k + (condition && k >= outputs));
        i = (size_t)(rest - p->text) - 1;
    }
    if (condition) n += (size_t)sprintf(to + n, "\n\tset%s $%u", p->cond, outputs);
    return n;
}

struct pieces {
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMValueRef call, local[OPERANDS];
    LLVMTypeRef type[OPERANDS];
    const struct operands *o;
};

/* The piece as a statement of its own; what its condition says, or NULL. */
static LLVMValueRef build_piece(struct pieces *x, const struct piece *p) {
    const struct operands *o = x->o;
    int condition = p->cond[0] && strcmp(p->cond, "mp");
    char constraints[OPERANDS * 48 + 256], *text = malloc(p->len * 2 + 64);
    LLVMTypeRef in[2 * OPERANDS], out[OPERANDS + 1];
    LLVMValueRef args[2 * OPERANDS];
    unsigned nargs = 0, nout = 0;
    size_t n = 0, len = piece_text(text, p, o->outputs, condition);
    for (unsigned k = 0; k < o->outputs + o->inputs; k++) {
        const char *s = o->of[k].text;
        if (k == o->outputs && condition) n += (size_t)sprintf(constraints + n, ",=&q");
        if (k < o->outputs && o->of[k].value >= 0) { /* also an input, so no other one may have its register */
            n += (size_t)sprintf(constraints + n, ",=&%s", s + 1 + (s[1] == '&'));
            out[nout++] = x->type[o->of[k].value];
            continue;
        }
        n += (size_t)sprintf(constraints + n, ",%s", s);
        args[nargs] = o->of[k].value < 0 ? LLVMGetOperand(x->call, (unsigned)o->of[k].arg) : LLVMBuildLoad2(x->b, x->type[o->of[k].value], x->local[o->of[k].value], "");
        in[nargs] = LLVMTypeOf(args[nargs]);
        nargs++;
    }
    if (o->inputs == 0 && condition) n += (size_t)sprintf(constraints + n, ",=&q");
    if (condition) out[nout++] = LLVMInt8TypeInContext(x->c);
    for (unsigned k = 0; k < o->outputs; k++) {
        int v = o->of[k].value;
        if (v < 0 || o->tied[v]) continue;
        n += (size_t)sprintf(constraints + n, ",%u", k);
        args[nargs] = LLVMBuildLoad2(x->b, x->type[v], x->local[v], "");
        in[nargs] = x->type[v];
        nargs++;
    }
    strcpy(constraints + n, o->clobbers);
    LLVMTypeRef result = nout == 0 ? LLVMVoidTypeInContext(x->c) : nout == 1 ? out[0] : LLVMStructTypeInContext(x->c, out, nout, 0);
    LLVMTypeRef type = LLVMFunctionType(result, in, nargs, 0);
    LLVMValueRef statement = LLVMGetInlineAsm(type, text, len, constraints + 1, strlen(constraints + 1), 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef is = LLVMBuildCall2(x->b, type, statement, args, nargs, "");
    unsigned elementtype = LLVMGetEnumAttributeKindForName("elementtype", 11);
    for (unsigned k = 0; k < o->outputs + o->inputs; k++) {
        unsigned arg = (unsigned)o->of[k].arg;
        LLVMAttributeRef t = o->of[k].arg < 0 ? NULL : LLVMGetCallSiteEnumAttribute(x->call, arg + 1, elementtype);
        if (t) LLVMAddCallSiteAttribute(is, arg + 1, t);
    }
    LLVMAddCallSiteAttribute(is, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(x->c, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
    for (unsigned k = 0; k < o->values; k++) LLVMBuildStore(x->b, nout == 1 ? is : LLVMBuildExtractValue(x->b, is, k, ""), x->local[k]);
    free(text);
    if (!condition) return NULL;
    LLVMValueRef set = nout == 1 ? is : LLVMBuildExtractValue(x->b, is, nout - 1, "");
    return LLVMBuildICmp(x->b, LLVMIntNE, set, LLVMConstNull(LLVMTypeOf(set)), "");
}

static void build(const struct cut *c, const struct operands *o, LLVMValueRef call) {
    LLVMBasicBlockRef head = LLVMGetInstructionParent(call), from, block[PIECES + 1];
    LLVMValueRef fn = LLVMGetBasicBlockParent(head), whole, old;
    LLVMTypeRef t = LLVMTypeOf(call);
    LLVMContextRef ctx = LLVMGetTypeContext(t);
    struct pieces x = {.c = ctx, .b = LLVMCreateBuilderInContext(ctx), .call = call, .o = o};
    LLVMPositionBuilderBefore(x.b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    for (unsigned k = 0; k < o->values; k++) {
        x.type[k] = o->values == 1 ? t : LLVMStructGetTypeAtIndex(t, k);
        x.local[k] = LLVMBuildAlloca(x.b, x.type[k], "");
    }
    /* The block in the middle is the first piece's. */
    LLVMValueRef cold = weft__shim_cold(LLVMConstInt(LLVMInt1TypeInContext(ctx), 1, 0), call);
    from = LLVMGetInstructionParent(call);
    block[0] = LLVMGetInstructionParent(cold);
    block[c->count] = from;
    for (unsigned k = 1; k < c->count; k++) block[k] = LLVMInsertBasicBlockInContext(ctx, from, "");
    LLVMPositionBuilderBefore(x.b, cold);
    LLVMSetCurrentDebugLocation2(x.b, LLVMInstructionGetDebugLoc(call));
    for (unsigned k = 0; k < o->values; k++) LLVMBuildStore(x.b, LLVMConstNull(x.type[k]), x.local[k]);
    for (unsigned k = 0; k < o->outputs + o->inputs; k++)
        if (o->of[k].value >= 0 && o->of[k].arg >= 0) LLVMBuildStore(x.b, LLVMGetOperand(call, (unsigned)o->of[k].arg), x.local[o->of[k].value]);
    for (unsigned k = 0; k < c->count; k++) {
        const struct piece *p = &c->piece[k];
        if (k) LLVMPositionBuilderAtEnd(x.b, block[k]);
        int empty = 1;
        for (size_t i = 0; i < p->len; i++) empty &= isspace((unsigned char)p->text[i]) || p->text[i] == ';';
        LLVMValueRef is = empty ? NULL : build_piece(&x, p);
        if (is)
            LLVMBuildCondBr(x.b, is, block[p->target], block[k + 1]);
        else
            LLVMBuildBr(x.b, block[p->cond[0] ? p->target : k + 1]);
    }
    LLVMInstructionEraseFromParent(cold);
    old = LLVMGetBasicBlockTerminator(head);
    LLVMPositionBuilderBefore(x.b, old);
    LLVMBuildBr(x.b, block[0]);
    LLVMInstructionEraseFromParent(old);
    LLVMPositionBuilderBefore(x.b, call);
    if (o->values) {
        whole = LLVMConstNull(t);
        for (unsigned k = 0; k < o->values; k++) {
            LLVMValueRef v = LLVMBuildLoad2(x.b, x.type[k], x.local[k], "");
            whole = o->values == 1 ? v : LLVMBuildInsertValue(x.b, whole, v, k, "");
        }
        LLVMReplaceAllUsesWith(call, whole);
    }
    LLVMInstructionEraseFromParent(call);
    LLVMDisposeBuilder(x.b);
}

/* Whether the text goes back to a label of its own, and has what those have that wait for others: for what gets at its memory by
 * addresses in registers, and for what cannot be cut. */
static int looks_like_waiting(const char *s, size_t n) {
    int back = 0;
    for (size_t i = 0; i + 3 < n; i++)
        if (s[i] == 'j' && (!i || isspace((unsigned char)s[i - 1]) || s[i - 1] == ';')) {
            size_t e = i;
            while (e < n && s[e] != '\n' && s[e] != ';') e++;
            while (e > i && isspace((unsigned char)s[e - 1])) e--;
            back |= s[e - 1] == 'b' && isdigit((unsigned char)s[e - 2]);
        }
    return back && (memmem(s, n, "pause", 5) || memmem(s, n, "lock", 4) || memmem(s, n, "xchg", 4));
}

static void look(LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t n, cn;
    const char *text = LLVMGetInlineAsmAsmString(callee, &n), *constraints = LLVMGetInlineAsmConstraintString(callee, &cn);
    if (!memchr(text, 'j', n)) return;
    struct cut c = {0};
    struct operands o = {0};
    cut_text(&c, text, n);
    read_constraints(&o, constraints, cn, LLVMGetNumArgOperands(call));
    if (!c.failed) find_loops(&c, o.memory);
    if (LLVMIsACallInst(call) && LLVMGetInlineAsmDialect(callee) == LLVMInlineAsmDialectATT && !c.failed && !o.failed) {
        if (c.waits || looks_like_waiting(text, n)) build(&c, &o, call);
    } else if (looks_like_waiting(text, n))
        weft__rw_warn_asm(call, "seems to wait for another thread in a loop: a recording may be stuck there");
}

void weft__rewrite_asm_loops(LLVMModuleRef m) {
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn), nb; b; b = nb) {
            LLVMValueRef next;
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
                next = LLVMGetNextInstruction(i); /* what is behind a statement that is cut lies in another block, the last of it */
                if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) && LLVMIsAInlineAsm(LLVMGetCalledValue(i))) look(i);
                if (next) b = LLVMGetInstructionParent(next);
            }
            nb = LLVMGetNextBasicBlock(b);
        }
}
