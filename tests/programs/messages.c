/* Proves: messages in pieces, with addresses, control data (descriptors), several at once, too long ones, and with
 * threads that race on their buffers. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int pair[2];
static volatile char pot[64];

static uint64_t take_in(uint64_t h, const void *p, long n) {
    if (n < 0) return mix(h, (uint64_t)errno);
    for (long i = 0; i < n; i++) h = mix(h, ((const unsigned char *)p)[i]);
    return mix(h, (uint64_t)n);
}

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    struct sockaddr_un named = {.sun_family = AF_UNIX}, from;
    int own = socket(AF_UNIX, SOCK_DGRAM, 0);
    snprintf(named.sun_path + 1, sizeof named.sun_path - 1, "weft-messages-%d-%d", (int)getpid(), me);
    socklen_t len = sizeof named;
    if (bind(own, (struct sockaddr *)&named, len) < 0) perror("bind");
    for (long i = 0; i < rounds; i++) {
        char a[5], b[40], c[256];
        struct iovec in[2] = {{a, sizeof a}, {b, sizeof b}}, out[2] = {{(char *)pot, 3}, {(char *)pot + 7, 1 + h % 40}};
        union {
            struct cmsghdr head;
            char room[CMSG_SPACE(sizeof(int))];
        } u;
        struct msghdr m = {.msg_iov = out, .msg_iovlen = 2};
        pot[h % 64] = (char)h;
        switch (h % 5) {
        case 0: /* to itself, with an address */
            m.msg_name = &named;
            m.msg_namelen = sizeof named;
            h = mix(h, (uint64_t)sendmsg(own, &m, 0));
            m = (struct msghdr){.msg_iov = in, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = sizeof from};
            h = take_in(h, b, recvmsg(own, &m, 0) - 5);
            h = mix(h, m.msg_namelen + (uint64_t)(unsigned)m.msg_flags);
            break;
        case 1: /* a descriptor */
            m.msg_control = &u;
            m.msg_controllen = sizeof u;
            u.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(&u.head), &own, sizeof own);
            h = mix(h, (uint64_t)sendmsg(pair[0], &m, 0));
            m = (struct msghdr){.msg_iov = in, .msg_iovlen = 2, .msg_control = &u, .msg_controllen = sizeof u};
            h = take_in(h, a, recvmsg(pair[1], &m, MSG_DONTWAIT) < 0 ? -1 : 3);
            if (m.msg_controllen >= sizeof(struct cmsghdr)) {
                int fd;
                memcpy(&fd, CMSG_DATA(&u.head), sizeof fd);
                h = mix(h, (uint64_t)fd);
                close(fd);
            }
            break;
        case 2: { /* several */
            struct mmsghdr v[3] = {{.msg_hdr = {.msg_iov = out, .msg_iovlen = 1}}, {.msg_hdr = m}, {.msg_hdr = m}};
            h = mix(h, (uint64_t)sendmmsg(pair[0], v, 3, MSG_DONTWAIT));
            struct mmsghdr w[4] = {{.msg_hdr = {.msg_iov = in, .msg_iovlen = 2}}, {.msg_hdr = {.msg_iov = in + 1, .msg_iovlen = 1}}};
            h = mix(h, (uint64_t)recvmmsg(pair[1], w, 2, MSG_DONTWAIT, NULL));
            h = mix(h, w[0].msg_len * 100 + w[1].msg_len);
            break;
        }
        case 3: /* longer than there is room for */
            h = mix(h, (uint64_t)send(pair[0], (char *)pot, 60, MSG_DONTWAIT));
            in[1].iov_len = 9;
            m = (struct msghdr){.msg_iov = in, .msg_iovlen = 2};
            h = take_in(h, b, recvmsg(pair[1], &m, MSG_TRUNC | MSG_DONTWAIT) < 0 ? -1 : 9);
            h = mix(h, (uint64_t)(unsigned)m.msg_flags);
            break;
        default:
            h = mix(h, (uint64_t)sendto(own, (char *)pot, h % 64, 0, (struct sockaddr *)&named, sizeof named));
            len = sizeof from;
            h = take_in(h, c, recvfrom(own, c, sizeof c, 0, (struct sockaddr *)&from, &len));
            h = mix(h, len);
        }
    }
    close(own);
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 300);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return 2;
    return finish(together(cook));
}
