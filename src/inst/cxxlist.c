/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ring of nodes below std::list: what libstdc++ has of it in its shared library. These change the neighbours of what they are called with, which cannot be
 * taken before a call. */
#include "inst.h"

struct node {
    struct node *next, *previous;
};

/* n comes in front of `at`. */
WEFT_INST void _ZNSt8__detail15_List_node_base7_M_hookEPS0_(struct node *n, struct node *at) {
    n->next = at;
    n->previous = at->previous;
    at->previous->next = n;
    at->previous = n;
}

WEFT_INST void _ZNSt8__detail15_List_node_base9_M_unhookEv(struct node *n) {
    struct node *next = n->next, *previous = n->previous;
    previous->next = next;
    next->previous = previous;
}

/* From `first` up to `end`, which is not meant: in front of `at`. */
WEFT_INST void _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(struct node *at, struct node *first, struct node *end) {
    if (at == end) return;
    struct node *last = end->previous, *before = at->previous;
    first->previous->next = end;
    end->previous = first->previous;
    before->next = first;
    first->previous = before;
    last->next = at;
    at->previous = last;
}

WEFT_INST void _ZNSt8__detail15_List_node_base10_M_reverseEv(struct node *head) {
    struct node *n = head;
    do {
        struct node *next = n->next;
        n->next = n->previous;
        n->previous = next;
        n = next;
    } while (n != head);
}

/* The head stands for all of its ring. */
static void is_head_of(struct node *head, struct node ring, const struct node *was) {
    if (ring.next == was) { /* there is nothing else in it */
        head->next = head->previous = head;
        return;
    }
    *head = ring;
    head->next->previous = head->previous->next = head;
}
WEFT_INST void _ZNSt8__detail15_List_node_base4swapERS0_S1_(struct node *a, struct node *b) {
    struct node of_a = *a, of_b = *b;
    is_head_of(a, of_b, b);
    is_head_of(b, of_a, a);
}
