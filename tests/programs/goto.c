/* Proves: computed goto (an interpreter whose byte code other threads rewrite) replays exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"

static volatile uint8_t code[64];
static volatile uint32_t reg[8];

static uint32_t interpret(uint32_t pc, int steps) {
    static void *const label[] = {&&add, &&xor, &&mul, &&jump, &&poke, &&swap, &&stop, &&next};
    uint32_t acc = pc;
#define GO                                                                                                             \
    if (--steps < 0) return acc;                                                                                       \
    pc = (pc + 1) % 64;                                                                                                \
    goto *label[code[pc] & 7]
    GO;
add:
    acc += reg[pc & 7];
    GO;
xor:
    acc ^= reg[acc & 7] << 3;
    GO;
mul:
    acc *= reg[(pc + 1) & 7] | 1;
    reg[pc & 7] = acc;
    GO;
jump:
    pc = (pc + reg[pc & 7]) % 64;
    GO;
poke:
    code[(pc + acc) % 64] = (uint8_t)(acc >> 5);
    GO;
swap:
    reg[acc & 7] = reg[(acc >> 3) & 7];
    GO;
next:
    reg[(acc >> 7) & 7]++;
    GO;
stop:
    if (acc & 1) return acc;
    acc++;
    GO;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ENTER();
        h = mix(h, interpret((uint32_t)h, 60));
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1000);
    for (uint32_t i = 0; i < 64; i++) code[i] = (uint8_t)(i * 37 >> 2);
    uint64_t h = together(cook);
    for (int i = 0; i < 64; i++) h = mix(h, code[i]);
    for (int i = 0; i < 8; i++) h = mix(h, reg[i]);
    return finish(h);
}
