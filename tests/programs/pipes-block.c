/* Proves: threads that block in read and write of a full or empty pipe are outside meanwhile, and replay. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <fcntl.h>

static int p[2];
static unsigned char shared[4096];
static volatile uint32_t pot[8];

/* Even threads write more than a pipe holds, straight out of shared memory; odd ones read straight into it. */
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        ssize_t n;
        if (me & 1) n = read(p[0], shared + 64 * (me % 8), 2048);
        else n = write(p[1], shared, 2048);
        h = mix(h, (uint64_t)n);
        for (int k = 0; k < 30; k++) {
            h = mix(h, ((volatile unsigned char *)shared)[h % 4096] + pot[h % 8]++);
            ((volatile unsigned char *)shared)[(h >> 12) % 4096] = (unsigned char)h;
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    threads = (threads + 1) & ~1;
    if (pipe(p)) return 3;
    fcntl(p[1], F_SETPIPE_SZ, 4096);
    return finish(together(cook));
}
