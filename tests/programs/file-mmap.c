/* Proves: a file that is mapped privately by several threads, with writes to the mapping, replays exactly. */
// RUN: %rr %s %t
#include "common.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static unsigned char *volatile map;
static size_t size;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    for (long i = 0; i < rounds; i++) {
        h = mix(h, map[h % size]);
        map[(h >> 20) % size] = (unsigned char)h;
        if (i % 64 == 0) {
            int fd = open("/proc/self/exe", O_RDONLY);
            unsigned char *p = (unsigned char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
            close(fd);
            if (p == MAP_FAILED) return 1;
            h = mix(mix_bytes(h, p, 64), (uintptr_t)p);
            munmap(p, 4096);
        }
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1000);
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) return 3;
    size = (size_t)st.st_size < 16384 ? (size_t)st.st_size : 16384;
    map = (unsigned char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return 3;
    uint64_t h = together(cook);
    return finish(mix_bytes(h, map, size));
}
