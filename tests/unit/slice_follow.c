/* Proves: what comes after a jump out of a function depends on who jumped, and after a return on nothing in there; an instruction depends on
 * the branch that decided about it, until its ways have joined; a call into the runtime depends on its arguments and leaves its result. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slice/slice.h"

#include <string.h>

#define MAIN 0x1000u
#define CALLEE 0x1100u
#define RUNTIME 0x2000u
#define STACK 0x560000008000ull

/* 1000: call 1100; 5: mov ecx, 1; 10: ret            1100: cmp edi, 0; 3: je 6; 5: nop; 6: nop; 7: ret; 8: jmp rax */
static const char in_main[] = "\xe8\xfb\x00\x00\x00\xb9\x01\x00\x00\x00\xc3";
static const char in_callee[] = "\x83\xff\x00\x74\x01\x90\x90\xc3\xff\xe0";

static bool read_code(void *ctx, uint64_t pc, uint8_t bytes[16]) {
    (void)ctx;
    memset(bytes, 0x90, 16);
    if (pc >= MAIN && pc < MAIN + sizeof in_main - 1) memcpy(bytes, in_main + (pc - MAIN), MAIN + sizeof in_main - 1 - pc);
    if (pc >= CALLEE && pc < CALLEE + sizeof in_callee - 1) memcpy(bytes, in_callee + (pc - CALLEE), CALLEE + sizeof in_callee - 1 - pc);
    return true;
}
static bool bounds(void *ctx, uint64_t pc, uint64_t *from, uint64_t *to) {
    (void)ctx;
    *from = pc & ~0xffull;
    *to = *from + (*from == MAIN ? sizeof in_main : sizeof in_callee) - 1;
    return pc < *to;
}
static enum weft_call ends(void *ctx, const struct weft_insn *i) { return (void)ctx, (void)i, WEFT_CALL_RETURNS; }
static bool is_main(void *ctx, uint64_t entry) { return (void)ctx, (void)entry, false; }
static enum weft_zone zone(void *ctx, uint64_t pc) { return (void)ctx, pc >= RUNTIME ? WEFT_ZONE_RUNTIME : WEFT_ZONE_PROGRAM; }
static enum weft_whose whose(void *ctx, const struct weft_follow_thread *t, uint64_t addr) { return (void)ctx, (void)t, (void)addr, WEFT_WHOSE_PROGRAM; }
static unsigned arguments(void *ctx, uint64_t pc) { return (void)ctx, (void)pc, 1; }
static enum weft_operation operation(void *ctx, uint64_t pc) { return (void)ctx, (void)pc, WEFT_OPERATION_OTHER; }
static uint64_t string(void *ctx, uint64_t addr, unsigned width) { return (void)ctx, (void)addr, width; }
static uint64_t clock(void *ctx, const struct weft_follow_thread *t) { return (void)ctx, (void)t, 1; }

struct world {
    struct weft_following f;
    struct weft_follow_thread *t;
};

static void begin(struct world *w) {
    *w = (struct world){.f = {.code = {.read = read_code}, .zone = zone, .whose = whose, .arguments = arguments, .operation = operation, .string = string, .clock = clock}};
    w->f.functions = (struct weft_functions){.code = &w->f.code, .bounds = bounds, .ends = ends, .is_main = is_main};
    w->t = weft__follow_new(&w->f, 1, 0);
    weft__follow_slot(w->t, 1);
}
static void end(struct world *w) {
    weft__follow_free(w->t);
    weft__following_fini(&w->f);
}
/* The node of the instruction. */
static weft_node step(struct world *w, uint64_t pc, uint64_t sp) {
    struct weft_registers r = {.pc = pc, .r[WEFT_R_RSP] = sp};
    weft__follow_step(&w->f, w->t, &r);
    return (weft_node)(w->f.graph.n - 1);
}
static bool leads(struct world *w, weft_node from, weft_node to) {
    weft__graph_mark(&w->f.graph, to);
    return weft__graph_marked(&w->f.graph, from);
}

static void a_return_decides_nothing(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    weft_node call = step(&w, MAIN, STACK), cmp = step(&w, CALLEE, STACK - 8), branch = step(&w, CALLEE + 3, STACK - 8);
    weft_node decided = step(&w, CALLEE + 5, STACK - 8), joined = step(&w, CALLEE + 6, STACK - 8);
    step(&w, CALLEE + 7, STACK - 8);
    weft_node after = step(&w, MAIN + 5, STACK);
    assert_false(leads(&w, branch, after));
    assert_false(leads(&w, branch, joined));
    assert_true(leads(&w, call, joined));
    assert_true(leads(&w, branch, decided));
    assert_true(leads(&w, cmp, decided));
    end(&w);
}

static void a_jump_out_decides(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    step(&w, MAIN, STACK);
    weft_node entry = step(&w, CALLEE, STACK - 72), jump = step(&w, CALLEE + 8, STACK - 72);
    weft_node after = step(&w, MAIN + 5, STACK - 32); /* the stack is not where a return leaves it */
    assert_true(leads(&w, jump, after));
    assert_false(leads(&w, entry, after));
    end(&w);
}

static void a_call_into_the_runtime(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    step(&w, MAIN, STACK);
    weft_node before = step(&w, CALLEE, STACK - 8), call = step(&w, RUNTIME, STACK - 16);
    assert_int_equal(call, weft__follow_at(w.t));
    assert_false(weft__follow_outside(w.t));
    weft_node inside = step(&w, RUNTIME + 4, STACK - 64); /* is none */
    assert_int_equal(inside, call);
    weft__follow_note(&w.f, w.t, &(struct weft_access){.addr = STACK + 64, .slot = 1, .what = 8 | WEFT_ACC_WRITE});
    weft_node jump = step(&w, CALLEE + 8, STACK - 8), reads = weft__graph_add(&w.f.graph, 1, 0); /* jmp rax: what it returned */
    weft__graph_access(&w.f.graph, reads, 1, STACK + 64, 8, true, false);
    assert_true(weft__follow_outside(w.t));
    assert_true(leads(&w, call, jump));
    assert_false(leads(&w, before, jump));
    assert_true(leads(&w, call, reads));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_return_decides_nothing),
        cmocka_unit_test(a_jump_out_decides),
        cmocka_unit_test(a_call_into_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
