/* Proves: a lock-free stack of pointers (16-byte compare and swap) with nodes that are freed and reused replays. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O0
// FLAGS: -mcx16
// SOAK: 2 4 8 16
#include "common.h"

struct node {
    struct node *next;
    uint64_t value;
};
union head {
    unsigned __int128 both;
    struct { struct node *p; uint64_t tag; } s;
};
static union head top __attribute__((aligned(16)));
static struct node nodes[64];

static int cas(union head *expected, union head new) {
    unsigned __int128 seen = __sync_val_compare_and_swap(&top.both, expected->both, new.both);
    if (seen == expected->both) return 1;
    expected->both = seen;
    return 0;
}
static union head look(void) {
    union head h;
    h.both = __sync_val_compare_and_swap(&top.both, 0, 0);
    return h;
}
static void push(struct node *n) {
    union head old = look(), new;
    do {
        __atomic_store_n(&n->next, old.s.p, __ATOMIC_RELAXED);
        new.s.p = n;
        new.s.tag = old.s.tag + 1;
    } while (!cas(&old, new));
}
static struct node *pop(void) {
    union head old = look(), new;
    do {
        if (!old.s.p) return NULL;
        new.s.p = __atomic_load_n(&old.s.p->next, __ATOMIC_RELAXED);
        new.s.tag = old.s.tag + 1;
    } while (!cas(&old, new));
    return old.s.p;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        struct node *a = pop(), *b = pop();
        if (a) h = mix(h, (uintptr_t)a + a->value++);
        if (b) h = mix(h, b->value ^= h & 255);
        if (a) push(a);
        if (b) push(b);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 5000);
    for (int i = 0; i < 64; i++) push(&nodes[i]);
    uint64_t h = together(cook);
    for (struct node *n; (n = pop());) h = mix(h, n->value);
    return finish(h);
}
