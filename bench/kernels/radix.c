/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parallel radix sort of -n keys of 32 bits, from the lowest digit to the highest, as in SPLASH-2's radix: each thread
 * counts the digits in its part of the keys; a sum over threads and digits tells where each thread's keys of each digit
 * go; then all scatter. So in every pass a thread reads what all the others have written, in runs that are some KiB long.
 *
 * Checked: every part is in order, also with the one behind it, and sum and xor of the keys are what they were. */
#include "kernel.h"

#define BITS 11 /* of a digit */
#define DIGITS (1 << BITS)
#define PASSES 3
#define ROUNDS 40 /* sorts, each of other keys */

static uint32_t *keys[2];
static uint32_t count[MAX_THREADS][DIGITS]; /* first how many a thread has, then where among those of its digit they begin */
static uint32_t total[DIGITS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sums[2], xors[2]; /* of what was made, and of what was sorted, over all rounds; under the lock */
static uint64_t saw[MAX_THREADS];

static void add_up(const uint32_t *key, long from, long to, int which) {
    uint64_t sum = 0, x = 0;
    for (long i = from; i < to; i++) sum += key[i], x ^= (uint64_t)key[i] * key[i];
    pthread_mutex_lock(&lock);
    sums[which] += sum;
    xors[which] ^= x;
    pthread_mutex_unlock(&lock);
}

static void sort_by_digit(int me, int pass) {
    const uint32_t *from = keys[pass & 1];
    uint32_t *to = keys[~pass & 1], *mine = count[me], place[DIGITS], begin = 0;
    long low = part(size, me), high = part(size, me + 1);
    int shift = pass * BITS;

    memset(mine, 0, sizeof count[me]);
    for (long i = low; i < high; i++) mine[from[i] >> shift & (DIGITS - 1)]++;
    meet();
    /* Some of the digits are this thread's to sum up. */
    for (long d = part(DIGITS, me); d < part(DIGITS, me + 1); d++) {
        uint32_t sum = 0;
        for (int t = 0; t < threads; t++) {
            uint32_t here = count[t][d];
            count[t][d] = sum;
            sum += here;
        }
        total[d] = sum;
    }
    meet();
    for (int d = 0; d < DIGITS; d++) {
        place[d] = begin + mine[d];
        begin += total[d];
    }
    for (long i = low; i < high; i++) to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    meet();
}

static void *work(void *p) {
    int me = (int)(intptr_t)p;
    long low = part(size, me), high = part(size, me + 1);
    uint64_t s = 0x2545f4914f6cdd1dull * (uint64_t)(me + 1), h = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = low; i < high; i++) keys[0][i] = (uint32_t)(rnd(&s) >> 16);
        add_up(keys[0], low, high, 0);
        meet();
        for (int pass = 0; pass < PASSES; pass++) sort_by_digit(me, pass);
        const uint32_t *sorted = keys[PASSES & 1];
        for (long i = low ? low : 1; i < high; i++)
            if (sorted[i - 1] > sorted[i]) wrong("radix: round %d: keys %ld and %ld are not in order", round, i - 1, i);
        add_up(sorted, low, high, 1);
        for (long i = low; i < high; i += 64) h = mix(h, sorted[i]);
        meet();
    }
    saw[me] = h;
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t h = 0;
    options(argc, argv, 1 << 22);
    for (int i = 0; i < 2; i++) keys[i] = room((size_t)size, sizeof *keys[i]);
    together(work);
    if (sums[0] != sums[1] || xors[0] != xors[1]) wrong("radix: keys were lost");
    for (int i = 0; i < threads; i++) h = mix(h, saw[i]);
    printf("radix: %ld keys, %d threads, %016llx\n", size, threads, (unsigned long long)h);
    return 0;
}
