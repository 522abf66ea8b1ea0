/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Walks the items of a trace: all of them in file order, or one slot's. Every rule that include/weft/trace.h states
 * about chunks and items is tested on the way, in its order, so whoever reads a trace checks it; `weft check` is a walk
 * that does nothing else.
 *
 * In file order, items of different slots mix chunk by chunk, but each slot's items come in its stream order, so one
 * walk serves everything that keeps state per slot.
 *
 * One thing is taken more generously than the letter: PART items that are the last of a slot are dropped (it was killed before the item itself). */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODULE_MAX 8192 /* bytes: more than one has */

struct weft_cursor_slot {
    uint32_t seq;   /* expected of the next chunk */
    uint32_t packed; /* of its chunks were in streams.zst */
    uint64_t tick;  /* of the last item */
    uint8_t *parts; /* bytes of PART items that wait for theirs */
    size_t len, cap;
    bool pending;
    size_t block; /* where it begins in parts, + 1; 0: there is none */
    uint64_t blocks; /* that there were */
    struct block {
        uint8_t *bytes;
        size_t len, cap;
    } kept[WEFT_BLOCKS];
};

const char *weft__item_name(uint32_t kind) {
    static const char *const names[] = {
        [WEFT_ITEM_EDGE] = "edge",     [WEFT_ITEM_EDGE_DONE] = "edge-done", [WEFT_ITEM_EDGE_STEP] = "edge-step",
        [WEFT_ITEM_INPUT] = "input",   [WEFT_ITEM_PART] = "part",           [WEFT_ITEM_START] = "start",
        [WEFT_ITEM_EXIT] = "exit",     [WEFT_ITEM_MODULE] = "module",       [WEFT_ITEM_CRASH] = "crash",
        [WEFT_ITEM_VERIFY] = "verify", [WEFT_ITEM_REACHED] = "reached",     [WEFT_ITEM_NOTE] = "note",
        [WEFT_ITEM_LOST] = "lost",     [WEFT_ITEM_SIGNAL] = "signal",         [WEFT_ITEM_MEMORY] = "memory",
        [WEFT_ITEM_AGAIN] = "again",   [WEFT_ITEM_REPEAT] = "repeat",         [WEFT_ITEM_LOOP] = "loop",
        [WEFT_ITEM_STORED] = "stored",
    };
    return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "unknown";
}

const char *weft__op_name(uint64_t op) {
    switch (op) {
#define WEFT_X(name, code)                                                                                             \
    case code: return #name;
        WEFT_OPS(WEFT_X)
#undef WEFT_X
    default: return NULL;
    }
}

void weft__cursor_open(struct weft_cursor *c, struct weft_trace *t, uint32_t only) {
    *c = (struct weft_cursor){.t = t, .only = only};
    c->buf = weft__alloc(WEFT_CHUNK);
}

void weft__cursor_close(struct weft_cursor *c) {
    for (size_t i = 0; i < c->nslots; i++) {
        free(c->slots[i].parts);
        for (size_t k = 0; k < WEFT_BLOCKS; k++) free(c->slots[i].kept[k].bytes);
    }
    free(c->slots);
    free(c->buf);
    *c = (struct weft_cursor){0};
}

static struct weft_cursor_slot *slot_of(struct weft_cursor *c, uint32_t slot) {
    if (slot >= c->nslots) {
        size_t had = c->nslots;
        c->slots = weft__grow(c->slots, &c->nslots, (size_t)slot + 1, sizeof *c->slots);
        memset(c->slots + had, 0, (c->nslots - had) * sizeof *c->slots);
    }
    return &c->slots[slot];
}

/* "path: chunk 12 at 0x3400: what is wrong". */
#define BAD(c, off, ...) bad(c, off, err, __VA_ARGS__)
static int bad(struct weft_cursor *c, uint32_t off, struct weft_err *err, const char *fmt, ...) WEFT_PRINTF(4, 5);
static int bad(struct weft_cursor *c, uint32_t off, struct weft_err *err, const char *fmt, ...) {
    char what[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return weft__err(err, EBADMSG, "%s: chunk %llu at 0x%llx: %s", c->t->path, (unsigned long long)c->chunk,
                     (unsigned long long)(c->chunk * WEFT_CHUNK + off), what);
}

static bool all_zero(const uint8_t *p, size_t n) { return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0); }

/* Takes the next chunk number of the walk; false at the end. */
static bool next_chunk(struct weft_cursor *c) {
    if (c->only) {
        if (c->only > c->t->index_top || c->next >= c->t->index_slot[c->only + 1] - c->t->index_slot[c->only])
            return false;
        c->chunk = c->t->index[c->t->index_slot[c->only] + c->next++];
        return true;
    }
    if (c->next >= c->t->chunks) return false;
    c->chunk = c->next++;
    return true;
}

int weft__cursor_take(struct weft_cursor *c, struct weft_err *err) {
    struct weft_chunk h;
    bool packed = c->chunk < c->t->packed, open = c->open;
    memcpy(&h, c->buf, sizeof h);
    if (h.magic == 0 && (open || (!packed && !c->t->has_end) ||
                         (all_zero(c->buf + sizeof h, WEFT_CHUNK - sizeof h) && (!packed || all_zero(c->buf, sizeof h)))))
        return 0; /* reserved, not used; or moved to another file, or not all of it yet */
    if (h.magic != WEFT_CHUNK_MAGIC) return BAD(c, 0, "this is not a chunk (wrong magic)");
    if (h.slot == 0 || h.slot > WEFT_MAX_SLOT) return BAD(c, 4, "there is no thread slot %u", h.slot);
    struct weft_cursor_slot *s = slot_of(c, h.slot);
    if (h.seq < (packed ? 0 : open ? s->seq : s->packed)) return 0; /* moved, and not removed yet */
    if (open && h.seq > s->seq && c->t->recording) return 0;        /* moved those before it while we read */
    if (h.seq != s->seq)
        return BAD(c, 8, "chunk %u of thread %u stands where its chunk %u should be (is a piece of the file missing?)",
                   h.seq, h.slot, s->seq);
    if (h.used && (h.used < sizeof h || h.used > WEFT_CHUNK)) return BAD(c, 12, "a chunk cannot hold %u bytes", h.used);
    if (h.used && weft_chunk_hash((const struct weft_chunk *)c->buf, h.used) != h.hash)
        return BAD(c, 24, "checksum mismatch (its bytes were changed)");
    if (h.used && !all_zero(c->buf + h.used, WEFT_CHUNK - h.used))
        return BAD(c, h.used, "there are bytes after the last item of a closed chunk");
    if (h.tick < s->tick)
        return BAD(c, 16, "the clock of thread %u goes back, from %llu to %llu", h.slot, (unsigned long long)s->tick,
                   (unsigned long long)h.tick);
    s->seq++;
    if (packed) s->packed = s->seq;
    c->head = h;
    c->at = sizeof h;
    c->end = h.used ? h.used : WEFT_CHUNK;
    c->tick = h.tick;
    c->site = c->other_tick = c->other_site = 0;
    c->loaded = true;
    return 1;
}

int weft__cursor_load(struct weft_cursor *c, struct weft_err *err) {
    int r;
    if (c->only && (r = weft__trace_index(c->t, err)) < 0) return r;
    while (next_chunk(c)) {
        if ((r = weft__trace_chunk(c->t, c->chunk, c->buf, err)) < 0) return r;
        c->open = c->chunk >= c->t->closed;
        if ((r = weft__cursor_take(c, err)) != 0) return r;
    }
    if (!c->only) c->t->modules_all = true;
    return 0;
}

static int varint(struct weft_cursor *c, uint64_t *out, struct weft_err *err) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (c->at >= c->end) return BAD(c, c->at, "an item runs over the end of the chunk");
        uint8_t b = c->buf[c->at++];
        if (shift == 63 && b > 1) return BAD(c, c->at - 1, "a number does not fit 64 bits");
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return 0;
        }
    }
    return BAD(c, c->at - 1, "a number is longer than 10 bytes"); /* unreachable: the tenth byte was tested */
}

static int svarint(struct weft_cursor *c, uint64_t *out, struct weft_err *err) {
    uint64_t v;
    int r = varint(c, &v, err);
    if (r == 0) *out = (v >> 1) ^ (0 - (v & 1));
    return r;
}

static int edge(struct weft_cursor *c, struct weft_item *item, struct weft_err *err) {
    uint64_t site, slot, tick, other_site;
    int r;
    uint32_t off = item->off;
    if ((r = svarint(c, &site, err)) < 0 || (r = varint(c, &slot, err)) < 0 || (r = svarint(c, &tick, err)) < 0 ||
        (r = svarint(c, &other_site, err)) < 0)
        return r;
    if (slot == 0 || slot > WEFT_MAX_SLOT)
        return BAD(c, off, "an edge comes from thread slot %llu, which cannot be", (unsigned long long)slot);
    /* Deltas wrap around on purpose: addresses and ticks are 64 bits and so are the differences. */
    item->site = c->site += site;
    item->other_slot = (uint32_t)slot;
    item->other_tick = c->other_tick += tick;
    item->other_site = c->other_site += other_site;
    if (item->kind != WEFT_ITEM_EDGE_STEP) return 0;
    if ((r = varint(c, &item->op, err)) < 0) return r;
    if (item->op > WEFT_STEP_MAX)
        return BAD(c, off, "an edge after %llu others at one position", (unsigned long long)item->op);
    return 0;
}

/* Keeps what the item says of a module, unless an earlier walk was here. */
static void note_module(struct weft_cursor *c, const struct weft_item *item) {
    struct weft_trace *t = c->t;
    uint64_t place = item->chunk * WEFT_CHUNK + item->off + 1;
    struct weft_module m;
    if (c->only || item->kind != WEFT_ITEM_MODULE || place <= t->modules_to || !weft__module_decode(item, &m)) return;
    t->modules_to = place;
    t->modules = weft__grow(t->modules, &t->modules_cap, t->nmodules + 1, sizeof *t->modules);
    t->modules[t->nmodules++] = m;
}

/* The item is whole, and its block is kept. */
static void keep_block(struct weft_cursor *c, struct weft_cursor_slot *s) {
    struct block *b = &s->kept[s->blocks++ % WEFT_BLOCKS];
    b->len = s->len - (s->block - 1);
    if (!c->skim) {
        b->bytes = weft__grow(b->bytes, &b->cap, b->len, 1);
        if (b->len) memcpy(b->bytes, s->parts + s->block - 1, b->len);
    }
    s->block = 0;
}

int weft__cursor_item(struct weft_cursor *c, struct weft_item *item, struct weft_err *err) {
    int r;
    while (c->at < c->end) {
        uint32_t off = c->at;
        uint8_t kind = c->buf[c->at];
        if (kind == 0) {
            if (c->head.used) return BAD(c, off, "a zero byte where an item should start");
            c->end = c->at; /* open chunk: this is its end */
            break;
        }
        c->at++;
        struct weft_cursor_slot *s = slot_of(c, c->head.slot);
        uint64_t ticks;
        if ((r = varint(c, &ticks, err)) < 0) return r;
        if (c->tick + ticks < c->tick) return BAD(c, off, "the clock of thread %u runs over", c->head.slot);
        c->tick += ticks;
        s->tick = c->tick;
        *item = (struct weft_item){.slot = c->head.slot, .kind = kind, .tick = c->tick, .chunk = c->chunk, .off = off};
        if (weft__item_is_edge(kind)) {
            if ((r = edge(c, item, err)) < 0) return r;
            if (s->pending) return BAD(c, off, "an edge stands between the parts of another item");
            c->edge_bytes += c->at - off;
            return 1;
        }
        uint64_t size;
        if ((r = varint(c, &item->op, err)) < 0 || (r = varint(c, &size, err)) < 0) return r;
        if (size > c->end - c->at)
            return BAD(c, off, "an item of %llu bytes runs over the end of the chunk", (unsigned long long)size);
        const uint8_t *data = c->buf + c->at;
        c->at += (uint32_t)size;
        bool part = kind == WEFT_ITEM_PART || kind == WEFT_ITEM_AGAIN || kind == WEFT_ITEM_STORED;
        if (!s->pending && !part) {
            item->data = data;
            item->size = size;
            note_module(c, item);
            return 1;
        }
        if (kind == WEFT_ITEM_AGAIN) {
            if (item->op < 1 || item->op > WEFT_BLOCKS || item->op > s->blocks)
                return BAD(c, off, "block %llu before here comes again, which is not kept", (unsigned long long)item->op);
            const struct block *b = &s->kept[(s->blocks - item->op) % WEFT_BLOCKS];
            data = b->bytes;
            size = b->len;
        }
        struct weft_stored_item stored;
        if (kind == WEFT_ITEM_STORED) {
            if (size != sizeof stored) return BAD(c, off, "a stored item without its description");
            memcpy(&stored, data, sizeof stored);
            size = stored.size;
        }
        if (size > WEFT_ITEM_MAX || s->len + size > WEFT_ITEM_MAX) return BAD(c, off, "an item of more than 2 GiB");
        if (kind == WEFT_ITEM_STORED && !c->skim && (r = weft__trace_bulk(c->t, NULL, size, item->op, err)) <= 0)
            return r ? r : BAD(c, off, "the file bulk does not have bytes 0x%llx to 0x%llx (is a piece of it missing?)", (unsigned long long)item->op, (unsigned long long)(item->op + size));
        if (!c->skim) {
            s->parts = weft__grow(s->parts, &s->cap, s->len + size, 1);
            if (kind == WEFT_ITEM_STORED && (!c->sizes || size <= MODULE_MAX)) {
                r = weft__trace_bulk(c->t, s->parts + s->len, size, item->op, err);
                if (r < 0) return r;
                if (r == 0 || weft_digest(s->parts + s->len, size) != stored.digest)
                    return BAD(c, off, "checksum mismatch in the file bulk at 0x%llx (its bytes were changed)", (unsigned long long)item->op);
            } else if (kind != WEFT_ITEM_STORED && size)
                memcpy(s->parts + s->len, data, size);
        }
        if (kind == WEFT_ITEM_PART && item->op == 1) s->block = s->len + 1;
        s->len += size;
        s->pending = part;
        if (s->pending) continue;
        if (s->block && s->len - (s->block - 1) > WEFT_BLOCK_MAX) return BAD(c, off, "a block of more than 1 MiB");
        if (s->block) keep_block(c, s);
        item->data = s->parts;
        item->size = c->skim ? 0 : s->len;
        s->len = 0;
        if (!c->skim && (!c->sizes || item->size <= MODULE_MAX)) note_module(c, item);
        return 1;
    }
    c->stream_bytes += c->at - sizeof(struct weft_chunk);
    c->loaded = false;
    return 0;
}

int weft__cursor_next(struct weft_cursor *c, struct weft_item *item, struct weft_err *err) {
    for (;;) {
        int r = c->loaded ? 1 : weft__cursor_load(c, err);
        if (r <= 0) return r;
        r = weft__cursor_item(c, item, err);
        if (r != 0) return r;
    }
}
