/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sum over an OpenMP loop without a reduction. */
// KIND: OpenMP: no reduction
// FAILS: the sum is too small
// SHOWS: exit 1
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 0 in 40
// ARGS: N=40000
// LARGE: 200000
// FLAGS: -fopenmp
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 40000;
    volatile long sum = 0;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) sum += i;
    if (sum == (long)n * (n - 1) / 2) return 0;
    fprintf(stderr, "sum %ld of %ld\n", sum, (long)n * (n - 1) / 2);
    return 1;
}
