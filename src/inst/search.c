/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bsearch, lfind and lsearch, with the comparisons of glibc in their order. */
#define __NO_INLINE__ 1 /* stdlib.h has a bsearch of its own */
#include "inst.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>

WEFT_INST void *bsearch(const void *key, const void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const char *p = (const char *)base + mid * size;
        int c = compare(key, p);
        if (c < 0)
            high = mid;
        else if (c > 0)
            low = mid + 1;
        else
            return (void *)p;
    }
    return NULL;
}

WEFT_INST void *lfind(const void *key, const void *base, size_t *n, size_t size, int (*compare)(const void *, const void *)) {
    const char *p = base;
    size_t count = *n;
    for (size_t i = 0; i < count; i++, p += size)
        if (!compare(key, p)) return (void *)p;
    return NULL;
}

WEFT_INST void *lsearch(const void *key, void *base, size_t *n, size_t size, int (*compare)(const void *, const void *)) {
    void *p = lfind(key, base, n, size, compare);
    if (p) return p;
    p = memcpy((char *)base + *n * size, key, size);
    ++*n;
    return p;
}
