/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an inline assembly statement does to memory, as far as its constraints and a look at its text can tell:
 *
 *   - memory operands ("m", "+m", ...; in LLVM indirect constraints, "=*m") are exact: address, size, read or written;
 *   - with a "memory" clobber it may touch more. Text without any reference to memory (fences, pause, register moves) does
 *     not; for the rest the objects that pointer operands point into are all that can be taken, and the build says so;
 *   - rdtsc and the like are inputs. The usual forms are replaced by calls of the runtime; the build tells of others.
 *
 * This file only looks; the rewriter acts. cpuid counts as harmless: its results belong to the machine. A system call made
 * by hand is caught by the runtime when it happens. */
#define _GNU_SOURCE
#include "rewrite.h"
#include <ctype.h>
#include <llvm-c/Target.h>
#include <string.h>

/* One statement of the text: mnemonic, and what follows. */
struct statement {
    char name[24];
    const char *rest;
    size_t rest_len;
};

/* Next statement of the n bytes at *at; 0: no more. Prefixes, labels and comments are left out. */
static int next(const char **at, const char *end, struct statement *s) {
    const char *p = *at;
    for (;;) {
        while (p < end && (isspace((unsigned char)*p) || *p == ';')) p++;
        if (p == end) return 0;
        if (*p == '#') {
            while (p < end && *p != '\n') p++;
            continue;
        }
        const char *w = p;
        while (p < end && !isspace((unsigned char)*p) && *p != ';' && *p != ':' && *p != ',') p++;
        size_t n = (size_t)(p - w);
        if (p < end && *p == ':') {
            p++;
            continue;
        }
        if (n >= sizeof s->name) n = sizeof s->name - 1;
        for (size_t i = 0; i < n; i++) s->name[i] = (char)tolower((unsigned char)w[i]);
        s->name[n] = 0;
        if (!strcmp(s->name, "lock") || !strcmp(s->name, "notrack") || !strcmp(s->name, "bnd")) continue;
        if (!strcmp(s->name, "rep") || !strcmp(s->name, "repz")) { /* rep; nop is pause */
            const char *q = p;
            while (q < end && (isspace((unsigned char)*q) || *q == ';')) q++;
            if (end - q >= 3 && !strncmp(q, "nop", 3)) {
                p = q;
                continue;
            }
        }
        s->rest = p;
        while (p < end && *p != '\n' && *p != ';' && *p != '#') p++;
        s->rest_len = (size_t)(p - s->rest);
        *at = p;
        return 1;
    }
}

static int one_of(const char *name, const char *const *list) {
    for (; *list; list++) {
        size_t n = strlen(*list);
        if (n && (*list)[n - 1] == '*' ? !strncmp(name, *list, n - 1) : !strcmp(name, *list)) return 1;
    }
    return 0;
}

/* The statement surely does not touch the program's memory. */
static int harmless(const struct statement *s) {
    static const char *const always[] = {"nop*", "pause", "mfence", "lfence", "sfence", "serialize", "cpuid", "rdtsc*", "rdpid*",
                                         "rdrand*", "rdseed*", "xgetbv", "prefetch*", "endbr*", "ud2", "int3", "hlt", "syscall",
                                         "lea", "leaq", "leal", "j*", "cld", "std", "emms", "vzeroupper", "tpause", "lahf", "sahf", NULL};
    static const char *const implied[] = {"push*", "pop*", "movs", "movsb", "movsw", "movsq", "movsl", "stos*", "lods*", "scas*", "cmps", "cmpsb", "cmpsw",
                                          "cmpsl", "cmpsq", "ins", "insb", "insw", "insl", "outs*", "call*", "ret*", "int", "xlat*", "enter*", "leave*", "fx*", "xsave*",
                                          "xrstor*", "rep*", "iret*", "sys*", "clflush*", "clwb", "clzero", "movdir*", "monitor*", "umonitor",
                                          "umwait", "mwait*", "maskmov*", "vmaskmov*", "x*begin", "xend", "xabort", ".*", NULL};
    if (one_of(s->name, always)) return 1;
    if (one_of(s->name, implied)) return 0;
    /* Registers, immediates and operands only: no address, and no bare symbol, which would be one. */
    int start = 1;
    for (size_t i = 0; i < s->rest_len; i++) {
        char c = s->rest[i];
        if (c == '(' || c == '[') return 0;
        if (c == ',') {
            start = 1;
            continue;
        }
        if (isspace((unsigned char)c)) continue;
        if (start && (isalnum((unsigned char)c) || c == '_' || c == '.' || c == '*')) return 0;
        start = 0;
    }
    return 1;
}

static void operand(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call, unsigned arg, int write) {
    LLVMAttributeRef t = LLVMGetCallSiteEnumAttribute(call, arg + 1, LLVMGetEnumAttributeKindForName("elementtype", 11));
    uint64_t size = t ? LLVMStoreSizeOfType(td, LLVMGetTypeAttributeValue(t)) : 0;
    LLVMValueRef p = LLVMGetOperand(call, arg);
    for (unsigned i = 0; i < a->count; i++) /* "+m" is an output and an input */
        if (a->operand[i].pointer == p && a->operand[i].size == size) {
            a->operand[i].write |= write;
            return;
        }
    if (a->count == WEFT_ASM_OPERANDS) return; /* clang allows 30 */
    a->operand[a->count++] = (struct weft_asm_operand){p, arg, size, write};
}

static void constraints(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call, const char *s, size_t n) {
    unsigned arg = 0, nargs = LLVMGetNumArgOperands(call);
    a->outputs[0] = 0;
    for (size_t i = 0; i < n;) {
        size_t e = i;
        for (int brace = 0; e < n && (brace || s[e] != ','); e++) brace += (s[e] == '{') - (s[e] == '}');
        int out = s[i] == '=', clobber = s[i] == '~', label = s[i] == '!', indirect = 0;
        for (size_t k = i; k < e; k++) indirect |= s[k] == '*';
        if (clobber) {
            if (e - i == 9 && !memcmp(s + i, "~{memory}", 9)) a->clobbers = 1;
        } else if (!label && (!out || indirect)) {
            if (arg < nargs && indirect) operand(a, td, call, arg, out);
            if (arg < nargs && !indirect && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, arg))) == LLVMPointerTypeKind) a->pointers = 1;
            arg++;
        } else if (out) {
            size_t k = strlen(a->outputs), m = e - i;
            if (k + m + 1 < sizeof a->outputs) {
                memcpy(a->outputs + k, s + i, m);
                memcpy(a->outputs + k + m, ",", 2);
            }
        }
        i = e + 1;
    }
}

/* The usual ways to read the time-stamp counter: fences, the instruction, fences, and maybe both halves put together; its
 * registers are outputs in any order, or not wanted. */
static enum weft_asm_input tsc(struct weft_asm *a, const char *text, size_t n) {
    static const char *const registers[] = {"={ax},", "={dx},", "={cx},"};
    const char *at = text;
    struct statement s;
    int which = 0, joined = 0;
    while (next(&at, text + n, &s)) {
        if (!strcmp(s.name, "rdtsc") || !strcmp(s.name, "rdtscp")) {
            if (which) return WEFT_ASM_OTHER;
            which = s.name[5] == 'p' ? 2 : 1;
        } else if (!strncmp(s.name, "shl", 3) || !strncmp(s.name, "sal", 3) || !strncmp(s.name, "or", 2))
            joined++;
        else if (strcmp(s.name, "lfence") && strcmp(s.name, "mfence") && strcmp(s.name, "nop"))
            return WEFT_ASM_OTHER;
    }
    if (!which || a->count) return WEFT_ASM_OTHER;
    enum weft_asm_input input = which == 2 ? WEFT_ASM_TSCP : WEFT_ASM_TSC;
    if (joined) {
        a->tsc[0] = 'w';
        return joined == 2 && !strcmp(a->outputs, "={ax},") ? input : WEFT_ASM_OTHER;
    }
    int parts = 0;
    for (const char *o = a->outputs; *o; o += 6, parts++) {
        int k = 0;
        while (k < 3 && strncmp(o, registers[k], 6)) k++;
        if (k > which || parts == 3) return WEFT_ASM_OTHER; /* rdtsc leaves cx alone */
        a->tsc[parts] = "lhp"[k];
    }
    return parts ? input : WEFT_ASM_OTHER;
}

void weft__asm_look(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call) {
    static const char *const inputs[] = {"rdtsc*", "rdrand*", "rdseed*", "rdpid*", "rdpmc", NULL};
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t n, cn;
    const char *text = LLVMGetInlineAsmAsmString(callee, &n), *cs = LLVMGetInlineAsmConstraintString(callee, &cn);
    const char *at = text;
    struct statement s;
    int quiet = LLVMGetInlineAsmDialect(callee) == LLVMInlineAsmDialectATT;
    memset(a, 0, sizeof *a);
    constraints(a, td, call, cs, cn);
    while (next(&at, text + n, &s)) {
        if (one_of(s.name, inputs)) a->input = WEFT_ASM_OTHER;
        quiet = quiet && harmless(&s);
    }
    if (a->input) a->input = tsc(a, text, n);
    a->locked = memmem(text, n, "lock", 4) || memmem(text, n, "xchg", 4);
    a->opaque = a->clobbers && !a->count && !quiet;
}
