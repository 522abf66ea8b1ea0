/* Proves: pipes between threads, poll, select and non-blocking reads replay with the same results. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>

static int ring[MAX_THREADS][2];
static volatile uint32_t pot[8];

/* Each thread writes into its own pipe and reads from its neighbour's. */
static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    int in = ring[(me + 1) % threads][0], out = ring[me][1];
    long sent = 0, got = 0;
    while (sent < rounds || got < rounds * 8) {
        if (sent < rounds) {
            uint64_t x = mix(h, pot[h % 8]++);
            ssize_t n = write(out, &x, sizeof x);
            if (n != sizeof x) return 1;
            sent++;
        }
        char buf[64];
        ssize_t n;
        int ready = 0;
        switch (h % 4) {
        case 0: {
            struct pollfd p = {in, POLLIN, 0};
            ready = poll(&p, 1, 1);
            h = mix(h, (uint64_t)p.revents);
            break;
        }
        case 1: {
            fd_set set;
            FD_ZERO(&set);
            FD_SET(in, &set);
            struct timeval t = {0, 500};
            ready = select(in + 1, &set, NULL, NULL, &t);
            break;
        }
        case 2: ioctl(in, FIONREAD, &ready); break;
        default: {
            struct pollfd p = {in, POLLIN, 0};
            struct timespec t = {0, 200000};
            ready = ppoll(&p, 1, &t, NULL);
        }
        }
        h = mix(h, (uint64_t)ready);
        n = read(in, buf, 1 + h % sizeof buf);
        if (n > 0) got += n, h = mix_bytes(h, buf, (size_t)n);
        else h = mix(h, (uint64_t)errno);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 60);
    for (int i = 0; i < threads; i++)
        if (pipe2(ring[i], O_CLOEXEC) || fcntl(ring[i][0], F_SETFL, O_NONBLOCK)) return 3;
    uint64_t h = together(cook);
    for (int i = 0; i < threads; i++) close(ring[i][0]), close(ring[i][1]);
    return finish(h);
}
