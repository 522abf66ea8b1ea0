/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Appends items to a thread's chunk (trace.h says how they look), and full chunks to `streams`.
 *
 * Each thread fills its chunk in a place of its own in the file `open`, through a shared mapping, so what was written is in
 * the page cache at once and survives any end of the process. A full chunk is written to `streams` and the place used again:
 * to map ever new pages of a file costs five times as much (40 us a chunk on ext4, 8 so), and memory would grow. An item's
 * tag byte is stored last: a reader of a file whose writer was killed stops at the first zero tag and has seen only whole
 * items (x86 keeps the order of stores; the compiler is told by a release store).
 *
 * What comes in large pieces goes to `bulk`, from where it is, before the item that names its place there: through the chunk it would be copied twice more, and
 * `weft record` would read, check and compress it. What was stored before is not stored again (a server reads the same files for every request). Nothing
 * compresses `bulk`: that takes nine times as long as to write it.
 *
 * Disk space is reserved (fallocate) before it is mapped, because a full disk under a mapping is a SIGBUS, and for `streams`
 * a whole extent at a time; to write where it is reserved takes a third less as well (7.8 us for 64 KiB, 12.2 otherwise). Where there is no more, or no more is allowed (--max-size), the log ends, and the program goes
 * on. It ends for all threads of all processes at once, by one word that they share (root->log_full): from the moment that a
 * thread has seen it, it logs nothing more, only LOST, for which space is kept free at the end of each chunk. So what is
 * logged is a consistent cut, as if all had been killed together: whoever comes after something that was not logged, by
 * whatever way, has seen the word too. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define EXTENT (4ul << 20)       /* at most */
#define EXTENT_MIN (64ul << 10) /* grows with the file: a quarter of it */
#define TAIL 16    /* kept for LOST */
#define EDGE_MAX 56
#define STORED_MIN 2048 /* bytes */
#define STORED 16384    /* that are remembered */

static int open_fd = -1, dir_fd = -1, alive_fd = -1;
static int log_lock, stored_lock;
static struct file {
    int fd;
    uint64_t used, size; /* bytes that were given out; that are reserved */
} streams = {.fd = -1}, bulk = {.fd = -1}; /* under log_lock */
static struct stored {
    uint64_t digest, size, at;
} stored[STORED]; /* by digest; under stored_lock */

/* Out of the way of the program's own descriptors: beyond its limit, if that can be raised for a moment. */
int weft__high_fd(long fd) {
    uint64_t limit[2], more[2];
    long hi = -EMFILE, r = weft__raw(SYS_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, limit);
    if (!r && limit[1] > limit[0] + 16 && limit[0] < 1 << 20) {
        more[0] = limit[0] + 16;
        more[1] = limit[1];
        weft__raw(SYS_prlimit64, 0, 7, more, 0);
        hi = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, limit[0]);
        weft__raw(SYS_prlimit64, 0, 7, limit, 0);
    }
    if (hi < 0) hi = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 1000);
    if (hi < 0) hi = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
    for (long last = 8; hi < 0 && !r && last < 64; last *= 2) /* a low hard limit: the last ones */
        if ((long)limit[0] > last) hi = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, limit[0] - last);
    if (hi < 0) weft__refuse("cannot duplicate a descriptor for the log (error %ld)", -hi);
    weft__raw(SYS_close, fd);
    return (int)hi;
}

static size_t dir_length(void) {
    size_t n = 0, slash = 0;
    for (; weft__control->streams[n]; n++)
        if (weft__control->streams[n] == '/') slash = n;
    return slash;
}

void weft__log_alive(void) {
    alive_fd = (int)weft__launcher_fd(weft__control->alive, O_WRONLY);
    if (alive_fd < 0) weft__refuse("weft record cannot be told that the program still runs (error %d)", -alive_fd);
}

static long make_bulk(int dir) { return weft__raw(SYS_openat, dir, "bulk", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

void weft__log_open(void) {
    char dir[sizeof weft__control->streams];
    long fd = weft__raw(SYS_open, weft__control->streams, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) weft__refuse("cannot open %s (error %ld)", weft__control->streams, -fd);
    streams.fd = weft__high_fd(fd);
    weft__copy(dir, weft__control->streams, dir_length());
    dir[dir_length()] = 0;
    fd = weft__raw(SYS_open, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) weft__refuse("cannot open %s (error %ld)", dir, -fd);
    dir_fd = weft__high_fd(fd);
    fd = weft__raw(SYS_openat, dir_fd, "open", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) weft__refuse("cannot make a file in %s (error %ld)", dir, -fd);
    open_fd = weft__high_fd(fd);
    fd = make_bulk(dir_fd);
    if (fd < 0) weft__refuse("cannot make a file in %s (error %ld)", dir, -fd);
    bulk.fd = weft__high_fd(fd);
    alive_fd = weft__high_fd(alive_fd);
}

int weft__log_own_fd(long fd) { return fd >= 0 && (fd == streams.fd || fd == open_fd || fd == dir_fd || fd == alive_fd || fd == bulk.fd); }

/* The program wants this number for itself. */
void weft__log_move_fd(long fd) {
    int *own[] = {&streams.fd, &open_fd, &dir_fd, &alive_fd, &bulk.fd};
    for (int i = 0; i < 5; i++) {
        if (*own[i] != fd) continue;
        long to = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1);
        if (to < 0) to = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
        if (to < 0) weft__refuse("the program needs descriptor %ld, and there is no other for the log (error %ld)", fd, -to);
        *own[i] = (int)to;
    }
}

/* The forked process, number `part` of its parent's, writes into a folder of its own in the parent's; beside its streams
 * its control block, which `weft record` reads when all is over. */
void weft__log_forked(struct weft_thread *t, uint32_t part) {
    static const char name_of[] = "/streams";
    struct weft_control *c = weft__control;
    char name[16], path[sizeof c->streams];
    size_t n = weft__format(name, sizeof name, "%u", part), d = dir_length();
    weft__copy(path, c->streams, d);
    path[d++] = '/';
    if (d + n + sizeof name_of > sizeof path) weft__refuse("processes were forked too deep for the length of a path");
    weft__copy(path + d, name, n);
    weft__copy(path + d + n, name_of, sizeof name_of);
    log_lock = stored_lock = 0;
    if (bulk.used) weft__zero(stored, sizeof stored);
    streams.used = streams.size = bulk.used = bulk.size = 0;
    t->log = (struct weft_log){0};
    if (weft__root->log_full) {
        /* Nothing is logged any more, so there is nothing to make. A control block it needs, or it would write into its
         * parent's. */
        struct weft_control was = *c;
        long r = weft__raw(SYS_mmap, c, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (r != (long)c) weft__rt_panic("no memory for a forked process");
        *c = was;
        return;
    }
    long r = weft__raw(SYS_mkdirat, dir_fd, name, 0777), dir = -1, fd = -1;
    if (r >= 0) r = dir = weft__raw(SYS_openat, dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (r >= 0) r = weft__raw(SYS_linkat, dir_fd, "header", dir, "header", 0);
    if (r >= 0) r = fd = weft__raw(SYS_openat, dir, "control", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (r >= 0) r = weft__raw(SYS_fallocate, fd, 0, 0, sizeof *c);
    if (r == -EOPNOTSUPP || r == -ENOSYS) r = weft__raw(SYS_ftruncate, fd, sizeof *c);
    if (r >= 0) r = weft__raw(SYS_pwrite64, fd, c, sizeof *c, 0);
    if (r >= 0) r = weft__raw(SYS_mmap, c, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (r == (long)c) {
        weft__raw(SYS_close, fd);
        weft__copy(c->streams, path, d + n + sizeof name_of);
        c->pid = (uint64_t)weft__raw(SYS_getpid);
        c->outcome = WEFT_OUT_RUNNING; /* the parent may have ended meanwhile */
        c->exit_kind = c->exit_code = 0;
        c->message[0] = 0;
        long tails = -1, large = -1;
        r = fd = weft__raw(SYS_openat, dir, "streams", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (r >= 0) r = tails = weft__raw(SYS_openat, dir, "open", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (r >= 0) r = large = make_bulk((int)dir);
        if (r >= 0) {
            weft__raw(SYS_close, streams.fd);
            weft__raw(SYS_close, open_fd);
            weft__raw(SYS_close, bulk.fd);
            weft__raw(SYS_close, dir_fd);
            streams.fd = weft__high_fd(fd);
            open_fd = weft__high_fd(tails);
            bulk.fd = weft__high_fd(large);
            dir_fd = weft__high_fd(dir);
            return;
        }
    }
    weft__refuse("a forked process cannot be recorded: no folder for it in %s (error %ld)", c->streams, -r);
}

/* Reserves n more bytes of a file, as far as --max-size allows. `bulk` keeps its size, which is that of what was written; without fallocate what is written there
 * may find no space. */
static long reserve(int fd, uint64_t at, uint64_t n) {
    if (__atomic_add_fetch(&weft__root->disk_bytes, n, __ATOMIC_RELAXED) > weft__root->max_bytes && weft__root->max_bytes) {
        __atomic_fetch_sub(&weft__root->disk_bytes, n, __ATOMIC_RELAXED);
        return -EFBIG;
    }
    long r = weft__raw(SYS_fallocate, fd, fd == bulk.fd ? FALLOC_FL_KEEP_SIZE : 0, at, n);
    if (fd == bulk.fd && (r == -EOPNOTSUPP || r == -ENOSYS)) r = 0;
    if (r == -EOPNOTSUPP || r == -ENOSYS) { /* a zero at the end makes it that long, if it is not longer already */
        r = weft__raw(SYS_pwrite64, fd, "", 1, at + n - 1);
        r = r == 1 ? 0 : r ? r : -EIO;
    }
    if (r) __atomic_fetch_sub(&weft__root->disk_bytes, n, __ATOMIC_RELAXED);
    return r;
}

/* Space for `least` bytes more: as much as is usual, or as there is. */
static long extend(struct file *f, uint64_t least) {
    uint64_t n = f->size / 4 & ~(EXTENT_MIN - 1);
    long r;
    n = n < EXTENT_MIN ? EXTENT_MIN : n > EXTENT ? EXTENT : n;
    least = (least + WEFT_CHUNK - 1) & ~(uint64_t)(WEFT_CHUNK - 1);
    if (n < least) n = least;
    while ((r = reserve(f->fd, f->size, n)) && n > least) {
        n = n / 2 & ~(uint64_t)(WEFT_CHUNK - 1);
        if (n < least) n = least;
    }
    if (!r) f->size += n;
    return r;
}

/* The thread's place in `open`, mapped: its chunks are filled there. Both by its slot, so that all places are one mapping to the kernel,
 * which allows 65,530 of them. */
static long window(struct weft_thread *t) {
    uint64_t off = (uint64_t)t->slot * WEFT_CHUNK;
    long r = reserve(open_fd, off, WEFT_CHUNK), at = (long)(WEFT_LOGS_BASE + off);
    if (!r) r = weft__raw(SYS_mmap, at, WEFT_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, open_fd, off);
    if (r != at) return r;
    t->log.chunk = (struct weft_chunk *)at;
    return 0;
}

/* A place for n bytes. */
static long space(struct file *f, uint64_t n, uint64_t *off) {
    long r = 0;
    weft__lock(&log_lock);
    if (f->size - f->used < n) r = extend(f, n - (f->size - f->used));
    if (!r) {
        *off = f->used;
        f->used += n;
    }
    weft__unlock(&log_lock);
    return r;
}

static long put(int fd, const void *p, size_t n, uint64_t off) {
    while (n) {
        long r = weft__raw(SYS_pwrite64, fd, p, n, off);
        if (r == -EINTR) continue;
        if (r <= 0) return r ? r : -EIO;
        p = (const char *)p + r;
        off += (uint64_t)r;
        n -= (size_t)r;
    }
    return 0;
}

static unsigned char *varint(unsigned char *p, uint64_t v) {
    while (v >= 0x80) {
        *p++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (unsigned char)v;
    return p;
}
static unsigned char *svarint(unsigned char *p, int64_t v) {
    return varint(p, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

static void seal(struct weft_log *l) {
    struct weft_chunk *c = l->chunk;
    uint32_t used = (uint32_t)(l->at - (unsigned char *)c);
    c->hash = weft_chunk_hash(c, used);
    __atomic_store_n(&c->used, used, __ATOMIC_RELEASE);
}

/* Ends the thread's stream. */
static int lose(struct weft_log *l, uint64_t tick) {
    l->lost = 1;
    if (!l->at) return 0;
    unsigned char *p = varint(l->at + 1, tick - l->tick);
    p = varint(p, weft__root->log_full);
    *p++ = 0;
    __atomic_store_n(l->at, WEFT_ITEM_LOST, __ATOMIC_RELEASE);
    l->at = p;
    seal(l);
    return 0;
}

static void set_full(long r) { __atomic_store_n(&weft__root->log_full, (uint64_t)-r, __ATOMIC_RELEASE); }

/* Room for n bytes in the thread's chunk. 0: the log has ended. */
static int room(struct weft_thread *t, size_t n, uint64_t tick) {
    struct weft_log *l = &t->log;
    uint64_t full = __atomic_load_n(&weft__root->log_full, __ATOMIC_ACQUIRE), off = 0;
    if (likely(l->at && (size_t)(l->end - l->at) >= n && !full)) return 1;
    if (l->lost) return 0;
    if (full) return lose(l, tick);
    long r = l->at ? space(&streams, WEFT_CHUNK, &off) : window(t);
    if (!r && l->at) __atomic_fetch_add(&weft__root->chunks, 1, __ATOMIC_RELAXED);
    if (r) {
        set_full(r);
        return lose(l, tick);
    }
    struct weft_chunk *c = l->chunk;
    if (l->at) {
        /* The head last: a chunk in `streams` is whole, or none. Then it goes from here; who is killed in between leaves
         * it twice. */
        uint32_t used = (uint32_t)(l->at - (unsigned char *)c);
        seal(l);
        r = put(streams.fd, c + 1, used - sizeof *c, off + sizeof *c);
        if (!r) r = put(streams.fd, c, sizeof *c, off);
        if (r) {
            set_full(r);
            l->lost = 1;
            return 0;
        }
        __atomic_store_n(&c->magic, 0, __ATOMIC_RELEASE);
        weft__zero(c, used);
    }
    c->slot = t->slot;
    c->seq = l->seq++;
    c->tick = tick;
    __atomic_store_n(&c->magic, WEFT_CHUNK_MAGIC, __ATOMIC_RELEASE);
    l->at = (unsigned char *)(c + 1);
    l->end = (unsigned char *)c + WEFT_CHUNK - TAIL;
    l->tick = tick;
    l->site = l->otick = l->osite = 0;
    return 1;
}

void weft__log_edge(struct weft_thread *t, uint64_t tick, uint64_t site, const struct weft_pos *o) {
    struct weft_log *l = &t->log;
    t->edges++;
    if (unlikely(!room(t, EDGE_MAX, tick))) return;
    unsigned char *p = varint(l->at + 1, tick - l->tick);
    p = svarint(p, (int64_t)(site - l->site));
    p = varint(p, o->slot);
    p = svarint(p, (int64_t)(o->tick - l->otick));
    p = svarint(p, (int64_t)(o->site - l->osite));
    l->tick = tick;
    l->site = site;
    l->otick = o->tick;
    l->osite = o->site;
    if (o->step && o->step != WEFT_DONE) p = varint(p, o->step);
    __atomic_store_n(l->at, !o->step ? WEFT_ITEM_EDGE : o->step == WEFT_DONE ? WEFT_ITEM_EDGE_DONE : WEFT_ITEM_EDGE_STEP, __ATOMIC_RELEASE);
    l->at = p;
}

/* One item without regard to length: fits. Its bytes are those of all pieces. */
struct piece {
    const void *p;
    size_t n;
};
static void item(struct weft_thread *t, int kind, uint64_t op, const struct piece *list, const struct piece *end) {
    struct weft_log *l = &t->log;
    uint64_t tick = t->tls->clock;
    size_t n = 0;
    for (const struct piece *i = list; i < end; i++) n += i->n;
    if (unlikely(!room(t, n + 40, tick))) return;
    unsigned char *p = varint(l->at + 1, tick - l->tick);
    p = varint(p, op);
    p = varint(p, n);
    for (const struct piece *i = list; i < end; p += i->n, i++) {
        if (i->n == 8)
            __builtin_memcpy(p, i->p, 8); /* a result */
        else if (i->n)
            weft__copy(p, i->p, i->n);
    }
    l->tick = tick;
    __atomic_store_n(l->at, kind, __ATOMIC_RELEASE);
    l->at = p;
}

/* Where these bytes are in `bulk`, after this call. */
static long store(const struct piece *b, uint64_t digest, uint64_t *at) {
    struct stored *s = &stored[digest % STORED];
    uint64_t whole = (b->n + 63) & ~63ul; /* the kernel copies faster to such places */
    weft__lock(&stored_lock);
    int there = s->digest == digest && s->size == b->n;
    *at = s->at;
    weft__unlock(&stored_lock);
    if (there) return 0;
    long r = space(&bulk, whole, at);
    if (!r) r = put(bulk.fd, b->p, b->n, *at);
    if (r) return r;
    weft__lock(&stored_lock);
    *s = (struct stored){digest, b->n, *at};
    weft__unlock(&stored_lock);
    return 0;
}

/* Three pieces, of which the second one may be long. */
static void log_item(struct weft_thread *t, int kind, uint64_t op, const struct piece list[3], const uint64_t *digest) {
    const struct piece *b = &list[1];
    uint64_t at;
    if (likely(b->n < STORED_MIN || weft__root->log_full)) { /* it has ended: then there is no room for the item either */
        item(t, kind, op, list, list + 3);
        return;
    }
    struct weft_stored_item s = {b->n, digest ? *digest : weft_digest(b->p, b->n)};
    long r = store(b, s.digest, &at);
    if (r) set_full(r);
    item(t, WEFT_ITEM_PART, 0, list, list + 1);
    struct piece is = {&s, sizeof s};
    item(t, WEFT_ITEM_STORED, at, &is, &is + 1);
    item(t, kind, op, list + 2, list + 3);
}

void weft__log_item(struct weft_thread *t, int kind, uint64_t op, const void *a, size_t an, const void *b, size_t bn) {
    log_item(t, kind, op, (struct piece[3]){{a, an}, {b, bn}, {NULL, 0}}, NULL);
}
void weft__log_hashed(struct weft_thread *t, uint64_t op, int64_t ret, const void *data, size_t n, uint64_t digest) {
    log_item(t, WEFT_ITEM_INPUT, op, (struct piece[3]){{&ret, 8}, {data, n}, {NULL, 0}}, &digest);
}
void weft__log_out(struct weft_thread *t, uint64_t op, int64_t ret, const void *data, uint32_t n, const void *rest, size_t rn) {
    struct {
        int64_t ret;
        uint32_t n;
    } head = {ret, n};
    log_item(t, WEFT_ITEM_INPUT, op, (struct piece[3]){{&head, 12}, {data, n}, {rest, rn}}, NULL);
}
