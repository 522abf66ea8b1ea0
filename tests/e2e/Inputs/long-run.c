/* For memory.test: threads that come and go, and reads that fill the log; by how much did the process grow meanwhile? */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buf[65536];

/* Mappings; and KiB of address space and of memory. */
static void look(long out[3]) {
    char *p;
    size_t n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    n = fread(buf, 1, sizeof buf - 1, f);
    buf[n] = 0;
    fclose(f);
    out[1] = (p = strstr(buf, "VmSize:")) ? atol(p + 7) : 0;
    out[2] = (p = strstr(buf, "VmRSS:")) ? atol(p + 6) : 0;
    f = fopen("/proc/self/maps", "r");
    for (out[0] = 0; fgets(buf, sizeof buf, f);) out[0]++;
    fclose(f);
}

static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv) {
    long was[3], is[3];
    int threads = atoi(argv[1]), reads = atoi(argv[2]);
    int fd = open("/dev/urandom", O_RDONLY);
    (void)argc;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < (round ? threads : 20); i++) {
            pthread_t t;
            if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL)) return 2;
        }
        for (int i = 0; i < (round ? reads : 20); i++)
            if (read(fd, buf, sizeof buf) != sizeof buf) return 3;
        look(round ? is : was);
    }
    printf("%ld %ld %ld\n", is[0] - was[0], is[1] - was[1], is[2] - was[2]);
    return 0;
}
