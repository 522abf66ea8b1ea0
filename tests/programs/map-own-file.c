/* Proves: files that the program itself made, and has removed since, can be mapped. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/mman.h>

int main(void) {
    char name[] = "/tmp/weft-map-XXXXXX", bytes[9000];
    int fd = mkstemp(name), memory = memfd_create("memory", 0);
    for (int i = 0; i < 9000; i++) bytes[i] = (char)(i * 7);
    if (write(fd, bytes, 9000) != 9000 || write(memory, bytes, 5000) != 5000) return 3;
    unsigned char *p = mmap(NULL, 9000, PROT_READ, MAP_SHARED, fd, 0);
    uint64_t h = mix(mix_bytes(0, p, 9000), (uintptr_t)p);
    unlink(name);
    p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
    h = mix_bytes(h, p, 8192); /* the last page has zeros at its end */
    p[3] = 1;
    p = mmap(NULL, 5000, PROT_READ, MAP_PRIVATE, memory, 0);
    h = mix(mix_bytes(h, p, 5000), (uintptr_t)p);
    if (memcmp(p, bytes, 5000)) return 4;
    return finish(h);
}
