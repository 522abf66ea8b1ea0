/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes out: of a write the log has a hash, which replay compares, and its place among those of other threads and processes. Only what
 * went to the recorded stdout and stderr is written again, in the recorded order; and to files, with --write-files (files.c). */
#define _GNU_SOURCE
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <time.h>

#define FD_MAX WEFT_CONSOLE
static unsigned char console[FD_MAX] = {[1] = 1, [2] = 2}; /* which descriptors are the recorded stdout and stderr */
int weft__console(long fd) { return fd >= 0 && fd < FD_MAX ? console[fd] : 0; }

void weft__console_fds(long nr, const long a[6], long r) {
    if (failed(r)) return;
    if (nr == SYS_close && a[0] >= 0 && a[0] < FD_MAX) console[a[0]] = 0;
    if (r >= 0 && r < FD_MAX) {
        if (nr == SYS_dup || nr == SYS_dup2 || nr == SYS_dup3 || (nr == SYS_fcntl && (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)))
            console[r] = weft__console(a[0]);
        else if (nr == SYS_open || nr == SYS_openat || nr == SYS_socket)
            console[r] = 0;
    }
}

/* A program that was executed knows from the launcher which of its descriptors these are. */
void weft__console_begin(struct weft_thread *t) {
    weft__tick(t);
    if (RECORD && weft__control->executed) {
        weft__copy(console, weft__control->console, sizeof console);
        weft__log_input(t, WEFT_OP_DESCRIPTORS, 0, console, sizeof console);
        weft__files_inherited(t, console);
    } else if (!RECORD && weft__gate_op(t) == WEFT_OP_DESCRIPTORS) {
        weft__input(t, WEFT_OP_DESCRIPTORS, 0, console, sizeof console);
        weft__files_inherited(t, console);
    }
}

struct write_item {
    uint64_t hash;
    uint32_t console;
    uint32_t file;   /* number (files.c) */
    int64_t at;      /* in the file, or of a console: number of the write; is there only if there is one */
    uint64_t after;  /* of a console: the write that was logged last, by any process; is there only then */
};
#define WRITE_PIECES (1u << 31) /* in `console`: the hash is that of its pieces' digests */
#define WRITE_SHORT 16
#define WRITE_FILE 24

static uint64_t hash_of(int by_pieces, const unsigned char *data, size_t n, const struct weft_pieces *pieces) {
    uint64_t h = 0;
    if (!by_pieces || !pieces) return weft_digest(data, n);
    for (size_t i = 0; i < pieces->n; i++) {
        uint64_t d = weft_digest(data, pieces->v[i].len);
        h = weft_hash_more(h, &d, sizeof d);
        data += pieces->v[i].len;
    }
    return h;
}

static void console_write(int fd, const unsigned char *p, size_t n) {
    while (n) {
        long r = weft__raw(SYS_write, fd, p, n);
        if (r == -EINTR || r == -EAGAIN) continue;
        if (r <= 0) return;
        p += r;
        n -= (size_t)r;
    }
}

/* Several processes may write to the recorded stdout. What one of them has written and logged comes first in replay too;
 * of two writes at the same time, any. A process that could not go on will not write: then nobody waits. */
static void console_after(uint64_t n) {
    uint64_t *done = &weft__root->console_done[n % WEFT_CONSOLE_RING];
    for (;;) {
        uint32_t wake = __atomic_load_n(&weft__root->console_wake, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(done, __ATOMIC_SEQ_CST) >= n || __atomic_load_n(&weft__root->console_free, __ATOMIC_SEQ_CST)) return;
        weft__raw(SYS_futex, &weft__root->console_wake, FUTEX_WAIT, wake, 0);
    }
}
static void console_wake(void) {
    __atomic_fetch_add(&weft__root->console_wake, 1, __ATOMIC_SEQ_CST);
    weft__raw(SYS_futex, &weft__root->console_wake, FUTEX_WAKE, 1 << 30);
}
static void console_was(uint64_t n) {
    uint64_t *done = &weft__root->console_done[n % WEFT_CONSOLE_RING], had = __atomic_load_n(done, __ATOMIC_SEQ_CST);
    while (had < n && !__atomic_compare_exchange_n(done, &had, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    console_wake();
}
void weft__console_free(void) {
    __atomic_store_n(&weft__root->console_free, 1, __ATOMIC_SEQ_CST);
    console_wake();
}
static void console_logged(uint64_t n) {
    uint64_t *last = &weft__root->console_last, had = __atomic_load_n(last, __ATOMIC_SEQ_CST);
    while (had < n && !__atomic_compare_exchange_n(last, &had, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
}

/* What several threads write to the recorded stdout comes out in one order, which is that of this lock. */
static int console_lock[3];
static long console_fd[3]; /* of who has the lock */
void weft__console_forked(void) { console_lock[0] = console_lock[1] = console_lock[2] = 0; }

static int writable(long fd) {
    struct pollfd p = {(int)fd, POLLOUT, 0};
    struct timespec none = {0};
    return weft__raw(SYS_ppoll, &p, 1, &none, 0, 8) == 1 && (p.revents & POLLOUT);
}

/* The process is about to end in this thread. What another one has just written must get into its stream first, or the
 * replay would not show it. But not for long if it waits for a reader, who may never come. */
void weft__console_settle(void) {
    struct timespec ts = {0, 500000};
    if (weft__steering) weft__steer_end();
    for (int k = 1; k <= 2; k++)
        for (int i = 0, zero = 0; i < 200 || (i < 20000 && writable(console_fd[k])); i++, zero = 0) {
            if (__atomic_compare_exchange_n(&console_lock[k], &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) break;
            weft__raw(SYS_nanosleep, &ts, 0);
        }
}

/* A steered run: as much is written as was in the trace, or all. Only the recorded stdout and stderr are there. */
static long write_steered(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, const struct weft_pieces *pieces, struct write_item *w) {
    struct write_item was = {0};
    struct weft_sched_item *it = weft__given_find(t, WEFT_ITEM_INPUT, nr);
    int64_t r = (int64_t)n;
    if (it && it->size >= 8 + WRITE_SHORT && it->size <= 8 + sizeof was) {
        int64_t gave;
        __builtin_memcpy(&gave, weft__gate_data(it), 8);
        __builtin_memcpy(&was, (const char *)weft__gate_data(it) + 8, it->size - 8);
        weft__given_use(t, it);
        if (was.hash == hash_of(was.console >> 31, data, n, pieces) || failed(gave)) r = gave;
    }
    w->console = weft__console(b[0]);
    if (!w->console) weft__own_write(t, nr, b, data, n, &r);
    w->file = w->console || r <= 0 ? 0 : was.file;
    w->at = was.at;
    if (w->console) {
        weft__order(t, &console_lock[w->console]);
        if (r > 0) console_write((int)w->console, data, (size_t)r);
        w->after = weft__root->console_last;
        w->at = (int64_t)++weft__root->console_seq;
        weft__root->console_last = (uint64_t)w->at;
    }
    weft__tick(t);
    weft__log_input(t, (uint64_t)nr, r, w, w->console ? sizeof *w : w->file ? WRITE_FILE : WRITE_SHORT);
    return r;
}

/* n bytes, gathered at data (record: in the bounce buffer; replay: too), go out by call nr. */
long weft__write_out(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, const struct weft_pieces *pieces) {
    struct write_item w = {0};
    if (RECORD) {
        int by_pieces = pieces && pieces->apart;
        w.hash = by_pieces ? pieces->hash : weft_digest(data, n);
        w.console = weft__console(b[0]);
        w.file = w.console ? 0 : weft__file_of(b[0]);
        int *lock = w.console ? &console_lock[w.console] : w.file ? weft__file_lock(w.file) : NULL, zero = 0;
        weft__tick(t);
        if (lock && !__atomic_compare_exchange_n(lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            weft__outside(t);
            weft__lock(lock);
            weft__inside(t);
        }
        if (w.console) console_fd[w.console] = b[0];
        if (lock) weft__order(t, lock);
        weft__tick(t); /* others may know by now that what was before is done: a fork meanwhile comes after it */
        weft__outside(t);
        long r = weft__raw_wait(t, nr, b);
        if (w.file && r > 0) w.at = weft__file_offset(nr, b, r);
        if (w.console) {
            w.after = __atomic_load_n(&weft__root->console_last, __ATOMIC_SEQ_CST);
            w.at = (int64_t)__atomic_add_fetch(&weft__root->console_seq, 1, __ATOMIC_SEQ_CST);
        }
        weft__inside(t);
        size_t size = w.console ? sizeof w : w.file ? WRITE_FILE : WRITE_SHORT;
        if (by_pieces) w.console |= WRITE_PIECES;
        weft__log_input(t, (uint64_t)nr, r, &w, size);
        if (w.console & ~WRITE_PIECES) console_logged((uint64_t)w.at);
        if (lock) weft__unlock(lock);
        return r;
    }
    struct write_item was = {0};
    weft__tick(t);
    if (weft__given) {
        w.hash = weft_digest(data, n);
        return write_steered(t, nr, b, data, n, pieces, &w);
    }
    weft__tick(t);
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, nr);
    if (!it || (it->size != 8 + sizeof was && it->size != 8 + WRITE_FILE && it->size != 8 + WRITE_SHORT))
        weft__diverged("thread %u at tick %lu makes the system call %s, which the recording does not have there", t->slot,
                       t->tls->clock, weft__sys_name(nr));
    int64_t r;
    __builtin_memcpy(&r, weft__gate_data(it), 8);
    __builtin_memcpy(&was, (const char *)weft__gate_data(it) + 8, it->size - 8);
    if (was.hash != hash_of(was.console >> 31, data, n, pieces))
        weft__diverged("thread %u at tick %lu writes %lu bytes to descriptor %ld that differ from the recorded ones", t->slot,
                       t->tls->clock, n, b[0]);
    was.console &= ~WRITE_PIECES;
    if (was.console && was.after) console_after(was.after);
    if (was.console && r > 0 && !(nr == SYS_pwrite64 && weft__raw(nr, was.console, data, r, b[3]) == r))
        console_write((int)was.console, data, (size_t)r);
    if (was.console && was.at) console_was((uint64_t)was.at);
    if (was.file && r > 0) weft__file_write(was.file, data, (size_t)r, was.at);
    return r;
}

long weft__sys_write(struct weft_thread *t, long nr, const long a[6]) {
    if (a[2] < 0) return weft__emulated(t, nr, a, ""); /* the kernel refuses it */
    size_t n = a[2] > RW_MAX ? (size_t)RW_MAX : (size_t)a[2];
    unsigned char *buf = weft__bounce(t, n + 16);
    weft__take_read(t, (void *)a[1], n);
    weft__copy(buf, (void *)a[1], n);
    long b[6] = {a[0], (long)buf, (long)n, a[3], a[4], a[5]};
    return weft__write_out(t, nr, b, buf, n, NULL);
}
