/* Proves: recursion that works on the way back (post-order walks over a shared tree) replays exactly. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// RUN: %rr %s %t -O0
// SOAK: 2 4 8 16 64
#include "common.h"

struct node {
    struct node *left, *right;
    volatile uint32_t v;
    uint32_t w;
};
static struct node nodes[127];

static struct node *grow(int lo, int hi) {
    if (lo >= hi) return NULL;
    int mid = (lo + hi) / 2;
    nodes[mid].left = grow(lo, mid);
    nodes[mid].right = grow(mid + 1, hi);
    return &nodes[mid];
}

/* Within one activation nothing loops: the accesses after the calls are told apart by ticks alone. */
static NOINLINE uint32_t walk(struct node *n, uint32_t x) {
    if (!n) return x;
    uint32_t l = walk(n->left, x * 3 + 1);
    n->v += l;
    uint32_t r = walk(n->right, l ^ n->v);
    n->w ^= n->v + r;
    return (l + r * 5) ^ n->w;
}

static NOINLINE uint32_t line(volatile uint32_t *p, int depth) {
    if (!depth) return *p;
    uint32_t r = line(p + 3, depth - 1);
    *p = *p * 5 + r;
    return r + *p;
}
static volatile uint32_t row[100];

static NOINLINE uint32_t ackermann(uint32_t m, uint32_t n) {
    row[m] += n;
    if (!m) return n + 1;
    uint32_t r = n ? ackermann(m, n - 1) : 1;
    row[m + 10] ^= r + row[0];
    return ackermann(m - 1, r);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ENTER();
        h = mix(h, walk(&nodes[63], (uint32_t)h));
        h = mix(h, line(row, 30));
        if (i % 8 == 0) h = mix(h, ackermann(2, (uint32_t)(i & 3)));
        LEAVE();
    }
    return mix(h, row[0]);
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    grow(0, 127);
    uint64_t h = together(cook);
    for (int i = 0; i < 127; i++) h = mix(h, nodes[i].v ^ nodes[i].w);
    for (int i = 0; i < 100; i++) h = mix(h, row[i]);
    return finish(h);
}
