/* Proves: a system call that is given a pointer to nowhere fails as ever, in recording and replay. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile uint32_t pot[8];
static void *volatile nowhere = (void *)16; /* hidden from the compiler, which would warn */

static uint64_t said(uint64_t h, long r) { return mix(mix(h, (uint64_t)r), r < 0 ? (uint64_t)errno : 0); }

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    struct stat st;
    int p[2];
    if (pipe(p) < 0) return 0;
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h % 8]);
        pot[(h >> 8) % 8] = (uint32_t)h;
        switch (h % 9) {
        case 0: h = said(h, write(p[1], nowhere, 5)); break;
        case 1: h = said(h, write(-1, nowhere, 5)); break;
        case 2: h = said(h, write(p[1], "x", 1)), h = said(h, read(p[0], nowhere, 1)); break;
        case 3: h = said(h, open(nowhere, O_RDONLY)); break;
        case 4: h = said(h, stat(nowhere, &st)), h = said(h, stat("/", nowhere)); break;
        case 5: h = said(h, nanosleep(nowhere, NULL)); break;
        case 6: h = said(h, poll(nowhere, 1, 0)); break;
        case 7: h = said(h, pipe(nowhere)); break;
        default: h = said(h, writev(p[1], nowhere, 1)), h = said(h, readv(p[0], nowhere, 1));
        }
    }
    close(p[0]);
    close(p[1]);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    return finish(together(cook));
}
