/* Proves: what instructions read and write, where branches join again, and what can be run without stopping, by small pieces of machine
 * code. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slice/slice.h"

#include <string.h>

#define BIT(r) (1ull << (r))
#define FLAGS BIT(WEFT_R_FLAGS)

static struct weft_insn decode(const char *bytes, size_t n) {
    struct weft_insn i;
    assert_true(weft__insn_decode((const uint8_t *)bytes, n, 0x1000, &i));
    assert_int_equal(i.length, n);
    return i;
}
#define DECODE(s) decode(s, sizeof(s) - 1)

static void operands(void **state) {
    (void)state;
    struct weft_insn i = DECODE("\x48\x8b\x44\x8b\x08"); /* mov rax, [rbx + rcx * 4 + 8] */
    assert_true(i.uses == (BIT(WEFT_R_RBX) | BIT(WEFT_R_RCX)) && i.defs == BIT(WEFT_R_RAX));
    assert_true(i.nmemory == 1 && i.memory[0].read && !i.memory[0].write && i.memory[0].size == 8 && i.memory[0].scale == 4 && i.memory[0].disp == 8);
    i = DECODE("\x31\xc0"); /* xor eax, eax */
    assert_true(i.uses == 0 && i.defs == (BIT(WEFT_R_RAX) | FLAGS));
    i = DECODE("\x31\xc8"); /* xor eax, ecx */
    assert_true(i.uses == (BIT(WEFT_R_RAX) | BIT(WEFT_R_RCX)));
    i = DECODE("\xb0\x01"); /* mov al, 1: the rest stays */
    assert_true(i.uses == BIT(WEFT_R_RAX) && i.defs == BIT(WEFT_R_RAX));
    i = DECODE("\xb8\x01\x00\x00\x00"); /* mov eax, 1: nothing stays */
    assert_true(i.uses == 0 && i.defs == BIT(WEFT_R_RAX));
    i = DECODE("\x0f\x44\xc1"); /* cmove eax, ecx */
    assert_true(i.uses == (BIT(WEFT_R_RAX) | BIT(WEFT_R_RCX) | FLAGS));
    i = DECODE("\x53"); /* push rbx */
    assert_true(i.uses == BIT(WEFT_R_RBX) && i.defs == 0 && i.nmemory == 1 && i.memory[0].write && i.memory[0].disp == -8 && i.stack_by == -8);
    i = DECODE("\x48\x83\xec\x18"); /* sub rsp, 24 */
    assert_true(i.moves_stack && i.stack_by == -24 && !(i.uses & BIT(WEFT_R_RSP)));
    i = DECODE("\x01\x37"); /* add [rdi], esi */
    assert_true(i.nmemory == 1 && i.memory[0].read && i.memory[0].write && i.memory[0].size == 4);
    i = DECODE("\x48\x8d\x05\x06\x00\x00\x00"); /* lea rax, [rip + 6] */
    assert_true(i.nmemory == 0 && i.sets_return);
    i = DECODE("\x64\x48\x8b\x04\x25\x00\x00\x00\x00"); /* mov rax, fs:0 */
    assert_true(i.nmemory == 1 && i.memory[0].fs && i.memory[0].base == WEFT_R_NONE);
    i = DECODE("\xf3\xa4"); /* rep movsb */
    assert_true(i.repeats && i.nmemory == 2);
    i = DECODE("\xe8\x00\x00\x00\x00"); /* call: the return address is nobody's */
    assert_true(i.flow == WEFT_FLOW_CALL && i.target == 0x1005 && i.nmemory == 0);
    i = DECODE("\xc5\xf9\x6f\x06"); /* vmovdqa xmm0, [rsi] */
    assert_true(i.uses == BIT(WEFT_R_RSI) && i.defs == BIT(WEFT_R_VECTOR) && i.memory[0].size == 16);
}

/* ---- control ---- */

#define BASE 0x1000u
struct piece {
    const char *bytes;
    size_t n;
    uint64_t fails, exits; /* calls; 0: none */
    bool main;
};

static bool read_piece(void *ctx, uint64_t pc, uint8_t bytes[16]) {
    const struct piece *p = ctx;
    if (pc < BASE || pc >= BASE + p->n) return false;
    memset(bytes, 0x90, 16);
    memcpy(bytes, p->bytes + (pc - BASE), p->n - (pc - BASE) < 16 ? p->n - (pc - BASE) : 16);
    return true;
}
static bool bounds(void *ctx, uint64_t pc, uint64_t *from, uint64_t *to) {
    const struct piece *p = ctx;
    *from = BASE;
    *to = BASE + p->n;
    return pc >= *from && pc < *to;
}
static enum weft_call ends(void *ctx, const struct weft_insn *i) {
    const struct piece *p = ctx;
    return p->fails == i->pc ? WEFT_CALL_FAILS : p->exits == i->pc ? WEFT_CALL_EXITS : WEFT_CALL_RETURNS;
}

static bool is_main(void *ctx, uint64_t entry) {
    const struct piece *p = ctx;
    (void)entry;
    return p->main;
}

static uint64_t join(struct piece p, uint64_t branch, const uint64_t *seen) {
    struct weft_code code = {.read = read_piece, .ctx = &p};
    struct weft_functions f = {.code = &code, .bounds = bounds, .ends = ends, .is_main = is_main, .ctx = &p};
    struct weft_function *fn = weft__function_at(&f, BASE);
    assert_true(weft__function_has(&f, fn, BASE));
    for (; seen && *seen; seen++) weft__function_seen(&f, fn, branch, *seen);
    uint64_t r = weft__function_join(&f, fn, branch);
    weft__functions_fini(&f);
    weft__code_fini(&code);
    return r ? r - BASE : 0;
}
#define PIECE(s) .bytes = s, .n = sizeof(s) - 1

static void joins(void **state) {
    (void)state;
    /* cmp; je 7; nop; nop; 7: nop; ret */
    assert_int_equal(join((struct piece){PIECE("\x83\xff\x00\x74\x02\x90\x90\x90\xc3")}, BASE + 3, NULL), 7);
    /* cmp; je 8; nop; jmp 9; 8: nop; 9: nop; ret */
    assert_int_equal(join((struct piece){PIECE("\x83\xff\x00\x74\x03\x90\xeb\x01\x90\x90\xc3")}, BASE + 3, NULL), 9);
    /* nop; 1: dec eax; jne 1; 5: nop; ret */
    assert_int_equal(join((struct piece){PIECE("\x90\xff\xc8\x75\xfc\x90\xc3")}, BASE + 3, NULL), 5);
    /* cmp; je 6; ret; 6: nop; ret: one way is the end */
    assert_int_equal(join((struct piece){PIECE("\x83\xff\x00\x74\x01\xc3\x90\xc3")}, BASE + 3, NULL), 0);
}

static void ways_that_do_not_come_back(void **state) {
    (void)state;
    /* cmp; je 7; 5: nop; ret; 7: call abort; ud2 */
    struct piece fails = {PIECE("\x83\xff\x00\x74\x02\x90\xc3\xe8\x00\x00\x00\x00\x0f\x0b"), .fails = BASE + 7};
    assert_int_equal(join(fails, BASE + 3, NULL), 5);
    /* cmp; je 6; nop; 6: nop; 7: call exit; ud2: its only end */
    struct piece exits = {PIECE("\x83\xff\x00\x74\x01\x90\x90\xe8\x00\x00\x00\x00\x0f\x0b"), .exits = BASE + 7};
    assert_int_equal(join(exits, BASE + 3, NULL), 6);
    /* cmp; je 13; 5: cmp; je 11; nop; 11: call exit; 13: ret. main's end is the call; and where another function does not return, too */
    struct piece both = {PIECE("\x83\xff\x00\x74\x0b\x83\xfe\x00\x74\x01\x90\xe8\x00\x00\x00\x00\xc3"), .exits = BASE + 11};
    assert_int_equal(join(both, BASE + 3, NULL), 16);
    assert_int_equal(join(both, BASE + 8, NULL), 11);
    both.main = true;
    assert_int_equal(join(both, BASE + 3, NULL), 0);
    assert_int_equal(join(both, BASE + 8, NULL), 11);
    /* cmp; jne 14; 9: call somewhere; 14: lea rax, [rip + 6]; jmp *[runtime]; jmp 9: what misses is no way on from the call */
    struct piece cold = {PIECE("\x83\xff\x00\x0f\x85\x05\x00\x00\x00\xe8\x00\x00\x00\x00\x48\x8d\x05\x06\x00\x00\x00\xff\x25\x00\x00\x00\x00\xeb\xec")};
    assert_int_equal(join(cold, BASE + 3, NULL), 9);
}

static void indirect_jumps(void **state) {
    (void)state;
    /* jmp rax; 2: jmp 6; 4: jmp 6; 6: ret: there may be ways that were not seen */
    struct piece p = {PIECE("\xff\xe0\xeb\x02\xeb\x00\xc3")};
    assert_int_equal(join(p, BASE, (uint64_t[]){BASE + 2, BASE + 4, 0}), 0);
    /* a branch in what a jump was seen to lead to: jmp rax; 2: cmp; je 8; nop; 8: nop; ret */
    struct piece q = {PIECE("\xff\xe0\x83\xff\x00\x74\x01\x90\x90\xc3")};
    struct weft_code code = {.read = read_piece, .ctx = &q};
    struct weft_functions f = {.code = &code, .bounds = bounds, .ends = ends, .is_main = is_main, .ctx = &q};
    struct weft_function *fn = weft__function_at(&f, BASE);
    assert_false(weft__function_has(&f, fn, BASE + 5));
    weft__function_seen(&f, fn, BASE, BASE + 2);
    assert_int_equal(weft__function_join(&f, fn, BASE + 5), BASE + 8);
    weft__functions_fini(&f);
    weft__code_fini(&code);
}

/* ---- running ahead ---- */

static bool may(void *ctx, uint64_t pc) {
    const struct piece *p = ctx;
    return pc >= BASE && pc < BASE + p->n;
}

static void runs(void **state) {
    (void)state;
    struct weft_run_ahead a;
    struct weft_registers r = {.pc = BASE, .r[WEFT_R_RSP] = 0x8000};
    /* mov eax, 1; push rbx; mov ecx, [rsp + 8]; mov edx, [rcx]: that address is not known */
    struct piece p = {PIECE("\xb8\x01\x00\x00\x00\x53\x8b\x4c\x24\x08\x8b\x11\xc3")};
    struct weft_code code = {.read = read_piece, .ctx = &p};
    assert_int_equal(weft__run_plan(&code, &r, may, &p, &a), 3);
    assert_true(a.nstops == 1 && a.stop[0] == BASE + 10 && a.r[2].pc == BASE + 6 && a.r[2].r[WEFT_R_RSP] == 0x7ff8);
    weft__code_fini(&code);
    /* nop; cmp; je 7; nop; nop; 7: ret: to either */
    struct piece q = {PIECE("\x90\x83\xff\x00\x74\x02\x90\x90\xc3")};
    code = (struct weft_code){.read = read_piece, .ctx = &q};
    assert_int_equal(weft__run_plan(&code, &r, may, &q, &a), 3);
    assert_true(a.nstops == 2 && a.stop[0] == BASE + 8 && a.stop[1] == BASE + 6);
    weft__code_fini(&code);
    /* dec eax; jne 0: a loop to where it begins is stepped */
    struct piece l = {PIECE("\xff\xc8\x75\xfc\xc3")};
    code = (struct weft_code){.read = read_piece, .ctx = &l};
    assert_int_equal(weft__run_plan(&code, &r, may, &l, &a), 1);
    assert_true(a.nstops == 1 && a.stop[0] == BASE + 2);
    weft__code_fini(&code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands), cmocka_unit_test(joins), cmocka_unit_test(ways_that_do_not_come_back), cmocka_unit_test(indirect_jumps), cmocka_unit_test(runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
