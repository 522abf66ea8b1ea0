/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an inline assembly statement does to memory, as far as its constraints and a look at its text can tell:
 *
 *   - memory operands ("m", "+m", ...; in LLVM indirect constraints, "=*m") tell address, and whether it is read or written. Their
 *     type is what the author chose to write there, and often smaller than what the instruction accesses (cmpxchg16b on a
 *     word, cmpxchgq on a char): the instruction's own width counts too. A bit instruction with its bit in a register goes
 *     to the word that has this bit;
 *   - the text may refer to more memory, by addresses in registers: with a "memory" clobber or, by mistake, without. The objects
 *     that pointer operands point into are all that can be taken, and the build says so. Fences, pause, moves between
 *     registers and what is at the stack pointer (lock addl $0, (%rsp) is a fence) are no such references;
 *   - rdtsc and the like are inputs. The usual forms are replaced by calls of the runtime; the build tells of others.
 *
 * This file only looks; the rewriter acts. cpuid counts as harmless: its results belong to the machine. A system call made
 * by hand is caught by the runtime when it happens. */
#define _GNU_SOURCE
#include "rewrite.h"
#include <ctype.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
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

/* Length of an address at the stack pointer, as 0(%rsp), if there is one. */
static size_t at_stack(const char *p, size_t n) {
    size_t k = 0;
    while (k < n && (isxdigit((unsigned char)p[k]) || p[k] == '-' || p[k] == 'x')) k++;
    return n - k >= 6 && (!strncmp(p + k, "(%rsp)", 6) || !strncmp(p + k, "(%esp)", 6)) ? k + 6 : 0;
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
        size_t stack = start ? at_stack(s->rest + i, s->rest_len - i) : 0;
        if (stack) {
            i += stack - 1;
            start = 0;
            continue;
        }
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

/* What $0, $1, ... in the text stand for. */
struct names {
    unsigned count;
    struct name {
        int memory;     /* index of the memory operand, or -1 */
        int arg;        /* an input in a register: which argument, else -1 */
        uint64_t bytes; /* of one in a register */
    } of[WEFT_ASM_OPERANDS];
};
static void add_name(struct names *names, struct name n) {
    if (names->count < WEFT_ASM_OPERANDS) names->of[names->count++] = n;
}
/* The next $n or ${n:q} in the statement from byte *i on, or NULL. $$ is a dollar, for an immediate. */
static const struct name *next_name(const struct names *names, const struct statement *s, size_t *i) {
    for (; *i + 1 < s->rest_len; ++*i) {
        if (s->rest[*i] != '$') continue;
        const char *c = s->rest + ++*i;
        unsigned n = *c == '$' ? WEFT_ASM_OPERANDS : (unsigned)atoi(c + (*c == '{'));
        if (n < names->count) return &names->of[n];
    }
    return NULL;
}

/* Takes from a statement how much it accesses of the memory operands that it names: by its suffix, or without one as much as the
 * widest register that it names has. */
static void widen(struct weft_asm *a, const struct statement *s, const struct names *names) {
    static const char *const stems[] = {"mov", "add", "sub", "and", "or",  "xor",  "inc",  "dec",  "neg",     "not",    "adc",
                                        "sbb", "bt",  "bts", "btr", "btc", "cmp", "test", "xchg", "xadd", "cmpxchg", "movnti", NULL};
    static const char suffixes[] = "bwlq";
    uint64_t bytes = !strcmp(s->name, "cmpxchg16b") ? 16 : !strcmp(s->name, "cmpxchg8b") ? 8 : 0;
    size_t n = strlen(s->name), i = 0;
    const struct name *k, *reg = NULL;
    char stem[sizeof s->name];
    while ((k = next_name(names, s, &i)))
        if (k->memory < 0 && (!reg || k->bytes > reg->bytes)) reg = k;
    memcpy(stem, s->name, n + 1);
    const char *suffix = n ? strchr(suffixes, stem[n - 1]) : NULL;
    if (one_of(stem, stems)) {
        if (reg) bytes = reg->bytes;
    } else if (suffix) {
        stem[n - 1] = 0;
        if (one_of(stem, stems)) bytes = 1u << (suffix - suffixes);
    }
    for (i = 0; (k = next_name(names, s, &i));) {
        struct weft_asm_operand *o = k->memory < 0 ? NULL : &a->operand[k->memory];
        if (o && bytes > o->size) o->size = bytes;
        if (o && !strncmp(stem, "bt", 2) && reg) o->bit = reg->arg, o->unit = bytes;
    }
}

/* Index of the memory operand that argument arg is. */
static int operand(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call, unsigned arg, int write) {
    LLVMAttributeRef t = LLVMGetCallSiteEnumAttribute(call, arg + 1, LLVMGetEnumAttributeKindForName("elementtype", 11));
    uint64_t size = t ? LLVMStoreSizeOfType(td, LLVMGetTypeAttributeValue(t)) : 0;
    LLVMValueRef p = LLVMGetOperand(call, arg);
    for (unsigned i = 0; i < a->count; i++) /* "+m" is an output and an input */
        if (a->operand[i].pointer == p && a->operand[i].size == size) {
            a->operand[i].write |= write;
            return (int)i;
        }
    if (a->count == WEFT_ASM_OPERANDS) return -1; /* clang allows 30 */
    a->operand[a->count] = (struct weft_asm_operand){.pointer = p, .arg = arg, .size = size, .write = write};
    return (int)a->count++;
}

/* The type of output number k that is in a register. */
static LLVMTypeRef output_type(LLVMValueRef call, unsigned k) {
    LLVMTypeRef t = LLVMTypeOf(call);
    return LLVMGetTypeKind(t) != LLVMStructTypeKind ? t : LLVMStructGetTypeAtIndex(t, k);
}

static void constraints(struct weft_asm *a, LLVMTargetDataRef td, LLVMValueRef call, const char *s, size_t n, struct names *names) {
    unsigned arg = 0, nargs = LLVMGetNumArgOperands(call), outputs = 0;
    a->outputs[0] = 0;
    for (size_t i = 0; i < n;) {
        size_t e = i;
        for (int brace = 0; e < n && (brace || s[e] != ','); e++) brace += (s[e] == '{') - (s[e] == '}');
        int out = s[i] == '=', clobber = s[i] == '~', label = s[i] == '!', indirect = 0;
        for (size_t k = i; k < e; k++) indirect |= s[k] == '*';
        if (clobber) {
            if (e - i == 9 && !memcmp(s + i, "~{memory}", 9)) a->clobbers = 1;
        } else if (!label && (!out || indirect)) {
            LLVMTypeRef t = arg < nargs ? LLVMTypeOf(LLVMGetOperand(call, arg)) : NULL;
            if (t && !indirect && LLVMGetTypeKind(t) == LLVMPointerTypeKind) a->pointers = 1;
            if (t && indirect)
                add_name(names, (struct name){operand(a, td, call, arg, out), -1, 0});
            else
                add_name(names, (struct name){-1, t ? (int)arg : -1, t ? LLVMStoreSizeOfType(td, t) : 0});
            arg++;
        } else if (out) {
            add_name(names, (struct name){-1, -1, LLVMStoreSizeOfType(td, output_type(call, outputs++))});
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
    struct names names = {0};
    int quiet = LLVMGetInlineAsmDialect(callee) == LLVMInlineAsmDialectATT;
    memset(a, 0, sizeof *a);
    constraints(a, td, call, cs, cn, &names);
    while (next(&at, text + n, &s)) {
        if (one_of(s.name, inputs)) a->input = WEFT_ASM_OTHER;
        widen(a, &s, &names);
        quiet = quiet && harmless(&s);
    }
    if (a->input) a->input = tsc(a, text, n);
    a->locked = memmem(text, n, "lock", 4) || memmem(text, n, "xchg", 4);
    a->opaque = !quiet && (a->clobbers || a->pointers);
    for (unsigned k = 0; k < a->count; k++) a->opaque |= a->operand[k].unit && a->operand[k].bit < 0;
}
