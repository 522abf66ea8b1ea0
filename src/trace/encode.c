/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes streams in memory, by the same rules as the runtime's log: for tests, and for stages that write traces. The
 * inverse of weft__cursor_next. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

struct weft_encoder_slot {
    bool started;
    size_t chunk; /* the open one */
    uint32_t seq;
    uint32_t at;
    uint64_t tick, site, other_tick, other_site; /* deltas */
};

#define HEAD ((uint32_t)sizeof(struct weft_chunk))
#define NUMBER_MAX 10

void weft__encoder_fini(struct weft_encoder *e) {
    free(e->bytes);
    free(e->slots);
    *e = (struct weft_encoder){0};
}

static uint32_t varint(uint8_t *p, uint64_t v) {
    uint32_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

static uint32_t svarint(uint8_t *p, uint64_t v) { return varint(p, (v << 1) ^ (0 - (v >> 63))); }

static struct weft_encoder_slot *open_chunk(struct weft_encoder *e, uint32_t slot, uint64_t tick, uint32_t need) {
    if (slot >= e->nslots) {
        size_t had = e->nslots;
        e->slots = weft__grow(e->slots, &e->nslots, (size_t)slot + 1, sizeof *e->slots);
        memset(e->slots + had, 0, (e->nslots - had) * sizeof *e->slots);
    }
    struct weft_encoder_slot *s = &e->slots[slot];
    WEFT_CHECK(slot > 0 && slot <= WEFT_MAX_SLOT);
    WEFT_CHECK(tick >= s->tick);
    if (s->started && s->at + need <= WEFT_CHUNK) return s;
    if (s->started) weft__chunk_seal(e->bytes + s->chunk * WEFT_CHUNK, s->at);
    e->bytes = weft__grow(e->bytes, &e->cap, e->chunks + 1, WEFT_CHUNK);
    memset(e->bytes + e->chunks * WEFT_CHUNK, 0, WEFT_CHUNK);
    struct weft_chunk h = {.magic = WEFT_CHUNK_MAGIC, .slot = slot, .seq = s->seq, .tick = s->tick};
    memcpy(e->bytes + e->chunks * WEFT_CHUNK, &h, sizeof h);
    s->started = true;
    s->chunk = e->chunks++;
    s->seq++;
    s->at = HEAD;
    s->site = s->other_tick = s->other_site = 0;
    return s;
}

static void append(struct weft_encoder *e, struct weft_encoder_slot *s, const void *bytes, uint32_t n) {
    memcpy(e->bytes + s->chunk * WEFT_CHUNK + s->at, bytes, n);
    s->at += n;
}

void weft__encode_edge(struct weft_encoder *e, uint32_t slot, uint32_t kind, uint64_t tick, uint64_t site,
                       uint32_t other_slot, uint64_t other_tick, uint64_t other_site, uint64_t step) {
    uint8_t b[1 + 6 * NUMBER_MAX];
    struct weft_encoder_slot *s = open_chunk(e, slot, tick, sizeof b);
    uint32_t n = 0;
    b[n++] = (uint8_t)kind;
    n += varint(b + n, tick - s->tick);
    n += svarint(b + n, site - s->site);
    n += varint(b + n, other_slot);
    n += svarint(b + n, other_tick - s->other_tick);
    n += svarint(b + n, other_site - s->other_site);
    if (kind == WEFT_ITEM_EDGE_STEP) n += varint(b + n, step);
    append(e, s, b, n);
    s->tick = tick;
    s->site = site;
    s->other_tick = other_tick;
    s->other_site = other_site;
}

static void piece(struct weft_encoder *e, struct weft_encoder_slot *s, uint32_t kind, uint64_t tick, uint64_t op,
                  const void *data, uint32_t size) {
    uint8_t b[1 + 3 * NUMBER_MAX];
    uint32_t n = 0;
    b[n++] = (uint8_t)kind;
    n += varint(b + n, tick - s->tick);
    n += varint(b + n, op);
    n += varint(b + n, size);
    append(e, s, b, n);
    if (size) append(e, s, data, size);
    s->tick = tick;
}

void weft__encode_item(struct weft_encoder *e, uint32_t slot, uint32_t kind, uint64_t tick, uint64_t op,
                       const void *data, size_t size) {
    const uint32_t room = 1 + 3 * NUMBER_MAX;
    const uint8_t *p = data;
    WEFT_CHECK(kind != 0 && kind < 256 && !weft__item_is_edge(kind));
    while (size > WEFT_CHUNK - HEAD - room) {
        struct weft_encoder_slot *s = open_chunk(e, slot, tick, room + 1);
        uint32_t n = WEFT_CHUNK - s->at - room;
        piece(e, s, WEFT_ITEM_PART, tick, 0, p, n);
        p += n;
        size -= n;
    }
    piece(e, open_chunk(e, slot, tick, room + (uint32_t)size), kind, tick, op, p, (uint32_t)size);
}

void weft__encode_seal(struct weft_encoder *e) {
    for (size_t i = 0; i < e->nslots; i++)
        if (e->slots[i].started) weft__chunk_seal(e->bytes + e->slots[i].chunk * WEFT_CHUNK, e->slots[i].at);
}
