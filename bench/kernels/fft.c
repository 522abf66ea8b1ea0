/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Complex Fourier transform of n points in six steps (Bailey), as in SPLASH-2's fft: the points are a square matrix;
 * transpose, transform the rows, multiply by roots of unity, transpose, transform the rows, transpose. A thread has a band
 * of rows, and in a transpose it reads a part of every other thread's band. -n: the side of the matrix, a power of two.
 *
 * Checked: some points of the spectrum against the sum that defines them, and the inverse transform gives the points back. */
#include "kernel.h"
#include <math.h>

struct complex {
    double re, im;
};

#define BLOCK 8 /* a transpose goes by squares of this side, two lines wide */
#define ROUNDS 36 /* forth and back */

static struct complex *field[2];
static struct complex *roots; /* of order n = side * side */
static struct complex *row_roots; /* of order side, next to each other */
static long side;

static inline struct complex times(struct complex a, struct complex b) {
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void transpose(int me, const struct complex *from, struct complex *to) {
    long low = part(side / BLOCK, me) * BLOCK, high = part(side / BLOCK, me + 1) * BLOCK;
    for (long row = low; row < high; row += BLOCK)
        for (long column = 0; column < side; column += BLOCK)
            for (long r = row; r < row + BLOCK; r++)
                for (long c = column; c < column + BLOCK; c++) to[r * side + c] = from[c * side + r];
}

/* In place, radix 2. `sign` is 1 forth and -1 back. */
static void transform_row(struct complex *x, double sign) {
    for (long i = 1, j = 0; i < side; i++) {
        long bit = side >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (long half = 1; half < side; half <<= 1)
        for (long start = 0; start < side; start += 2 * half)
            for (long k = 0; k < half; k++) {
                struct complex w = row_roots[k * (side / (2 * half))], *a = &x[start + k], *b = a + half;
                w.im *= sign;
                struct complex t = times(w, *b), u = *a;
                *a = (struct complex){u.re + t.re, u.im + t.im};
                *b = (struct complex){u.re - t.re, u.im - t.im};
            }
}

/* From field[0] to field[1], or back. */
static void transform(int me, int back) {
    struct complex *x = field[back], *y = field[!back];
    double sign = back ? -1 : 1, scale = back ? 1 / (double)(side * side) : 1;
    long low = part(side / BLOCK, me) * BLOCK, high = part(side / BLOCK, me + 1) * BLOCK;
    transpose(me, x, y);
    for (long row = low; row < high; row++) {
        transform_row(y + row * side, sign);
        for (long k = 0; k < side; k++) {
            struct complex w = roots[row * k];
            w.im *= sign;
            y[row * side + k] = times(y[row * side + k], w);
        }
    }
    meet();
    transpose(me, y, x);
    for (long row = low; row < high; row++) {
        transform_row(x + row * side, sign);
        for (long k = 0; k < side; k++) x[row * side + k].re *= scale, x[row * side + k].im *= scale;
    }
    meet();
    transpose(me, x, y);
    meet();
}

static struct complex point(long i) {
    uint64_t s = mix(1, (uint64_t)i) | 1;
    double re = rnd_double(&s) - 0.5;
    return (struct complex){re, rnd_double(&s) - 0.5};
}

static struct complex spectrum[4]; /* some of what the first transform gave, and of what that sum should be */
static uint64_t saw;

static void *work(void *p) {
    int me = (int)(intptr_t)p;
    long n = side * side;
    for (int round = 0; round < ROUNDS; round++) {
        transform(me, 0);
        if (me == 0 && round == 0) {
            for (int k = 0; k < 4; k++) spectrum[k] = field[1][n / 5 * k + 1];
            for (long i = 0; i < n; i += 61) saw = mix_double(mix_double(saw, field[1][i].re), field[1][i].im);
        }
        meet();
        transform(me, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    options(argc, argv, 1024);
    side = size;
    if (side & (side - 1) || side < BLOCK * threads) wrong("fft: the side is a power of two, %d per thread at least", BLOCK);
    long n = side * side;
    for (int i = 0; i < 2; i++) field[i] = room((size_t)n, sizeof *field[i]);
    roots = room((size_t)n, sizeof *roots);
    row_roots = room((size_t)side, sizeof *row_roots);
    for (long k = 0; k < n; k++) {
        double angle = -2 * M_PI * (double)k / (double)n;
        roots[k] = (struct complex){cos(angle), sin(angle)};
        field[0][k] = point(k);
    }
    for (long k = 0; k < side; k++) row_roots[k] = roots[k * side];
    together(work);
    for (int k = 0; k < 4; k++) {
        struct complex sum = {0, 0};
        for (long i = 0; i < n; i++) {
            struct complex t = times(point(i), roots[i * (n / 5 * k + 1) % n]);
            sum.re += t.re, sum.im += t.im;
        }
        if (fabs(sum.re - spectrum[k].re) > 1e-7 || fabs(sum.im - spectrum[k].im) > 1e-7)
            wrong("fft: point %ld of the spectrum is %g%+gi, not %g%+gi", n / 5 * k + 1, spectrum[k].re, spectrum[k].im, sum.re, sum.im);
    }
    for (long i = 0; i < n; i++) {
        struct complex a = field[0][i], b = point(i);
        if (fabs(a.re - b.re) > 1e-9 || fabs(a.im - b.im) > 1e-9) wrong("fft: point %ld did not come back", i);
        saw = mix_double(saw, a.re);
    }
    printf("fft: %ld points, %d threads, %016llx\n", n, threads, (unsigned long long)saw);
    return 0;
}
