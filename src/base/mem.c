/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that does not fail. Sizes that come from a trace are bounded by the reader before they get here. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static void *check(void *p, size_t n) {
    if (!p) weft__die("out of memory (%zu bytes wanted)", n);
    return p;
}

void *weft__alloc(size_t n) { return check(calloc(1, n ? n : 1), n); }

void *weft__resize(void *p, size_t n) { return check(realloc(p, n ? n : 1), n); }

char *weft__strdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(weft__alloc(n), s, n);
}

void *weft__grow(void *p, size_t *cap, size_t need, size_t elem) {
    if (need <= *cap) return p;
    size_t n = *cap + *cap / 2;
    if (n < need) n = need;
    if (n < 16) n = 16;
    if (n > SIZE_MAX / elem) weft__die("out of memory (%zu elements wanted)", n);
    p = weft__resize(p, n * elem);
    *cap = n;
    return p;
}
