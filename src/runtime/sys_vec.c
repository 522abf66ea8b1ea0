/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* System calls whose bytes lie in several places: readv and writev and their kin, messages with address and control data.
 *
 * What goes out is gathered in the bounce buffer, each piece an access with a tick of its own, and what comes in is laid
 * out there and scattered likewise. The kernel sees one piece; but of a file that is mapped again and again, writev gives it the runtime's bytes (sys_vm.c). */
#define _GNU_SOURCE
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define IOV_MOST 1024
#define USED_MOST 8 /* pieces of a write that are not copied */
#define MESSAGE_MOST 0x7ffff000ul /* what the kernel moves in one call */

/* ---- pieces. Each of these is one access of the program, done before the thread may lose what it needs for it. */

static void fetch(struct weft_thread *t, void *to, const void *from, size_t n) {
    weft__take_read(t, from, n);
    weft__copy(to, from, n);
    weft__tick(t);
}

static void store(struct weft_thread *t, void *to, const void *from, size_t n) {
    weft__take(t, to, n);
    weft__copy(to, from, n);
    weft__tick(t);
}

/* Sum of the lengths, or -EINVAL as the kernel has it. */
static long fetch_iov(struct weft_thread *t, struct weft_iov *v, const void *from, size_t n) {
    uint64_t sum = 0;
    fetch(t, v, from, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        if ((long)v[i].len < 0) return -EINVAL;
        if (v[i].len > MESSAGE_MOST - sum) v[i].len = MESSAGE_MOST - sum; /* as the kernel does */
        sum += v[i].len;
    }
    return (long)sum;
}

static void gather(struct weft_thread *t, unsigned char *to, const struct weft_iov *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].len) fetch(t, to, v[i].base, v[i].len);
        to += v[i].len;
    }
}

static void scatter(struct weft_thread *t, const struct weft_iov *v, size_t n, const unsigned char *from, size_t bytes) {
    for (size_t i = 0; i < n && bytes; i++) {
        size_t k = v[i].len < bytes ? v[i].len : bytes;
        if (k) store(t, v[i].base, from, k);
        from += k;
        bytes -= k;
    }
}

/* A call whose result alone is an input. */
static long plain(struct weft_thread *t, long nr, const long a[6]) {
    long r = 0;
    if (RECORD) {
        weft__outside(t);
        r = weft__raw_wait(t, nr, a);
        weft__inside(t);
    }
    return weft__input(t, (int)nr, r, NULL, 0);
}

long weft__sys_writev(struct weft_thread *t, long nr, const long a[6]) {
    struct weft_iov v[IOV_MOST];
    long n = a[2] < 0 || a[2] > IOV_MOST ? -EINVAL : fetch_iov(t, v, (void *)a[1], (size_t)a[2]);
    if (n < 0) return plain(t, nr, (long[6]){a[0], 0, -1, a[3], a[4], a[5]}); /* the kernel may find more that is wrong */
    unsigned char *buf = weft__bounce(t, (size_t)n + 16), *at = buf;
    void *used[USED_MOST];
    uint64_t hash[USED_MOST];
    size_t nused = 0, index[USED_MOST];
    for (size_t i = 0; i < (size_t)a[2]; at += v[i++].len) {
        const unsigned char *shown = NULL;
        if (RECORD && nused < USED_MOST) shown = weft__shown_bytes(t, v[i].base, v[i].len, &hash[nused], &used[nused]);
        if (shown) {
            index[nused++] = i;
            weft__tick(t);
        } else if (v[i].len)
            fetch(t, at, v[i].base, v[i].len);
        v[i].base = (char *)(shown ? shown : at);
    }
    struct weft_pieces pieces = {v, (size_t)a[2], nused > 0, 0};
    for (size_t i = 0, k = 0; pieces.apart && i < pieces.n; i++) {
        uint64_t d = k < nused && index[k] == i ? hash[k++] : weft_digest(v[i].base, v[i].len);
        pieces.hash = weft_hash_more(pieces.hash, &d, sizeof d);
    }
    struct weft_iov one = {(char *)buf, (size_t)n};
    long b[6] = {a[0], pieces.apart ? (long)v : (long)&one, pieces.apart ? a[2] : 1, a[3], a[4], a[5]};
    long r = weft__write_out(t, nr, b, buf, (size_t)n, &pieces);
    while (nused) weft__shown_done(used[--nused]);
    return r;
}

/* Does a call that fills buf, or takes what it filled from the log. */
static long fill(struct weft_thread *t, long nr, const long b[6], unsigned char *buf) {
    weft__tick(t);
    if (RECORD) {
        weft__outside(t);
        long r = weft__raw_wait(t, nr, b);
        weft__inside(t);
        weft__log_input(t, (uint64_t)nr, r, buf, r > 0 ? (size_t)r : 0);
        return r;
    }
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, nr);
    if (!it)
        weft__diverged("thread %u at tick %lu makes the system call %s, which the recording does not have there", t->slot,
                       t->tls->clock, weft__sys_name(nr));
    int64_t r;
    __builtin_memcpy(&r, weft__gate_data(it), 8);
    if (r > 0) weft__copy(buf, (const char *)weft__gate_data(it) + 8, (size_t)r);
    return r;
}

long weft__sys_readv(struct weft_thread *t, long nr, const long a[6]) {
    struct weft_iov v[IOV_MOST];
    long n = a[2] < 0 || a[2] > IOV_MOST ? -EINVAL : fetch_iov(t, v, (void *)a[1], (size_t)a[2]);
    if (n < 0) return plain(t, nr, (long[6]){a[0], 0, -1, a[3], a[4], a[5]});
    unsigned char *buf = weft__bounce(t, (size_t)n + 16);
    struct weft_iov one = {(char *)buf, (size_t)n};
    long r = fill(t, nr, (long[6]){a[0], (long)&one, 1, a[3], a[4], a[5]}, buf);
    if (r > 0) scatter(t, v, (size_t)a[2], buf, (size_t)r);
    return r;
}

/* ---- messages */

#define NAME_MOST 128ul
#define CONTROL_MOST (1ul << 20)

static size_t at_most(size_t n, size_t most) { return n < most ? n : most; }

long weft__sys_sendto(struct weft_thread *t, const long a[6]) {
    size_t n = at_most((size_t)a[2], MESSAGE_MOST), nn = a[4] ? at_most((unsigned)a[5], NAME_MOST) : 0;
    unsigned char *buf = weft__bounce(t, n + nn);
    if (n) fetch(t, buf, (void *)a[1], n);
    if (nn) fetch(t, buf + n, (void *)a[4], nn);
    long b[6] = {a[0], (long)buf, a[2], a[3], nn ? (long)(buf + n) : 0, a[5]};
    return weft__write_out(t, SYS_sendto, b, buf, n + nn, NULL);
}

long weft__sys_sendmsg(struct weft_thread *t, const long a[6]) {
    struct msghdr m;
    struct weft_iov v[IOV_MOST];
    fetch(t, &m, (void *)a[1], sizeof m);
    size_t count = m.msg_iov ? m.msg_iovlen : 0;
    long n = count > IOV_MOST ? -EMSGSIZE : fetch_iov(t, v, m.msg_iov, count);
    if (n < 0) return weft__input(t, SYS_sendmsg, n, NULL, 0);
    size_t nn = m.msg_name ? at_most(m.msg_namelen, NAME_MOST) : 0;
    size_t cn = m.msg_control ? at_most(m.msg_controllen, CONTROL_MOST) : 0, at = (size_t)n + nn;
    at = (at + 15) & ~15ul; /* the kernel reads numbers there */
    unsigned char *buf = weft__bounce(t, at + cn);
    gather(t, buf, v, count);
    if (nn) fetch(t, buf + n, m.msg_name, nn);
    for (size_t i = (size_t)n + nn; i < at; i++) buf[i] = 0;
    if (cn) fetch(t, buf + at, m.msg_control, cn);
    struct weft_iov one = {(char *)buf, (size_t)n};
    struct msghdr k = {.msg_name = nn ? buf + n : NULL, .msg_namelen = m.msg_namelen, .msg_iov = (struct iovec *)&one,
                       .msg_iovlen = 1, .msg_control = cn ? buf + at : NULL, .msg_controllen = cn};
    return weft__write_out(t, SYS_sendmsg, (long[6]){a[0], (long)&k, a[2]}, buf, at + cn, NULL);
}

long weft__sys_recvmsg(struct weft_thread *t, const long a[6]) {
    struct msghdr m;
    struct weft_iov v[IOV_MOST];
    /* What the log gets beside the data, in front of it. */
    struct head {
        uint32_t name, control; /* lengths as the kernel gives them */
        uint32_t flags, zero;
    };
    fetch(t, &m, (void *)a[1], sizeof m);
    size_t count = m.msg_iov ? m.msg_iovlen : 0;
    long n = count > IOV_MOST ? -EMSGSIZE : fetch_iov(t, v, m.msg_iov, count);
    if (n < 0) return weft__input(t, SYS_recvmsg, n, NULL, 0);
    size_t nn = m.msg_name ? at_most(m.msg_namelen, NAME_MOST) : 0;
    size_t cn = m.msg_control ? at_most(m.msg_controllen, CONTROL_MOST) : 0;
    size_t data_at = sizeof(struct head) + NAME_MOST + ((cn + 15) & ~15ul);
    /* head, name, control, data */
    unsigned char *buf = weft__bounce(t, data_at + (size_t)n);
    unsigned char *name = buf + sizeof(struct head), *control = name + NAME_MOST, *data = buf + data_at;
    struct head *h = (struct head *)buf;
    long r;
    weft__tick(t);
    if (RECORD) {
        struct weft_iov one = {(char *)data, (size_t)n};
        struct msghdr k = {.msg_name = m.msg_name ? name : NULL, .msg_namelen = (socklen_t)nn, .msg_iov = (struct iovec *)&one,
                           .msg_iovlen = 1, .msg_control = cn ? control : NULL, .msg_controllen = cn};
        for (size_t i = 0; i < data_at; i++) buf[i] = 0;
        weft__outside(t);
        r = weft__raw_wait(t, SYS_recvmsg, (long[6]){a[0], (long)&k, a[2]});
        weft__inside(t);
        *h = (struct head){(uint32_t)k.msg_namelen, (uint32_t)k.msg_controllen, (uint32_t)k.msg_flags, 0};
        weft__log_input(t, SYS_recvmsg, r, buf, failed(r) ? 0 : data_at + at_most((size_t)r, (size_t)n));
    } else {
        struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, SYS_recvmsg);
        if (!it)
            weft__diverged("thread %u at tick %lu makes the system call recvmsg, which the recording does not have there",
                           t->slot, t->tls->clock);
        int64_t was;
        __builtin_memcpy(&was, weft__gate_data(it), 8);
        r = was;
        weft__copy(buf, (const char *)weft__gate_data(it) + 8, at_most(it->size - 8, data_at + (size_t)n));
    }
    if (failed(r)) return r;
    scatter(t, v, count, data, at_most((size_t)r, (size_t)n));
    if (at_most(h->name, nn)) store(t, m.msg_name, name, at_most(h->name, nn));
    if (at_most(h->control, cn)) store(t, m.msg_control, control, at_most(h->control, cn));
    if (m.msg_name) m.msg_namelen = h->name;
    m.msg_controllen = h->control;
    m.msg_flags = (int)h->flags;
    store(t, (void *)a[1], &m, sizeof m);
    return r;
}

/* Several messages: one after the other, as the kernel does it. */
long weft__sys_mmsg(struct weft_thread *t, long nr, const long a[6]) {
    struct mmsghdr *v = (struct mmsghdr *)a[1];
    unsigned flags = (unsigned)a[3], n = (unsigned)a[2] < IOV_MOST ? (unsigned)a[2] : IOV_MOST, i;
    long r = 0;
    if (nr == SYS_recvmmsg && a[4]) weft__refuse("recvmmsg with a timeout cannot be recorded yet");
    for (i = 0; i < n; i++) {
        long b[6] = {a[0], (long)&v[i].msg_hdr, (long)(flags & ~(unsigned)MSG_WAITFORONE)};
        r = nr == SYS_sendmmsg ? weft__sys_sendmsg(t, b) : weft__sys_recvmsg(t, b);
        if (failed(r) || r == -WEFT_RESTART || r == -WEFT_CANCELLED) break;
        unsigned len = (unsigned)r;
        store(t, &v[i].msg_len, &len, sizeof len);
        if (flags & MSG_WAITFORONE) flags |= MSG_DONTWAIT;
    }
    return i ? (long)i : r;
}

/* ioctl SIOCGIFCONF: the addresses of interfaces, as many as fit; only how many bytes there are, if there is no place for them. */
#define ADDRESSES_MOST (64u << 10)
long weft__sys_ifconf(struct weft_thread *t, const long a[6]) {
    struct ifconf c;
    fetch(t, &c, (void *)a[2], sizeof c);
    int places = c.ifc_buf != NULL;
    size_t n = !places || c.ifc_len < 0 ? 0 : at_most((size_t)c.ifc_len, ADDRESSES_MOST);
    unsigned char *buf = weft__bounce(t, 8 + n); /* how many bytes the kernel gave; these */
    long r = 0;
    int64_t got = 0;
    for (size_t i = 0; i < 8 + n; i++) buf[i] = 0;
    weft__tick(t);
    if (RECORD) {
        struct ifconf k = {.ifc_len = places && c.ifc_len >= 0 ? (int)n : c.ifc_len, .ifc_buf = places ? (char *)buf + 8 : NULL};
        weft__outside(t);
        r = weft__raw(SYS_ioctl, a[0], SIOCGIFCONF, &k);
        weft__inside(t);
        got = k.ifc_len;
        weft__copy(buf, &got, 8);
    }
    r = weft__input(t, SYS_ioctl, r, buf, 8 + n);
    if (failed(r)) return r;
    weft__copy(&got, buf, 8);
    c.ifc_len = (int)got;
    if (places && got > 0 && at_most((size_t)got, n)) store(t, c.ifc_buf, buf + 8, at_most((size_t)got, n));
    store(t, (void *)a[2], &c, sizeof c);
    return r;
}
