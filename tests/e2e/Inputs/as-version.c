/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* as-version HEADER VERSION: makes the trace with this header file one of that version. */
#include "weft/trace.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static _Alignas(8) char all[1 << 20];
    struct weft_trace_header *h = (struct weft_trace_header *)(void *)all;
    FILE *f = argc == 3 ? fopen(argv[1], "r+b") : NULL;
    if (!f) return 2;
    size_t n = fread(all, 1, sizeof all, f);
    h->version = (uint32_t)atoi(argv[2]);
    h->hash = 0;
    h->hash = weft_hash(all, n);
    rewind(f);
    return fwrite(all, 1, n, f) != n || fclose(f) != 0;
}
