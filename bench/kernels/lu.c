/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A = L U for a dense matrix of n by n, in blocks, without pivoting, as SPLASH-2's lu with contiguous blocks: the blocks are
 * dealt to the threads like the squares of a board, and only its owner writes a block. In each step the block on the
 * diagonal is factored, then those in its row and column, which all need it, then all behind, which need two of these: what
 * one thread wrote, all others read, and nobody ever writes it again.
 *
 * Checked: L (U x) is A x for a vector x, with A made anew. Each block sees the same operations whatever the threads do. */
#include "kernel.h"
#include <math.h>

#define SIDE 16 /* of a block: 2 KiB, which begin at a line */

static double *blocks; /* by rows of blocks; each block by rows */
static long across;    /* blocks */
static int board_rows, board_columns;

static double *block(long row, long column) {
    return blocks + (row * across + column) * SIDE * SIDE;
}
static int owner(long row, long column) {
    return (int)(row % board_rows) * board_columns + (int)(column % board_columns);
}
static double element(long row, long column) {
    uint64_t s = mix(mix(7, (uint64_t)row), (uint64_t)column) | 1;
    return rnd_double(&s) - 0.5 + (row == column ? (double)size : 0); /* the diagonal outweighs the row */
}

static void factor(double *a) {
    for (int k = 0; k < SIDE; k++)
        for (int i = k + 1; i < SIDE; i++) {
            double f = a[i * SIDE + k] /= a[k * SIDE + k];
            for (int j = k + 1; j < SIDE; j++) a[i * SIDE + j] -= f * a[k * SIDE + j];
        }
}
/* a = a U^-1, for a block below the diagonal. */
static void divide_by_upper(double *a, const double *diagonal) {
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            double f = a[i * SIDE + k] /= diagonal[k * SIDE + k];
            for (int j = k + 1; j < SIDE; j++) a[i * SIDE + j] -= f * diagonal[k * SIDE + j];
        }
}
/* a = L^-1 a, for a block right of the diagonal. */
static void divide_by_lower(double *a, const double *diagonal) {
    for (int k = 0; k < SIDE; k++)
        for (int i = k + 1; i < SIDE; i++) {
            double f = diagonal[i * SIDE + k];
            for (int j = 0; j < SIDE; j++) a[i * SIDE + j] -= f * a[k * SIDE + j];
        }
}
static void subtract_product(double *a, const double *l, const double *u) {
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            double f = l[i * SIDE + k];
            for (int j = 0; j < SIDE; j++) a[i * SIDE + j] -= f * u[k * SIDE + j];
        }
}

static void *work(void *p) {
    int me = (int)(intptr_t)p;
    for (long row = 0; row < across; row++)
        for (long column = 0; column < across; column++)
            if (owner(row, column) == me)
                for (int i = 0; i < SIDE * SIDE; i++)
                    block(row, column)[i] = element(row * SIDE + i / SIDE, column * SIDE + i % SIDE);
    meet();
    for (long k = 0; k < across; k++) {
        if (owner(k, k) == me) factor(block(k, k));
        meet();
        for (long i = k + 1; i < across; i++) {
            if (owner(i, k) == me) divide_by_upper(block(i, k), block(k, k));
            if (owner(k, i) == me) divide_by_lower(block(k, i), block(k, k));
        }
        meet();
        for (long i = k + 1; i < across; i++)
            for (long j = k + 1; j < across; j++)
                if (owner(i, j) == me) subtract_product(block(i, j), block(i, k), block(k, j));
    }
    return NULL;
}

static double at(long row, long column) {
    return block(row / SIDE, column / SIDE)[row % SIDE * SIDE + column % SIDE];
}

int main(int argc, char **argv) {
    uint64_t s = 99, h = 0;
    options(argc, argv, 3072);
    if (size % SIDE) wrong("lu: -n must be a multiple of %d", SIDE);
    across = size / SIDE;
    for (board_rows = (int)sqrt((double)threads); threads % board_rows; board_rows--) continue;
    board_columns = threads / board_rows;
    if (posix_memalign((void **)&blocks, 64, (size_t)(size * size) * sizeof *blocks)) wrong("no memory");
    together(work);

    double *x = room((size_t)size, sizeof *x), *ux = room((size_t)size, sizeof *ux);
    for (long i = 0; i < size; i++) x[i] = rnd_double(&s) - 0.5;
    for (long i = 0; i < size; i++)
        for (long j = i; j < size; j++) ux[i] += at(i, j) * x[j];
    for (long i = 0; i < size; i++) {
        double is = ux[i], should = 0; /* L has ones on its diagonal */
        for (long j = 0; j < i; j++) is += at(i, j) * ux[j];
        for (long j = 0; j < size; j++) should += element(i, j) * x[j];
        if (!(fabs(is - should) < 1e-8 * (double)size)) wrong("lu: row %ld gives %g instead of %g", i, is, should);
        h = mix_double(h, is);
    }
    printf("lu: %ld by %ld, %d threads, %016llx\n", size, size, threads, (unsigned long long)h);
    free(x);
    free(ux);
    free(blocks);
    return 0;
}
