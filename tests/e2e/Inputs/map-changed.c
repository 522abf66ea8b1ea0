/* A file changes while it is mapped, and what the mapping shows then is written. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIZE 20000
static char bytes[SIZE], out[SIZE];

int main(void) {
    struct timespec then[2] = {{1700000000, 0}, {1700000000, 0}};
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), to[2];
    if (fd < 0 || write(fd, bytes, SIZE) != SIZE || futimens(fd, then) || pipe(to)) return 3;
    for (int i = 0; i < 5; i++) {
        int r = open("file", O_RDONLY);
        char *p = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, r, 0);
        struct iovec v = {p, SIZE};
        if (p == MAP_FAILED || close(r)) return 3;
        if (i == 4 && pwrite(fd, "changed", 7, 10000) != 7) return 3;
        if (writev(to[1], &v, 1) != SIZE || read(to[0], out, SIZE) != SIZE) return 3;
        if (memcmp(out + 10000, i == 4 ? "changed" : "\0\0\0\0\0\0", 7)) return 4;
        munmap(p, SIZE);
    }
    puts("it sent what the mapping showed");
    return 0;
}
