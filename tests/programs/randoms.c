/* Proves: random numbers from the kernel and from libc's shared generators are the same in the replay. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <fcntl.h>
#include <sys/random.h>
#include <time.h>

static volatile uint32_t pot[8];

static uint64_t cook(int me) {
    uint64_t h = seed_of(me), x;
    unsigned seed = (unsigned)me;
    int fd = open("/dev/urandom", O_RDONLY);
    struct drand48_data d;
    srand48_r(me, &d);
    for (long i = 0; i < rounds; i++) {
        if (getrandom(&x, sizeof x, 0) != sizeof x) return 1;
        h = mix(h, x);
        if (getentropy(&x, sizeof x)) return 2;
        h = mix(h, x);
        if (read(fd, &x, sizeof x) != sizeof x) return 3;
        h = mix(h, x);
        h = mix(h, (uint64_t)rand() + (uint64_t)random() + (uint64_t)rand_r(&seed)); /* shared states */
        h = mix(h, (uint64_t)lrand48());
        double r;
        drand48_r(&d, &r);
        h = mix(h, (uint64_t)(r * 1e9) + arc4random());
        pot[h % 8] ^= (uint32_t)h;
        h = mix(h, pot[(h >> 8) % 8]);
    }
    close(fd);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    srandom(7);
    return finish(together(cook));
}
