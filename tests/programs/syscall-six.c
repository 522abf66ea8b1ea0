/* Proves: syscall() passes all six arguments, and what FUTEX_WAKE_OP writes is an ordered access. */
// RUN: %rr %s %t -r 4
// SOAK: 2 4
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

static uint32_t word, other;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        ts.tv_nsec = ts.tv_nsec < 999900000 ? ts.tv_nsec + 50000 : 999999999;
        uint32_t now = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
        /* The sixth argument is a set of bits: an empty one is EINVAL. */
        long r = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, now, &ts, NULL, FUTEX_BITSET_MATCH_ANY);
        if (r < 0 && errno == EINVAL) exit(4);
        h = mix(h, r < 0 ? (uint64_t)errno : 0);
        __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
        h = mix(h, (uint64_t)syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1, &other,
                                     FUTEX_OP(i % 2 ? FUTEX_OP_ADD : FUTEX_OP_XOR, me + 3, FUTEX_OP_CMP_EQ, 0)));
        h = mix(h, other++);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 30);
    uint64_t h = together(cook);
    int fd = open("/proc/self/exe", O_RDONLY);
    char *whole = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    char *second = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_PRIVATE, (long)fd, 4096L);
    if (memcmp(whole + 4096, second, 4096)) return 5;
    return finish(mix(mix(h, other), (uintptr_t)second));
}
