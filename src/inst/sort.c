/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* qsort and qsort_r as in glibc 2.36: a merge sort through temporary memory, so it is stable, and the comparisons are the
 * same ones in the same order. Large elements are sorted through pointers and then moved along the cycles of the
 * permutation. Where glibc has no memory it uses a quicksort; here it is a heap sort, in place and without recursion. */
#include "inst.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int compare_fn(const void *, const void *, void *);

struct sort {
    size_t size;
    compare_fn *compare;
    void *arg;
    char *tmp;
    enum { WORDS4, WORDS8, BYTES, POINTERS } kind;
};

static inline void move(const struct sort *s, void *to, const void *from) {
    switch (s->kind) {
    case WORDS4: *(uint32_t *)to = *(const uint32_t *)from; break;
    case WORDS8:
    case POINTERS: *(uint64_t *)to = *(const uint64_t *)from; break;
    default: memcpy(to, from, s->size); break;
    }
}

static void merge_sort(const struct sort *s, char *base, size_t n) {
    if (n <= 1) return;
    size_t left = n / 2, right = n - left, size = s->size;
    char *a = base, *b = base + left * size, *t = s->tmp;
    merge_sort(s, a, left);
    merge_sort(s, b, right);
    for (; left && right; t += size) {
        int c = s->kind == POINTERS ? s->compare(*(void **)a, *(void **)b, s->arg) : s->compare(a, b, s->arg);
        if (c <= 0) {
            move(s, t, a);
            a += size;
            left--;
        } else {
            move(s, t, b);
            b += size;
            right--;
        }
    }
    if (left) memcpy(t, a, left * size);
    memcpy(base, s->tmp, (n - right) * size);
}

static void swap(char *a, char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

static void heap_sort(const struct sort *s, char *base, size_t n) {
    size_t size = s->size;
    for (size_t start = n / 2, end = n; end > 1;) {
        if (start)
            start--;
        else
            swap(base, base + --end * size, size);
        for (size_t i = start, k; (k = 2 * i + 1) < end; i = k) {
            if (k + 1 < end && s->compare(base + k * size, base + (k + 1) * size, s->arg) < 0) k++;
            if (s->compare(base + i * size, base + k * size, s->arg) >= 0) break;
            swap(base + i * size, base + k * size, size);
        }
    }
}

/* p[i] points to the element that belongs at i; `spare` has room for one element. */
static void permute(char *base, char **p, size_t n, size_t size, char *spare) {
    for (size_t i = 0; i < n; i++) {
        char *here = base + i * size, *from = p[i];
        if (from == here) continue;
        memcpy(spare, here, size);
        size_t j = i;
        for (; from != here; from = p[j]) {
            size_t k = (size_t)(from - base) / size;
            p[j] = base + j * size;
            memcpy(base + j * size, from, size);
            j = k;
        }
        p[j] = base + j * size;
        memcpy(base + j * size, spare, size);
    }
}

static void sort(void *base, size_t n, size_t size, compare_fn *compare, void *arg) {
    struct sort s = {.size = size, .compare = compare, .arg = arg, .kind = BYTES};
    _Alignas(16) char few[1024];
    size_t need;
    int indirect = size > 32;
    if (n < 2 || !size) return;
    if (indirect ? __builtin_mul_overflow(n, 2 * sizeof(void *), &need) || __builtin_add_overflow(need, size, &need)
                 : __builtin_mul_overflow(n, size, &need)) {
        heap_sort(&s, base, n);
        return;
    }
    char *memory = need <= sizeof few ? few : malloc(need);
    if (!memory) {
        heap_sort(&s, base, n);
        return;
    }
    s.tmp = memory;
    if (indirect) {
        char **p = (char **)memory + n;
        for (size_t i = 0; i < n; i++) p[i] = (char *)base + i * size;
        s.kind = POINTERS;
        s.size = sizeof(void *);
        merge_sort(&s, (char *)p, n);
        permute(base, p, n, size, (char *)(p + n));
    } else {
        if (size == 4 && !((uintptr_t)base & 3))
            s.kind = WORDS4;
        else if (size == 8 && !((uintptr_t)base & 7))
            s.kind = WORDS8;
        merge_sort(&s, base, n);
    }
    if (memory != few) free(memory);
}

WEFT_INST void qsort_r(void *base, size_t n, size_t size, compare_fn *compare, void *arg) {
    sort(base, n, size, compare, arg);
}

/* The third argument is passed to a function that does not look for it: the calling convention allows that, and glibc does
 * the same. */
WEFT_INST void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    sort(base, n, size, (compare_fn *)(void *)compare, NULL);
}
