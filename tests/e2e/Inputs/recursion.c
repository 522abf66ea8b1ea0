/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A walk through a tree of 4 * 4 * 4 * 4 leaves: one of them looks at what another thread takes away between its two looks. */
#include <pthread.h>
#include <stdio.h>

static int *volatile current;
static volatile int seen;

static void visit(int leaf) {
    seen = leaf;
    if (leaf == 173 && current) seen += *current;
}

static void walk(int depth, int node) { /* each call has a loop of its own, at the same place */
    for (int i = 0; i < 4; i++) {
        if (depth == 3)
            visit(4 * node + i);
        else
            walk(depth + 1, 4 * node + i);
    }
}

static void *walker(void *arg) {
    walk(0, 0);
    return arg;
}
static void *taker(void *arg) {
    for (int i = 0; i < 100; i++) seen = -i;
    current = NULL;
    return arg;
}

int main(void) {
    static int one = 1;
    pthread_t a, b;
    current = &one;
    pthread_create(&a, NULL, walker, NULL);
    pthread_create(&b, NULL, taker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
