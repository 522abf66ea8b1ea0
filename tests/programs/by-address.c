/* Proves: functions that are called by their address, the program's own (in its own section, in one of the source's, found by
 * dlsym) and foreign ones, those that wait too, race and replay; a thread that waits in one holds nobody up. */
// RUN: %rr %s %t -rdynamic
// SOAK: 2 4 8
#include "common.h"
#include <dlfcn.h>
#include <string.h>

typedef uint64_t (*step)(uint64_t);
static volatile uint32_t pot[32];
static int tube[2];
static step table[8];

static uint64_t add(uint64_t h) {
    pot[h % 32] += (uint32_t)h;
    return mix(h, pot[(h >> 5) % 32]);
}
__attribute__((section("elsewhere"))) static uint64_t turn(uint64_t h) {
    pot[h % 32] ^= pot[(h >> 7) % 32];
    return h * 31 + pot[3];
}
static uint64_t again(uint64_t h) { return h & 3 ? table[h & 3](h >> 2) + pot[5] : h + 1; }
uint64_t by_address_found(uint64_t h) { return mix(h, pot[h % 32]++); }
static uint64_t one_byte(uint64_t h) {
    ssize_t (*get)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_DEFAULT, "read");
    char c = 0;
    return get(tube[0], &c, 1) == 1 ? mix(h, (uint64_t)c) : 0;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, table[h & 7](h & 0x7fffffff));
        if (i % 16 != me % 16) continue;
        if (write(tube[1], &h, 1) != 1) abort();
        h = one_byte(h);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    if (pipe(tube)) abort();
    table[0] = add;
    table[1] = turn;
    table[2] = again;
    table[3] = (step)dlsym(RTLD_DEFAULT, "by_address_found");
    table[4] = (step)dlsym(RTLD_DEFAULT, "labs");
    table[5] = (step)dlsym(RTLD_DEFAULT, "toupper");
    table[6] = (step)dlsym(RTLD_DEFAULT, "htonl");
    table[7] = add;
    uint64_t h = together(cook);
    for (int i = 0; i < 32; i++) h = mix(h, pot[i]);
    return finish(h);
}
