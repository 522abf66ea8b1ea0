/* For by-reference.test: a large file, read in all the usual ways by several threads; and a small one. With an argument, the
 * large file is changed in between. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int shared;
static uint64_t sums[4];

static uint64_t add(uint64_t h, const char *p, long n) {
    for (long i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3ull;
    return h;
}

static void *own(void *arg) { /* its own descriptor, read and pread */
    static __thread char buf[100000];
    int k = *(int *)arg, fd = open("large", O_RDONLY);
    uint64_t h = 0;
    for (long n; (n = read(fd, buf, sizeof buf)) > 0;) h = add(h, buf, n);
    for (int i = 0; i < 50; i++) h = add(h, buf, pread(fd, buf, 5000 + (size_t)i, i * 12345));
    h = add(h, buf, pread(fd, buf, 100, 77)); /* small: in the trace */
    close(fd);
    sums[k] = h;
    return NULL;
}

static void *common(void *arg) { /* one descriptor, one offset for all */
    static __thread char buf[30000];
    uint64_t h = 0;
    for (long n; (n = read(shared, buf, sizeof buf)) > 0;) h = add(h, buf, n);
    sums[*(int *)arg] = h;
    return NULL;
}

int main(int argc, char **argv) {
    int id[4] = {0, 1, 2, 3};
    pthread_t t[4];
    char buf[65536];
    (void)argv;
    shared = open("large", O_RDONLY);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, i < 2 ? own : common, &id[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    uint64_t h = 0;
    FILE *f = fopen("large", "r");
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) h = add(h, buf, (long)n);
    fclose(f);
    f = fopen("small", "r");
    while (fgets(buf, sizeof buf, f)) h = add(h, buf, (long)strlen(buf));
    fclose(f);
    if (argc > 1) {
        int fd = open("large", O_RDWR);
        if (read(fd, buf, 8192) != 8192 || pwrite(fd, "changed", 7, 4000) != 7) return 2; /* O_RDWR: in the trace */
        h = add(h, buf, pread(shared, buf, sizeof buf, 0)); /* a reference to what it is now */
        close(fd);
    }
    printf("%lx %lx %lx %lx %lx\n", sums[0], sums[1], sums[2], sums[3], h);
    return 0;
}
