/* Proves: reading a mapped file beyond its last page raises SIGBUS in replay as it did, with the same address, and no sooner. */
// RUN: %rr %s %t
#include "common.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define PAGE 4096
static __thread sigjmp_buf back;
static volatile uint32_t turn;
static volatile unsigned char *small, *tail;

static void on_bus(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)context;
    siglongjmp(back, 1 + (int)(((volatile unsigned char *)info->si_addr - small) / PAGE) + (info->si_code == BUS_ADRERR ? 100 : 0));
}

static uint64_t cook(int me) {
    volatile uint64_t h = seed_of(me);
    for (volatile long i = 0; i < rounds; i++) {
        uint32_t page = turn++ % 4; /* races */
        int r = sigsetjmp(back, 1);
        if (r)
            h = mix(h, (uint64_t)r);
        else {
            h = mix(h, page + small[page * PAGE + 17]);
            h = mix(h, tail[page % 2 * PAGE]);
        }
    }
    return h;
}

static volatile unsigned char *map(const char *name, size_t size, size_t from, size_t length) {
    int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
    for (size_t i = 0; i < size; i += 8)
        if (write(fd, "abcdefgh", 8) != 8) exit(1);
    void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)from);
    if (p == MAP_FAILED) exit(1);
    close(fd);
    unlink(name);
    return p;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 60);
    struct sigaction a = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &a, NULL);
    char name[64];
    snprintf(name, sizeof name, "/tmp/weft-sig-bus.%d", (int)getpid());
    small = map(name, 2 * PAGE - 100, 0, 5 * PAGE);
    tail = map(name, 3 * PAGE - 8, 2 * PAGE, 2 * PAGE); /* its second page is beyond the end */
    return finish(together(cook));
}
