/* Proves: setjmp and longjmp in loops, out of recursion and out of library callbacks replay with racing accesses. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DSAFE
// SOAK: 2 4 8 16
#include "common.h"
#include <setjmp.h>

static volatile uint32_t pot[16];

static NOINLINE void dive(jmp_buf *j, int depth, uint32_t x) {
    pot[x % 16] += x;
    if (!depth) longjmp(*j, 1 + (int)(pot[(x >> 4) % 16] & 7));
    dive(j, depth - 1, x * 3 + pot[x % 16]);
    pot[0]++;
}

static __thread jmp_buf *from_sort;
static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    pot[x % 16]++;
    if (pot[y % 16] % 13 == 0) longjmp(*from_sort, (int)(x % 50) + 1);
    return x < y ? -1 : x > y;
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    jmp_buf a;
    sigjmp_buf b;
    for (volatile long i = 0; i < rounds; i++) {
        ENTER();
        /* The second return of setjmp is inside the loop, several times a round. */
        volatile int again = 3;
        int r = setjmp(a);
        h = mix(h, (uint64_t)r + pot[(uint32_t)h % 16]);
        if (again-- > 0) dive(&a, 4 + r % 3, (uint32_t)h);

        if (sigsetjmp(b, 1) == 0) {
            pot[(h >> 9) % 16] ^= (uint32_t)h;
            if (pot[(h >> 13) % 16] & 1) siglongjmp(b, 1);
        } else h = mix(h, 7);

        uint32_t mine[20];
        for (uint32_t j = 0; j < 20; j++) mine[j] = j * 2654435761u ^ (uint32_t)h;
        from_sort = &a;
        if ((r = _setjmp(a)) == 0) qsort(mine, 20, sizeof *mine, compare);
        h = mix(h, (uint64_t)r);
        LEAVE();
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 400);
    uint64_t h = together(cook);
    for (int i = 0; i < 16; i++) h = mix(h, pot[i]);
    return finish(h);
}
