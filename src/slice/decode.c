/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an instruction reads and writes, by Zydis, in the terms of slice.h. Whatever a write leaves as it was (the rest of a register
 * that is written in part, the target of a conditional move) is read as well.
 *
 * The stack pointer does not count, neither as a register nor as what an address is made of; nor do the return addresses that calls
 * leave on the stack. */
#include "slice/slice.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

static uint8_t number_of(ZydisRegister reg) {
    ZydisRegister r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    ZyanI8 id = ZydisRegisterGetId(r);
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_GPR64: return (uint8_t)id;
    case ZYDIS_REGCLASS_ZMM: return (uint8_t)(WEFT_R_VECTOR + id);
    case ZYDIS_REGCLASS_MASK: return (uint8_t)(WEFT_R_MASK + id);
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX: return WEFT_R_FLOAT;
    default: return WEFT_R_NONE;
    }
}

static uint64_t bit(uint8_t r) { return r == WEFT_R_NONE || r == WEFT_R_RSP ? 0 : 1ull << r; }

/* The part of the register that is written, in bits, leaves the rest as it was. A 32-bit one clears it, as vector moves do. */
static bool in_part(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o, uint8_t r) {
    if (r < WEFT_R_VECTOR) return o->size < 32;
    if (r < WEFT_R_MASK) return i->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && o->size < 128 && o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
                                i->meta.category != ZYDIS_CATEGORY_DATAXFER;
    return r == WEFT_R_FLOAT;
}

static void add_register(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o, struct weft_insn *out) {
    uint8_t r = number_of(o->reg.value);
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) out->uses |= bit(r);
    if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) return;
    out->defs |= bit(r);
    if ((o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) || (r != WEFT_R_NONE && in_part(i, o, r))) out->uses |= bit(r);
}

static void add_memory(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o, struct weft_insn *out) {
    struct weft_operand m = {.base = number_of(o->mem.base), .index = number_of(o->mem.index), .scale = o->mem.scale, .disp = o->mem.disp.value,
                             .fs = o->mem.segment == ZYDIS_REGISTER_FS, .gs = o->mem.segment == ZYDIS_REGISTER_GS,
                             .read = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ, .write = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
                             .size = (uint16_t)(o->size / 8)};
    if (o->mem.base == ZYDIS_REGISTER_NONE) m.base = WEFT_R_NONE;
    if (o->mem.index == ZYDIS_REGISTER_NONE) m.index = WEFT_R_NONE;
    if (o->mem.base == ZYDIS_REGISTER_RIP) m.disp += (int64_t)(out->pc + i->length);
    out->uses |= bit(m.base) | bit(m.index);
    if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM || i->meta.category == ZYDIS_CATEGORY_CALL || i->meta.category == ZYDIS_CATEGORY_RET) {
        if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM || o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) return; /* lea; the return address */
    }
    bool stack = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && m.base == WEFT_R_RSP;
    if (stack && m.write) m.disp -= m.size; /* push: the stack pointer is the one before */
    if (i->mnemonic == ZYDIS_MNEMONIC_LEAVE) m.base = WEFT_R_RBP;
    if (m.write && (o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)) m.read = true;
    if (out->nmemory < WEFT_INSN_MEMORY) out->memory[out->nmemory++] = m;
}

/* xor eax, eax: depends on nothing. */
static bool clears(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o) {
    unsigned n = i->operand_count_visible;
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_XOR: case ZYDIS_MNEMONIC_SUB: case ZYDIS_MNEMONIC_PXOR: case ZYDIS_MNEMONIC_XORPS: case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_VPXOR: case ZYDIS_MNEMONIC_VXORPS: case ZYDIS_MNEMONIC_VXORPD: case ZYDIS_MNEMONIC_VPXORD: case ZYDIS_MNEMONIC_VPXORQ: break;
    default: return false;
    }
    return n >= 2 && o[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           o[n - 1].reg.value == o[n - 2].reg.value;
}

static void set_flow(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o, struct weft_insn *out) {
    bool direct = i->operand_count_visible && o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].imm.is_relative;
    if (direct) out->target = out->pc + i->length + o[0].imm.value.u;
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: out->flow = WEFT_FLOW_BRANCH; break;
    case ZYDIS_CATEGORY_UNCOND_BR: out->flow = direct ? WEFT_FLOW_JUMP : WEFT_FLOW_INDIRECT; break;
    case ZYDIS_CATEGORY_CALL: out->flow = WEFT_FLOW_CALL; break;
    case ZYDIS_CATEGORY_RET: out->flow = WEFT_FLOW_RETURN; break;
    case ZYDIS_CATEGORY_SYSCALL: out->flow = WEFT_FLOW_SYSCALL; break;
    default: break;
    }
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT: case ZYDIS_MNEMONIC_INT3:
        out->flow = WEFT_FLOW_STOP;
        break;
    default: break;
    }
    out->through_memory = (out->flow == WEFT_FLOW_INDIRECT || out->flow == WEFT_FLOW_CALL) && o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && o[0].mem.base == ZYDIS_REGISTER_RIP;
    out->sets_return = i->mnemonic == ZYDIS_MNEMONIC_LEA && o[0].reg.value == ZYDIS_REGISTER_RAX && o[1].mem.base == ZYDIS_REGISTER_RIP &&
                       o[1].mem.disp.value == 6;
}

static void set_stack(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o, struct weft_insn *out) {
    for (unsigned k = 0; k < i->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(o[k].reg.value) == WEFT_R_RSP && (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            out->moves_stack = true;
    if (!out->moves_stack) return;
    bool by = i->operand_count_visible == 2 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == ZYDIS_REGISTER_RSP &&
              o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH: out->stack_by = -(int32_t)(i->operand_width / 8); break;
    case ZYDIS_MNEMONIC_POP: out->stack_by = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == ZYDIS_REGISTER_RSP ? 0 : i->operand_width / 8; break;
    case ZYDIS_MNEMONIC_SUB: out->stack_by = by ? -(int32_t)o[1].imm.value.s : 0; break;
    case ZYDIS_MNEMONIC_ADD: out->stack_by = by ? (int32_t)o[1].imm.value.s : 0; break;
    case ZYDIS_MNEMONIC_CALL: out->stack_by = -8; break;
    default: break;
    }
}

bool weft__insn_decode(const uint8_t *bytes, size_t n, uint64_t pc, struct weft_insn *out) {
    static ZydisDecoder decoder;
    static bool ready;
    ZydisDecodedInstruction i;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    if (!ready) ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ready = true;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &i, o))) return false;
    *out = (struct weft_insn){.pc = pc, .length = i.length, .first = bytes[0]};
    out->repeats = i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
    set_flow(&i, o, out);
    set_stack(&i, o, out);
    for (unsigned k = 0; k < i.operand_count; k++) {
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER) add_register(&i, &o[k], out);
        if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY) add_memory(&i, &o[k], out);
    }
    if (clears(&i, o)) out->uses = 0;
    if (i.cpu_flags) {
        const ZydisAccessedFlags *f = i.cpu_flags;
        if (f->tested) out->uses |= 1ull << WEFT_R_FLAGS;
        if (f->modified | f->set_0 | f->set_1 | f->undefined) out->defs |= 1ull << WEFT_R_FLAGS;
    }
    return true;
}

/* ---- all that were met ---- */

static size_t slot_of(const struct weft_code *c, uint64_t pc) {
    size_t i = (size_t)(pc * 0x9e3779b97f4a7c15ull >> 20) & (c->room - 1);
    while (c->table[i] && c->list[c->table[i]].pc != pc) i = (i + 1) & (c->room - 1);
    return i;
}

uint32_t weft__code_at(struct weft_code *c, uint64_t pc) {
    uint8_t bytes[16];
    struct weft_insn insn;
    if (c->n * 2 >= c->room) {
        free(c->table);
        c->room = c->room ? c->room * 2 : 4096;
        c->table = weft__alloc(c->room * sizeof *c->table);
        for (size_t k = 1; k < c->n; k++) c->table[slot_of(c, c->list[k].pc)] = (uint32_t)k;
    }
    size_t i = slot_of(c, pc);
    if (c->table[i]) return c->table[i];
    memset(bytes, 0, sizeof bytes);
    if (!c->read(c->ctx, pc, bytes) || !weft__insn_decode(bytes, sizeof bytes, pc, &insn)) return 0;
    if (!c->n) c->n = 1;
    c->list = weft__grow(c->list, &c->cap, c->n + 1, sizeof *c->list);
    c->list[c->n] = insn;
    c->table[i] = (uint32_t)c->n;
    return (uint32_t)c->n++;
}

void weft__code_fini(struct weft_code *c) {
    free(c->list);
    free(c->table);
    *c = (struct weft_code){0};
}
