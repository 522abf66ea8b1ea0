/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A steered run: what the program writes itself, and reads again. Inputs come from the trace, but what comes back through a pipe, a pair of
 * sockets or a file of its own depends on what this run wrote, and that may be less than in the trace, or in another order.
 *
 * So such descriptors have a *shadow*: a pipe, pair or file in memory that is really there, made when the program makes its own. Its number
 * and the result of making it come from the trace, as ever. Reading, writing, seeking and asking for the size are done with the shadow;
 * what they give is logged. Calls on one object are ordered, or a later run could not tell whose came first. A thread that finds a pipe
 * empty, or full, is blocked until somebody does something with the other end. poll, and epoll_wait, look at the shadows if all that they are to look
 * at has some; a time-out is over when nobody else can go on.
 *
 * A file has a shadow if it was empty when it was opened: new, or cut. One that was there before is taken from the trace, until the
 * program writes to it: from then on, what it reads there is not known, and ends the run (weft__missing). So does whatever else reads
 * such an object: mmap, splice, poll of others beside it. A file is known again by the name that it was opened by.
 *
 * A file that is opened to be read, and is still there as it was when the trace was recorded, has itself for a shadow: a run that goes another way may
 * read further than the trace does. (xz crashed before it had read the whole of its input: any order in which it does not needs the rest.) Where
 * it is not, and for calls that have no shadow, there is the trace. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define DESCRIPTORS 4096
#define OBJECTS 1024
#define NAME 256
#define SHADOWS 600 /* descriptors from here on */
#define POLLED 256

enum { NONE = 0, STREAM, EMPTY, FOUND, THERE, EPOLL }; /* FOUND: a file that was there before; THERE: and is as it was, and read only */
static struct own {
    int shadow; /* FOUND: -1 */
    uint16_t object;
    uint16_t watched; /* object of the EPOLL that it was added to, + 1 */
    uint8_t kind, at_once; /* O_NONBLOCK */
} own[DESCRIPTORS];
static struct object {
    char name[NAME]; /* empty: none, or it has lost it */
    int file;        /* EMPTY: one more descriptor, to open it again by; 0: none */
    uint8_t kind, written;
    uint8_t others;  /* EPOLL: it has descriptors without a shadow */
} objects[OBJECTS];
static char stirred; /* who polls waits for that: something was done with a stream */
static uint16_t nobjects;
static int moved; /* the program has another working folder than this process */

static struct own *of(long fd) { return fd >= 0 && fd < DESCRIPTORS && own[fd].kind ? &own[fd] : NULL; }

static int up(long fd) {
    if (failed(fd)) weft__missing("no more descriptors for files of its own");
    long r = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SHADOWS);
    weft__raw(SYS_close, fd);
    if (failed(r)) weft__missing("no more descriptors for files of its own");
    return (int)r;
}

static uint16_t new_object(int kind, const char *name) {
    if (nobjects == OBJECTS) weft__missing("it makes more than %d files and pipes", OBJECTS);
    struct object *o = &objects[nobjects];
    *o = (struct object){.kind = (uint8_t)kind};
    size_t n = 0;
    while (name && name[n] && n < NAME - 1) o->name[n] = name[n], n++;
    if (name && name[n]) weft__missing("it opens a file with a name of more than %d bytes", NAME - 1);
    return nobjects++;
}

static void put(long fd, int shadow, uint16_t object, int at_once) {
    if (fd < 0 || fd >= DESCRIPTORS || of(fd)) weft__missing("descriptor %ld is made anew while it is in use", fd);
    own[fd] = (struct own){.shadow = shadow, .object = object, .kind = objects[object].kind, .at_once = (uint8_t)at_once};
}

static int is_ready(const struct own *o, short what) {
    struct pollfd p = {o->shadow, what, 0};
    struct timespec none = {0};
    return weft__raw(SYS_ppoll, &p, 1, &none, 0, 8) == 1;
}

/* Before the call has its place in the order: whom it waits for comes first. 0, or EINTR. */
static int wait_for(struct weft_thread *t, const struct own *o, short what) {
    while (o->kind == STREAM && !o->at_once && !is_ready(o, what)) {
        int e = weft__turns_block(t, WEFT_WAIT_CALL, &objects[o->object], NULL);
        if (e == EINTR) return e;
    }
    return 0;
}

static void release(const struct object *x) {
    weft__turns_release(x);
    if (x->kind == STREAM || x->kind == EPOLL) weft__turns_release(&stirred);
}

/* ---- calls on descriptors */

static const char *base(const char *name) {
    const char *b = name;
    for (; *name; name++)
        if (*name == '/') b = name + 1;
    return b;
}
static int same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
static struct object *named(const char *name) {
    for (uint16_t i = 0; name && i < nobjects; i++) {
        if (!*objects[i].name) continue;
        if (same(objects[i].name, name)) return &objects[i];
        if (objects[i].written && same(base(objects[i].name), base(name)))
            weft__missing("a file that the program wrote may be meant by another name");
    }
    return NULL;
}

/* A shadow that does not go along with the program's file any more: the trace is all there is. */
static void drop(const struct object *x) {
    for (long fd = 0; fd < DESCRIPTORS; fd++)
        if (of(fd) && &objects[own[fd].object] == x) {
            weft__raw(SYS_close, own[fd].shadow);
            own[fd].kind = NONE;
        }
}

static void must_not(long fd, const char *what) {
    struct own *o = of(fd);
    if (o && ((o->kind != FOUND && o->kind != THERE) || objects[o->object].written)) weft__missing("%s of what the program itself wrote", what);
    if (o && o->kind == THERE) drop(&objects[o->object]);
}

/* Whether all of these are streams with a shadow, or left out. */
static int all_own(const struct pollfd *p, long n) {
    int any = 0;
    if (!p || n < 1 || n > POLLED) return 0;
    for (long i = 0; i < n; i++) {
        if (p[i].fd < 0) continue;
        if (!of(p[i].fd) || of(p[i].fd)->kind != STREAM) return 0;
        any = 1;
    }
    return any;
}

/* One that has no shadow among those of an EPOLL, or the other way round: none of its events can be had. */
static int has_own(const struct own *o) {
    for (long fd = 0; fd < DESCRIPTORS; fd++)
        if (of(fd) && own[fd].watched == o->object + 1) return 1;
    return 0;
}
static int can_watch(const struct own *o, long fd) {
    int stream = of(fd) && of(fd)->kind == STREAM;
    if (stream ? objects[o->object].others : has_own(o)) weft__missing("epoll of what the program itself wrote, and of something else");
    return stream;
}

/* Calls that read an object in ways that have no shadow. */
static void refuse(long nr, const long a[6]) {
    switch (nr) {
    case SYS_poll: case SYS_ppoll:
        if (nr == SYS_poll && all_own((const struct pollfd *)a[0], a[1])) break;
        for (long i = 0; a[0] && i < a[1] && i < DESCRIPTORS; i++) must_not(((const struct pollfd *)a[0])[i].fd, "poll");
        break;
    case SYS_select: case SYS_pselect6:
        for (long fd = 0; fd < a[0] && fd < 1024; fd++)
            for (int k = 1; k <= 3; k++)
                if (a[k] && ((const uint64_t *)a[k])[fd / 64] >> fd % 64 & 1) must_not(fd, "select");
        break;
    case SYS_epoll_ctl:
        if (of(a[0]) && of(a[0])->kind == EPOLL && can_watch(of(a[0]), a[2])) break;
        must_not(a[2], "epoll");
        if (of(a[0]) && of(a[0])->kind == EPOLL) objects[of(a[0])->object].others = 1;
        break;
    case SYS_epoll_pwait:
        if (of(a[0]) && has_own(of(a[0]))) weft__missing("epoll_pwait of what the program itself wrote");
        break;
    case SYS_mmap: /* but for MAP_ANONYMOUS, and what is only read */
        if (!(a[3] & 0x20) && !(of(a[4]) && of(a[4])->kind == THERE)) must_not(a[4], "a mapping");
        break;
    case SYS_sendfile: must_not(a[1], "sendfile"); must_not(a[0], "sendfile"); break;
    case SYS_splice: case SYS_copy_file_range: case SYS_tee: must_not(a[0], "splice"); must_not(a[2], "splice"); break;
    case SYS_readv: case SYS_preadv: case SYS_preadv2: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_getdents64: case SYS_fallocate: must_not(a[0], weft__sys_name(nr)); break;
    case SYS_stat: case SYS_lstat: case SYS_truncate: case SYS_access: case SYS_open: case SYS_creat:
        if (named((const char *)a[0]) && named((const char *)a[0])->written && nr != SYS_open && nr != SYS_creat) weft__missing("%s of a file that the program wrote", weft__sys_name(nr));
        break;
    case SYS_newfstatat: case SYS_statx:
        if (a[1] && *(const char *)a[1] && named((const char *)a[1]) && named((const char *)a[1])->written) weft__missing("%s of a file that the program wrote", weft__sys_name(nr));
        break;
    default: break;
    }
}

/* What the trace has of this call is used up, though something else is given. */
static struct weft_sched_item *use(struct weft_thread *t, long nr) {
    struct weft_sched_item *i = weft__given_find(t, WEFT_ITEM_INPUT, nr);
    if (i) weft__given_use(t, i);
    return i;
}

static int waits_to_read(long nr, const long a[6]) { return nr == SYS_read || (nr == SYS_recvfrom && !(a[3] & MSG_DONTWAIT)); }

int weft__own_begin(struct weft_thread *t, long nr, const long a[6], long b[6]) {
    refuse(nr, a);
    struct own *o = of(a[0]);
    if (nr == SYS_poll && all_own((const struct pollfd *)a[0], a[1])) {
        weft__turns_yield(t);
        for (int i = 0; i < 6; i++) b[i] = a[i];
        use(t, nr);
        return WEFT_OWN_LIVE;
    }
    if (!o) return 0;
    if (o->kind == EPOLL && nr != SYS_close) {
        if ((nr != SYS_epoll_ctl && nr != SYS_epoll_wait) || objects[o->object].others) return 0;
        for (int i = 0; i < 6; i++) b[i] = a[i];
        b[0] = o->shadow;
        if (nr == SYS_epoll_wait)
            weft__turns_yield(t);
        else {
            struct own *w = of(a[2]);
            weft__order(t, &objects[o->object]);
            b[2] = w->shadow;
            w->watched = a[1] == EPOLL_CTL_DEL ? 0 : (uint16_t)(o->object + 1);
        }
        use(t, nr);
        return WEFT_OWN_LIVE;
    }
    switch (nr) {
    case SYS_read: case SYS_pread64: case SYS_recvfrom: case SYS_lseek: case SYS_ftruncate: case SYS_close: break;
    case SYS_fstat: break;
    case SYS_newfstatat:
        if (!a[1] || *(const char *)a[1]) return 0;
        break;
    default: return 0;
    }
    if (waits_to_read(nr, a) && wait_for(t, o, POLLIN) == EINTR) weft__missing("a signal comes while it waits for a pipe of its own");
    weft__order(t, &objects[o->object]);
    if (o->kind == FOUND) {
        if (nr == SYS_close)
            o->kind = NONE;
        else if (objects[o->object].written)
            weft__missing("%s of a file that was there before and that the program wrote to", weft__sys_name(nr));
        return 0;
    }
    if (o->kind == THERE && objects[o->object].written)
        weft__missing("%s of a file that was there before and that the program wrote to", weft__sys_name(nr));
    if (o->kind == STREAM && (nr == SYS_fstat || nr == SYS_newfstatat || nr == SYS_lseek || nr == SYS_ftruncate)) return 0;
    if (nr == SYS_fstat || nr == SYS_newfstatat) return WEFT_OWN_STAT;
    for (int i = 0; i < 6; i++) b[i] = a[i];
    b[0] = o->shadow;
    const struct weft_sched_item *as = weft__given_find(t, WEFT_ITEM_INPUT, nr), *by = weft__given_find(t, WEFT_ITEM_INPUT, WEFT_OP_REFERENCE);
    use(t, (nr == SYS_read || nr == SYS_pread64) && by && (!as || by < as) ? WEFT_OP_REFERENCE : nr);
    return WEFT_OWN_LIVE;
}

static void must_wait(struct weft_thread *t, const void *object, const struct timespec *until, int *over) {
    int e = weft__turns_block(t, WEFT_WAIT_CALL, object, until);
    if (e == EINTR) weft__missing("a signal comes while it waits for a pipe of its own");
    *over = e == ETIMEDOUT;
}

/* poll and epoll_wait, as if no time went by: then others do something, or nobody can. */
static long look(struct weft_thread *t, long nr, const long b[6]) {
    struct pollfd *p = nr == SYS_poll ? (struct pollfd *)b[0] : NULL;
    int ms = (int)(p ? b[2] : b[3]), fds[POLLED], over = 0;
    struct timespec until = {ms / 1000, ms % 1000 * 1000000l};
    const struct own *e = p ? NULL : of(t->live - 1);
    long r;
    for (long i = 0; p && i < b[1]; i++) {
        fds[i] = p[i].fd;
        if (fds[i] >= 0 && !of(fds[i])) weft__missing("a descriptor is closed while it is polled");
        if (fds[i] >= 0) p[i].fd = of(fds[i])->shadow;
    }
    while (!(r = p ? weft__raw(SYS_poll, p, b[1], 0) : weft__raw(SYS_epoll_wait, b[0], b[1], b[2], 0)) && ms && !over)
        must_wait(t, &stirred, ms > 0 ? &until : NULL, &over);
    for (long i = 0; p && i < b[1]; i++) {
        p[i].fd = fds[i];
        if (fds[i] >= 0 && of(fds[i])) weft__order(t, &objects[of(fds[i])->object]);
    }
    for (long fd = 0; e && fd < DESCRIPTORS; fd++)
        if (of(fd) && own[fd].watched == e->object + 1) weft__order(t, &objects[own[fd].object]);
    return r;
}

/* Its turn may have ended since it found something to read, and another thread may have read that. */
long weft__own_do(struct weft_thread *t, long nr, const long b[6]) {
    if (nr == SYS_poll || nr == SYS_epoll_wait) return look(t, nr, b);
    struct own *o = of(t->live - 1);
    if (o && waits_to_read(nr, b) && o->kind == STREAM && !o->at_once && !is_ready(o, POLLIN)) {
        if (wait_for(t, o, POLLIN) == EINTR) weft__missing("a signal comes while it waits for a pipe of its own");
        weft__order(t, &objects[o->object]);
    }
    return weft__raw(nr, b[0], b[1], b[2], b[3], b[4], b[5]);
}

/* The call was done with the shadow. */
void weft__own_end(long nr, const long a[6]) {
    struct own *o = of(a[0]);
    if (!o) return;
    const struct object *x = &objects[o->object];
    if (nr == SYS_close) o->kind = NONE;
    release(x);
}

/* Size and place of a file are the shadow's; all else is the trace's, or nothing, so that it is the same in every run. */
void weft__own_stat(struct weft_thread *t, long nr, long fd, struct stat *out) {
    struct weft_sched_item *i = use(t, nr);
    struct stat st;
    weft__zero((char *)out, sizeof *out);
    if (i && i->size == 8 + 4 + sizeof *out) __builtin_memcpy(out, (const char *)weft__gate_data(i) + 12, sizeof *out);
    if (weft__raw(SYS_fstat, own[fd].shadow, &st)) weft__missing("the size of a file of its own is not known");
    if (!out->st_mode) out->st_mode = st.st_mode, out->st_nlink = 1, out->st_ino = own[fd].object + 1ul, out->st_blksize = 4096;
    out->st_size = st.st_size;
    out->st_blocks = (st.st_size + 511) / 512;
}

int weft__own_write(struct weft_thread *t, long nr, const long b[6], const unsigned char *data, size_t n, int64_t *r) {
    struct own *o = of(b[0]);
    if (!o || o->kind == THERE) return 0;
    if (o->kind != FOUND && (nr == SYS_sendmsg || nr == SYS_sendmmsg)) weft__missing("sendmsg to a socket of its own");
    if (wait_for(t, o, POLLOUT)) weft__missing("a signal comes while it waits for a pipe of its own");
    weft__order(t, &objects[o->object]);
    objects[o->object].written = 1;
    if (o->kind == FOUND) return 0;
    struct pollfd p = {o->shadow, POLLOUT, 0};
    struct timespec none = {0};
    if (o->kind == STREAM && weft__raw(SYS_ppoll, &p, 1, &none, 0, 8) == 1 && p.revents & (POLLERR | POLLHUP))
        weft__missing("it writes to a pipe that nobody reads any more");
    int placed = (nr == SYS_pwrite64 || nr == SYS_pwritev || nr == SYS_pwritev2) && b[3] >= 0;
    *r = placed ? weft__raw(SYS_pwrite64, o->shadow, data, n, b[3]) : weft__raw(SYS_write, o->shadow, data, n);
    release(&objects[o->object]);
    return 1;
}

/* ---- new descriptors: the call gave r, from the trace */

/* A file that has not changed since the trace was recorded; -1: it has, or is no file. */
static long as_it_was(const char *name) {
    struct stat st;
    long fd = weft__raw(SYS_open, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (failed(fd)) return -1;
    long recorded = (long)weft__trace->recorded;
    if (!weft__raw(SYS_fstat, fd, &st) && S_ISREG(st.st_mode) && st.st_mtime <= recorded && st.st_ctime <= recorded) return fd;
    weft__raw(SYS_close, fd);
    return -1;
}

/* To be read. */
static void opened_again(struct object *x, const char *name, long fd) {
    size_t n = 0;
    while (name && n < NAME && name[n]) n++;
    if (fd >= DESCRIPTORS || !n || n == NAME || (moved && *name != '/') || (!x && nobjects == OBJECTS)) return;
    long shadow = as_it_was(name);
    if (shadow < 0) return;
    if (of(fd)) { /* closed with others, of which nothing is known here */
        weft__raw(SYS_close, own[fd].shadow);
        own[fd].kind = NONE;
    }
    put(fd, up(shadow), x ? (uint16_t)(x - objects) : new_object(THERE, name), 0);
}

static void opened(const char *name, long flags, long fd, int here) {
    struct object *x = named(name);
    if (flags & (O_PATH | O_DIRECTORY)) return;
    if (x && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) x->name[0] = 0, x = NULL; /* the other one is gone */
    int empty = (flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY) || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || (flags & O_TMPFILE) == O_TMPFILE;
    static const char device[] = "/dev/", process[] = "/proc/";
    for (int i = 0; name && i < 5; i++)
        if (name[i] != device[i]) break;
        else if (i == 4) return;
    for (int i = 0; name && i < 6; i++)
        if (name[i] != process[i]) break;
        else if (i == 5) return;
    if ((!x || (x->kind == THERE && !x->written)) && (flags & O_ACCMODE) == O_RDONLY && !empty) {
        if (here || (name && *name == '/')) opened_again(x, name, fd);
        return;
    }
    if (x && x->kind == THERE) x->kind = FOUND; /* it may be written */
    if (!x || (x->kind == FOUND && empty)) {
        if (x) x->name[0] = 0;
        uint16_t k = new_object(empty ? EMPTY : FOUND, (flags & O_TMPFILE) == O_TMPFILE ? NULL : name);
        x = &objects[k];
        if (empty) x->file = up(weft__raw(SYS_memfd_create, "weft", 0));
    }
    int shadow = -1;
    if (x->kind == EMPTY) {
        char path[64];
        weft__format(path, sizeof path, "/proc/self/fd/%d", x->file);
        shadow = up(weft__raw(SYS_open, path, O_RDWR | O_CLOEXEC | (flags & (O_APPEND | O_TRUNC)), 0));
    }
    put(fd, shadow, (uint16_t)(x - objects), 0);
}

static void made_pair(const int *fd, int sockets, long type) {
    int p[2];
    long r = sockets ? weft__raw(SYS_socketpair, AF_UNIX, (type & 15) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p) : weft__raw(SYS_pipe2, p, O_NONBLOCK | O_CLOEXEC);
    if (failed(r)) weft__missing("no more descriptors for pipes of its own");
    uint16_t k = new_object(STREAM, NULL);
    for (int i = 0; i < 2; i++) put(fd[i], up(p[i]), k, (type & O_NONBLOCK) != 0);
}

static void made(long fd, int kind, long shadow, int at_once) {
    uint16_t k = new_object(kind, NULL);
    put(fd, up(shadow), k, at_once);
}

void weft__own_made(long nr, const long a[6], long r) {
    struct own *o = of(a[0]);
    if (failed(r)) return;
    switch (nr) {
    case SYS_pipe: made_pair((const int *)a[0], 0, 0); break;
    case SYS_pipe2: made_pair((const int *)a[0], 0, a[1]); break;
    case SYS_socketpair: made_pair((const int *)a[3], 1, a[1]); break;
    case SYS_eventfd: made(r, STREAM, weft__raw(SYS_eventfd2, a[0], EFD_NONBLOCK | EFD_CLOEXEC), 0); break;
    case SYS_eventfd2: made(r, STREAM, weft__raw(SYS_eventfd2, a[0], a[1] | EFD_NONBLOCK | EFD_CLOEXEC), (a[1] & EFD_NONBLOCK) != 0); break;
    case SYS_epoll_create: case SYS_epoll_create1: made(r, EPOLL, weft__raw(SYS_epoll_create1, EPOLL_CLOEXEC), 0); break;
    case SYS_open: opened((const char *)a[0], a[1], r, 1); break;
    case SYS_creat: opened((const char *)a[0], O_CREAT | O_WRONLY | O_TRUNC, r, 1); break;
    case SYS_openat: opened((const char *)a[1], a[2], r, (int)a[0] == AT_FDCWD); break;
    case SYS_openat2: opened((const char *)a[1], (long)((const uint64_t *)a[2])[0], r, 0); break;
    case SYS_memfd_create: opened(NULL, O_RDWR | O_TMPFILE, r, 1); break;
    case SYS_chdir: case SYS_fchdir: case SYS_chroot: moved = 1; break;
    case SYS_dup: case SYS_dup2: case SYS_dup3: case SYS_fcntl:
        if (nr == SYS_fcntl && a[1] == F_SETFL && o) o->at_once = (a[2] & O_NONBLOCK) != 0;
        if ((nr == SYS_fcntl && a[1] != F_DUPFD && a[1] != F_DUPFD_CLOEXEC) || r == a[0]) break;
        if (of(r) && (nr == SYS_dup2 || nr == SYS_dup3)) {
            if (own[r].shadow >= 0) weft__raw(SYS_close, own[r].shadow);
            release(&objects[own[r].object]);
            own[r].kind = NONE;
        }
        if (o) put(r, o->shadow < 0 ? -1 : up(weft__raw(SYS_dup, o->shadow)), o->object, o->at_once);
        break;
    case SYS_unlink: case SYS_unlinkat: case SYS_rename: case SYS_renameat: case SYS_renameat2: {
        int at = nr == SYS_unlinkat || nr == SYS_renameat || nr == SYS_renameat2;
        struct object *x = named((const char *)a[at]);
        const char *to = nr == SYS_rename ? (const char *)a[1] : nr == SYS_unlink || nr == SYS_unlinkat ? "" : (const char *)a[3];
        if (*to && named(to)) named(to)->name[0] = 0;
        size_t n = 0;
        if (!x) break;
        for (; to[n] && n < NAME - 1; n++) x->name[n] = to[n];
        x->name[n] = 0;
        break;
    }
    default: break;
    }
}
