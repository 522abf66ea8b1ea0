/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Linked into a program by weft-cc: at its end, how many accesses to memory it made, and how many checks, looks before loops and looks at weak locks these
 * took (the pass adds that up where it finds this array). */
#include <stdio.h>

__attribute__((used)) volatile unsigned long __weft_counts[4];

__attribute__((destructor)) static void tell(void) {
    fprintf(stderr, "counts: memory %lu check %lu range %lu weak %lu\n", __weft_counts[0], __weft_counts[1], __weft_counts[2], __weft_counts[3]);
}
