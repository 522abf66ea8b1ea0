/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Successive over-relaxation of Laplace's equation on a grid of n by n points, red points and black ones in turn, as the
 * solver of SPLASH-2's ocean. A thread has a band of rows and reads the rows of its neighbours next to it; after each sweep
 * the largest change of all threads is found under a lock, and decides for all whether to go on.
 *
 * x * x - y * y solves the equation on the grid exactly, not only in the limit. It is given on the border, and what comes
 * out inside is held against it. Red points depend on black ones only, so the result does not depend on the threads. */
#include "kernel.h"
#include <math.h>

#define TOLERANCE 1e-7
#define LONGEST 20000

static double *grid; /* size + 2 by size + 2, the border included */
static long width;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double worst[3]; /* under the lock: this sweep's, the last one's that all read, and the next one's, which is 0 */
static int sweeps;

static double exact(long row, long column) {
    double x = (double)column / (double)(width - 1), y = (double)row / (double)(width - 1);
    return x * x - y * y;
}

/* One colour of the rows [low, high). Gives the largest change. */
static double relax(long low, long high, int colour, double omega) {
    double most = 0;
    for (long row = low; row < high; row++) {
        double *here = grid + row * width;
        for (long c = 1 + ((row + colour) & 1); c < width - 1; c += 2) {
            double change = omega * (0.25 * (here[c - 1] + here[c + 1] + here[c - width] + here[c + width]) - here[c]);
            here[c] += change;
            most = fmax(most, fabs(change));
        }
    }
    return most;
}

static void *work(void *p) {
    int me = (int)(intptr_t)p, sweep = 0;
    long low = 1 + part(size, me), high = 1 + part(size, me + 1);
    double omega = 2 / (1 + sin(M_PI / (double)(width - 1))), all;
    do {
        double red = relax(low, high, 0, omega);
        meet();
        double black = relax(low, high, 1, omega);
        pthread_mutex_lock(&lock);
        worst[sweep % 3] = fmax(worst[sweep % 3], fmax(red, black));
        worst[(sweep + 1) % 3] = 0;
        pthread_mutex_unlock(&lock);
        meet();
        pthread_mutex_lock(&lock);
        all = worst[sweep % 3];
        pthread_mutex_unlock(&lock);
        sweep++;
    } while (all > TOLERANCE && sweep < LONGEST);
    if (me == 0) sweeps = sweep;
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t h = 0;
    options(argc, argv, 800);
    width = size + 2;
    grid = room((size_t)(width * width), sizeof *grid);
    for (long i = 0; i < width; i++) {
        grid[i] = exact(0, i);
        grid[(width - 1) * width + i] = exact(width - 1, i);
        grid[i * width] = exact(i, 0);
        grid[i * width + width - 1] = exact(i, width - 1);
    }
    together(work);
    for (long row = 1; row <= size; row++)
        for (long column = 1; column <= size; column++) {
            double value = grid[row * width + column];
            if (fabs(value - exact(row, column)) > 1e-4) /* the change of a sweep is less than the distance to the solution */
                wrong("ocean: %g instead of %g at row %ld, column %ld", value, exact(row, column), row, column);
            h = mix_double(h, value);
        }
    printf("ocean: %ld by %ld, %d threads, %d sweeps, %016llx\n", size, size, threads, sweeps, (unsigned long long)h);
    return 0;
}
