/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens a trace folder: header and end are checked whole, streams becomes a row of chunks that can be read in any
 * order.
 *
 * Whatever the bytes are, nothing here crashes, and no more memory is used than the files' sizes account for: the
 * header is bounded, and of streams.zst one frame of at most WEFT_FRAME_MAX bytes is in memory at a time. Files are
 * read, not mapped: a file that shrinks while it is mapped is a SIGBUS, and a recording that still runs would change
 * under the reader's feet.
 *
 * What is in a chunk is the cursor's business: weft__cursor_next. */
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Checks one section and gives its strings: pointers into the header file. */
static int section(struct weft_trace *t, const char *what, const struct weft_section *s, size_t size, char ***out,
                   struct weft_err *err) {
    if (s->off < sizeof(struct weft_trace_header) || s->off > size || s->len > size - s->off)
        return weft__err(err, EBADMSG, "%s: header: the section of %s lies outside the file (offset 0x%x, %u bytes)",
                         t->dir, what, s->off, s->len);
    const char *p = t->strings + s->off, *end = p + s->len;
    if (s->len && end[-1] != 0)
        return weft__err(err, EBADMSG, "%s: header at 0x%x: the section of %s does not end in a NUL byte", t->dir,
                         s->off + s->len - 1, what);
    uint32_t n = 0;
    for (const char *q = p; q < end; q++) n += *q == 0;
    if (n != s->count)
        return weft__err(err, EBADMSG, "%s: header: the section of %s has %u strings and says %u", t->dir, what, n,
                         s->count);
    char **list = weft__alloc(((size_t)n + 1) * sizeof *list);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = (char *)p;
        p += strlen(p) + 1;
    }
    *out = list;
    return 0;
}

static int one_string(struct weft_trace *t, const char *what, const struct weft_section *s, size_t size, char **out,
                      struct weft_err *err) {
    char **list;
    int r = section(t, what, s, size, &list, err);
    if (r < 0) return r;
    *out = list[0];
    free(list);
    if (s->count != 1)
        return weft__err(err, EBADMSG, "%s: header: %u strings for %s, where one belongs", t->dir, s->count, what);
    return 0;
}

static int check_magic(const char *dir, const char *header, size_t size, struct weft_err *err) {
    uint64_t magic = 0;
    if (size >= sizeof magic) memcpy(&magic, header, sizeof magic);
    if (magic == WEFT_HEADER_MAGIC) return 0;
    return weft__err(err, EBADMSG, "%s: not a trace: its header file was not written by weft", dir);
}

/* The rules in the order of include/weft/trace.h. */
static int read_header(struct weft_trace *t, size_t size, struct weft_err *err) {
    struct weft_trace_header h;
    int foreign = check_magic(t->dir, t->strings, size, err);
    if (foreign < 0) return foreign;
    if (size < sizeof h)
        return weft__err(err, EBADMSG, "%s: header: %zu bytes, which is too short (was it truncated?)", t->dir, size);
    memcpy(&h, t->strings, sizeof h);
    if (h.version < WEFT_TRACE_OLDEST || h.version > WEFT_TRACE_VERSION)
        return weft__err(err, EBADMSG, "%s: header: trace version %u; this weft reads versions %d to %d", t->dir,
                         h.version, WEFT_TRACE_OLDEST, WEFT_TRACE_VERSION);
    if (h.size != size)
        return weft__err(err, EBADMSG, "%s: header: %zu bytes where there should be %u (was it truncated?)", t->dir,
                         size, h.size);
    uint64_t zero = 0;
    memcpy(t->strings + offsetof(struct weft_trace_header, hash), &zero, 8);
    if (weft_hash(t->strings, size) != h.hash)
        return weft__err(err, EBADMSG, "%s: header: checksum mismatch (its bytes were changed)", t->dir);
    int r = one_string(t, "the program", &h.program, size, &t->program, err);
    if (r == 0) r = one_string(t, "the working directory", &h.cwd, size, &t->cwd, err);
    if (r == 0) r = section(t, "the arguments", &h.argv, size, &t->argv, err);
    if (r == 0) r = section(t, "the environment", &h.env, size, &t->env, err);
    if (r < 0) return r;
    if (h.argv.count == 0) return weft__err(err, EBADMSG, "%s: header: no program name among the arguments", t->dir);
    if (t->program[0] != '/') return weft__err(err, EBADMSG, "%s: header: the program's path is not absolute", t->dir);
    t->header = h;
    return 0;
}

static int read_end(struct weft_trace *t, const void *bytes, size_t n, struct weft_err *err) {
    struct weft_trace_end e;
    if (n != sizeof e)
        return weft__err(err, EBADMSG, "%s: end: %zu bytes where there should be %zu", t->dir, n, sizeof e);
    memcpy(&e, bytes, sizeof e);
    if (e.magic != WEFT_END_MAGIC)
        return weft__err(err, EBADMSG, "%s: end: was not written by weft (wrong magic)", t->dir);
    uint64_t hash = e.hash;
    e.hash = 0;
    if (weft_hash(&e, sizeof e) != hash)
        return weft__err(err, EBADMSG, "%s: end: checksum mismatch (its bytes were changed)", t->dir);
    if ((e.kind != WEFT_END_EXIT && e.kind != WEFT_END_SIGNAL && e.kind != WEFT_END_STUCK) ||
        (e.kind == WEFT_END_SIGNAL && (e.code < 1 || e.code > 64)))
        return weft__err(err, EBADMSG, "%s: end: kind %u with code %u is no way to end", t->dir, e.kind, e.code);
    e.hash = hash;
    t->end = e;
    t->has_end = true;
    return 0;
}

/* Bytes [off, off + n) or as many as there are; -errno. */
static ssize_t read_at(struct weft_trace *t, int fd, void *buf, size_t n, uint64_t off, struct weft_err *err) {
    size_t got = 0;
    while (got < n) {
        ssize_t r = pread(fd, (char *)buf + got, n - got, (off_t)(off + got));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return weft__err(err, errno, "%s: %s", t->path, strerror(errno));
        if (r == 0) break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

/* Finds the frames without decompressing them. */
static int scan_frames(struct weft_trace *t, struct weft_err *err) {
    size_t room = ZSTD_compressBound(WEFT_FRAME_MAX), cap = 0;
    uint64_t off = 0, bytes = 0, largest = 0;
    if (room > t->size[WEFT_PACKED]) room = (size_t)t->size[WEFT_PACKED];
    t->frame_in = weft__alloc(room);
    t->dctx = ZSTD_createDCtx();
    if (!t->dctx) weft__die("out of memory (zstd)");
    while (off < t->size[WEFT_PACKED]) {
        ssize_t n = read_at(t, t->fd[WEFT_PACKED], t->frame_in, room, off, err);
        if (n < 0) return (int)n;
        if (n == 0)
            return weft__err(err, EBADMSG, "%s at 0x%llx: the file has become shorter", t->path,
                             (unsigned long long)off);
        /* A buffer may hold many small frames. */
        size_t at = 0;
        while (at < (size_t)n) {
            unsigned long long where = off + at;
            size_t size = ZSTD_findFrameCompressedSize(t->frame_in + at, (size_t)n - at);
            if (ZSTD_isError(size)) {
                if (at) break; /* perhaps cut by the buffer: read again from here */
                if (t->fd[WEFT_STREAMS] >= 0 && !t->has_end) goto whole; /* was being written; what it was to hold is still in streams */
                return weft__err(err, EBADMSG, "%s: frame %zu at 0x%llx: %s (was the file truncated?)", t->path,
                                 t->nframes, where, ZSTD_getErrorName(size));
            }
            unsigned long long content = ZSTD_getFrameContentSize(t->frame_in + at, size);
            if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || content > WEFT_FRAME_MAX ||
                content % WEFT_CHUNK || content == 0)
                return weft__err(err, EBADMSG, "%s: frame %zu at 0x%llx: does not hold a row of chunks", t->path,
                                 t->nframes, where);
            bytes += content;
            if (content > largest) largest = content;
            if (bytes > t->size[WEFT_PACKED] * WEFT_RATIO_MAX + WEFT_RATIO_FREE)
                return weft__err(err, EBADMSG,
                                 "%s: frame %zu at 0x%llx: would decompress to more than a recording can hold", t->path,
                                 t->nframes, where);
            t->frames = weft__grow(t->frames, &cap, t->nframes + 1, sizeof *t->frames);
            t->frames[t->nframes++] = (struct weft_frame){
                .off = where, .first = t->packed, .size = (uint32_t)size, .chunks = (uint32_t)(content / WEFT_CHUNK)};
            t->packed += content / WEFT_CHUNK;
            at += size;
        }
        off += at;
    }
whole:
    t->frame_out = weft__alloc(largest);
    return 0;
}

static int open_streams(struct weft_trace *t, struct weft_err *err) {
    for (int i = 0; i < WEFT_FILES; i++) {
        struct stat st;
        if (t->fd[i] < 0) continue;
        if (fstat(t->fd[i], &st) < 0) return weft__err(err, errno, "%s: %s", t->path, strerror(errno));
        if (!S_ISREG(st.st_mode)) return weft__err(err, EBADMSG, "%s: not a regular file", t->path);
        t->size[i] = (uint64_t)st.st_size;
    }
    int r = t->fd[WEFT_PACKED] < 0 ? 0 : scan_frames(t, err);
    t->closed = t->packed + (t->size[WEFT_STREAMS] + WEFT_CHUNK - 1) / WEFT_CHUNK;
    t->chunks = t->closed + (t->size[WEFT_OPEN] + WEFT_CHUNK - 1) / WEFT_CHUNK;
    return r;
}

static const char *const names[WEFT_FILES] = {"streams.zst", "streams", "open", "bulk"};

int weft__trace_open_parts(const char *name, const void *header, size_t header_len, const void *end, size_t end_len,
                           const int fd[WEFT_FILES], struct weft_trace **out, struct weft_err *err) {
    struct weft_trace *t = weft__alloc(sizeof *t);
    struct weft_strbuf path = {0};
    t->dir = weft__strdup(name);
    weft__strbuf_printf(&path, "%s: ", name);
    for (int i = 0, n = 0; i < WEFT_FILES; i++) {
        t->fd[i] = fd[i];
        if (fd[i] >= 0 && i != WEFT_BULK) weft__strbuf_printf(&path, "%s%s", n++ ? ", " : "", names[i]);
    }
    t->path = path.s;
    t->strings = weft__alloc(header_len + 1);
    if (header_len) memcpy(t->strings, header, header_len);
    int r = read_header(t, header_len, err);
    if (r == 0 && end) r = read_end(t, end, end_len, err);
    if (r == 0) r = open_streams(t, err);
    if (r < 0) {
        weft__trace_close(t);
        return r;
    }
    *out = t;
    return 0;
}

/* NULL-safe reading of a small file of the folder: -ENOENT passes through silently. */
static int part(const char *dir, const char *name, size_t max, char **out, size_t *len, struct weft_err *err) {
    struct weft_strbuf path = {0};
    weft__strbuf_printf(&path, "%s/%s", dir, name);
    int r = weft__file_read(path.s, max, out, len, err);
    weft__strbuf_fini(&path);
    return r;
}

/* The lock is on the header of the first process. */
static bool is_being_recorded(const char *dir) {
    struct weft_strbuf path = {0};
    weft__strbuf_printf(&path, "%s/header", dir);
    int fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (fd >= 0) close(fd);
    path.len = 0;
    weft__strbuf_printf(&path, "%s/..", dir);
    if (!busy && weft__trace_is_part(dir)) busy = is_being_recorded(path.s);
    weft__strbuf_fini(&path);
    return busy;
}

int weft__trace_open(const char *dir, struct weft_trace **out, struct weft_err *err) {
    char *header = NULL, *end = NULL;
    size_t header_len = 0, end_len = 0;
    int dirfd = -1, fd[WEFT_FILES] = {-1, -1, -1};
    struct stat st;
    int r;

    if (stat(dir, &st) < 0)
        return weft__err(err, errno, "%s: %s", dir, errno == ENOENT ? "there is no such trace" : strerror(errno));
    if (!S_ISDIR(st.st_mode)) return weft__err(err, ENOTDIR, "%s: not a trace (a trace is a folder)", dir);
    /* Asked before streams is opened: a recording that ends meanwhile replaces streams, then lets go. */
    bool recording = is_being_recorded(dir);
    r = part(dir, "header", WEFT_HEADER_MAX, &header, &header_len, err);
    if (r == -ENOENT) weft__err(err, ENOENT, "%s: not a trace (it has no header file)", dir);
    if (r == 0) r = check_magic(dir, header, header_len, err); /* before its other files are missed */
    if (r < 0) goto out;
    dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dirfd < 0) {
        r = weft__err(err, errno, "%s: %s", dir, strerror(errno));
        goto out;
    }
    /* In this order, and the lock before the other file is opened: from then on nothing goes from streams, so what is not
     * in the other one by now is found here (pack.c). */
    static const enum weft_file order[] = {WEFT_STREAMS, WEFT_PACKED, WEFT_OPEN, WEFT_BULK};
    for (int i = 0; i < WEFT_FILES; i++) {
        int k = openat(dirfd, names[order[i]], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        fd[order[i]] = k;
        if (k < 0 && errno != ENOENT) {
            r = weft__err(err, errno, "%s/%s: %s", dir, names[order[i]], strerror(errno));
            goto out;
        }
        while (k >= 0 && order[i] == WEFT_STREAMS && flock(k, LOCK_SH) < 0 && errno == EINTR) {}
    }
    if (fd[WEFT_STREAMS] < 0 && fd[WEFT_PACKED] < 0) {
        r = errno == ENOENT ? weft__err(err, ENOENT, "%s: the trace has lost its streams file", dir)
                            : weft__err(err, errno, "%s/streams: %s", dir, strerror(errno));
        goto out;
    }
    r = part(dir, "end", sizeof(struct weft_trace_end), &end, &end_len, err);
    if (r < 0 && r != -ENOENT) goto out;
    struct weft_trace *t;
    r = weft__trace_open_parts(dir, header, header_len, end, end_len, fd, &t, err);
    for (int i = 0; i < WEFT_FILES; i++) fd[i] = -1;
    if (r < 0) goto out;
    t->recording = recording;
    *out = t;
out:
    for (int i = 0; i < WEFT_FILES; i++)
        if (fd[i] >= 0) close(fd[i]);
    if (dirfd >= 0) close(dirfd);
    free(end);
    free(header);
    return r;
}

void weft__trace_close(struct weft_trace *t) {
    if (!t) return;
    for (int i = 0; i < WEFT_FILES; i++)
        if (t->fd[i] >= 0) close(t->fd[i]);
    ZSTD_freeDCtx(t->dctx);
    free(t->frame_in);
    free(t->frame_out);
    free(t->frames);
    free(t->index);
    free(t->index_slot);
    for (size_t i = 0; i < t->nmodules; i++) free(t->modules[i].path);
    free(t->modules);
    free(t->argv);
    free(t->env);
    free(t->strings);
    free(t->path);
    free(t->dir);
    free(t);
}

/* The frame that holds chunk n. */
static size_t find_frame(const struct weft_trace *t, uint64_t n) {
    size_t lo = 0, hi = t->nframes;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (t->frames[mid].first <= n)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

int weft__trace_bulk(struct weft_trace *t, void *buf, size_t n, uint64_t at, struct weft_err *err) {
    struct stat st;
    int *fd = &t->fd[WEFT_BULK];
    if (*fd < 0 && !t->has_end) { /* it was not there yet when the trace was opened */
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s/bulk", t->dir);
        *fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        weft__strbuf_fini(&path);
    }
    if (*fd >= 0 && (at > t->size[WEFT_BULK] || n > t->size[WEFT_BULK] - at) && fstat(*fd, &st) == 0) t->size[WEFT_BULK] = (uint64_t)st.st_size; /* it grows */
    if (at > t->size[WEFT_BULK] || n > t->size[WEFT_BULK] - at) return 0;
    if (!buf || !n) return 1;
    ssize_t got = read_at(t, t->fd[WEFT_BULK], buf, n, at, err);
    return got < 0 ? (int)got : (size_t)got == n;
}

int weft__trace_raw_chunk(struct weft_trace *t, int fd, uint64_t n, uint8_t *buf, struct weft_err *err) {
    ssize_t got = read_at(t, fd, buf, WEFT_CHUNK, n * WEFT_CHUNK, err);
    if (got < 0) return (int)got;
    memset(buf + got, 0, WEFT_CHUNK - (size_t)got);
    /* A whole chunk of zeros was reserved and may be cut anywhere (a full disk does that); one in use may not. */
    for (ssize_t i = 0; i < got && got < (ssize_t)WEFT_CHUNK; i++)
        if (buf[i])
            return weft__err(err, EBADMSG,
                             "%s: chunk %llu at 0x%llx: the file ends in the middle of it (was it truncated?)", t->path,
                             (unsigned long long)n, (unsigned long long)n * WEFT_CHUNK);
    return 0;
}

int weft__trace_chunk(struct weft_trace *t, uint64_t n, uint8_t *buf, struct weft_err *err) {
    WEFT_CHECK(n < t->chunks);
    if (n >= t->closed) {
        /* If its thread lives and took another one meanwhile, this is of both. */
        struct weft_chunk now;
        int r = weft__trace_raw_chunk(t, t->fd[WEFT_OPEN], n - t->closed, buf, err);
        if (r == 0 && read_at(t, t->fd[WEFT_OPEN], &now, sizeof now, (n - t->closed) * WEFT_CHUNK, err) == sizeof now &&
            (now.magic != ((struct weft_chunk *)buf)->magic || now.seq != ((struct weft_chunk *)buf)->seq))
            memset(buf, 0, WEFT_CHUNK);
        return r;
    }
    if (n >= t->packed) return weft__trace_raw_chunk(t, t->fd[WEFT_STREAMS], n - t->packed, buf, err);
    size_t i = find_frame(t, n);
    const struct weft_frame *f = &t->frames[i];
    if (t->cached != i + 1) {
        t->cached = 0;
        ssize_t got = read_at(t, t->fd[WEFT_PACKED], t->frame_in, f->size, f->off, err);
        if (got < 0) return (int)got;
        size_t size = (size_t)f->chunks * WEFT_CHUNK;
        size_t r = ZSTD_decompressDCtx(t->dctx, t->frame_out, size, t->frame_in, (size_t)got);
        if (ZSTD_isError(r) || r != size)
            return weft__err(err, EBADMSG, "%s: chunk %llu in frame %zu at 0x%llx: %s", t->path, (unsigned long long)n,
                             i, (unsigned long long)f->off, ZSTD_isError(r) ? ZSTD_getErrorName(r) : "wrong size");
        t->cached = i + 1;
    }
    memcpy(buf, t->frame_out + (n - f->first) * WEFT_CHUNK, WEFT_CHUNK);
    return 0;
}

unsigned weft__trace_parts(const char *dir) {
    unsigned most = 0;
    DIR *d = opendir(dir);
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        char *end;
        unsigned long n = strtoul(e->d_name, &end, 10);
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && !*end && n > most && n <= WEFT_PARTS_MAX) most = (unsigned)n;
    }
    closedir(d);
    return most;
}

/* Its name is a number, and the folder that it is in is a trace. */
bool weft__trace_is_part(const char *dir) {
    struct weft_strbuf parents = {0};
    char *real = realpath(dir, NULL), *name = real ? strrchr(real, '/') : NULL, *end;
    weft__strbuf_printf(&parents, "%s/../header", dir);
    bool is = name && name[1] >= '1' && name[1] <= '9' && (strtoul(name + 1, &end, 10), !*end) && access(parents.s, F_OK) == 0;
    weft__strbuf_fini(&parents);
    free(real);
    return is;
}

bool weft__trace_is_program(const struct weft_trace *t, const struct weft_trace *of) {
    return t->header.hash != of->header.hash;
}

bool weft__trace_part(const char *dir, unsigned k, struct weft_strbuf *path) {
    static const char *const names[] = {"streams", "streams.zst"};
    bool found = false;
    path->len = 0;
    weft__strbuf_printf(path, "%s/%u", dir, k);
    for (int i = 0; i < 2 && !found; i++) {
        struct weft_strbuf file = {0};
        weft__strbuf_printf(&file, "%s/%s", path->s, names[i]);
        found = access(file.s, F_OK) == 0;
        weft__strbuf_fini(&file);
    }
    return found;
}

uint64_t weft__trace_disk_bytes(const char *dir) {
    uint64_t n = 0;
    DIR *d = opendir(dir);
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) continue;
        uint64_t blocks = (uint64_t)st.st_blocks * 512; /* fewer than its size if chunks have moved from it */
        if (S_ISREG(st.st_mode)) n += blocks < (uint64_t)st.st_size ? blocks : (uint64_t)st.st_size;
        if (S_ISDIR(st.st_mode) && e->d_name[0] >= '1' && e->d_name[0] <= '9') {
            struct weft_strbuf path = {0};
            weft__strbuf_printf(&path, "%s/%s", dir, e->d_name);
            n += weft__trace_disk_bytes(path.s);
            weft__strbuf_fini(&path);
        }
    }
    closedir(d);
    return n;
}

/* What was logged is in the chunks that threads fill, and in how many they have filled. */
uint64_t weft__trace_activity(const char *dir) {
    struct weft_strbuf path = {0};
    struct weft_err err;
    struct stat st = {0};
    char *bytes = NULL;
    size_t len = 0;
    weft__strbuf_printf(&path, "%s/streams", dir);
    if (stat(path.s, &st) < 0) st.st_size = 0;
    uint64_t h = (uint64_t)st.st_size + (uint64_t)st.st_blocks;
    path.len = 0;
    weft__strbuf_printf(&path, "%s/open", dir);
    if (weft__file_read(path.s, (size_t)WEFT_MAX_SLOT * WEFT_CHUNK, &bytes, &len, &err) == 0) h += weft_hash(bytes, len);
    free(bytes);
    unsigned most = weft__trace_parts(dir);
    for (unsigned k = 1; k <= most; k++)
        if (weft__trace_part(dir, k, &path)) h = h * 31 + weft__trace_activity(path.s);
    weft__strbuf_fini(&path);
    return h;
}

/* Counting sort by slot; the cursor checks what the chunks hold. */
int weft__trace_index(struct weft_trace *t, struct weft_err *err) {
    if (t->index) return 0;
    if (t->chunks > UINT32_MAX) return weft__err(err, EFBIG, "%s: too many chunks", t->path);
    uint8_t *buf = weft__alloc(WEFT_CHUNK);
    uint32_t *slot = weft__alloc(t->chunks * sizeof *slot);
    uint32_t top = 0;
    int r = 0;
    for (uint64_t n = 0; n < t->chunks && r == 0; n++) {
        r = weft__trace_chunk(t, n, buf, err);
        struct weft_chunk head;
        memcpy(&head, buf, sizeof head);
        slot[n] = head.magic == WEFT_CHUNK_MAGIC && head.slot <= WEFT_MAX_SLOT ? head.slot : 0;
        if (slot[n] > top) top = slot[n];
    }
    if (r == 0) {
        uint64_t *start = weft__alloc(((size_t)top + 2) * sizeof *start);
        uint64_t *at = weft__alloc(((size_t)top + 2) * sizeof *at);
        for (uint64_t n = 0; n < t->chunks; n++) start[slot[n] + 1]++;
        for (uint32_t s = 0; s <= top; s++) start[s + 1] += start[s];
        memcpy(at, start, ((size_t)top + 2) * sizeof *at);
        t->index = weft__alloc(t->chunks * sizeof *t->index);
        for (uint64_t n = 0; n < t->chunks; n++) t->index[at[slot[n]]++] = (uint32_t)n;
        t->index_slot = start;
        t->index_top = top;
        free(at);
    }
    free(slot);
    free(buf);
    return r;
}
