/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Moves chunks from streams to streams.zst: while the program runs, in whole frames (weft__packer_some); after its end the rest,
 * and those in open, and then end is written (weft__packer_finish).
 *
 * A chunk is in streams.zst before it goes from streams (a hole is punched there, so that the disk gets its space back), and
 * a reader skips what it has seen already. So whoever is killed at whatever moment, nothing is lost. A slot's chunks are moved
 * in their order, each when all before it were; the open one of a thread that sleeps holds up no others.
 *
 * Readers hold a shared lock on streams, and holes are punched under an exclusive one: what a reader has not found in
 * streams.zst when it opened that file must stay. Where that lock is not to be had the holes wait.
 *
 * At the end somebody waits for us. When the caller's patience is over, or when the disk is full, the rest is closed where it
 * is, in streams: that is a valid trace as well. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 1
#define MOST_WORKERS 16
#define PER_FRAME (WEFT_FRAME / WEFT_CHUNK)
#define FROM_OPEN (1ull << 63)

/* With zstd's checksum: it tells rot before the chunks are looked at. */
static ZSTD_CCtx *compressor(void) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!c) weft__die("out of memory (zstd)");
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    return c;
}

void weft__chunk_seal(uint8_t *chunk, uint32_t used) {
    struct weft_chunk *c = (struct weft_chunk *)chunk;
    memset(chunk + used, 0, WEFT_CHUNK - used);
    c->hash = weft_chunk_hash(c, used);
    c->used = used;
}

int weft__streams_compress(const uint8_t *bytes, size_t n, char **out, size_t *len, struct weft_err *err) {
    struct weft_strbuf b = {0};
    if (n % WEFT_CHUNK) return weft__err(err, EINVAL, "not a row of chunks");
    size_t room = ZSTD_compressBound(WEFT_FRAME);
    void *packed = weft__alloc(room);
    ZSTD_CCtx *cctx = compressor();
    for (size_t at = 0; at < n; at += WEFT_FRAME) {
        size_t part = n - at < WEFT_FRAME ? n - at : WEFT_FRAME;
        size_t r = ZSTD_compress2(cctx, packed, room, bytes + at, part);
        WEFT_CHECK(!ZSTD_isError(r));
        weft__strbuf_add(&b, packed, r);
    }
    ZSTD_freeCCtx(cctx);
    free(packed);
    *out = b.s;
    *len = b.len;
    return 0;
}

struct frame {
    uint8_t *raw;
    size_t chunks, packed_len;
    uint64_t from[PER_FRAME]; /* places of the chunks in streams; with FROM_OPEN in open */
    uint32_t opened;          /* bits: this one was open, and raw has it closed */
    void *packed;
    size_t room;
    ZSTD_CCtx *cctx;
    pthread_t thread;
    bool started;
};
_Static_assert(PER_FRAME == 32, "bits of opened");

struct list {
    uint64_t *at;
    size_t n, cap;
};

struct weft_packer {
    struct weft_trace *t;
    uint64_t *disk_bytes; /* shared with the runtime: what the trace takes on disk; may be NULL */
    int fd, zst;          /* streams, for holes; streams.zst, -1 until it is needed */
    int open_fd;          /* open, at the end */
    char *zst_path;
    uint64_t zst_size;
    int error; /* errno of the first failure: from then on nothing is moved */
    bool holes; /* can be made */
    bool open_stays;
    int broken; /* what weft__packer_some has met: the trace cannot be closed */
    struct weft_err why;
    struct weft_cursor cursor;
    struct weft_counts counts;
    uint64_t next;      /* chunk of streams that was never looked at */
    struct list open;   /* chunks before it that were not closed yet, or whose slot has such a one before them */
    struct list ready;  /* closed, in an order that keeps that of each slot */
    struct list punch;  /* moved, and still in streams */
    uint32_t *seq;      /* per slot: of its next chunk that gets ready */
    size_t nseq;
    /* Frames are compressed side by side and written in their order, while the next ones are read. */
    size_t frames, at; /* how many there are in a row, and which is being filled */
    int row;           /* that is being filled; the other one is being compressed */
    struct frame frame[2][MOST_WORKERS];
};

static void add(struct list *l, uint64_t v) {
    l->at = weft__grow(l->at, &l->cap, l->n + 1, sizeof *l->at);
    l->at[l->n++] = v;
}

static void frames_open(struct weft_packer *p, size_t frames) {
    p->frames = frames;
    for (size_t i = 0; i < 2 * frames; i++) {
        struct frame *f = &p->frame[i % 2][i / 2];
        if (f->raw) continue;
        f->raw = weft__alloc(WEFT_FRAME);
        f->room = ZSTD_compressBound(WEFT_FRAME);
        f->packed = weft__alloc(f->room);
        f->cctx = compressor();
    }
}

static void frames_close(struct weft_packer *p) {
    for (size_t i = 0; i < 2 * MOST_WORKERS; i++) {
        struct frame *f = &p->frame[i % 2][i / 2];
        ZSTD_freeCCtx(f->cctx);
        free(f->packed);
        free(f->raw);
        *f = (struct frame){0};
    }
}

struct weft_packer *weft__packer_new(struct weft_trace *t, uint64_t *disk_bytes) {
    struct weft_packer *p = weft__alloc(sizeof *p);
    struct weft_strbuf path = {0};
    p->t = t;
    p->disk_bytes = disk_bytes;
    p->zst = p->open_fd = -1;
    p->holes = true;
    weft__strbuf_printf(&path, "%s/streams", t->dir);
    p->fd = open(path.s, O_RDWR | O_CLOEXEC);
    weft__strbuf_fini(&path);
    weft__strbuf_printf(&path, "%s/streams.zst", t->dir);
    p->zst_path = path.s;
    if (t->fd[WEFT_STREAMS] >= 0) flock(t->fd[WEFT_STREAMS], LOCK_UN); /* we know what we do to it */
    weft__cursor_open(&p->cursor, t, 0);
    p->cursor.skim = true;
    return p;
}

void weft__packer_free(struct weft_packer *p) {
    if (!p) return;
    frames_close(p);
    weft__cursor_close(&p->cursor);
    free(p->open.at);
    free(p->ready.at);
    free(p->punch.at);
    free(p->seq);
    if (p->fd >= 0) close(p->fd);
    if (p->zst >= 0) close(p->zst);
    if (p->open_fd >= 0) close(p->open_fd);
    free(p->zst_path);
    free(p);
}

static void count_disk(struct weft_packer *p, int64_t more) {
    if (p->disk_bytes) __atomic_fetch_add(p->disk_bytes, (uint64_t)more, __ATOMIC_RELAXED);
}

/* Gives the disk back what was moved, unless somebody reads. */
static void punch(struct weft_packer *p) {
    if (!p->holes || !p->punch.n || p->fd < 0 || flock(p->fd, LOCK_EX | LOCK_NB) < 0) return;
    for (size_t i = 0, n; i < p->punch.n; i += n) {
        for (n = 1; i + n < p->punch.n && p->punch.at[i + n] == p->punch.at[i] + n;) n++;
        if (fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(p->punch.at[i] * WEFT_CHUNK),
                      (off_t)(n * WEFT_CHUNK)) < 0) {
            p->holes = false;
            break;
        }
        count_disk(p, -(int64_t)(n * WEFT_CHUNK));
    }
    p->punch.n = 0;
    flock(p->fd, LOCK_UN);
}

static void *pack(void *arg) {
    struct frame *f = arg;
    f->packed_len = ZSTD_compress2(f->cctx, f->packed, f->room, f->raw, f->chunks * WEFT_CHUNK);
    WEFT_CHECK(!ZSTD_isError(f->packed_len));
    return NULL;
}

/* What cannot be moved stays where it is, closed. What cannot even be closed stays open. */
static void put_back(struct weft_packer *p, const struct frame *f) {
    for (size_t i = 0; i < f->chunks; i++) {
        bool open = f->from[i] & FROM_OPEN;
        off_t at = (off_t)((f->from[i] & ~FROM_OPEN) * WEFT_CHUNK);
        p->open_stays |= open;
        if (f->opened >> i & 1 && pwrite(open ? p->open_fd : p->fd, f->raw + i * WEFT_CHUNK, WEFT_CHUNK, at) < 0) return;
    }
}

static void frame_write(struct weft_packer *p, struct frame *f) {
    if (p->zst < 0 && !p->error) {
        p->zst = open(p->zst_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (p->zst < 0) p->error = errno;
    }
    if (!p->error) {
        int r = weft__write_all(p->zst, f->packed, f->packed_len);
        if (r < 0) {
            p->error = -r;
            if (ftruncate(p->zst, (off_t)p->zst_size) < 0) {} /* half a frame at the end is skipped */
            lseek(p->zst, (off_t)p->zst_size, SEEK_SET);
        }
    }
    if (p->error)
        put_back(p, f);
    else {
        p->zst_size += f->packed_len;
        count_disk(p, (int64_t)f->packed_len);
        for (size_t i = 0; i < f->chunks; i++)
            if (!(f->from[i] & FROM_OPEN)) add(&p->punch, f->from[i]);
    }
    f->chunks = f->opened = 0;
}

/* Takes the chunk that was read to the end of a frame as the next one of its slot. 0: it was reserved and not used. */
static int take(struct weft_packer *p, struct frame *f, uint64_t from, struct weft_err *err) {
    struct weft_cursor *c = &p->cursor;
    struct weft_item item;
    uint8_t *own = c->buf;
    c->buf = f->raw + f->chunks * WEFT_CHUNK;
    int r = weft__cursor_take(c, err);
    if (r > 0) {
        while ((r = weft__cursor_item(c, &item, err)) > 0) weft__counts_add(&p->counts, &item);
        c->chunk++;
        if (r == 0) {
            if (c->head.used != c->at) {
                weft__chunk_seal(c->buf, c->at);
                f->opened |= 1u << f->chunks;
            }
            f->from[f->chunks++] = from;
            r = 1;
        }
    }
    c->buf = own;
    return r;
}

/* ---- while the program runs ---- */

/* Whether the chunk can be moved, now that those before it were looked at. */
static bool is_ready(struct weft_packer *p, uint64_t n) {
    struct weft_chunk h;
    if (pread(p->fd, &h, sizeof h, (off_t)(n * WEFT_CHUNK)) != sizeof h) return false;
    if (h.magic != WEFT_CHUNK_MAGIC || !h.used || h.slot > WEFT_MAX_SLOT) return false;
    if (h.slot >= p->nseq) {
        size_t had = p->nseq;
        p->seq = weft__grow(p->seq, &p->nseq, (size_t)h.slot + 1, sizeof *p->seq);
        memset(p->seq + had, 0, (p->nseq - had) * sizeof *p->seq);
    }
    if (h.seq != p->seq[h.slot]) return false;
    p->seq[h.slot]++;
    return true;
}

static void look(struct weft_packer *p) {
    struct stat st;
    size_t left = 0;
    for (size_t i = 0; i < p->open.n; i++)
        if (is_ready(p, p->open.at[i]))
            add(&p->ready, p->open.at[i]);
        else
            p->open.at[left++] = p->open.at[i];
    p->open.n = left;
    if (fstat(p->fd, &st) < 0) return;
    for (; p->next < (uint64_t)st.st_size / WEFT_CHUNK; p->next++) add(is_ready(p, p->next) ? &p->ready : &p->open, p->next);
}

void weft__packer_some(struct weft_packer *p, const bool *stop) {
    if (p->fd < 0 || p->error || !p->holes || p->broken) return;
    look(p);
    if (p->ready.n < PER_FRAME) return;
    frames_open(p, 1);
    struct frame *f = &p->frame[0][0];
    size_t done = 0;
    int r = 0;
    while (p->ready.n - done >= PER_FRAME && !__atomic_load_n(stop, __ATOMIC_RELAXED) && !p->error && r >= 0) {
        for (size_t i = 0; i < PER_FRAME && r >= 0; i++) {
            uint64_t n = p->ready.at[done + i];
            r = weft__trace_raw_chunk(p->t, p->fd, n, f->raw + f->chunks * WEFT_CHUNK, &p->why);
            if (r >= 0) r = take(p, f, n, &p->why);
        }
        if (r < 0) break;
        pack(f);
        frame_write(p, f);
        done += PER_FRAME;
        punch(p);
    }
    memmove(p->ready.at, p->ready.at + done, (p->ready.n - done) * sizeof *p->ready.at);
    p->ready.n -= done;
    frames_close(p); /* a program may fork many */
    p->broken = r < 0 ? r : 0;
}

/* ---- after its end ---- */

/* Waits for a row, and writes it. */
static void finish_row(struct weft_packer *p, struct frame *row) {
    for (size_t i = 0; i < p->frames; i++) {
        struct frame *f = &row[i];
        if (!f->chunks) continue;
        if (f->started)
            pthread_join(f->thread, NULL);
        else if (!p->error)
            pack(f);
        frame_write(p, f);
    }
    punch(p);
}

static void flush(struct weft_packer *p) {
    struct frame *row = p->frame[p->row];
    for (size_t i = 0; i < p->frames; i++)
        row[i].started = row[i].chunks && !p->error && pthread_create(&row[i].thread, NULL, pack, &row[i]) == 0;
    p->row = !p->row;
    p->at = 0;
    finish_row(p, p->frame[p->row]);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* A chunk without its head: who wrote it was killed, and it is still in open. If streams stays, it is to be nothing there. */
static int clear(struct weft_packer *p, struct frame *f, uint64_t n, struct weft_err *err) {
    uint8_t *at = f->raw + f->chunks * WEFT_CHUNK;
    size_t used = WEFT_CHUNK;
    while (used && !at[used - 1]) used--;
    memset(at, 0, used);
    return !used || pwrite(p->fd, at, used, (off_t)(n * WEFT_CHUNK)) == (ssize_t)used ? 0 : weft__err(err, errno, "%s: %s", p->t->path, strerror(errno));
}

/* All that is left, streams first; in its place once patience is over. Gives the end of what stays of streams, in bytes. */
static int rest(struct weft_packer *p, uint64_t patience_us, weft_progress *progress, void *ctx, uint64_t *end,
                struct weft_err *err) {
    uint64_t begun = now_us();
    bool hurry = false;
    struct stat st = {0}, tails = {0};
    if (p->broken) {
        *err = p->why;
        return p->broken;
    }
    if (fstat(p->fd, &st) < 0) return weft__err(err, errno, "%s: %s", p->t->path, strerror(errno));
    for (size_t i = 0; i < p->ready.n; i++) add(&p->open, p->ready.at[i]);
    p->ready.n = 0;
    if (p->open.n) qsort(p->open.at, p->open.n, sizeof *p->open.at, ascending);
    for (uint64_t all = ((uint64_t)st.st_size + WEFT_CHUNK - 1) / WEFT_CHUNK; p->next < all;) add(&p->open, p->next++);
    if (p->open_fd >= 0 && fstat(p->open_fd, &tails) == 0)
        for (uint64_t n = 0; n < (uint64_t)tails.st_size / WEFT_CHUNK; n++) add(&p->open, n | FROM_OPEN);
    *end = 0;
    for (size_t i = 0; i < p->open.n; i++) {
        uint64_t n = p->open.at[i];
        bool open = n & FROM_OPEN;
        struct frame *f = &p->frame[p->row][p->at];
        int r = weft__trace_raw_chunk(p->t, open ? p->open_fd : p->fd, n & ~FROM_OPEN, f->raw + f->chunks * WEFT_CHUNK, err);
        p->cursor.open = open;
        if (r >= 0) r = take(p, f, n, err);
        if (r < 0) return r;
        if (r == 0 && !open && (r = clear(p, f, n, err)) < 0) return r;
        if (r == 0) continue;
        if ((hurry && (!open || *end)) || p->error) { /* what is in open is little, in many bytes; but it comes after what is in streams */
            put_back(p, f);
            f->chunks = f->opened = 0;
            if (!open) *end = (n + 1) * WEFT_CHUNK;
            continue;
        }
        if (f->chunks < PER_FRAME || ++p->at < p->frames) continue;
        flush(p);
        if (progress) progress(ctx, i, p->open.n);
        hurry = patience_us && now_us() - begun > patience_us;
        if (hurry) {
            finish_row(p, p->frame[!p->row]);
            p->at = 0;
        }
    }
    flush(p);
    finish_row(p, p->frame[!p->row]);
    if (p->error) *end = (uint64_t)st.st_size;
    return 0;
}

int weft__packer_finish(struct weft_packer *p, enum weft_end_kind kind, uint32_t code, uint64_t patience_us,
                        weft_progress *progress, void *ctx, struct weft_counts *counts, struct weft_err *err) {
    struct weft_strbuf raw = {0}, end = {0}, tails = {0}, bulk = {0};
    struct stat st;
    uint64_t stays = 0;
    int r;
    *counts = (struct weft_counts){0};
    weft__strbuf_printf(&raw, "%s/streams", p->t->dir);
    weft__strbuf_printf(&end, "%s/end", p->t->dir);
    weft__strbuf_printf(&tails, "%s/open", p->t->dir);
    weft__strbuf_printf(&bulk, "%s/bulk", p->t->dir);
    p->open_fd = open(tails.s, O_RDWR | O_CLOEXEC);
    if (p->fd < 0) {
        r = weft__err(err, ENOENT, "%s: cannot be opened", raw.s);
        goto out;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    frames_open(p, cores < 1 ? 1 : cores > MOST_WORKERS ? MOST_WORKERS : (size_t)cores);
    r = rest(p, patience_us, progress, ctx, &stays, err);
    if (r < 0) goto out; /* streams stays for people to look at */
    p->t->modules_all = true;
    p->counts.stream_bytes = p->cursor.stream_bytes;
    p->counts.edge_bytes = p->cursor.edge_bytes;
    *counts = p->counts;
    if (p->zst >= 0 && close(p->zst) < 0 && !p->error) p->error = errno;
    p->zst = -1;
    if (stays == 0 && !p->error && p->zst_size)
        unlink(raw.s);
    else if (ftruncate(p->fd, (off_t)stays) < 0) {} /* the reserved chunks at the end are of no harm */
    if (p->error && !p->zst_size) unlink(p->zst_path);
    if (!p->open_stays) unlink(tails.s);
    if (stat(bulk.s, &st) == 0 && (st.st_size == 0 ? unlink(bulk.s) : truncate(bulk.s, st.st_size)) < 0) {} /* what was reserved behind its end */

    struct weft_trace_end e = {
        .kind = (uint32_t)kind,
        .code = code,
        .threads = counts->threads,
        .edges = counts->edges,
        .inputs = counts->inputs,
        .stream_bytes = counts->stream_bytes,
    };
    weft__end_encode(&e);
    r = weft__file_write(end.s, &e, sizeof e, err);
out:
    weft__strbuf_fini(&bulk);
    weft__strbuf_fini(&tails);
    weft__strbuf_fini(&end);
    weft__strbuf_fini(&raw);
    return r;
}
