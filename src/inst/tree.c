/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tsearch and its family: a height-balanced (AVL) tree. Only what POSIX promises is the same as in glibc: which keys are
 * compared with which, and the depth of a node, may differ. The first word of a node is the key. */
#include "inst.h"
#include <search.h>
#include <stdlib.h>

struct node {
    const void *key;
    struct node *down[2];
    int height;
};
typedef int compare_fn(const void *, const void *);
#define MOST 96 /* an AVL tree of this height has more nodes than there is memory */

static int height(const struct node *n) { return n ? n->height : 0; }
static void measure(struct node *n) {
    int a = height(n->down[0]), b = height(n->down[1]);
    n->height = (a > b ? a : b) + 1;
}

/* The side `d` of *p has become too high. */
static void rotate(struct node **p, int d) {
    struct node *top = *p, *x = top->down[d];
    if (height(x->down[d]) < height(x->down[!d])) {
        struct node *y = x->down[!d];
        x->down[!d] = y->down[d];
        y->down[d] = x;
        measure(x);
        x = y;
    }
    top->down[d] = x->down[!d];
    x->down[!d] = top;
    measure(top);
    measure(x);
    *p = x;
}

/* Balances from the deepest changed place upwards. */
static void balance(struct node ***path, size_t n) {
    while (n--) {
        struct node **p = path[n];
        if (!*p) continue;
        int a = height((*p)->down[0]), b = height((*p)->down[1]);
        if (a > b + 1)
            rotate(p, 0);
        else if (b > a + 1)
            rotate(p, 1);
        else
            measure(*p);
    }
}

WEFT_INST void *tsearch(const void *key, void **rootp, compare_fn *compare) {
    struct node **path[MOST], **p = (struct node **)rootp;
    size_t n = 0;
    if (!rootp) return NULL;
    while (*p) {
        int c = compare(key, (*p)->key);
        if (!c) return *p;
        path[n++] = p;
        p = &(*p)->down[c > 0];
    }
    struct node *new = malloc(sizeof *new);
    if (!new) return NULL;
    *new = (struct node){.key = key, .height = 1};
    *p = new;
    balance(path, n);
    return new;
}

WEFT_INST void *tfind(const void *key, void *const *rootp, compare_fn *compare) {
    if (!rootp) return NULL;
    for (struct node *p = *rootp; p;) {
        int c = compare(key, p->key);
        if (!c) return p;
        p = p->down[c > 0];
    }
    return NULL;
}

WEFT_INST void *tdelete(const void *restrict key, void **restrict rootp, compare_fn *compare) {
    struct node **path[MOST], **p = (struct node **)rootp, *parent;
    size_t n = 0;
    if (!rootp || !*p) return NULL;
    parent = *p;
    for (int c; (c = compare(key, (*p)->key));) {
        parent = *p;
        path[n++] = p;
        p = &(*p)->down[c > 0];
        if (!*p) return NULL;
    }
    struct node *gone = *p;
    if (gone->down[0] && gone->down[1]) {
        /* The next key takes the place; the path goes on through the place to where that node was. */
        size_t place = n;
        path[n++] = p;
        struct node **q = &gone->down[1];
        while ((*q)->down[0]) {
            path[n++] = q;
            q = &(*q)->down[0];
        }
        struct node *next = *q;
        *q = next->down[1];
        next->down[0] = gone->down[0];
        next->down[1] = gone->down[1];
        next->height = gone->height;
        *p = next;
        if (n > place + 1) path[place + 1] = &next->down[1];
    } else
        *p = gone->down[!gone->down[0]];
    int was_root = gone == parent;
    free(gone);
    balance(path, n);
    return was_root ? (void *)rootp : parent; /* of the root: anything but a null pointer */
}

static void walk(const struct node *n, void (*action)(const void *, VISIT, int), int level) {
    if (!n) return;
    if (!n->down[0] && !n->down[1]) {
        action(n, leaf, level);
        return;
    }
    action(n, preorder, level);
    walk(n->down[0], action, level + 1);
    action(n, postorder, level);
    walk(n->down[1], action, level + 1);
    action(n, endorder, level);
}
WEFT_INST void twalk(const void *root, void (*action)(const void *, VISIT, int)) {
    if (action) walk(root, action, 0);
}

static void walk_r(const struct node *n, void (*action)(const void *, VISIT, void *), void *arg) {
    if (!n) return;
    if (!n->down[0] && !n->down[1]) {
        action(n, leaf, arg);
        return;
    }
    action(n, preorder, arg);
    walk_r(n->down[0], action, arg);
    action(n, postorder, arg);
    walk_r(n->down[1], action, arg);
    action(n, endorder, arg);
}
WEFT_INST void twalk_r(const void *root, void (*action)(const void *, VISIT, void *), void *arg) {
    if (action) walk_r(root, action, arg);
}

WEFT_INST void tdestroy(void *root, void (*free_key)(void *)) {
    struct node *n = root;
    if (!n) return;
    tdestroy(n->down[0], free_key);
    tdestroy(n->down[1], free_key);
    free_key((void *)n->key);
    free(n);
}
