/* Proves: what a file shows where it is mapped again and again replays exactly, also when it was changed and its times do not tell, or
 * is shorter; each thread maps files of its own, and one that all map. A descriptor keeps its signal, owner and lease when it is mapped. */
// RUN: %rr %s %t
#include "common.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SIZE 20003
static const char *folder;

static int make(const char *path, uint64_t seed) {
    static __thread unsigned char b[SIZE];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < SIZE; i++) b[i] = (unsigned char)(seed = mix(seed, (uint64_t)i));
    if (fd < 0 || write(fd, b, SIZE) != SIZE) exit(3);
    return fd;
}

static void yesterday(int fd) {
    struct timespec then[2] = {{1700000000, 0}, {1700000000, 0}};
    if (futimens(fd, then)) exit(3);
}

static uint64_t shown(const char *path, uint64_t h, size_t n, int flags, long round) {
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) exit(3);
    if (n > (size_t)st.st_size) n = (size_t)st.st_size;
    if (round % 5 == 1 && fcntl(fd, F_SETSIG, SIGURG)) exit(3);
    if (round % 5 == 3) fcntl(fd, F_SETLEASE, F_RDLCK); /* it may be refused */
    int sig = fcntl(fd, F_GETSIG), own = fcntl(fd, F_GETOWN), lease = fcntl(fd, F_GETLEASE);
    unsigned char *p = (unsigned char *)mmap(NULL, n, PROT_READ, flags, fd, 0);
    if (sig != fcntl(fd, F_GETSIG) || own != fcntl(fd, F_GETOWN) || lease != fcntl(fd, F_GETLEASE)) exit(4);
    close(fd);
    if (p == MAP_FAILED) exit(3);
    h = mix(mix_bytes(h, p, n), (uintptr_t)p);
    munmap(p, n);
    return h;
}

static uint64_t look(int me) {
    char own[300], all[300];
    uint64_t h = seed_of(me);
    snprintf(own, sizeof own, "%s.%d", folder, me);
    snprintf(all, sizeof all, "%s.all", folder);
    int fd = make(own, (uint64_t)me);
    yesterday(fd);
    for (long i = 0; i < rounds; i++) {
        h = shown(all, h, SIZE, i % 2 ? MAP_PRIVATE : MAP_SHARED, i / 2);
        h = shown(own, h, i % 7 ? SIZE : 9000, MAP_PRIVATE, i);
        if (i % 10 == 9) { /* another byte, where nobody looks first */
            unsigned char c = (unsigned char)h;
            if (pwrite(fd, &c, 1, (long)(h >> 8) % SIZE) != 1) exit(3);
            yesterday(fd);
        }
        if (i == rounds / 2) {
            if (ftruncate(fd, SIZE - 8000)) exit(3);
            yesterday(fd);
        }
    }
    close(fd);
    unlink(own);
    return h;
}

int main(int argc, char **argv) {
    char all[300];
    args(argc, argv, 4, 60);
    char name[] = "/tmp/weft-map-again-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) return 3;
    close(fd);
    folder = name;
    snprintf(all, sizeof all, "%s.all", name);
    fd = make(all, 77);
    yesterday(fd);
    close(fd);
    uint64_t h = together(look);
    unlink(all);
    unlink(name);
    return finish(h);
}
