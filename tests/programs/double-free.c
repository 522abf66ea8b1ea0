/* Proves: a double free stops the program as glibc's would, in the recording and in the replay. */
// RUN: %rr %s %t
// RUN: %rr %s %t -DINVALID
// STATUS: 134
// SOAK: 2
#include "common.h"

static volatile uint32_t pot[8];
static char *block[MAX_THREADS];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) h = mix(h, pot[h % 8]++);
    block[me] = (char *)malloc(100 + (size_t)me);
    free(block[me]);
    printf("%d %016llx\n", me, (unsigned long long)h);
    fflush(stdout);
    if (me == 0) {
        char *volatile p = block[0];
#ifdef INVALID
        p = (char *)malloc(200);
        free(p + 16);
#else
        free(p);
#endif
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 2000);
    return finish(together(cook));
}
