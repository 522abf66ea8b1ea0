/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Regular files: which one a descriptor means. Of those that the program writes, so that `weft replay --write-files` can write
 * them too; with `weft record --by-reference` also of large ones that it only reads, so that the trace need not hold what it
 * read: a reference has the place in the file and a hash of the bytes as they came, and replay takes them from the file and
 * compares. So whatever has changed in it, then or since, is found.
 *
 * In record every such file gets a number when it is opened, which its descriptors share; a write to it is logged with the
 * number and its place in the file. Opening, closing, cutting, and what is done to names, are FILE inputs of their own, beside
 * that of the call, with all that replay cannot know: absolute paths. They are one chain, so their order is that of replay.
 * Whether there is such an input depends on things that only record sees, so replay looks.
 *
 * In replay files lie below a folder of the user's, under their absolute paths, and nothing outside of it is touched: paths
 * are resolved as if it were the root (openat2), names only in folders that were opened so. Of files that existed before the
 * recording nothing is there but what the program wrote. */
#define _GNU_SOURCE
#include "sys.h"
#include "sys_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#define FILES 65536
static uint32_t number[FILES];  /* record: of the descriptor's file; 0: none that counts */
static uint64_t used[FILES / 64]; /* numbers */
static int files_lock, locks[64];
static int shadow[FILES];       /* replay: by number: descriptor, or 0 */
static int root = -1;           /* replay: the folder */
static uint64_t refer[FILES / 64]; /* record: numbers of files that are referred to */
static struct source {
    const char *path;
    int fd, error;
} sources[FILES];               /* replay: by number: those files */

#define TEXT 8192
#define LARGE (1l << 20)  /* files to refer to */
#define WORTH 4096      /* bytes of a read to refer to */

uint32_t weft__file_of(long fd) { return (unsigned long)fd < FILES ? __atomic_load_n(&number[fd], __ATOMIC_RELAXED) : 0; }
int *weft__file_lock(uint32_t file) { return &locks[file % 64]; }

int weft__file_ordered(long nr) {
    return nr == SYS_newfstatat || nr == SYS_read || nr == SYS_pread64 || nr == SYS_lseek || nr == SYS_fstat || nr == SYS_ftruncate;
}
int *weft__file_order(long nr, const long a[6]) {
    if (!weft__file_ordered(nr) || (nr == SYS_newfstatat && !(a[3] & AT_EMPTY_PATH))) return NULL;
    uint32_t file = weft__file_of(a[0]);
    return file && !weft__file_refers(a[0]) ? weft__file_lock(file) : NULL;
}

void weft__files_forked(void) {
    files_lock = 0;
    for (int i = 0; i < 64; i++) locks[i] = 0;
}

int64_t weft__file_offset(long nr, const long b[6], long r) {
    if ((nr == SYS_pwrite64 || nr == SYS_pwritev || nr == SYS_pwritev2) && b[3] >= 0 && !(weft__raw(SYS_fcntl, b[0], F_GETFL) & O_APPEND))
        return b[3];
    if (nr == SYS_write || nr == SYS_writev || (nr == SYS_pwritev2 && b[3] == -1)) return weft__raw(SYS_lseek, b[0], 0, SEEK_CUR) - r;
    struct stat st; /* appended, whatever offset was asked for */
    return weft__raw(SYS_fstat, b[0], &st) ? -1 : st.st_size - r;
}

/* ---- record */

static void note(struct weft_thread *t, const struct weft_file_item *f, const char *text, size_t n) {
    weft__order(t, number);
    unsigned char *buf = weft__bounce(t, sizeof *f + n);
    weft__copy(buf, f, sizeof *f);
    weft__copy(buf + sizeof *f, text, n);
    weft__log_input(t, WEFT_OP_FILE, 0, buf, sizeof *f + n);
}

static uint32_t new_number(void) {
    for (uint32_t i = 0; i < FILES / 64; i++)
        for (uint32_t k = i ? 0 : 1; ~used[i] && k < 64; k++)
            if (!(used[i] >> k & 1)) {
                used[i] |= 1ul << k;
                return i * 64 + k;
            }
    return 0;
}

/* Where a descriptor, or the working directory, is; the length with its NUL. */
static size_t place(long fd, char *text, size_t n) {
    char link[64];
    weft__format(link, sizeof link, (int)fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", (int)fd);
    long r = weft__raw(SYS_readlink, link, text, n - 1);
    if (r < 0) r = 0;
    text[r] = 0;
    return (size_t)r + 1;
}

static void record_open(struct weft_thread *t, long fd, long flags, long mode) {
    struct stat st;
    char path[TEXT];
    int reads = (flags & O_ACCMODE) == O_RDONLY;
    if ((reads && !(weft__control->options & WEFT_OPT_REFER)) || (flags & O_PATH) || (unsigned long)fd >= FILES) return;
    if (weft__raw(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink || (reads && st.st_size < LARGE)) return;
    size_t n = place(fd, path, sizeof path);
    weft__lock(&files_lock);
    struct weft_file_item f = {WEFT_FILE_OPENED, new_number(), (uint64_t)flags, (uint64_t)mode, 0};
    if (f.file) note(t, &f, path, n);
    if (reads)
        refer[f.file / 64] |= 1ul << f.file % 64;
    else
        refer[f.file / 64] &= ~(1ul << f.file % 64);
    __atomic_store_n(&number[fd], f.file, __ATOMIC_RELAXED);
    weft__unlock(&files_lock);
}

static void record_close(struct weft_thread *t, uint32_t file) {
    if (!file) return;
    weft__lock(&files_lock);
    int left = 0;
    for (int i = 0; i < FILES && !left; i++) left = number[i] == file;
    if (!left) {
        struct weft_file_item f = {WEFT_FILE_CLOSED, file, 0, 0, 0};
        note(t, &f, NULL, 0);
        used[file / 64] &= ~(1ul << file % 64);
    }
    weft__unlock(&files_lock);
}

static void record_names(struct weft_thread *t, long nr, long from, long to) {
    char text[TEXT];
    struct weft_file_item f = {WEFT_FILE_NAMED, 0, (uint64_t)nr, 0, 0};
    size_t n = place(from, text, sizeof text / 2);
    n += place(to, text + n, sizeof text / 2);
    weft__lock(&files_lock);
    note(t, &f, text, n);
    weft__unlock(&files_lock);
}

static void record_change(struct weft_thread *t, struct weft_file_item f) {
    if (!f.file) return;
    weft__lock(&files_lock);
    note(t, &f, NULL, 0);
    weft__unlock(&files_lock);
}

/* Like emulated in sys.c, but for what is logged. */
long weft__file_read(struct weft_thread *t, long nr, const long a[6]) {
    uint32_t file = weft__file_of(a[0]), n = a[2] > 0x7ffff000l ? 0x7ffff000u : (uint32_t)a[2];
    int *lock = weft__file_lock(file), zero = 0;
    unsigned char *buf = weft__bounce(t, n + 16ul);
    weft__tick(t);
    if (!__atomic_compare_exchange_n(lock, &zero, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        weft__outside(t);
        weft__lock(lock);
        weft__inside(t);
    }
    weft__outside(t);
    long r = weft__raw_wait(t, nr, (long[6]){a[0], (long)(buf + 4), n, a[3], 0, 0});
    int64_t at = nr == SYS_pread64 ? a[3] : weft__raw(SYS_lseek, a[0], 0, SEEK_CUR) - r;
    weft__inside(t);
    weft__unlock(lock);
    if (r < WORTH || at < 0) {
        n = r < 0 ? 0 : (uint32_t)r;
        weft__copy(buf, &n, 4);
        weft__log_input(t, (uint64_t)nr, r, buf, 4ul + n);
    } else {
        struct weft_reference_item ref = {file, 0, at, weft_hash(buf + 4, (size_t)r)};
        weft__log_input(t, WEFT_OP_REFERENCE, r, &ref, sizeof ref);
    }
    if (r > 0) {
        weft__take(t, (void *)a[1], (size_t)r);
        weft__copy((void *)a[1], buf + 4, (size_t)r);
        weft__tick(t);
    }
    return r;
}

int weft__file_refers(long fd) {
    uint32_t file = weft__file_of(fd);
    return file && refer[file / 64] >> file % 64 & 1;
}

/* ---- replay: what is referred to */

long weft__file_read_again(struct weft_thread *t, const long a[6]) {
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_REFERENCE);
    struct weft_reference_item ref;
    int64_t r;
    if (!it || it->size != 8 + sizeof ref) weft__diverged("thread %u at tick %lu: a read that the trace does not have there", t->slot, t->tls->clock);
    __builtin_memcpy(&r, weft__gate_data(it), 8);
    __builtin_memcpy(&ref, (const char *)weft__gate_data(it) + 8, sizeof ref);
    const struct source *s = &sources[ref.file % FILES];
    if (!s->path) weft__diverged("thread %u at tick %lu reads a file that was not opened before", t->slot, t->tls->clock);
    if (s->fd <= 0)
        weft__refuse("the trace needs the file %s, which the program read (it was recorded --by-reference), and it cannot be opened (error %d)", s->path, s->error);
    unsigned char *buf = weft__bounce(t, (size_t)r + 16);
    int64_t got = 0;
    while (got < r) {
        long k = weft__raw(SYS_pread64, s->fd, buf + got, r - got, ref.at + got);
        if (k == -EINTR) continue;
        if (k <= 0) break;
        got += k;
    }
    if (got < r || weft_hash(buf, (size_t)r) != ref.hash)
        weft__refuse("the file %s, which the program read (it was recorded --by-reference), has changed since: bytes %ld to %ld are not those that it got", s->path, ref.at, ref.at + r);
    weft__copy((void *)a[1], buf, (size_t)r);
    weft__tick(t);
    return r;
}

static void open_source(const struct weft_file_item *f, const char *path) {
    struct source *s = &sources[f->file];
    long fd = weft__raw(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        s->fd = (int)weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
        weft__raw(SYS_close, fd);
    } else
        s->fd = 0;
    s->error = (int)-fd;
    s->path = path;
}

/* ---- replay: below the folder */

static long open_below(const char *path, uint64_t flags, uint64_t mode) {
    struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    while (*path == '/') path++;
    return weft__raw(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
}

/* The folder of a path, made if need be, and the name in it. */
static long parent(char *path, const char **name) {
    char *slash = path;
    for (char *p = path; *p; p++)
        if (*p == '/' && p[1] && p[1] != '/') slash = p;
    *name = slash + 1;
    for (char *p = path + 1; p <= slash; p++) {
        if (*p != '/') continue;
        *p = 0;
        long fd = open_below(path, O_PATH | O_DIRECTORY, 0);
        if (fd == -ENOENT) {
            const char *last;
            long up = parent(path, &last); /* all before it is there */
            if (up >= 0) {
                weft__raw(SYS_mkdirat, up, last, 0777);
                weft__raw(SYS_close, up);
            }
        } else if (fd >= 0)
            weft__raw(SYS_close, fd);
        *p = '/';
    }
    char was = *slash;
    *slash = 0;
    long fd = open_below(path, O_PATH | O_DIRECTORY, 0);
    *slash = was;
    return fd;
}

/* base/name, or name alone if it is absolute. */
static size_t join(char *out, const char *base, const char *name) {
    return weft__format(out, TEXT, name[0] == '/' ? "%s%s" : "%s/%s", name[0] == '/' ? "" : base, name);
}

static void replay_open(const struct weft_file_item *f, const char *path) {
    char text[TEXT];
    const char *name;
    weft__format(text, sizeof text, "%s", path);
    long up = parent(text, &name);
    if (up >= 0) weft__raw(SYS_close, up);
    long fd = open_below(text, O_WRONLY | O_CREAT | (f->a & O_TRUNC), (f->b & 0777) | 0600);
    if (fd >= 0) {
        long high = weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
        weft__raw(SYS_close, fd);
        fd = high;
    }
    if (fd < 0) weft__refuse("--write-files: %s cannot be made there (error %ld)", path, -fd);
    shadow[f->file] = (int)fd;
}

/* What is not there was there before the recording: then nothing is done, as nothing is known of it. */
static void replay_names(long nr, const long a[6], const char *from, const char *to) {
    char one[TEXT], two[TEXT];
    const char *first = NULL, *second = NULL, *name, *other;
    switch (nr) {
    case SYS_rename: case SYS_link: case SYS_symlink: first = (const char *)a[0], second = (const char *)a[1]; break;
    case SYS_unlink: case SYS_rmdir: case SYS_mkdir: case SYS_truncate: first = (const char *)a[0]; break;
    case SYS_renameat: case SYS_renameat2: case SYS_linkat: first = (const char *)a[1], second = (const char *)a[3]; break;
    case SYS_symlinkat: first = (const char *)a[0], second = (const char *)a[2]; break;
    default: first = (const char *)a[1]; break;
    }
    join(one, from, first);
    if (nr == SYS_truncate) {
        long fd = open_below(one, O_WRONLY, 0);
        if (fd >= 0) weft__raw(SYS_ftruncate, fd, a[1]);
        if (fd >= 0) weft__raw(SYS_close, fd);
        return;
    }
    if (nr == SYS_symlink || nr == SYS_symlinkat) {
        join(two, to, second);
        long up = parent(two, &other);
        weft__raw(SYS_symlinkat, first, up, other);
        weft__raw(SYS_close, up);
        return;
    }
    long up = parent(one, &name), up2 = -1;
    if (second) {
        join(two, to, second);
        up2 = parent(two, &other);
    }
    switch (nr) {
    case SYS_rename: case SYS_renameat: case SYS_renameat2: weft__raw(SYS_renameat2, up, name, up2, other, nr == SYS_renameat2 ? a[4] : 0); break;
    case SYS_link: case SYS_linkat: weft__raw(SYS_linkat, up, name, up2, other, 0); break;
    case SYS_unlink: weft__raw(SYS_unlinkat, up, name, 0); break;
    case SYS_unlinkat: weft__raw(SYS_unlinkat, up, name, a[2]); break;
    case SYS_rmdir: weft__raw(SYS_unlinkat, up, name, AT_REMOVEDIR); break;
    case SYS_mkdir: weft__raw(SYS_mkdirat, up, name, a[1] | 0700); break;
    case SYS_mkdirat: weft__raw(SYS_mkdirat, up, name, a[2] | 0700); break;
    }
    if (up >= 0) weft__raw(SYS_close, up);
    if (up2 >= 0) weft__raw(SYS_close, up2);
}

static void replay(struct weft_thread *t, const long a[6]) {
    if (weft__gate_op(t) != WEFT_OP_FILE) return;
    struct weft_sched_item *it = weft__gate_input(t, WEFT_ITEM_INPUT, WEFT_OP_FILE);
    if (!it || it->size < 8 + sizeof(struct weft_file_item))
        weft__diverged("thread %u at tick %lu does something to a file that the recording does not have there", t->slot, t->tls->clock);
    const struct weft_file_item *f = (const struct weft_file_item *)((const char *)weft__gate_data(it) + 8);
    const char *text = (const char *)(f + 1), *end = (const char *)weft__gate_data(it) + it->size;
    if (f->file >= FILES) return;
    if (f->what == WEFT_FILE_OPENED && (f->a & O_ACCMODE) == O_RDONLY) {
        open_source(f, text);
        return;
    }
    if (f->what == WEFT_FILE_CLOSED && sources[f->file].path) {
        if (sources[f->file].fd > 0) weft__raw(SYS_close, sources[f->file].fd);
        sources[f->file].path = NULL;
    }
    if (root < 0) return;
    int fd = shadow[f->file];
    switch (f->what) {
    case WEFT_FILE_OPENED: replay_open(f, text); break;
    case WEFT_FILE_CLOSED:
        shadow[f->file] = 0;
        if (fd) weft__raw(SYS_close, fd);
        break;
    case WEFT_FILE_CUT: weft__raw(SYS_ftruncate, fd, f->a); break;
    case WEFT_FILE_ALLOCATED: {
        struct stat st;
        if (weft__raw(SYS_fallocate, fd, f->a, f->b, f->c) && !f->a && !weft__raw(SYS_fstat, fd, &st) && (uint64_t)st.st_size < f->b + f->c)
            weft__raw(SYS_ftruncate, fd, f->b + f->c);
        break;
    }
    case WEFT_FILE_NAMED: {
        const char *to = text;
        while (to < end && *to) to++;
        replay_names((long)f->a, a, text, to + 1 < end ? to + 1 : text);
        break;
    }
    case WEFT_FILE_COPIED: weft__refuse("--write-files: the program had the kernel copy into a file (%s): what came there is not in the trace", weft__sys_name((long)f->a));
    }
}

/* Files that a program has open for writing when it is executed: as if it had just opened each. */
void weft__files_inherited(struct weft_thread *t, const unsigned char *console) {
    static const long none[6];
    if (!RECORD)
        while (weft__gate_op(t) == WEFT_OP_FILE) replay(t, none);
    else
        for (long fd = 0; fd < WEFT_CONSOLE; fd++) {
            long flags = console[fd] ? -1 : weft__raw(SYS_fcntl, fd, F_GETFL);
            if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) record_open(t, fd, flags & ~(O_TRUNC | O_CREAT), 0);
        }
}

void weft__files_open(void) {
    const char *dir = weft__control->write_files;
    if (!*dir) return;
    long fd = weft__raw(SYS_open, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) root = (int)weft__raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
    if (fd < 0 || root < 0) weft__refuse("--write-files: %s cannot be opened", dir);
    weft__raw(SYS_close, fd);
}

void weft__file_write(uint32_t file, const unsigned char *data, size_t n, int64_t at) {
    int fd = root < 0 || file >= FILES ? 0 : shadow[file];
    while (fd && n) {
        long r = weft__raw(SYS_pwrite64, fd, data, n, at);
        if (r == -EINTR) continue;
        if (r <= 0) weft__refuse("--write-files: a file cannot be written (error %ld)", -r);
        data += r;
        at += r;
        n -= (size_t)r;
    }
}

/* ---- both. Before and after each call that may matter. */

uint32_t weft__file_before(long nr, const long a[6]) {
    long fd = nr == SYS_close ? a[0] : nr == SYS_dup2 || nr == SYS_dup3 ? a[1] : -1;
    if (nr == SYS_close_range)
        for (uint64_t i = (unsigned)a[0]; i < FILES && i <= (unsigned)a[1]; i++) number[i] = 0; /* the numbers stay taken */
    if ((unsigned long)fd >= FILES || (nr != SYS_close && a[0] == a[1])) return 0;
    /* Before the call: afterwards another thread may have got the descriptor. */
    return __atomic_exchange_n(&number[fd], 0, __ATOMIC_RELAXED);
}

int weft__file_call(long nr) {
    switch (nr) {
    case SYS_open: case SYS_openat: case SYS_openat2: case SYS_creat: case SYS_close: case SYS_close_range: case SYS_dup: case SYS_dup2: case SYS_dup3:
    case SYS_ftruncate: case SYS_fallocate: case SYS_truncate: case SYS_rename: case SYS_renameat: case SYS_renameat2:
    case SYS_link: case SYS_linkat: case SYS_symlink: case SYS_symlinkat: case SYS_unlink: case SYS_unlinkat: case SYS_mkdir:
    case SYS_mkdirat: case SYS_rmdir: case SYS_sendfile: case SYS_copy_file_range: case SYS_splice: case SYS_fcntl: return 1;
    default: return 0;
    }
}

void weft__file_after(struct weft_thread *t, long nr, const long a[6], long r, uint32_t was) {
    if (failed(r)) {
        if (was) number[nr == SYS_close ? a[0] : a[1]] = was;
        return;
    }
    weft__tick(t);
    if (!RECORD) {
        replay(t, a);
        return;
    }
    switch (nr) {
    case SYS_open: record_open(t, r, a[1], a[2]); break;
    case SYS_openat: record_open(t, r, a[2], a[3]); break;
    case SYS_openat2: record_open(t, r, (long)((const uint64_t *)a[2])[0], (long)((const uint64_t *)a[2])[1]); break;
    case SYS_creat: record_open(t, r, O_WRONLY | O_CREAT | O_TRUNC, a[1]); break;
    case SYS_close: record_close(t, was); break;
    case SYS_fcntl:
        if (a[1] != F_DUPFD && a[1] != F_DUPFD_CLOEXEC) break; /* fallthrough */
    case SYS_dup: case SYS_dup2: case SYS_dup3:
        if ((unsigned long)r < FILES && a[0] != r) __atomic_store_n(&number[r], weft__file_of(a[0]), __ATOMIC_RELAXED);
        if (was != weft__file_of(r)) record_close(t, was);
        break;
    case SYS_ftruncate: record_change(t, (struct weft_file_item){WEFT_FILE_CUT, weft__file_of(a[0]), (uint64_t)a[1], 0, 0}); break;
    case SYS_fallocate:
        record_change(t, (struct weft_file_item){WEFT_FILE_ALLOCATED, weft__file_of(a[0]), (uint64_t)a[1], (uint64_t)a[2], (uint64_t)a[3]});
        break;
    case SYS_sendfile: record_change(t, (struct weft_file_item){WEFT_FILE_COPIED, r ? weft__file_of(a[0]) : 0, (uint64_t)nr, 0, 0}); break;
    case SYS_copy_file_range:
    case SYS_splice: record_change(t, (struct weft_file_item){WEFT_FILE_COPIED, r ? weft__file_of(a[2]) : 0, (uint64_t)nr, 0, 0}); break;
    case SYS_renameat: case SYS_renameat2: case SYS_linkat: record_names(t, nr, a[0], a[2]); break;
    case SYS_symlinkat: record_names(t, nr, AT_FDCWD, a[1]); break;
    case SYS_unlinkat: case SYS_mkdirat: record_names(t, nr, a[0], AT_FDCWD); break;
    case SYS_rename: case SYS_link: case SYS_symlink: case SYS_unlink: case SYS_mkdir: case SYS_rmdir: case SYS_truncate:
        record_names(t, nr, AT_FDCWD, AT_FDCWD);
        break;
    }
}
