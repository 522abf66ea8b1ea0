/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading what nobody wrote: dead stack memory. POT says how many racing words there are. */
#include "common.h"

static volatile uint32_t pot[POT];

/* A volatile array keeps the loads although nothing was ever stored. The accesses to the pot in between may wait for
 * another thread here; nothing of that may show below. */
static NOINLINE uint64_t dig(uint64_t h) {
    volatile unsigned char ground[1500];
    for (int i = 0; i < 1500; i++) {
        h = mix(h, ground[i]);
        if (i % 100 == 0) h = mix(h, pot[i % POT]++);
    }
    return h;
}

/* Below the stack pointer, without any frame there. */
static NOINLINE uint64_t dig_below(uint64_t h) {
    volatile unsigned char here = 1, *p = &here;
    __asm__("" : "+r"(p));
    h = mix(h, pot[h % POT]);
    for (int i = 300; i < 1200; i += 3) h = mix(h, p[-i]);
    return h;
}
