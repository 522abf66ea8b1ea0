/* Proves: sorting and searching functions of libc, which are instrumented with the program, do what libc's do (stable, all
 * element sizes, trees of any shape) and replay exactly when their comparators race. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// SOAK: 2 4 8
#include "common.h"
#include <search.h>

static volatile uint32_t pot[16];
static __thread uint64_t *mine;

static void check(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "wrong: %s\n", what);
    abort();
}
static int by_first(const void *a, const void *b) {
    unsigned char x = *(const unsigned char *)a, y = *(const unsigned char *)b;
    pot[x % 16] += y;
    *mine = mix(*mine, pot[y % 16]);
    return (x > y) - (x < y);
}
static int by_first_r(const void *a, const void *b, void *arg) {
    ++*(long *)arg;
    return by_first(a, b);
}
static int by_key(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    pot[x % 16] ^= (uint32_t)y;
    *mine = mix(*mine, pot[y % 16]);
    return (x > y) - (x < y);
}

/* Elements are a key byte, a number, and filling. */
static void sorting(uint64_t *s, size_t size, size_t n) {
    unsigned char *a = (unsigned char *)malloc(size * n + 1);
    long calls = 0;
    for (size_t i = 0; i < n; i++) {
        memset(a + i * size, (int)i, size);
        a[i * size] = (unsigned char)(rnd(s) % 7);
        if (size > 2) a[i * size + 1] = (unsigned char)i, a[i * size + 2] = (unsigned char)(i >> 8);
    }
    if (rnd(s) & 1) qsort(a, n, size, by_first);
    else qsort_r(a, n, size, by_first_r, &calls);
    for (size_t i = 1; i < n; i++) {
        unsigned char *p = a + (i - 1) * size, *q = p + size;
        check(p[0] <= q[0], "order");
        if (size > 3) {
            check(p[3] == p[1] || size == 3, "moved in one piece");
            check(p[0] < q[0] || p[1] + 256 * p[2] < q[1] + 256 * q[2], "stable");
        }
    }
    unsigned char key = 3, *at = (unsigned char *)bsearch(&key, a, n, size, by_first);
    check(!at || *at == 3, "bsearch");
    size_t m = n;
    at = (unsigned char *)lfind(&key, a, &m, size, by_first);
    check(!at || (*at == 3 && (at == a || at[-(long)size] < 3)), "lfind");
    *mine = mix_bytes(*mine, a, size * n);
    free(a);
}

static void visit(const void *node, VISIT which, void *arg) {
    long key = (long)*(void *const *)node;
    if (which != postorder && which != leaf) return;
    check(key > *(long *)arg, "tree order");
    *(long *)arg = key;
}
static void drop(void *p) { pot[(uintptr_t)p % 16]++; }

static void trees(uint64_t *s) {
    void *root = NULL;
    unsigned char in[200] = {0};
    for (int i = 0; i < 400; i++) {
        uintptr_t k = rnd(s) % 199 + 1;
        if (rnd(s) % 3) {
            void **p = (void **)tsearch((void *)k, &root, by_key);
            check(p && *p == (void *)k, "tsearch");
            in[k] = 1;
        } else {
            check(!tdelete((void *)k, &root, by_key) == !in[k], "tdelete");
            in[k] = 0;
        }
        k = rnd(s) % 199 + 1;
        check(!tfind((void *)k, &root, by_key) == !in[k], "tfind");
    }
    long last = 0;
    twalk_r(root, visit, &last);
    tdestroy(root, drop);
}

static void tables(uint64_t *s) {
    struct hsearch_data h;
    char names[64][16];
    memset(&h, 0, sizeof h);
    check(hcreate_r(64, &h), "hcreate_r");
    for (long i = 0; i < 64; i++) {
        ENTRY e = {names[i], (void *)i}, *r;
        snprintf(names[i], sizeof names[i], "k%ld-%u", i, rnd(s) % 100);
        check(hsearch_r(e, ENTER, &r, &h) && r->data == (void *)i, "hsearch_r ENTER");
    }
    for (long i = 0; i < 64; i++) {
        ENTRY e = {names[i], NULL}, *r;
        check(hsearch_r(e, FIND, &r, &h) && r->data == (void *)i, "hsearch_r FIND");
    }
    hdestroy_r(&h);
    char text[] = ",,one, two;three,,", *save = NULL, *p = text;
    const char *want[] = {"one", "two", "three"};
    int n = 0;
    for (char *t = strtok_r(text, ", ;", &save); t; t = strtok_r(NULL, ", ;", &save)) check(!strcmp(t, want[n++]), "strtok_r");
    check(n == 3, "strtok_r");
    char more[] = "a,,b";
    p = more;
    check(!strcmp(strsep(&p, ","), "a") && !*strsep(&p, ",") && !strcmp(strsep(&p, ","), "b") && !strsep(&p, ","), "strsep");
}

/* Tokens of one text that all threads cut up at the same time. */
static char shared_text[256];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    mine = &h;
    for (long i = 0; i < rounds; i++) {
        size_t size = 1 + rnd(&s) % 70;
        sorting(&s, i % 3 ? size : i % 2 ? 4 : 8, rnd(&s) % 90);
        if (i % 8 == 0) sorting(&s, 4, 2000);
        trees(&s);
        tables(&s);
        char *save, copy[8];
        for (char *t = strtok_r(shared_text, " ", &save); t; t = strtok_r(NULL, " ", &save)) {
            copy[0] = 0;
            strncat(copy, t, 7);
            h = mix_bytes(h, copy, strlen(copy));
        }
        for (int j = 0; j < 200; j += 5) ((volatile char *)shared_text)[j + (int)(h % 5)] = " abcd"[rnd(&s) % 5];
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 12);
    memset(shared_text, 'x', 250);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    return finish(h);
}
