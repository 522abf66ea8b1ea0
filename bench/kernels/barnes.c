/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Gravity of n bodies by the tree of Barnes and Hut, as in SPLASH-2's barnes: in each step all threads put their bodies into
 * one octree; who changes a child of a cell has that cell's lock, who only goes down has none. Then centres of mass are
 * found, subtree by subtree, and each thread finds the forces on its bodies, reading all of the tree that others built.
 *
 * The tree does not depend on the order in which bodies came, and sums go by the order of children: so the result does not
 * depend on the threads. Checked: the forces on some bodies against the sum over all others. */
#include "kernel.h"
#include <math.h>

#define STEPS 10
#define DT 1e-3
#define OPENING 0.6   /* a cell counts as one mass if its side is less than this part of its distance */
#define SOFTENING 1e-4
#define DEEPEST 40

/* What a child of a cell leads to: an inner cell or one body. */
struct node {
    int is_cell;
    double mass, at[3]; /* of a cell: its centre of mass */
};
struct body {
    struct node node;
    double speed[3], force[3];
};
struct cell {
    struct node node;
    pthread_mutex_t lock;  /* for writing `child` */
    struct node *child[8]; /* by octant; atomic: read without the lock */
    double middle[3], half; /* the cube */
};

static struct body *bodies;
static struct cell *pool[MAX_THREADS]; /* each thread takes cells from its own */
static long used[MAX_THREADS], pool_size;
static struct cell *root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long next_subtree; /* under the lock */

static struct cell *new_cell(int me, const double *middle, double half) {
    if (used[me] == pool_size) wrong("barnes: more cells than expected");
    struct cell *c = &pool[me][used[me]++];
    memset(c->child, 0, sizeof c->child);
    memcpy(c->middle, middle, sizeof c->middle);
    c->half = half;
    c->node.is_cell = 1;
    return c;
}

static int octant(const struct cell *c, const double *at) {
    return (at[0] >= c->middle[0]) | (at[1] >= c->middle[1]) << 1 | (at[2] >= c->middle[2]) << 2;
}

static struct cell *new_child(int me, const struct cell *c, int o) {
    double half = c->half / 2, middle[3];
    for (int x = 0; x < 3; x++) middle[x] = c->middle[x] + (o >> x & 1 ? half : -half);
    return new_cell(me, middle, half);
}

static void insert(int me, struct body *b) {
    struct cell *c = root;
    for (int depth = 0; depth < DEEPEST;) {
        int o = octant(c, b->node.at);
        struct node *there = __atomic_load_n(&c->child[o], __ATOMIC_ACQUIRE);
        if (there && there->is_cell) {
            c = (struct cell *)there;
            depth++;
            continue;
        }
        pthread_mutex_lock(&c->lock);
        if (__atomic_load_n(&c->child[o], __ATOMIC_RELAXED) != there) { /* somebody was faster: look again */
            pthread_mutex_unlock(&c->lock);
            continue;
        }
        struct node *put = &b->node;
        if (there) { /* a body: a cell takes its place, in which both go on */
            struct cell *between = new_child(me, c, o);
            between->child[octant(between, there->at)] = there;
            put = &between->node;
        }
        __atomic_store_n(&c->child[o], put, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&c->lock);
        if (!there) return;
    }
    wrong("barnes: two bodies at the same place");
}

/* Mass and centre of mass of a cell whose cells have theirs. */
static void sum_up(struct cell *c) {
    double mass = 0, at[3] = {0, 0, 0};
    for (int o = 0; o < 8; o++) {
        const struct node *n = c->child[o];
        if (!n) continue;
        mass += n->mass;
        for (int x = 0; x < 3; x++) at[x] += n->mass * n->at[x];
    }
    c->node.mass = mass;
    for (int x = 0; x < 3; x++) c->node.at[x] = at[x] / mass;
}

static void sum_up_below(struct node *n, int depth) {
    if (!n || !n->is_cell) return;
    struct cell *c = (struct cell *)n;
    for (int o = 0; depth && o < 8; o++) sum_up_below(c->child[o], depth - 1);
    sum_up(c);
}

/* Adds the pull of n, which is at distance d. */
static void pull(double *force, const struct node *n, const double *d, double square) {
    double f = n->mass / ((square + SOFTENING) * sqrt(square + SOFTENING));
    for (int x = 0; x < 3; x++) force[x] += f * d[x];
}

static void attract(double *force, const double *at, const struct node *n, double side) {
    double d[3], square = 0;
    for (int x = 0; x < 3; x++) d[x] = n->at[x] - at[x], square += d[x] * d[x];
    if (!n->is_cell || side * side < OPENING * OPENING * square) {
        pull(force, n, d, square); /* the body itself is at no distance, and adds nothing */
        return;
    }
    const struct cell *c = (const struct cell *)n;
    for (int o = 0; o < 8; o++)
        if (c->child[o]) attract(force, at, c->child[o], side / 2);
}

static void *work(void *p) {
    int me = (int)(intptr_t)p;
    long low = part(size, me), high = part(size, me + 1);
    for (int step = 0; step < STEPS; step++) {
        used[me] = 0;
        if (me == 0) {
            double extent = 1;
            for (long i = 0; i < size; i++)
                for (int x = 0; x < 3; x++) extent = fmax(extent, fabs(bodies[i].node.at[x]) * 1.001);
            root = new_cell(me, (double[3]){0, 0, 0}, extent);
            next_subtree = 0;
        }
        meet();
        for (long i = low; i < high; i++) insert(me, &bodies[i]);
        meet();
        for (;;) { /* the 64 grandchildren of the root */
            pthread_mutex_lock(&lock);
            long k = next_subtree++;
            pthread_mutex_unlock(&lock);
            if (k >= 64) break;
            struct node *child = root->child[k / 8];
            if (child && child->is_cell) sum_up_below(((struct cell *)child)->child[k % 8], DEEPEST);
        }
        meet();
        if (me == 0) sum_up_below(&root->node, 1);
        meet();
        for (long i = low; i < high; i++) {
            double force[3] = {0, 0, 0};
            attract(force, bodies[i].node.at, &root->node, 2 * root->half);
            memcpy(bodies[i].force, force, sizeof force);
        }
        if (step == STEPS - 1) break; /* leave places and forces as they belong together */
        meet();
        for (long i = low; i < high; i++)
            for (int x = 0; x < 3; x++) {
                bodies[i].speed[x] += DT * bodies[i].force[x];
                bodies[i].node.at[x] += DT * bodies[i].speed[x];
            }
        meet();
    }
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t s = 0x2545f4914f6cdd1dull, h = 0;
    options(argc, argv, 20000);
    bodies = room((size_t)size, sizeof *bodies);
    for (long i = 0; i < size; i++) { /* denser towards the middle */
        double at[3], square;
        do {
            square = 0;
            for (int x = 0; x < 3; x++) at[x] = 2 * rnd_double(&s) - 1, square += at[x] * at[x];
        } while (square > 1);
        for (int x = 0; x < 3; x++) bodies[i].node.at[x] = at[x] * square;
        bodies[i].node.mass = 1 / (double)size;
    }
    pool_size = 2 * size + 64;
    for (int t = 0; t < threads; t++) {
        pool[t] = room((size_t)pool_size, sizeof *pool[t]);
        for (long i = 0; i < pool_size; i++) pthread_mutex_init(&pool[t][i].lock, NULL);
    }
    together(work);
    for (long i = 0; i < size; i += size / 50 + 1) {
        double force[3] = {0, 0, 0}, difference = 0, length = 0;
        for (long j = 0; j < size; j++) {
            double d[3], square = 0;
            for (int x = 0; x < 3; x++) d[x] = bodies[j].node.at[x] - bodies[i].node.at[x], square += d[x] * d[x];
            pull(force, &bodies[j].node, d, square);
        }
        for (int x = 0; x < 3; x++) {
            difference += (force[x] - bodies[i].force[x]) * (force[x] - bodies[i].force[x]);
            length += force[x] * force[x];
        }
        if (!(difference <= 0.05 * 0.05 * length)) wrong("barnes: the force on body %ld is off by %g of it", i, sqrt(difference / length));
    }
    for (long i = 0; i < size; i++)
        for (int x = 0; x < 3; x++) h = mix_double(mix_double(h, bodies[i].force[x]), bodies[i].node.at[x]);
    printf("barnes: %ld bodies, %d threads, %016llx\n", size, threads, (unsigned long long)h);
    return 0;
}
