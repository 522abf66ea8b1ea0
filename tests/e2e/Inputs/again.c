/* Each thread reads and maps the same files, again and again; now and then somebody changes a byte of one of them. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 100000
static int rounds = 200;

static uint64_t sum(const unsigned char *p, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static void *work(void *arg) {
    static const char *const names[] = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
    uintptr_t me = (uintptr_t)arg, h = me;
    unsigned char buffer[SIZE];
    for (int i = 0; i < rounds; i++) {
        int k = i % 50 < 40 ? i % 3 : i % 10; /* more of them than are remembered, sometimes */
        int fd = open(names[k], O_RDONLY);
        if (fd < 0) return NULL;
        if (i % 2) {
            ssize_t n = read(fd, buffer, (size_t)(SIZE - (i % 70 == 7) * (i * 100)));
            h = h * 31 + sum(buffer, (size_t)n);
        } else {
            unsigned char *p = mmap(NULL, SIZE, PROT_READ, i % 4 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
            if (p == MAP_FAILED) return NULL;
            h = h * 31 + sum(p, SIZE);
            munmap(p, SIZE);
        }
        close(fd);
        if (me == 0 && i % 40 == 39) {
            fd = open("changes", O_WRONLY);
            if (pwrite(fd, &i, 1, i) != 1) return NULL;
            close(fd);
        }
        fd = open("changes", O_RDONLY);
        h = h * 31 + sum(buffer, (size_t)read(fd, buffer, SIZE));
        close(fd);
    }
    return (void *)h;
}

int main(void) {
    pthread_t t[3];
    for (uintptr_t k = 0; k < 3; k++) pthread_create(&t[k], NULL, work, (void *)k);
    for (int k = 0; k < 3; k++) {
        void *h;
        pthread_join(t[k], &h);
        printf("%p\n", h);
    }
    return 0;
}
