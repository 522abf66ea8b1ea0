/* Proves: closing a descriptor is replayed whatever stands in the log at the next tick: a verify build tells of its accesses
 * there now and then. */
// RUN: %rr %s %t
#include "common.h"

static unsigned shared[64];

static uint64_t work(int me) {
    for (long i = 0; i < rounds; i++) {
        for (long k = 0; k < i % 67; k++) __atomic_fetch_add(&shared[(k + me) % 64], 1u, __ATOMIC_RELAXED);
        int fd = dup(1);
        shared[me] += (unsigned)fd;
        close(fd);
    }
    return shared[me];
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 500);
    return finish(together(work));
}
