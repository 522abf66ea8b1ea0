/* Proves: what goes out from files that are mapped again and again is what the mapping showed then, whole or in part, whoever maps another file there, writes to
 * the mapping or unmaps it meanwhile. */
// RUN: %rr %s %t
#define _GNU_SOURCE
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define SIZE 20003l
#define ROOM 20480l
static unsigned char content[2][SIZE];
static int file[2];
static char names[2][32] = {"/tmp/weft-map-out-XXXXXX", "/tmp/weft-map-out-XXXXXX"};
static char *window; /* of all threads: it shows one of the files, or nothing */

static void make(int k) {
    struct timespec then[2] = {{1700000000, 0}, {1700000000, 0}};
    uint64_t s = seed_of(k);
    int fd = mkstemp(names[k]);
    for (long i = 0; i < SIZE; i++) content[k][i] = (unsigned char)rnd(&s);
    if (fd < 0 || write(fd, content[k], SIZE) != SIZE || futimens(fd, then)) exit(3);
    close(fd);
    file[k] = open(names[k], O_RDONLY);
    if (file[k] < 0) exit(3);
}
static char *show(int k, char *at, int flags) {
    char *p = (char *)mmap(at, SIZE, PROT_READ, flags | (at ? MAP_FIXED : 0), file[k], 0);
    if (p == MAP_FAILED) exit(3);
    return p;
}

/* Through a pipe, and what came out of it. */
static long through(const int fd[2], const struct iovec *v, int n, unsigned char *out) {
    long went = writev(fd[1], v, n), came = 0;
    if (went < 0) return -errno;
    while (came < went) {
        long r = read(fd[0], out + came, (size_t)(went - came));
        if (r <= 0) exit(3);
        came += r;
    }
    return went;
}

static uint64_t serve(int me) {
    static __thread unsigned char out[12 * ROOM];
    uint64_t s = seed_of(me), h = s;
    int fd[2];
    if (pipe(fd)) exit(3);
    for (long i = 0; i < rounds; i++) {
        char head[40], *own = show(me & 1, NULL, i % 2 ? MAP_PRIVATE : MAP_SHARED);
        long at = i % 3 ? 0 : (long)(rnd(&s) % 15000), n = i % 3 ? SIZE : SIZE - at;
        snprintf(head, sizeof head, "%ld bytes from %ld on\n", n, at);
        struct iovec v[4] = {{head, strlen(head)}, {own + at, (size_t)n}, {NULL, 0}, {window + at, (size_t)(n / 2)}};
        long r = through(fd, v, 3, out);
        if (r != n + (long)strlen(head) || memcmp(out + strlen(head), content[me & 1] + at, (size_t)n)) exit(4);
        h = mix_bytes(h, out, (size_t)r);
        r = through(fd, v, 4, out);
        h = mix(h, (uint64_t)r);
        if (r > 0) h = mix_bytes(h, out, (size_t)r);
        if (i % 8 == 5 && !mprotect(own, SIZE, PROT_READ | PROT_WRITE)) { /* not of what is shared */
            own[at + 4000] ^= 1;
            if (through(fd, v, 3, out) < n || out[strlen(head) + 4000] != (content[me & 1][at + 4000] ^ 1)) exit(5);
        }
        munmap(own, SIZE);
        switch (rnd(&s) % 6) {
        case 0: case 1: case 2: show((int)(rnd(&s) & 1), window, i % 2 ? MAP_PRIVATE : MAP_SHARED); break;
        case 3: if (mmap(window + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) exit(3); break;
        default: break;
        }
    }
    return h;
}

/* One maps, and the others do nothing that would order them with it but for what they write. */
static uint64_t look(int me) {
    static __thread unsigned char out[2 * ROOM];
    struct iovec v = {window, SIZE};
    uint64_t h = seed_of(me), s = h;
    int fd[2];
    if (pipe(fd)) exit(3);
    for (long i = 0; me && i < 8 * rounds; i++) {
        long r = through(fd, &v, 1, out);
        h = mix(h, (uint64_t)r);
        if (r > 0) h = mix_bytes(h, out, 8);
    }
    for (long i = 0; !me && i < 40 * rounds; i++) show((int)(rnd(&s) & 1), window, MAP_PRIVATE);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 40);
    make(0);
    make(1);
    window = (char *)mmap(NULL, ROOM, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd[2];
    unsigned char *out = (unsigned char *)malloc(12 * ROOM);
    struct iovec v[12];
    if (pipe(fd)) return 3;
    uint64_t h = together(serve);
    h = mix(h, together(look));
    for (int i = 0; i < 12; i++) v[i] = (struct iovec){show(i & 1, NULL, MAP_SHARED) + 64 * i, 5000};
    if (through(fd, v, 12, out) != 60000) return 4;
    for (int i = 0; i < 12; i++)
        if (memcmp(out + 5000 * i, content[i & 1] + 64 * i, 5000)) return 4;
    unlink(names[0]); /* not before: what is shared of a file without a name may be written */
    unlink(names[1]);
    return finish(h);
}
