/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How do a check, a tick and a take look in the program's code (abi.h)?
 *
 *   check   entry = table[(uint32_t)p >> 6]; if (entry != tls.me) cold: jump to __weft_miss(p, access); access
 *           of a read, in an executable, the cold part looks first whether the thread reads the line, or both lines, together with others (abi.h)
 *   tick    if (++tls.clock >= tls.limit) cold: jump to __weft_tick_cold
 *   spins   behind a tick of a loop that only waits: if (!(tls.clock & WEFT_SPIN_MASK)) cold: jump to __weft_spins
 *   repeat  if (tls.me == WEFT_POISON) cold: jump to __weft_repeat_cold, which says whether the iteration is left out
 *   take    __weft_take_begin(); any number of ranges and objects; __weft_take_end()
 *
 * Of what inline assembly changes only what it does change is named, and not dirflag and fpsr, as clang does for a user's: for each name LLVM looks at
 * all registers, and there are several such statements for each access (7 % of the time of a link). flags has to be named although a flag is the
 * result: without it a comparison of long doubles is used behind the statement (tests/programs/long-double.c).
 *
 * The cold part is inline assembly: `lea back(%rip), %rax; jmp *__weft_miss@GOTPCREL(%rip); back:`, so nothing is pushed
 * on the program's stack and the address of `back` is the site. An empty assembly statement that clobbers memory stands
 * before each access, so that later stages of the compiler cannot move the access above its check.
 *
 * Where they are put: weft__rewrite for functions and accesses, weft__rw_call_inst for calls. */
#include "../plan/regions.h"
#include "rewrite.h"
#include "weft/abi.h"
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

LLVMValueRef weft__rw_i64c(struct weft_rw *r, uint64_t v) { return LLVMConstInt(r->i64, v, 0); }

/* `after`: what is done when it comes back. */
static LLVMValueRef asm_jump(struct weft_rw *r, const char *target, LLVMTypeRef t, const char *constraints, const char *after) {
    char s[512];
    snprintf(s, sizeof s, "leaq 777f(%%rip), %%rax\n\tjmpq *%s@GOTPCREL(%%rip)\n777:%s", target, after);
    return LLVMGetInlineAsm(t, s, strlen(s), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
}

LLVMValueRef weft__rw_tls_word(struct weft_rw *r, uint64_t off) {
    LLVMValueRef ix = weft__rw_i64c(r, off);
    return LLVMConstGEP2(r->i8, r->tls, &ix, 1);
}

LLVMValueRef weft__rw_load(struct weft_rw *r, LLVMTypeRef t, LLVMValueRef p, unsigned align) {
    LLVMValueRef v = LLVMBuildLoad2(r->b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

/* The line of what first uses a value; through PHIs, if there are few. */
static LLVMMetadataRef used_at(LLVMValueRef value, int deep) {
    LLVMMetadataRef at = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(value); u && !at; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAInstruction(user)) at = LLVMInstructionGetDebugLoc(user);
        if (at && !LLVMDILocationGetLine(at)) at = NULL;
        if (!at && deep && LLVMIsAPHINode(user)) at = used_at(user, deep - 1);
    }
    return at;
}

/* A load that was moved out of a loop has no line any more, and its cold block, which is far away, would have the function's. */
static LLVMMetadataRef location_of(LLVMValueRef inst) {
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(inst);
    LLVMMetadataRef used = at && LLVMDILocationGetLine(at) ? NULL : used_at(inst, 2);
    return used ? used : at;
}

void weft__rw_at(struct weft_rw *r, LLVMValueRef before) {
    LLVMPositionBuilderBefore(r->b, before);
    LLVMSetCurrentDebugLocation2(r->b, location_of(before));
}

void weft__rw_call0(struct weft_rw *r, LLVMValueRef a) { LLVMBuildCall2(r->b, r->cold_t, a, NULL, 0, ""); }

/* One instruction that compares a value in rax with a thread-local word, and gives the flag as an int. As assembly, so that
 * what differs between record and replay (the limit; the id and the table's entries) is in no register afterwards: the
 * compiler pushes rax to align the stack, and dead bytes of the stack must be the same.
 *   tick:  cmp limit, rax                rax: the clock, also after the cold path, which loads it again
 *   check: xor id, ax                    rax: 0 if the entry is ours; 0 after the cold path */
static LLVMValueRef tls_asm(struct weft_rw *r, int is_tick, LLVMValueRef v, unsigned word) {
    char text[96], constraints[96];
    LLVMTypeRef in[2] = {LLVMTypeOf(v), r->ptr}, out2[2] = {r->i16, r->i32};
    LLVMTypeRef out = is_tick ? r->i32 : LLVMStructTypeInContext(r->c, out2, 2, 0);
    LLVMValueRef args[2] = {v, weft__rw_tls_word(r, word)};
    unsigned n = r->o->shared_library ? 2 : 1;
    const char *insn = is_tick ? "cmpq" : "xorw", *reg = is_tick ? "%rax" : "%ax";
    if (n == 2)
        snprintf(text, sizeof text, "%s $%d, %s", insn, is_tick ? 2 : 3, reg);
    else
        snprintf(text, sizeof text, "%s %%fs:__weft_tls@tpoff+%u, %s", insn, word, reg);
    snprintf(constraints, sizeof constraints, "%s%s,~{flags}", is_tick ? "={@ccae},{ax}" : "={ax},={@ccne},0",
             n == 2 ? ",*m" : "");
    LLVMTypeRef ft = LLVMFunctionType(out, in, n, 0);
    LLVMValueRef c = LLVMBuildCall2(
        r->b, ft, LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0), args, n, "");
    if (n == 2)
        LLVMAddCallSiteAttribute(c, 2, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), is_tick ? r->i64 : r->i16));
    return is_tick ? c : LLVMBuildExtractValue(r->b, c, 1, "");
}

LLVMValueRef weft__rw_tick_to(struct weft_rw *r, LLVMValueRef before, LLVMValueRef entry) {
    if (!before) return NULL;
    weft__rw_at(r, before);
    LLVMValueRef cp = weft__rw_tls_word(r, WEFT_TLS_CLOCK);
    LLVMValueRef c = LLVMBuildAdd(r->b, weft__rw_load(r, r->i64, cp, 8), weft__rw_i64c(r, 1), "");
    LLVMSetAlignment(LLVMBuildStore(r->b, c, cp), 8);
    LLVMValueRef late = tls_asm(r, 1, c, WEFT_TLS_LIMIT);
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, late, LLVMConstInt(r->i32, 0, 0), ""), before);
    weft__rw_at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, location_of(before));
    weft__rw_call0(r, entry);
    weft__rw_at(r, before);
    weft__rw_call0(r, r->barrier);
    r->s->ticks++;
    if (entry != r->tick_spin) return cold;
    /* Now and then the runtime is told that the thread still waits. From the clock, which is the same in record and replay. Not at every
     * 1,024th tick but at a few of them in a row: the loop may have others. */
    LLVMValueRef often = LLVMBuildAnd(r->b, weft__rw_load(r, r->i64, cp, 8), weft__rw_i64c(r, WEFT_SPIN_MASK), "");
    cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntEQ, often, weft__rw_i64c(r, 0), ""), before);
    weft__rw_at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(before));
    weft__rw_call0(r, r->spins);
    weft__rw_at(r, before);
    weft__rw_call0(r, r->barrier);
    return NULL; /* such a loop has no copy */
}
void weft__rw_tick(struct weft_rw *r, LLVMValueRef before) { weft__rw_tick_to(r, before, r->tick_cold); }

static LLVMValueRef index_of(struct weft_rw *r, LLVMValueRef p_int) {
    LLVMValueRef t = LLVMBuildTrunc(r->b, p_int, r->i32, "");
    t = LLVMBuildLShr(r->b, t, LLVMConstInt(r->i32, WEFT_LINE_SHIFT, 0), "");
    return LLVMBuildZExt(r->b, t, r->i64, "");
}
static LLVMValueRef entry_at(struct weft_rw *r, LLVMValueRef index) {
    LLVMValueRef t = LLVMBuildAdd(r->b, LLVMBuildShl(r->b, index, weft__rw_i64c(r, 1), ""), weft__rw_i64c(r, WEFT_TABLE_ADDR), "");
    return weft__rw_load(r, r->i16, LLVMBuildIntToPtr(r->b, t, r->ptr, ""), 2);
}

#define LARGE (4 * WEFT_LINE) /* accesses of more bytes are taken as ranges */
#define LINES (LARGE / WEFT_LINE + 1)

/* A check of several lines: rax is 0 if all entries are ours, and all other registers in which it had something of them are 0 in any case. (Were
 * their flags combined by the compiler, one of them would stay in a register: 1 after a miss, and in replay 0.) */
static LLVMValueRef lines_asm(struct weft_rw *r, LLVMValueRef *index, unsigned lines) {
    char text[1024], constraints[128], word[64];
    int library = r->o->shared_library;
    LLVMTypeRef in[LINES + 1], out[LINES + 1] = {r->i64, r->i32};
    LLVMValueRef args[LINES + 1];
    if (library)
        snprintf(word, sizeof word, "$%u", 2 * lines + 1);
    else
        snprintf(word, sizeof word, "%%fs:__weft_tls@tpoff+%u", WEFT_TLS_ME);
    int at = snprintf(text, sizeof text, "movzwl %#x(%%rax,%%rax), %%eax\n\txorw %s, %%ax", (unsigned)WEFT_TABLE_ADDR, word);
    int c = snprintf(constraints, sizeof constraints, "={ax},={@ccne}");
    for (unsigned k = 1; k < lines; k++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "\n\tmovzwl %#x(${%u:q},${%u:q}), ${%u:k}\n\txorw %s, ${%u:w}\n\torw ${%u:w}, %%ax\n\tmovl $$0, ${%u:k}", (unsigned)WEFT_TABLE_ADDR,
                       k + 1, k + 1, k + 1, word, k + 1, k + 1, k + 1);
        c += snprintf(constraints + c, sizeof constraints - (size_t)c, ",=r");
        out[k + 1] = r->i64;
    }
    for (unsigned k = 0; k < lines; k++) {
        c += snprintf(constraints + c, sizeof constraints - (size_t)c, ",%u", k ? k + 1 : 0);
        in[k] = r->i64;
        args[k] = index[k];
    }
    snprintf(constraints + c, sizeof constraints - (size_t)c, "%s,~{flags}", library ? ",*m" : "");
    in[lines] = r->ptr;
    args[lines] = weft__rw_tls_word(r, WEFT_TLS_ME);
    unsigned n = lines + (library ? 1 : 0);
    LLVMTypeRef ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, out, lines + 1, 0), in, n, 0);
    LLVMValueRef v = LLVMBuildCall2(
        r->b, ft, LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0), args, n, "");
    if (library) LLVMAddCallSiteAttribute(v, n, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), r->i16));
    return LLVMBuildExtractValue(r->b, v, 1, "");
}

/* What an atomic works with, for a runtime that has to do it too (shm.c): from the registers, where they are anyway. */
static void operands(struct weft_rw *r, uint64_t n) {
    int cas = LLVMIsAAtomicCmpXchgInst(r->atomic) != NULL;
    LLVMTypeRef t = LLVMIntTypeInContext(r->c, (unsigned)n * 8);
    for (int k = 0; k <= cas; k++) {
        LLVMValueRef v = LLVMGetOperand(r->atomic, (unsigned)(cas ? 2 - k : 1));
        LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
        v = kind == LLVMPointerTypeKind ? LLVMBuildPtrToInt(r->b, v, t, "") : kind == LLVMIntegerTypeKind ? v : LLVMBuildBitCast(r->b, v, t, "");
        for (uint64_t w = 0; w < n; w += 8) {
            LLVMValueRef x = w ? LLVMBuildLShr(r->b, v, LLVMConstInt(LLVMTypeOf(v), 64, 0), "") : v;
            x = n > 8 ? LLVMBuildTrunc(r->b, x, r->i64, "") : n < 8 ? LLVMBuildZExt(r->b, x, r->i64, "") : x;
            LLVMSetAlignment(LLVMBuildStore(r->b, x, weft__rw_tls_word(r, WEFT_TLS_OPERAND + 16 * (uint64_t)k + w)), 8);
        }
    }
}

/* Of a check whose access has another one in a copy of its loop: where it is, and the number of both. */
static int note_pair(const struct weft_rw *r, char *text, size_t size) {
    if (!r->pair) return 0;
    return snprintf(text, size, "\n\t.pushsection " WEFT_PAIRS ",\"\",@progbits\n\t.quad 777b\n\t.quad 0x%lx\n\t.popsection", (unsigned long)r->pair);
}

/* A bit of WEFT_READS_ADDR + saved[3]: does the thread read the line of the address in rax together with others? rax is turned by 6 bits then. */
static int look_at_reads(char *text, size_t size) {
    return snprintf(text, size,
                    "movl %%eax, %%ecx\n\tshrl $$9, %%ecx\n\tandl $$-8, %%ecx\n\taddq %%fs:__weft_tls@tpoff+64, %%rcx\n\tmovq %lu(%%rcx), %%rcx\n\t"
                    "rorq $$6, %%rax\n\tbtq %%rax, %%rcx\n\t",
                    WEFT_READS_ADDR);
}
/* A read misses in an executable. If its line is one that the thread reads together with others, and the line of the last byte too (`last` from the
 * first; 0: there is one line only), it goes on. rcx is kept in tls.saved[4] meanwhile. */
static void read_miss(struct weft_rw *r, LLVMValueRef p, LLVMValueRef access, uint64_t last) {
    static const char constraints[] = "={ax},0,i,~{memory},~{flags}";
    char text[1024];
    int at = snprintf(text, sizeof text, "movq %%rcx, %%fs:__weft_tls@tpoff+72\n\t");
    at += look_at_reads(text + at, sizeof text - (size_t)at);
    if (last) {
        at += snprintf(text + at, sizeof text - (size_t)at, "jnc 778f\n\trolq $$6, %%rax\n\taddq $$%lu, %%rax\n\t", last);
        at += look_at_reads(text + at, sizeof text - (size_t)at);
    }
    at += snprintf(text + at, sizeof text - (size_t)at, "movq %%fs:__weft_tls@tpoff+72, %%rcx\n\tjc 777f\n");
    if (last) at += snprintf(text + at, sizeof text - (size_t)at, "\trolq $$6, %%rax\n\tsubq $$%lu, %%rax\n\trorq $$6, %%rax\n778:\tmovq %%fs:__weft_tls@tpoff+72, %%rcx\n", last);
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "\trolq $$6, %%rax\n\tmovq %%rax, %%fs:__weft_tls@tpoff+112\n\tmovl $2, %%fs:__weft_tls@tpoff+120\n\t"
                   "leaq 777f(%%rip), %%rax\n\tjmpq *__weft_miss@GOTPCREL(%%rip)\n777:\n\txorl %%eax, %%eax");
    note_pair(r, text + at, sizeof text - (size_t)at);
    LLVMTypeRef in[2] = {r->ptr, r->i32}, ft = LLVMFunctionType(r->ptr, in, 2, 0);
    LLVMValueRef a[2] = {p, access};
    LLVMBuildCall2(r->b, ft, LLVMGetInlineAsm(ft, text, strlen(text), constraints, sizeof constraints - 1, 1, 0, LLVMInlineAsmDialectATT, 0), a, 2, "");
}

/* Address and access go through tls.saved[9] and [10] (abi.h). The address comes in rax, whatever it is made of, and no other register
 * changes: a variadic function stores all that arguments could be in, which dead bytes of the stack then hold. In libraries r11 does too,
 * which nobody stores. */
static LLVMValueRef miss_asm(struct weft_rw *r) {
    char text[512];
    int library = r->o->shared_library;
    int at = snprintf(text, sizeof text, "%s\n\tleaq 777f(%%rip), %%rax\n\tjmpq *__weft_miss@GOTPCREL(%%rip)\n777:\n\txorl %%eax, %%eax",
                      library ? "movq %rax, %r11\n\tmovq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq %r11, %fs:112(%rax)\n\tmovl $2, %fs:120(%rax)"
                              : "movq %rax, %fs:__weft_tls@tpoff+112\n\tmovl $2, %fs:__weft_tls@tpoff+120");
    note_pair(r, text + at, sizeof text - (size_t)at);
    const char *constraints = library ? "={ax},0,i,~{r11},~{memory},~{flags}" : "={ax},0,i,~{memory},~{flags}";
    LLVMTypeRef in[2] = {r->ptr, r->i32};
    return LLVMGetInlineAsm(LLVMFunctionType(r->ptr, in, 2, 0), text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
}

void weft__rw_count(struct weft_rw *r, LLVMValueRef before, enum weft_count what) {
    if (!r->counts) return;
    weft__rw_at(r, before);
    LLVMValueRef at = LLVMConstInt(r->i64, 8u * what, 0);
    at = LLVMBuildGEP2(r->b, r->i8, r->counts, &at, 1, "");
    LLVMBuildAtomicRMW(r->b, LLVMAtomicRMWBinOpAdd, at, weft__rw_i64c(r, 1), LLVMAtomicOrderingMonotonic, 0);
}

void weft__rw_check(struct weft_rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    weft__rw_count(r, before, WEFT_COUNT_CHECK);
    weft__rw_at(r, before);
    LLVMValueRef pi = LLVMBuildPtrToInt(r->b, p, r->i64, "");
    LLVMValueRef index[LINES] = {index_of(r, pi)};
    unsigned lines = 1;
    if (!(align >= n && n <= WEFT_LINE && !(n & (n - 1))) && n > 1)
        for (uint64_t k = WEFT_LINE; k < n + WEFT_LINE - 1; k += WEFT_LINE) /* a byte in each line */
            index[lines++] = index_of(r, LLVMBuildAdd(r->b, pi, weft__rw_i64c(r, k < n ? k : n - 1), ""));
    LLVMValueRef bad = lines == 1 ? tls_asm(r, 0, entry_at(r, index[0]), WEFT_TLS_ME) : lines_asm(r, index, lines);
    LLVMValueRef cold = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, bad, LLVMConstInt(r->i32, 0, 0), ""), before);
    weft__rw_at(r, cold);
    LLVMSetCurrentDebugLocation2(r->b, location_of(before));
    if (r->atomic) operands(r, n);
    LLVMValueRef a[2] = {p, LLVMConstInt(r->i32, n | flags, 0)};
    LLVMTypeRef in[2] = {r->ptr, r->i32};
    int reads = !(flags & ~WEFT_ACC_ORDERED) && lines <= 2 && n <= WEFT_LINE;
    if (reads && !r->o->shared_library)
        read_miss(r, p, a[1], lines == 1 ? 0 : n - 1);
    else
        LLVMBuildCall2(r->b, LLVMFunctionType(r->ptr, in, 2, 0), r->pair ? miss_asm(r) : r->miss, a, 2, "");
    weft__rw_at(r, before);
    weft__rw_call0(r, r->barrier);
    r->s->checks++;
}

/* `left_out`, of the call, is compared with 0 and that decides the branch right behind it: then the hot way goes on to the body at
 * once, and the cold one decides. Gives the branch; else NULL. */
static LLVMValueRef decided_at_once(LLVMValueRef call, LLVMBasicBlockRef *skip, LLVMBasicBlockRef *body) {
    LLVMValueRef cmp = LLVMGetNextInstruction(call), end = LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(call));
    if (!cmp || !LLVMIsAICmpInst(cmp) || LLVMGetOperand(cmp, 0) != call || LLVMGetNextInstruction(cmp) != end) return NULL;
    LLVMUseRef u = LLVMGetFirstUse(call), v = LLVMGetFirstUse(cmp);
    if (LLVMGetNextUse(u) || !v || LLVMGetNextUse(v) || LLVMGetInstructionOpcode(end) != LLVMBr || !LLVMIsConditional(end)) return NULL;
    LLVMIntPredicate p = LLVMGetICmpPredicate(cmp);
    if (!LLVMIsNull(LLVMGetOperand(cmp, 1)) || (p != LLVMIntNE && p != LLVMIntEQ)) return NULL;
    *skip = LLVMGetSuccessor(end, p == LLVMIntEQ);
    *body = LLVMGetSuccessor(end, p == LLVMIntNE);
    return *skip != *body ? end : NULL;
}

/* rax is 0 after both ways where the iteration is not left out, as it may be pushed. -4 is WEFT_POISON, in one byte. */
_Static_assert((int16_t)WEFT_POISON == -4, "poison");
void weft__rw_repeat(struct weft_rw *r, LLVMValueRef call) {
    static const char go[] = "movq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq $$0, %fs:112(%rax)\n\tmovl $1, %fs:120(%rax)\n\t"
                             "leaq 777f(%rip), %rax\n\tjmpq *__weft_repeat_cold@GOTPCREL(%rip)\n777:\n\t"
                             "movq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovl %fs:112(%rax), %eax";
    static const char go_c[] = "={ax},i,~{memory},~{flags}";
    char text[96];
    const char *constraints = r->o->shared_library ? "={ax},={@cce},*m,~{flags}" : "={ax},={@cce},~{flags}";
    LLVMTypeRef two[2] = {r->i32, r->i32}, ft = LLVMFunctionType(LLVMStructTypeInContext(r->c, two, 2, 0), &r->ptr, r->o->shared_library ? 1 : 0, 0);
    LLVMValueRef word = weft__rw_tls_word(r, WEFT_TLS_ME), flags = LLVMGetOperand(call, 0);
    LLVMBasicBlockRef skip, body;
    if (r->o->shared_library)
        snprintf(text, sizeof text, "xorl %%eax, %%eax\n\tcmpw $$-4, $2");
    else
        snprintf(text, sizeof text, "xorl %%eax, %%eax\n\tcmpw $$-4, %%fs:__weft_tls@tpoff+%u", WEFT_TLS_ME);
    weft__rw_at(r, call);
    LLVMValueRef a = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef hot = LLVMBuildCall2(r->b, ft, a, &word, r->o->shared_library ? 1 : 0, "");
    if (r->o->shared_library)
        LLVMAddCallSiteAttribute(hot, 1, LLVMCreateTypeAttribute(r->c, LLVMGetEnumAttributeKindForName("elementtype", 11), r->i16));
    LLVMValueRef zero = LLVMBuildExtractValue(r->b, hot, 0, ""), poison = LLVMBuildExtractValue(r->b, hot, 1, "");
    LLVMBasicBlockRef before = LLVMGetInstructionParent(hot);
    LLVMValueRef back = weft__shim_cold(LLVMBuildICmp(r->b, LLVMIntNE, poison, LLVMConstInt(r->i32, 0, 0), ""), call);
    LLVMBasicBlockRef cold = LLVMGetInstructionParent(back), tail = LLVMGetInstructionParent(call);
    weft__rw_at(r, back);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(call)); /* it is the loop's line */
    ft = LLVMFunctionType(r->i32, &r->i32, 1, 0);
    if (!LLVMIsAConstantInt(flags)) flags = LLVMConstInt(r->i32, 0, 0);
    a = LLVMGetInlineAsm(ft, go, sizeof go - 1, go_c, sizeof go_c - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef left_out = LLVMBuildCall2(r->b, ft, a, &flags, 1, ""), end = decided_at_once(call, &skip, &body);
    if (end) {
        LLVMBuildCondBr(r->b, LLVMBuildICmp(r->b, LLVMIntNE, left_out, LLVMConstInt(r->i32, 0, 0), ""), skip, tail);
        LLVMInstructionEraseFromParent(back);
        weft__shim_comes_from(skip, tail, cold);
        LLVMPositionBuilderBefore(r->b, end);
        LLVMBuildBr(r->b, body);
        LLVMInstructionEraseFromParent(end);
        LLVMInstructionEraseFromParent(LLVMGetNextInstruction(call));
    } else {
        LLVMPositionBuilderBefore(r->b, call);
        LLVMValueRef phi = LLVMBuildPhi(r->b, r->i32, ""), v[2] = {zero, left_out};
        LLVMBasicBlockRef from[2] = {before, cold};
        LLVMAddIncoming(phi, v, from, 2);
        LLVMReplaceAllUsesWith(call, phi);
    }
    LLVMInstructionEraseFromParent(call);
    r->s->repeats++;
}

void weft__rw_verify(struct weft_rw *r, LLVMValueRef after, LLVMValueRef p, uint64_t n, uint32_t flags) {
    if (!r->o->verify) return;
    LLVMValueRef next = LLVMGetNextInstruction(after);
    LLVMPositionBuilderBefore(r->b, next);
    LLVMSetCurrentDebugLocation2(r->b, LLVMInstructionGetDebugLoc(after));
    LLVMValueRef a[2] = {p, weft__rw_i64c(r, n | flags)};
    LLVMBuildCall2(r->b, r->cold2_t, r->verify, a, 2, "");
}

LLVMValueRef weft__rw_function(struct weft_rw *r, const char *name, LLVMTypeRef t) {
    LLVMValueRef f = LLVMGetNamedFunction(r->m, name);
    return f ? f : LLVMAddFunction(r->m, name, t);
}

LLVMValueRef weft__rw_call_named(struct weft_rw *r, const char *name, LLVMTypeRef t, LLVMValueRef *a, unsigned n) {
    return LLVMBuildCall2(r->b, t, weft__rw_function(r, name, t), a, n, "");
}

uint64_t weft__rw_size_of(struct weft_rw *r, LLVMTypeRef t) { return LLVMStoreSizeOfType(r->dl, t); }

LLVMValueRef weft__rw_come_in(struct weft_rw *r, LLVMValueRef before) {
    weft__rw_at(r, before);
    LLVMValueRef o = weft__rw_load(r, r->i8, weft__rw_tls_word(r, WEFT_TLS_OUTSIDE), 1);
    LLVMValueRef was = LLVMBuildICmp(r->b, LLVMIntNE, o, LLVMConstInt(r->i8, 0, 0), "");
    LLVMValueRef cold = weft__shim_cold(was, before);
    weft__rw_at(r, cold);
    weft__rw_call0(r, r->come_in);
    return was;
}

static LLVMValueRef bound(struct weft_rw *r, const char *name) {
    LLVMValueRef g = LLVMGetNamedGlobal(r->m, name);
    if (!g) {
        g = LLVMAddGlobal(r->m, r->i8, name);
        LLVMSetVisibility(g, LLVMHiddenVisibility);
    }
    return LLVMConstPtrToInt(g, r->i64);
}

LLVMValueRef weft__rw_foreign(struct weft_rw *r, LLVMValueRef callee) {
    LLVMValueRef start = bound(r, "__start_" WEFT_TAKEN_SECTION), stop = bound(r, "__stop_" WEFT_TAKEN_SECTION);
    LLVMValueRef at = LLVMBuildSub(r->b, LLVMBuildPtrToInt(r->b, callee, r->i64, ""), start, "");
    return LLVMBuildICmp(r->b, LLVMIntUGE, at, LLVMBuildSub(r->b, stop, start, ""), "");
}

void weft__rw_group_begin(struct weft_rw *r, LLVMValueRef before) {
    weft__rw_count(r, before, WEFT_COUNT_CHECK);
    weft__rw_at(r, before);
    weft__rw_call_named(r, "__weft_take_begin", r->cold_t, NULL, 0);
}
void weft__rw_group_range(struct weft_rw *r, LLVMValueRef p, LLVMValueRef n, int write) {
    LLVMTypeRef t[3] = {r->ptr, r->i64, r->i32};
    LLVMTypeRef ft = LLVMFunctionType(r->vd, t, 3, 0);
    LLVMValueRef a[3] = {p, n, LLVMConstInt(r->i32, (unsigned)write, 0)};
    weft__rw_call_named(r, "__weft_take_range", ft, a, 3);
}
void weft__rw_group_object(struct weft_rw *r, LLVMValueRef p) {
    weft__rw_call_named(r, "__weft_take_object", LLVMFunctionType(r->vd, &r->ptr, 1, 0), &p, 1);
}
void weft__rw_group_close(struct weft_rw *r) {
    weft__rw_call_named(r, "__weft_take_end", r->cold_t, NULL, 0);
    r->s->takes++;
}
void weft__rw_group_end(struct weft_rw *r) {
    weft__rw_group_close(r);
    weft__rw_call0(r, r->barrier);
}

void weft__rw_check_any(struct weft_rw *r, LLVMValueRef before, LLVMValueRef p, uint64_t n, unsigned align, uint32_t flags) {
    if (n <= LARGE) {
        weft__rw_check(r, before, p, n, align, flags);
        return;
    }
    weft__rw_group_begin(r, before);
    weft__rw_group_range(r, p, weft__rw_i64c(r, n), flags & WEFT_ACC_WRITE);
    weft__rw_group_end(r);
}

void weft__rw_init(struct weft_rw *r, LLVMModuleRef m, const struct weft_facts *f, const struct weft_regions *g,
                   const struct weft_pass_options *o, struct weft_pass_stats *s) {
    *r = (struct weft_rw){.m = m, .c = LLVMGetModuleContext(m), .f = f, .g = g, .o = o, .s = s};
    r->b = LLVMCreateBuilderInContext(r->c);
    r->dl = LLVMGetModuleDataLayout(m);
    r->i8 = LLVMInt8TypeInContext(r->c);
    r->i16 = LLVMInt16TypeInContext(r->c);
    r->i32 = LLVMInt32TypeInContext(r->c);
    r->i64 = LLVMInt64TypeInContext(r->c);
    r->ptr = LLVMPointerTypeInContext(r->c, 0);
    r->vd = LLVMVoidTypeInContext(r->c);
    LLVMTypeRef tls_t = LLVMArrayType2(r->i64, WEFT_TLS_SIZE / 8);
    r->tls = LLVMAddGlobal(m, tls_t, "__weft_tls");
    LLVMSetThreadLocalMode(r->tls, LLVMInitialExecTLSModel);
    LLVMSetAlignment(r->tls, 64);
    /* An executable defines its own, which the runtime and all libraries then use: one fs-relative instruction. */
    if (!o->shared_library) LLVMSetInitializer(r->tls, LLVMConstNull(tls_t));
    r->counts = LLVMGetNamedGlobal(m, "__weft_counts");
    r->cold_t = LLVMFunctionType(r->vd, NULL, 0, 0);
    LLVMTypeRef p2[2] = {r->ptr, r->i64};
    r->cold2_t = LLVMFunctionType(r->vd, p2, 2, 0);
    const char *c0 = "~{rax},~{r11},~{memory},~{flags}";
    const char *c2 = "{rdi},{rsi},~{rax},~{r11},~{memory},~{flags}";
    const char *rax_only = "~{rax},~{memory},~{flags}";
    const char *clock_again = "\n\tmovq __weft_tls@GOTTPOFF(%rip), %rax\n\tmovq %fs:(%rax), %rax";
    char look[320]; /* behind a tick: are the weak locks still there? (regions.c) */
    snprintf(look, sizeof look, "\n\tmovq %%fs:__weft_tls@tpoff+%u, %%rax\n\ttestq %%rax, %%fs:__weft_tls@tpoff+%u\n\tje 778f\n\t"
             "leaq 778f(%%rip), %%rax\n\tjmpq *__weft_weak@GOTPCREL(%%rip)\n778:%s", WEFT_TLS_REGION, WEFT_TLS_WEAK, clock_again);
    r->weak_cold = asm_jump(r, "__weft_weak", r->cold_t, rax_only, "\n\txorl %eax, %eax");
    r->tick_cold = asm_jump(r, "__weft_tick_cold", r->cold_t, rax_only, g && weft__regions_weak(g) ? look : clock_again);
    r->tick_spin = asm_jump(r, "__weft_tick_spin", r->cold_t, rax_only, g && weft__regions_weak(g) ? look : clock_again);
    r->spins = asm_jump(r, "__weft_spins", r->cold_t, rax_only, "");
    r->come_in = asm_jump(r, "__weft_come_in", r->cold_t, c0, "");
    r->go_out = asm_jump(r, "__weft_go_out", r->cold_t, c0, "");
    r->miss = miss_asm(r);
    r->verify = asm_jump(r, "__weft_verify", r->cold2_t, c2, "");
    r->barrier = LLVMGetInlineAsm(r->cold_t, "", 0, "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
}

void weft__rw_fini(struct weft_rw *r) {
    free(r->moves);
    free(r->in_copies);
    free(r->originals);
    free(r->copies);
    LLVMDisposeBuilder(r->b);
}
