/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* System calls that change the address space: one chain for the whole process.
 *
 * What the program maps of a file is an input if it is not large, or if it will not be there, or not be the same, when the
 * program has ended (the file has no name, or was written since the recording began). Other files that are mapped, modules
 * among them, are found again by path, size and time.
 * Mappings that other processes share are regions (shm.c): all of MAP_SHARED but those of files that this process only
 * reads and nobody writes. */
#define _GNU_SOURCE
#include "runtime.h"
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int vm_lock, lease_lock, views_lock;
void weft__sys_vm_forked(void) { vm_lock = lease_lock = views_lock = 0; }

int64_t weft__started; /* ns since 1970, by the clock of the times of files */
#define NS 1000000000l
#define KEEP_MAX (1l << 20)

/* Of a file of that size, how many bytes a mapping shows. */
static size_t mapped_size(const long a[6], int64_t size) {
    size_t n = a[5] < 0 || a[5] >= size ? 0 : (size_t)(size - a[5]);
    return n < (size_t)a[1] ? n : (size_t)a[1];
}
/* Puts n of them behind `head` bytes in the bounce buffer; gives how many there are. */
static size_t mapped_bytes(struct weft_thread *t, const long a[6], size_t n, size_t head) {
    size_t got = 0;
    unsigned char *buf = weft__bounce(t, head + n) + head;
    while (got < n) {
        long r = weft__raw(SYS_pread64, a[4], buf + got, n - got, a[5] + (long)got);
        if (r == -EINTR) continue;
        if (r <= 0) break;
        got += (size_t)r;
    }
    return got;
}

/* What mappings that are only read showed lately, as it is in the log. A server maps the same files for its requests: to read the whole file once more, and to
 * hash it, took longer than all that is done with it. So the mapping is compared with what such a one showed before; it may differ, or be gone, whatever
 * the file's times say. Files that are mapped once are not kept. Under the lock. */
#define SHOWN 16
#define SHOWN_MIN 4096
static struct shown {
    struct weft_shm_file id;
    long at;              /* in the file */
    size_t head, size;    /* bytes of what is known of the file; and of what was shown */
    unsigned char *bytes; /* the one, and the other; NULL: it was mapped once */
    uint64_t hash;        /* of both, */
    uint64_t content;     /* and of what was shown */
    int used;             /* views of it, and writes under way: then it stays. Changed under views_lock; 0 becomes 1 only under the lock of all this */
} shown[SHOWN];
static unsigned next_shown;
static struct shown *place_for_shown(void) {
    for (int i = 0; i < SHOWN; i++) {
        struct shown *s = &shown[next_shown++ % SHOWN];
        if (!__atomic_load_n(&s->used, __ATOMIC_RELAXED)) return s;
    }
    return NULL;
}

/* Such mappings that are there. What goes out from one of them need not be copied and hashed once more: the kernel gets the runtime's bytes, if the mapping still
 * shows the same ones. Who does so takes the first line alone, for all of the mapping, so whoever changes the mapping takes it as well, and the view is no more. */
#define VIEWS 32
static struct view {
    uint64_t start; /* 0: this place is free */
    struct shown *shown;
} views[VIEWS];
static int nviews;

static void add_view(uint64_t start, struct shown *s) {
    weft__lock(&views_lock);
    for (int i = 0; i < VIEWS; i++)
        if (!views[i].start) {
            views[i] = (struct view){start, s};
            s->used++;
            __atomic_fetch_add(&nviews, 1, __ATOMIC_RELEASE);
            break;
        }
    weft__unlock(&views_lock);
}
/* Under the lock: the first one that has some of these bytes. */
static struct view *view_of(uint64_t p, uint64_t n) {
    for (struct view *v = views; v < views + VIEWS; v++)
        if (v->start && v->start < p + n && p < ((v->start + v->shown->size + 4095) & ~4095ul)) return v;
    return NULL;
}
/* t is about to change the address space there. */
static void end_views(struct weft_thread *t, uint64_t p, uint64_t n) {
    while (unlikely(__atomic_load_n(&nviews, __ATOMIC_ACQUIRE))) {
        weft__lock(&views_lock);
        struct view *v = view_of(p, n);
        uint64_t start = v ? v->start : 0;
        weft__unlock(&views_lock);
        if (!start) return;
        weft__take(t, (void *)start, 1);
        weft__lock(&views_lock);
        v = view_of(start, 1);
        if (v) {
            v->start = 0;
            v->shown->used--;
            __atomic_fetch_sub(&nviews, 1, __ATOMIC_RELAXED);
        }
        weft__unlock(&views_lock);
    }
}

const unsigned char *weft__shown_bytes(struct weft_thread *t, const void *at, size_t n, uint64_t *hash, void **use) {
    uint64_t p = (uint64_t)at, start = 0;
    struct shown *s = NULL;
    if (likely(n < SHOWN_MIN || !__atomic_load_n(&nviews, __ATOMIC_ACQUIRE))) return NULL;
    for (int taken = 0; taken < 2 && !s; taken++) {
        weft__lock(&views_lock);
        struct view *v = view_of(p, 1);
        uint64_t from = v && p >= v->start && n <= v->shown->size && p - v->start <= v->shown->size - n ? v->start : 0;
        if (from && from == start) {
            s = v->shown;
            s->used++;
        }
        weft__unlock(&views_lock);
        if (!from) return NULL;
        start = from;
        if (!taken) weft__take_read(t, (void *)start, 1);
    }
    if (!s) return NULL;
    const unsigned char *bytes = s->bytes + s->head + (p - start);
    *use = s;
    if (!weft__same(at, bytes, n & ~7ul) || !weft__same((char *)at + n - 8, bytes + n - 8, 8)) {
        weft__shown_done(s);
        return NULL;
    }
    *hash = n == s->size ? s->content : weft_digest(bytes, n);
    return bytes;
}
void weft__shown_done(void *use) {
    weft__lock(&views_lock);
    ((struct shown *)use)->used--;
    weft__unlock(&views_lock);
}

static int same_bytes(const unsigned char *p, const unsigned char *q, size_t n) {
    while (n && *p == *q) p++, q++, n--;
    return !n;
}

/* What is known of a file that is mapped, in front of the bytes. */
struct mapped {
    int64_t size, mtime;
    char path[1024];
};
#define MAPPED_HEAD offsetof(struct mapped, path)
static size_t mapped_head(struct mapped *f, long fd) {
    char link[64];
    weft__format(link, sizeof link, "/proc/self/fd/%d", (int)fd);
    long n = weft__raw(SYS_readlink, link, f->path, sizeof f->path - 1);
    return MAPPED_HEAD + (n > 0 ? (size_t)n : 0) + 1;
}

static void log_mapped(struct weft_thread *t, long nr, const long a[6], long r, const struct weft_shm_file *id, struct mapped *f) {
    size_t n = mapped_size(a, f->size);
    int may = a[2] == PROT_READ && n >= SHOWN_MIN && sizeof *f + n <= WEFT_BLOCK_MAX;
    struct shown *s = NULL;
    for (unsigned i = 0; may && i < SHOWN && !s; i++)
        if (shown[i].id.dev == id->dev && shown[i].id.ino == id->ino && shown[i].at == a[5] && shown[i].size == n) s = &shown[i];
    /* The path is what it was then: to ask for it takes as long as to map the file. */
    if (s && s->bytes && same_bytes(s->bytes, (unsigned char *)f, MAPPED_HEAD) && weft__same((char *)r, s->bytes + s->head, n & ~7ul) &&
        weft__same((char *)r + n - 8, s->bytes + s->head + n - 8, 8)) {
        weft__log_hashed(t, (uint64_t)nr, r, s->bytes, s->head + n, s->hash);
        if (!weft__steering) add_view((uint64_t)r, s);
        return;
    }
    size_t hn = mapped_head(f, a[4]), got = mapped_bytes(t, a, n, hn);
    weft__copy(t->bounce, f, hn);
    weft__log_input(t, (uint64_t)nr, r, t->bounce, hn + got);
    if (!may || got < n) return;
    if (s && __atomic_load_n(&s->used, __ATOMIC_ACQUIRE)) {
        s->at = -1; /* it is not found any more */
        s = NULL;
    }
    if (!s || s->head != hn) {
        if (!s && !(s = place_for_shown())) return;
        if (s->bytes) weft__raw(SYS_munmap, s->bytes, s->head + s->size);
        *s = (struct shown){.id = *id, .at = a[5], .head = hn, .size = n};
        return;
    }
    if (!s->bytes) s->bytes = weft__rt_map(hn + n);
    weft__copy(s->bytes, t->bounce, hn + n);
    s->hash = weft_digest(s->bytes, hn + n);
    s->content = weft_digest(s->bytes + hn, n);
}

/* Whether anybody has the file open for writing: then there is no lease for reading. (Were it to be broken in this moment, a signal would say so: one that is
 * ignored.) */
static int lease_refused(long fd) {
    weft__raw(SYS_fcntl, fd, F_SETSIG, SIGURG);
    long r = weft__raw(SYS_fcntl, fd, F_SETLEASE, F_RDLCK);
    if (!r) weft__raw(SYS_fcntl, fd, F_SETLEASE, F_UNLCK);
    return r == -EAGAIN;
}

/* Whether another process may write the file: its time does not tell, since a page that was written once may be written
 * again. Files in memory, which have no device, have no such time at all; for others a lease is tried. The descriptor is as it was afterwards. If it is
 * in use for such things, another one is opened; this takes as long as all else. */
static int may_be_written(long fd, uint64_t dev) {
    char link[64];
    struct { long type, rest[14]; } fs = {0};
    if (!(dev >> 8 & 0xfff)) weft__raw(SYS_fstatfs, fd, &fs);
    if (fs.type == 0x01021994) return 1;
    weft__lock(&lease_lock);
    int used = weft__raw(SYS_fcntl, fd, F_GETSIG, 0) || weft__raw(SYS_fcntl, fd, F_GETOWN, 0) || weft__raw(SYS_fcntl, fd, F_GETLEASE, 0) != F_UNLCK, r = 0;
    if (!used) {
        r = lease_refused(fd); /* who gets one becomes the owner */
        weft__raw(SYS_fcntl, fd, F_SETOWN, 0);
        weft__raw(SYS_fcntl, fd, F_SETSIG, 0);
    }
    weft__unlock(&lease_lock);
    if (!used) return r;
    weft__format(link, sizeof link, "/proc/self/fd/%d", (int)fd);
    long own = weft__raw(SYS_open, link, O_RDONLY | O_CLOEXEC, 0);
    if (own < 0) return 0;
    r = lease_refused(own);
    weft__raw(SYS_close, own);
    return r;
}

/* Pages of a mapping that lie beyond the end of its file: SIGBUS, as from any file that is too short. */
static void map_beyond(long from, long to, long prot) {
    if (from >= to) return;
    long fd = weft__raw(SYS_memfd_create, "", MFD_CLOEXEC);
    if (fd < 0) return;
    weft__raw(SYS_mmap, from, to - from, prot, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
    weft__raw(SYS_close, fd);
}

static const char vm_object;

#define REGION_SIZE (-1) /* in place of the file's size: a region */

/* Both modes, at a tick of its own: its lines are taken, and the stripes of shared memory, which others may have had since the
 * address space was changed. They come after that change, and this after them. */
static void add_region(struct weft_thread *t, const struct weft_region *r) {
    weft__tick(t);
    weft__shm_add(t, r);
}

/* One that mremap left where it was has its lines already, and all stripes: others may be using it. */
static void add_moved(struct weft_thread *t, const struct weft_region *r, long from) {
    if (r->start == (uint64_t)from)
        weft__shm_add(t, r);
    else
        add_region(t, r);
}

long weft__sys_vm(struct weft_thread *t, long nr, const long a[6]) {
    long b[6], r;
    for (int i = 0; i < 6; i++) b[i] = a[i];
    int fixed = nr == SYS_mmap && (a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED;
    int changes = nr == SYS_munmap || nr == SYS_mremap || nr == SYS_mprotect || fixed;
    /* What is to be discarded when the kernel likes is discarded now. */
    if (nr == SYS_madvise && a[2] == MADV_FREE) b[2] = MADV_DONTNEED;
    int discards = nr == SYS_madvise && (b[2] == MADV_DONTNEED || b[2] == MADV_REMOVE || b[2] == 24 /* MADV_DONTNEED_LOCKED */);
    if (weft__mode == WEFT_RECORD && (changes || discards)) {
        if (changes) weft__constant_lost((uint64_t)a[0], (uint64_t)a[1]);
        if (changes) end_views(t, (uint64_t)a[0], (uint64_t)a[1]);
        if (nr == SYS_mremap && a[3] & MREMAP_FIXED) end_views(t, (uint64_t)a[4], (uint64_t)a[2]);
        t->common_skip = 1;
        weft__take(t, (void *)a[0], (size_t)a[1]);
        t->common_skip = 0;
    }
    if (weft__mode == WEFT_RECORD && nr == SYS_brk) {
        uint64_t end = weft__place_brk(0);
        if ((uint64_t)a[0] >= WEFT_PLACE_BRK && (uint64_t)a[0] < end) weft__take(t, (void *)a[0], end - (uint64_t)a[0]);
    }
    struct mapped f = {0};
    size_t fn = 0;
    int keep = 0, again = 0;
    int is_shared = nr == SYS_mmap && ((a[3] & MAP_TYPE) == MAP_SHARED || (a[3] & MAP_TYPE) == MAP_SHARED_VALIDATE);
    int is_file = nr == SYS_mmap && !(a[3] & MAP_ANONYMOUS) && (int)a[4] >= 0, is_region = is_shared && (a[3] & MAP_ANONYMOUS);
    struct weft_region region = {.prot = (int)a[2], .size = ((size_t)a[1] + 4095) & ~4095ul}, moved;
    if (is_shared && (is_file || is_region)) {
        b[3] = (a[3] & ~(MAP_TYPE | MAP_SYNC)) | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        b[4] = -1;
        b[5] = 0;
    }
    /* Steered: what the trace has goes where it was; the rest is as ever, but there are no files. */
    struct weft_sched_item *given = weft__given ? weft__given_find(t, WEFT_ITEM_INPUT, nr) : NULL;
    if (given && nr != SYS_mmap && nr != SYS_mremap) {
        weft__given_use(t, given);
        given = NULL;
    }
    if (weft__given && is_file && !given) weft__missing("thread %u at tick %lu maps a file, which it did not in the trace", t->slot, t->tls->clock);
    if (RECORD || (weft__given && !given)) {
        int writable = 0;
        struct weft_shm_file id = {0};
        if (is_file) {
            struct { char x[144]; } st;
            weft__raw(SYS_fstat, a[4], &st);
            __builtin_memcpy(&f.size, st.x + 48, 8);
            __builtin_memcpy(&f.mtime, st.x + 88, 8);
            uint64_t links;
            int64_t ns;
            __builtin_memcpy(&links, st.x + 16, 8);
            __builtin_memcpy(&ns, st.x + 96, 8);
            __builtin_memcpy(&id, st.x, sizeof id);
            long flags = weft__raw(SYS_fcntl, a[4], F_GETFL, 0);
            writable = !failed(flags) && (flags & O_ACCMODE) == O_RDWR;
            int data = !(a[2] & PROT_EXEC), own = data && t->maps == WEFT_MAPS_OWN;
            int written = data && (!links || f.mtime * NS + ns >= weft__started || weft__shm_file_written(&id));
            is_region = is_shared && (writable || (own && (written || may_be_written(a[4], id.dev))));
            /* The loader maps libraries so. What else it maps, and what libraries do, is data: its list of libraries, character sets. */
            int library = !own && (a[3] & MAP_DENYWRITE);
            keep = written || (data && !library && (f.size - a[5] <= KEEP_MAX || a[1] <= KEEP_MAX));
            if (is_region) {
                if (a[2] & PROT_EXEC) weft__refuse("mmap: a shared mapping of a file that is executed and may be written cannot be recorded yet");
                if (writable) weft__shm_file_write(&id);
                f.size = REGION_SIZE;
                fn = MAPPED_HEAD;
                keep = 0;
            } else if (is_shared)
                for (int i = 3; i < 6; i++) b[i] = a[i];
        }
        region.foreign = t->maps == WEFT_MAPS_FOREIGN;
        if (is_region && is_file && region.foreign) weft__shm_refuse_foreign(weft__caller());
        if (nr == SYS_mremap && (a[3] & MREMAP_FIXED) && weft__shm_regions && weft__shm_touches((uint64_t)a[4], (uint64_t)a[2]))
            weft__refuse("mremap over a shared mapping cannot be recorded yet");
        weft__lock(&vm_lock);
        while (nr == SYS_mremap && !weft__shm_may_grow(t, a)) {
            weft__unlock(&vm_lock);
            t->common_skip = 1;
            weft__take(t, (void *)a[0], (size_t)a[2]);
            t->common_skip = 0;
            weft__lock(&vm_lock);
        }
        int touches = (changes || nr == SYS_madvise) && weft__shm_regions && weft__shm_touches((uint64_t)a[0], (uint64_t)a[1]);
        if (touches && nr != SYS_madvise) weft__shm_hold(t, 0);
        r = is_region && is_file ? weft__shm_file(a, writable, &region) : 0;
        if (touches && nr == SYS_mprotect && weft__shm_denies(a)) r = -EACCES;
        if (touches && nr == SYS_mremap && (!a[1] || (a[3] & ~(MREMAP_MAYMOVE | MREMAP_FIXED))))
            weft__refuse("mremap: a second mapping of shared memory cannot be recorded yet");
        uint64_t at, n;
        if (!r && !(touches && nr == SYS_madvise && weft__shm_advise(a, &r)))
            while ((r = weft__place(t, nr, b, &at, &n)) == -WEFT_PLACE_TAKE) {
                if (t->common) weft__shm_drop(t);
                weft__unlock(&vm_lock);
                t->common_skip = 1;
                while (weft__rec_maps_take(t, at, n)) {}
                t->common_skip = 0;
                weft__lock(&vm_lock);
                if (touches) weft__shm_hold(t, 0);
            }
        weft__order(t, &vm_object); /* it has taken what it needs: nobody who comes after it has something that it waits for */
        if (failed(r) && region.back) weft__raw(SYS_munmap, region.back, region.size);
        if (touches && changes && !failed(r)) again = weft__shm_changed(t, nr, a, r, &moved);
        if (keep && !failed(r))
            log_mapped(t, nr, a, r, &id, &f);
        else {
            if (is_file && !fn) fn = mapped_head(&f, a[4]);
            weft__log_input(t, (uint64_t)nr, r, &f, fn);
        }
        weft__unlock(&vm_lock);
        if (again) add_moved(t, &moved, a[0]);
        if (is_region && !failed(r)) {
            region.start = (uint64_t)r;
            add_region(t, &region);
        }
        return r;
    }
    if (weft__given) weft__order(t, &vm_object);
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, nr);
    if (!it) weft__diverged("thread %u at tick %lu makes the system call %s, which the recording does not have there", t->slot, t->tls->clock, weft__sys_name(nr));
    int64_t was;
    __builtin_memcpy(&was, weft__gate_data(it), 8);
    if (failed(was) || (nr == SYS_brk && was != a[0])) return was;
    int fd = -1;
    if (nr == SYS_mmap) {
        b[0] = was;
        b[3] = (b[3] & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
        if (is_file) {
            const char *d = (const char *)weft__gate_data(it) + 8;
            size_t n = it->size - 8;
            __builtin_memcpy(&f, d, n < sizeof f ? n : sizeof f);
            is_region = f.size == REGION_SIZE;
        }
        region.common = is_region && is_file;
        if (is_file && !is_region) {
            const char *d = (const char *)weft__gate_data(it) + 8;
            size_t n = it->size - 8;
            b[3] = (a[3] & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
            b[5] = a[5];
            fn = 16;
            while (fn < n && d[fn]) fn++;
            fn++;
            if (fn < n) { /* what it showed is in the trace */
                r = weft__raw(SYS_mmap, was, a[1], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                if (r == was) {
                    weft__copy((void *)was, d + fn, n - fn);
                    weft__raw(SYS_mprotect, was, a[1], a[2]);
                    map_beyond(was + (long)((n - fn + 4095) & ~4095ul), was + a[1], a[2]);
                }
                goto done;
            }
            fd = (int)weft__raw(SYS_open, f.path, O_RDONLY | O_CLOEXEC, 0);
            struct { char x[144]; } st;
            int64_t size = -1, mtime = -1;
            if (fd >= 0 && weft__raw(SYS_fstat, fd, &st) == 0) {
                __builtin_memcpy(&size, st.x + 48, 8);
                __builtin_memcpy(&mtime, st.x + 88, 8);
            }
            if (size != f.size || mtime != f.mtime)
                weft__diverged("the file %s, which the program maps, is gone or has changed since the recording", f.path);
            b[4] = fd;
        }
    } else if (nr == SYS_mremap && was != a[0]) {
        b[3] = MREMAP_MAYMOVE | MREMAP_FIXED;
        b[4] = was;
    }
    if (nr == SYS_brk)
        r = (long)weft__place_brk((uint64_t)a[0]);
    else if (!(nr == SYS_madvise && weft__shm_regions && weft__shm_touches((uint64_t)a[0], (uint64_t)a[1]) && weft__shm_advise(a, &r)))
        r = raw(nr, b);
    if (fd >= 0) weft__raw(SYS_close, fd);
done:
    if (r != was)
        weft__diverged("thread %u at tick %lu: %s gave 0x%lx, recorded was 0x%lx", t->slot, t->tls->clock, weft__sys_name(nr), r, was);
    if (changes && weft__shm_regions && weft__shm_touches((uint64_t)a[0], (uint64_t)a[1]) && weft__shm_changed(t, nr, a, r, &moved))
        add_moved(t, &moved, a[0]);
    if (is_region) {
        region.start = (uint64_t)r;
        add_region(t, &region);
    }
    return r;
}

long weft__sys_msync(struct weft_thread *t, const long a[6]) {
    long r = 0;
    int common = weft__shm_regions && weft__shm_touches((uint64_t)a[0], (uint64_t)a[1]);
    if (!common || RECORD) {
        if (RECORD) weft__outside(t);
        r = common ? weft__shm_sync(a) : raw(SYS_msync, a);
        if (RECORD) weft__inside(t);
    }
    return common ? weft__input(t, SYS_msync, r, NULL, 0) : r;
}

long weft__sys_shmat(struct weft_thread *t, const long a[6]) {
    struct weft_region region = {0};
    struct { uint64_t size, prot; } x = {0};
    long r = 0;
    if (RECORD) {
        if (t->maps == WEFT_MAPS_FOREIGN) weft__shm_refuse_foreign(weft__caller());
        if (a[1] && (a[2] & 040000)) weft__refuse("shmat with SHM_REMAP cannot be recorded yet");
        weft__lock(&vm_lock);
        weft__order(t, &vm_object);
        r = weft__shm_attach(a, &region);
        x.size = region.size;
        x.prot = (uint64_t)region.prot;
    }
    r = weft__input(t, SYS_shmat, r, &x, sizeof x);
    if (RECORD) weft__unlock(&vm_lock);
    if (failed(r)) return r;
    if (!RECORD) {
        region = (struct weft_region){.start = (uint64_t)r, .size = x.size, .prot = (int)x.prot, .segment = (uint64_t)r, .common = 1};
        if (weft__raw(SYS_mmap, r, x.size, x.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != r)
            weft__diverged("thread %u at tick %lu: a shared segment cannot be mapped at 0x%lx", t->slot, t->tls->clock, r);
    }
    add_region(t, &region);
    return r;
}

long weft__sys_shmdt(struct weft_thread *t, const long a[6]) {
    if (RECORD) {
        weft__lock(&vm_lock);
        weft__order(t, &vm_object);
        if (weft__shm_regions) weft__shm_hold(t, 0);
    }
    long r = weft__shm_detach(t, (uint64_t)a[0]);
    if (RECORD) weft__unlock(&vm_lock);
    return r;
}

long weft__sys_shmctl(struct weft_thread *t, const long a[6]) {
    switch (a[1]) {
    case 0: case 11: case 12: return weft__emulated(t, SYS_shmctl, a, ""); /* IPC_RMID, SHM_LOCK, SHM_UNLOCK */
    case 1: return weft__emulated(t, SYS_shmctl, a, "i2=112");             /* IPC_SET */
    case 2: return weft__emulated(t, SYS_shmctl, a, "o2=112");             /* IPC_STAT */
    default: weft__refuse("shmctl command %ld cannot be recorded yet", a[1]);
    }
}
