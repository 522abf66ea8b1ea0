/* Proves: preadv and preadv2 read at their offset and pwritev and pwritev2 write there, while threads share the file and
 * its position, which stays. */
// RUN: %rr %s %t
#include "common.h"
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static int fd, wrong;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    char a[3], b[5];
    struct iovec v[2] = {{a, 3}, {b, 5}};
    for (long i = 0; i < rounds; i++) {
        off_t at = (off_t)(h >> 8 & 63) * 8;
        long r;
        switch (h & 3) {
        case 0: r = preadv(fd, v, 2, at); break;
        case 1: r = preadv2(fd, v, 2, at, 0); break;
        case 2: memcpy(a, &at, 3), memcpy(b, &h, 5), r = pwritev(fd, v, 2, at); break;
        default: memcpy(a, &at, 3), memcpy(b, &h, 5), r = pwritev2(fd, v, 2, at, 0); break;
        }
        if (r != 8 || memcmp(a, &at, 3)) wrong = 1;
        h = mix(h, (uint64_t)(unsigned char)b[0] << 8 | (unsigned char)b[4]);
    }
    return h;
}

int main(int argc, char **argv) {
    char name[] = "/tmp/weft-preadv-XXXXXX";
    fd = mkstemp(name);
    if (fd < 0) return 2;
    unlink(name);
    for (long at = 0; at < 512; at += 8)
        if (pwrite(fd, &at, 8, at) != 8) return 2;
    args(argc, argv, 4, 500);
    uint64_t h = together(cook);
    printf("position %ld\n", (long)lseek(fd, 0, SEEK_CUR));
    return finish(h) || wrong;
}
