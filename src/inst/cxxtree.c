/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The red-black tree below std::map, std::set and their relatives: what libstdc++ has of it in its shared library. These walk from node to node, so what
 * they touch cannot be taken before a call; and a map that two threads use without a lock is a bug that people have. Nodes and the
 * head of a tree are libstdc++'s: the head's parent is the root, its sides are the first and the last node; the root's parent is the head, which is
 * red. The algorithms are the textbook's (Cormen, Leiserson, Rivest, Stein); the shape of a tree may differ from libstdc++'s. */
#include "inst.h"
#include <stdbool.h>

enum { RED = 0, BLACK = 1 };
struct node {
    int colour;
    struct node *parent, *down[2];
};

static int is_black(const struct node *n) { return !n || n->colour == BLACK; }

static struct node *farthest(struct node *n, int side) {
    while (n->down[side]) n = n->down[side];
    return n;
}

/* n's neighbour on that side; of the last one, the head. */
static struct node *next(struct node *n, int side) {
    if (n->down[side]) return farthest(n->down[side], !side);
    struct node *up = n->parent;
    while (n == up->down[side]) {
        n = up;
        up = up->parent;
    }
    return n->down[side] == up ? n : up; /* the root has no neighbour, and is the head's neighbour itself */
}

WEFT_INST struct node *_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(struct node *n) { return next(n, 1); }
WEFT_INST const struct node *_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(const struct node *n) { return next((struct node *)n, 1); }

static struct node *before(struct node *n) {
    if (n->colour == RED && n->parent->parent == n) return n->down[1]; /* the head */
    if (n->down[0]) return farthest(n->down[0], 1);
    struct node *up = n->parent;
    while (n == up->down[0]) {
        n = up;
        up = up->parent;
    }
    return up;
}
WEFT_INST struct node *_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(struct node *n) { return before(n); }
WEFT_INST const struct node *_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(const struct node *n) { return before((struct node *)n); }

/* What was below `up`, or at the root, is `to` now. */
static void replace(struct node *head, struct node *up, const struct node *was, struct node *to) {
    if (head->parent == was)
        head->parent = to;
    else
        up->down[up->down[1] == was] = to;
}

/* n goes down on that side, and its child on the other one comes up. */
static void rotate(struct node *head, struct node *n, int side) {
    struct node *up = n->down[!side];
    n->down[!side] = up->down[side];
    if (up->down[side]) up->down[side]->parent = n;
    up->parent = n->parent;
    replace(head, n->parent, n, up);
    up->down[side] = n;
    n->parent = up;
}

WEFT_INST void _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(const bool left, struct node *n, struct node *up, struct node *head) {
    *n = (struct node){.colour = RED, .parent = up};
    if (up == head) {
        head->parent = head->down[0] = head->down[1] = n;
    } else {
        up->down[!left] = n;
        if (head->down[!left] == up) head->down[!left] = n;
    }
    while (n != head->parent && n->parent->colour == RED) {
        up = n->parent;
        struct node *top = up->parent;
        int side = top->down[1] == up;
        struct node *uncle = top->down[!side];
        if (!is_black(uncle)) {
            up->colour = uncle->colour = BLACK;
            top->colour = RED;
            n = top;
            continue;
        }
        if (n == up->down[!side]) {
            rotate(head, up, side);
            n = up;
            up = n->parent;
        }
        up->colour = BLACK;
        top->colour = RED;
        rotate(head, top, !side);
    }
    head->parent->colour = BLACK;
}

/* There is one black node too few on the way to n, which is below `up` and may be none. */
static void blacken(struct node *head, struct node *n, struct node *up) {
    while (n != head->parent && is_black(n)) {
        int side = n == up->down[1];
        struct node *other = up->down[!side];
        if (other->colour == RED) {
            other->colour = BLACK;
            up->colour = RED;
            rotate(head, up, side);
            other = up->down[!side];
        }
        if (is_black(other->down[0]) && is_black(other->down[1])) {
            other->colour = RED;
            n = up;
            up = up->parent;
            continue;
        }
        if (is_black(other->down[!side])) {
            other->down[side]->colour = BLACK;
            other->colour = RED;
            rotate(head, other, !side);
            other = up->down[!side];
        }
        other->colour = up->colour;
        up->colour = BLACK;
        other->down[!side]->colour = BLACK;
        rotate(head, up, side);
        break;
    }
    if (n) n->colour = BLACK;
}

/* Takes n out, and gives it back. */
WEFT_INST struct node *_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(struct node *n, struct node *head) {
    struct node *below, *up;
    int colour = n->colour;
    if (n->down[0] && n->down[1]) { /* the next one, which has nothing on its left, takes its place */
        struct node *heir = farthest(n->down[1], 0);
        colour = heir->colour;
        below = heir->down[1];
        up = heir->parent == n ? heir : heir->parent;
        if (up != heir) {
            up->down[0] = below;
            if (below) below->parent = up;
            heir->down[1] = n->down[1];
            heir->down[1]->parent = heir;
        }
        heir->down[0] = n->down[0];
        heir->down[0]->parent = heir;
        replace(head, n->parent, n, heir);
        heir->parent = n->parent;
        heir->colour = n->colour;
    } else {
        below = n->down[!n->down[0]];
        up = n->parent;
        if (below) below->parent = up;
        replace(head, up, n, below);
        for (int side = 0; side < 2; side++)
            if (head->down[side] == n) head->down[side] = below ? farthest(below, side) : up;
    }
    if (colour == BLACK) blacken(head, below, up);
    return n;
}
