/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* After the run: turns streams, as the runtime left it, into streams.zst, and writes end.
 *
 * Chunks that were left open (each thread has one at the end; a killed program never closes any) get their size and
 * hash; chunks that were reserved and not used go away. streams itself is only read: until streams.zst has its name,
 * nothing is lost if we are killed, and afterwards it is all there, so streams can go. The order is: streams.zst.tmp,
 * rename, remove streams, end.
 *
 * Somebody waits for us meanwhile. When compressing would take longer than the caller has patience (a program that read
 * a lot in a short time), or when the disk is full, streams is closed where it is: that is a valid trace as well. */
#include "trace/trace.h"
#include "weft/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 1
#define MOST_WORKERS 16
#define SMALL (4ul << 20) /* always compressed */
#define SAMPLE 8u         /* chunks */

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

/* Frames are compressed side by side, one per core, and written in their order, while the next ones are read: the program
 * has ended, and its user waits. */
struct frame {
    uint8_t *raw;
    size_t len, packed_len;
    void *packed;
    size_t room;
    ZSTD_CCtx *cctx;
    pthread_t thread;
    bool started;
};
struct out {
    int fd;
    int error; /* errno of the first failure; then nothing more is written */
    size_t frames, at; /* how many there are in a row, and which is being filled */
    int row;           /* that is being filled; the other one is being compressed */
    struct frame frame[2][MOST_WORKERS];
};

static void *pack(void *arg) {
    struct frame *f = arg;
    f->packed_len = ZSTD_compress2(f->cctx, f->packed, f->room, f->raw, f->len);
    WEFT_CHECK(!ZSTD_isError(f->packed_len));
    return NULL;
}

/* Waits for a row, and writes it. */
static void finish(struct out *o, struct frame *row) {
    for (size_t i = 0; i < o->frames; i++) {
        struct frame *f = &row[i];
        if (!f->len) continue;
        if (f->started)
            pthread_join(f->thread, NULL);
        else if (!o->error)
            pack(f);
        int r = o->error ? 0 : weft__write_all(o->fd, f->packed, f->packed_len);
        if (r < 0) o->error = -r;
        f->len = 0;
    }
}

static void flush(struct out *o) {
    struct frame *row = o->frame[o->row];
    for (size_t i = 0; i < o->frames; i++)
        row[i].started = row[i].len && !o->error && pthread_create(&row[i].thread, NULL, pack, &row[i]) == 0;
    o->row = !o->row;
    o->at = 0;
    finish(o, o->frame[o->row]);
}

static void open_frames(struct out *o) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    o->frames = cores < 1 ? 1 : cores > MOST_WORKERS ? MOST_WORKERS : (size_t)cores;
    for (size_t i = 0; i < 2 * o->frames; i++) {
        struct frame *f = &o->frame[i % 2][i / 2];
        f->raw = weft__alloc(WEFT_FRAME);
        f->room = ZSTD_compressBound(WEFT_FRAME);
        f->packed = weft__alloc(f->room);
        f->cctx = compressor();
    }
}

static void close_frames(struct out *o) {
    for (size_t i = 0; i < 2 * o->frames; i++) {
        struct frame *f = &o->frame[i % 2][i / 2];
        ZSTD_freeCCtx(f->cctx);
        free(f->packed);
        free(f->raw);
    }
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

/* Reads all, writes what it can. */
static int copy(struct weft_trace *t, struct out *o, struct weft_counts *counts, weft_progress *progress, void *ctx,
                struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item item;
    uint8_t *own;
    int r;
    weft__cursor_open(&c, t, 0);
    c.skim = true;
    own = c.buf;
    for (;;) {
        struct frame *f = &o->frame[o->row][o->at];
        c.buf = f->raw + f->len; /* read it where it is compressed */
        if ((r = weft__cursor_load(&c, err)) <= 0) break;
        while ((r = weft__cursor_item(&c, &item, err)) > 0) weft__counts_add(counts, &item);
        if (r < 0) break;
        if (c.head.used != c.at) weft__chunk_seal(c.buf, c.at);
        f->len += WEFT_CHUNK;
        if (f->len == WEFT_FRAME && ++o->at == o->frames) {
            flush(o);
            if (progress) progress(ctx, c.chunk, t->chunks);
        }
    }
    flush(o);
    finish(o, o->frame[!o->row]);
    counts->stream_bytes = c.stream_bytes;
    c.buf = own;
    weft__cursor_close(&c);
    return r;
}

/* Closes the open chunks of streams where they are, and cuts off the reserved ones at its end. What cannot be written
 * stays as it is, open. */
static int close_in_place(struct weft_trace *t, const char *path, struct weft_counts *counts, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item item;
    uint64_t end = 0;
    int r, fd = open(path, O_WRONLY | O_CLOEXEC);
    *counts = (struct weft_counts){0};
    weft__cursor_open(&c, t, 0);
    c.skim = true;
    while ((r = weft__cursor_load(&c, err)) > 0) {
        while ((r = weft__cursor_item(&c, &item, err)) > 0) weft__counts_add(counts, &item);
        if (r < 0) break;
        end = (c.chunk + 1) * WEFT_CHUNK;
        if (c.head.used == c.at) continue;
        weft__chunk_seal(c.buf, c.at);
        if (fd >= 0 && pwrite(fd, c.buf, WEFT_CHUNK, (off_t)(end - WEFT_CHUNK)) < 0) {
            close(fd);
            fd = -1;
        }
    }
    counts->stream_bytes = c.stream_bytes;
    weft__cursor_close(&c);
    if (r == 0 && fd >= 0 && end < t->file_size) (void)!ftruncate(fd, (off_t)end);
    if (fd >= 0) close(fd);
    return r;
}

/* Whether compressing all would take longer, to judge by a piece from the middle. */
static bool too_long(struct weft_trace *t, struct out *o, uint64_t us) {
    struct frame *f = &o->frame[0][0];
    struct timespec from, to;
    struct weft_err err;
    if (us == 0 || t->chunks * WEFT_CHUNK < SMALL) return false;
    for (size_t i = 0; i < SAMPLE; i++)
        if (weft__trace_chunk(t, t->chunks / 2 + i, f->raw + i * WEFT_CHUNK, &err) < 0) return false; /* copy() says it */
    f->len = SAMPLE * (size_t)WEFT_CHUNK;
    pack(f); /* its memory is new: a first time would be too slow */
    clock_gettime(CLOCK_MONOTONIC, &from);
    pack(f);
    clock_gettime(CLOCK_MONOTONIC, &to);
    f->len = 0;
    double once = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
    return once * (double)t->chunks / SAMPLE / (double)o->frames > (double)us;
}

int weft__trace_seal(struct weft_trace *t, enum weft_end_kind kind, uint32_t code, uint64_t patience_us,
                     weft_progress *progress, void *ctx, struct weft_counts *counts, struct weft_err *err) {
    struct weft_strbuf raw = {0}, tmp = {0}, zst = {0}, end = {0};
    struct out o = {.fd = -1};
    const char *dir = t->dir;
    int r = 0;
    *counts = (struct weft_counts){0};
    weft__strbuf_printf(&raw, "%s/streams", dir);
    weft__strbuf_printf(&tmp, "%s/streams.zst.tmp", dir);
    weft__strbuf_printf(&zst, "%s/streams.zst", dir);
    weft__strbuf_printf(&end, "%s/end", dir);
    open_frames(&o);
    bool compress = !too_long(t, &o, patience_us);
    if (compress) {
        int fd = o.fd = open(tmp.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0) o.error = errno;
        r = copy(t, &o, counts, progress, ctx, err);
        /* Closed before it is removed, or on a full disk its space would be missing for end. */
        if (fd >= 0 && close(fd) < 0 && !o.error) o.error = errno;
        if (r < 0) {
            unlink(tmp.s); /* streams stays for people to look at */
            goto out;
        }
        if (!o.error && rename(tmp.s, zst.s) < 0) o.error = errno;
        unlink(o.error ? tmp.s : raw.s);
    }
    if (!compress || o.error) r = close_in_place(t, raw.s, counts, err);
    if (r < 0) goto out;

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
    close_frames(&o);
    weft__strbuf_fini(&end);
    weft__strbuf_fini(&zst);
    weft__strbuf_fini(&tmp);
    weft__strbuf_fini(&raw);
    return r;
}

int weft__trace_seal_parts(const char *dir, uint64_t patience_us, char *message, struct weft_err *err) {
    unsigned most = weft__trace_parts(dir);
    int found = 0, r = 0;
    for (unsigned k = 1; k <= most && r >= 0; k++) {
        struct weft_strbuf part = {0}, path = {0};
        struct weft_trace *t = NULL;
        struct weft_counts counts;
        struct weft_control *c = NULL;
        char *bytes = NULL;
        size_t len = 0;
        bool there = weft__trace_part(dir, k, &part);
        weft__strbuf_printf(&path, "%s/control", part.s);
        if (!there) {
            if (access(part.s, F_OK) == 0) {
                unlink(path.s);
                path.len = 0;
                weft__strbuf_printf(&path, "%s/header", part.s);
                unlink(path.s);
                rmdir(part.s);
            }
            goto next;
        }
        found++;
        if (weft__file_read(path.s, sizeof *c, &bytes, &len, err) == 0 && len == sizeof *c) c = (struct weft_control *)bytes;
        /* Without a word it was killed. */
        enum weft_end_kind kind = c && c->exit_kind ? (enum weft_end_kind)c->exit_kind : WEFT_END_SIGNAL;
        uint32_t code = c && c->exit_kind ? c->exit_code : 9;
        if (c && c->outcome == WEFT_OUT_REFUSED && !*message) {
            memcpy(message, c->message, sizeof c->message);
            message[sizeof c->message - 1] = 0;
        }
        r = weft__trace_open(part.s, &t, err);
        if (r == 0) r = weft__trace_seal(t, kind, code, patience_us, NULL, NULL, &counts, err);
        if (r == 0) unlink(path.s);
        if (r == 0) r = weft__trace_seal_parts(part.s, patience_us, message, err);
        if (r > 0) found += r;
    next:
        weft__trace_close(t);
        free(bytes);
        weft__strbuf_fini(&path);
        weft__strbuf_fini(&part);
    }
    return r < 0 ? r : found;
}
