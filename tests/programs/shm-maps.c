/* Proves: threads that map and unmap shared memory all the time, each for itself: what is done to the address space and what is
 * done to shared memory have one order. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/mman.h>

#define PAGE 4096l
static int fd;

static uint64_t work(int me) {
    uint64_t h = (uint64_t)me;
    for (long i = 0; i < rounds; i++) {
        long n = 1 + (i + me) % 3;
        unsigned char *p = mmap(NULL, (size_t)(n * PAGE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) return 1;
        p[me]++;
        h = mix(h, p[(me + 1) % threads]);
        if (i % 4 == 0) {
            p = mremap(p, (size_t)(n * PAGE), (size_t)((n + 1) * PAGE), MREMAP_MAYMOVE);
            if (p == MAP_FAILED) return 1;
            n++;
            h = mix(h, p[me]);
        }
        munmap(p, (size_t)(n * PAGE));
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 300);
    char name[] = "/tmp/weft-shm-maps-XXXXXX";
    fd = mkstemp(name);
    unlink(name);
    if (ftruncate(fd, 4 * PAGE)) return 2;
    return finish(together(work));
}
