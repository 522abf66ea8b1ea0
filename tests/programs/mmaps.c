/* Proves: mmap, munmap, mremap and mprotect by several threads give the same addresses and contents in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <sys/mman.h>

static unsigned char *volatile shelf[8];
static volatile uint32_t pot[4];

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        size_t n = 4096 * (1 + (r >> 4) % 9);
        unsigned char *p = (unsigned char *)mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return 1;
        h = mix(mix(h, (uintptr_t)p), p[r % n]);
        p[0] = (unsigned char)h, p[n - 1] = (unsigned char)me, p[1] = (unsigned char)(n / 4096);
        pot[r % 4] += p[0];
        if (r % 3 == 0) {
            p = (unsigned char *)mremap(p, n, 2 * n, MREMAP_MAYMOVE);
            if (p == MAP_FAILED) return 2;
            h = mix(h, (uintptr_t)p);
            p[1] = (unsigned char)(2 * n / 4096);
        }
        if (r % 5 == 0) {
            mprotect(p, 4096, PROT_READ);
            h = mix(h, p[0] + pot[(r >> 3) % 4]);
            mprotect(p, 4096, PROT_READ | PROT_WRITE);
        }
        if (r % 7 == 0) {
            madvise(p, 4096, MADV_DONTNEED);
            h = mix(h, p[0]);
            p[1] = (unsigned char)(r % 3 ? n / 4096 : 2 * n / 4096);
        }
        /* Another thread takes it, reads it and unmaps it. */
        p = __atomic_exchange_n(&shelf[(r >> 12) % 8], p, __ATOMIC_SEQ_CST);
        if (p) {
            h = mix(mix(h, p[0]), p[1]);
            munmap(p, 4096 * (size_t)p[1]);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 150);
    return finish(mix(together(cook), pot[0]));
}
