/* Proves: nests of short loops whose memory is looked at once before all of them replay exactly when others take some of it meanwhile, in the
 * outer loop or in an inner one: blocks, triangles, steps that are not known when it is compiled (so turns are a quotient), loops that do not run at all, two inner loops behind
 * each other, values that go from turn to turn, early ends, and dead registers and stack afterwards. */
// RUN: %rr %s %t
// RUN: %rr %s %t -O3
// SOAK: 2 4 8 32
#include "common.h"
#include <stdarg.h>

#define SIDE 16
#define BLOCKS 24
static double blocks[BLOCKS][SIDE * SIDE] __attribute__((aligned(64)));
static uint32_t grid[64 * 64];
static uint64_t kernel[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static pthread_barrier_t all;

static NOINLINE void multiply(double *a, const double *l, const double *u) {
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            double f = l[i * SIDE + k];
            for (int j = 0; j < SIDE; j++) a[i * SIDE + j] = 0.25 * a[i * SIDE + j] + f * u[k * SIDE + j] * 0x1p-10;
        }
}
static NOINLINE void triangle(uint32_t *p, int n) {
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) p[j] = p[j] * 3 + p[i];
}
static NOINLINE void upside(uint32_t *p, int n) {
    for (int i = n - 1; i >= 0; i--)
        for (int j = 0; j < i; j++) p[i * n + j] += p[j * n + i] ^ (uint32_t)j;
}
static NOINLINE uint64_t strided(uint32_t *p, long step, int rows, int columns) {
    uint64_t last = 1;
    for (int y = 0; y < rows; y++) {
        uint64_t sum = last;
        for (int x = 0; x < columns; x++) sum = sum * 5 + p[y * step + x]++;
        last = sum ^ (uint64_t)y;
    }
    return last;
}
static NOINLINE uint64_t twice(uint32_t *p, int n, int m) {
    uint64_t h = 3;
    for (int i = 0; i < n; i++) {
        uint32_t low = ~0u, at = 0;
        for (int j = 0; j < m; j++)
            if (p[i * 8 + j] < low) low = p[i * 8 + j], at = (uint32_t)j;
        for (int j = 0; j < m / 2; j++) p[i * 8 + j] += low + at;
        h = h * 7 + low;
    }
    return h;
}
static NOINLINE uint32_t convolve(const uint32_t *p, int x0, int y0, int n) {
    uint32_t s = 0;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) s += p[(y0 + y) * 64 + x0 + x] * (uint32_t)kernel[(y * n + x) % 9];
    return s;
}
static NOINLINE void stages(uint32_t *p, int n, int half) {
    for (int start = 0; start < n; start += 2 * half)
        for (int k = 0; k < half; k++) {
            uint32_t a = p[start + k], b = p[start + half + k];
            p[start + k] = a * 3 + b;
            p[start + half + k] = a - b;
        }
}
static NOINLINE int search(const uint32_t *p, int n, uint32_t what) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 12; j++)
            if ((p[i * 12 + j] & 0xff) == what) return i * 12 + j;
    return -1;
}
static NOINLINE uint64_t dead(int n, ...) { /* what is in registers that nobody has set */
    va_list a;
    va_start(a, n);
    uint64_t h = 0;
    for (int i = 0; i < n; i++) h = h * 31 + va_arg(a, uint64_t);
    va_end(a);
    return h;
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    pthread_barrier_wait(&all);
    for (long i = 0; i < rounds; i++) {
        int n = (int)(h % 15) + 1, m = (int)((h >> 8) % 40), at = (int)((h >> 16) % 2000), mine = (h >> 32) % 4 != 0;
        if (mine) at = me * (2000 / threads);
        switch ((h >> 40) % 9) {
        case 0:
            multiply(blocks[mine ? me % BLOCKS : (h >> 12) % BLOCKS], blocks[(h >> 20) % BLOCKS], blocks[(h >> 28) % BLOCKS]);
            break;
        case 1: triangle(grid + at, m); break;
        case 2: upside(grid + at, n); break;
        case 3: h = mix(h, strided(grid + at + 100, (h >> 50) % 3 ? n + 3 : -3, n, n)); break;
        case 4: h = mix(h, twice(grid + at, n, (int)(h >> 44) % 8)); break;
        case 5: h = mix(h, convolve(grid, (int)(h >> 3) % 48 & 47, (int)(h >> 13) % 48 & 47, n)); break;
        case 7: /* none of them with n 0: then the step may be 0 */
            for (int half = n & 1; half < 32; half += half + !half) stages(grid + at, half ? 64 : 0, half);
            break;
        case 6: h = mix(h, (uint64_t)search(grid + at, n, (uint32_t)(h >> 9) & 0xff)); break;
        default: h = mix(h, dead(4, h, h ^ 1, h ^ 2, (uint64_t)grid[at])); h = mix(h, grid[(h >> 5) % 4096]);
        }
        h = mix(h, grid[at]);
    }
    pthread_barrier_wait(&all);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 4000);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < SIDE * SIDE; i++) blocks[b][i] = b + i;
    for (int i = 0; i < 64 * 64; i++) grid[i] = (uint32_t)i * 2654435761u;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    uint64_t h = together(cook);
    for (int i = 0; i < 64 * 64; i++) h = mix(h, grid[i]);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < SIDE * SIDE; i++) h = mix(h, (uint64_t)blocks[b][i]);
    return finish(h);
}
