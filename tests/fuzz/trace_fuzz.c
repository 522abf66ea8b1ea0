/* Proves: the reader, the checker, the schedule builder and the dumpers do not crash, whatever the bytes of a trace. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libFuzzer target. The first byte of the input says what the rest is:
 *   0  streams.zst
 *   1  the header file, its size and hash put right
 *   2  streams, as it is
 *   3  streams, told shortly: chunks as slot (1 byte), flags (1), number of bytes (2), items; they get their magic,
 * number and hash, so that the fuzzer reaches the items. Bit 7 adds an end file. */
#include "replay/replay.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *null;
static char *header;
static size_t header_len;

static int memory_file(const void *p, size_t n) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || weft__write_all(fd, p, n) < 0) abort();
    return fd;
}

static size_t expand(const uint8_t *p, size_t n, uint8_t *out, size_t room) {
    uint32_t seq[256] = {0};
    size_t at = 0;
    while (n >= 4 && at + WEFT_CHUNK <= room) {
        uint8_t slot = p[0], flags = p[1];
        uint16_t len;
        memcpy(&len, p + 2, 2);
        len %= WEFT_CHUNK - sizeof(struct weft_chunk) + 1;
        p += 4, n -= 4;
        if (len > n) len = (uint16_t)n;
        struct weft_chunk h = {.magic = WEFT_CHUNK_MAGIC,
                               .slot = slot,
                               .seq = seq[slot]++,
                               .tick = (uint64_t)(flags >> 1) << (flags & 32)};
        memset(out + at, 0, WEFT_CHUNK);
        memcpy(out + at, &h, sizeof h);
        memcpy(out + at + sizeof h, p, len);
        if (flags & 1) weft__chunk_seal(out + at, (uint32_t)sizeof h + len);
        p += len, n -= len;
        at += WEFT_CHUNK;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t big[64 * WEFT_CHUNK];
    struct weft_err err;
    if (!null) {
        static char *argv[] = {"prog", NULL}, *env[] = {NULL};
        struct weft_trace_start s = {.program = "/prog", .cwd = "/", .argv = argv, .env = env};
        null = fopen("/dev/null", "w");
        if (!null || weft__header_encode(&s, &header, &header_len, &err) < 0) abort();
    }
    if (size < 1) return 0;
    uint8_t what = data[0];
    data++, size--;
    char *head = header, *own = NULL;
    size_t head_len = header_len;
    int fd = -1;
    switch (what & 3) {
    case 0: fd = memory_file(data, size); break;
    case 1:
        head = own = malloc(size + 1);
        head_len = size;
        memcpy(head, data, size);
        if (size >= sizeof(struct weft_trace_header)) {
            struct weft_trace_header h;
            memcpy(&h, head, sizeof h);
            h.size = (uint32_t)size;
            h.hash = 0;
            memcpy(head, &h, sizeof h);
            h.hash = weft_hash(head, size);
            memcpy(head, &h, sizeof h);
        }
        fd = memory_file("", 0);
        break;
    case 2: fd = memory_file(data, size); break;
    case 3: fd = memory_file(big, expand(data, size, big, sizeof big)); break;
    }
    struct weft_trace_end end = {.kind = WEFT_END_SIGNAL, .code = 11, .threads = 1};
    weft__end_encode(&end);
    struct weft_trace *t;
    int r = weft__trace_open_parts("fuzz", head, head_len, what & 128 ? &end : NULL, what & 128 ? sizeof end : 0,
                                   (int[WEFT_FILES]){(what & 3) == 0 ? fd : -1, (what & 3) == 0 ? -1 : fd, -1, -1}, &t, &err);
    free(own);
    if (r < 0) return 0;
    struct weft_counts counts;
    struct weft_schedule s;
    r = weft__trace_check(t, &counts, &err);
    r = weft__replay_schedule(t, &s, &err);
    if (r == 0) {
        /* What the runtime relies on: all offsets lie in the file, lists are sorted, flags exist. */
        struct weft_sched *h = (struct weft_sched *)(s.map + s.control->sched_off);
        struct weft_sched_slot *slots = (struct weft_sched_slot *)(h + 1);
        WEFT_CHECK(h->flags_off + h->flags * 4 <= s.size);
        for (uint64_t n = 0; n < h->slots; n++) {
            struct weft_sched_item *i = (struct weft_sched_item *)(s.map + slots[n].items_off);
            WEFT_CHECK(slots[n].items_off + slots[n].items * sizeof *i <= h->flags_off);
            for (uint64_t k = 0; k < slots[n].items; k++) {
                WEFT_CHECK(k == 0 || i[k - 1].tick <= i[k].tick);
                if (i[k].kind == WEFT_S_MEMORY) WEFT_CHECK(i[k].size > 8);
                if (i[k].kind == WEFT_S_INPUT || i[k].kind == WEFT_S_MEMORY)
                    WEFT_CHECK(i[k].data >= h->data_off && i[k].data + i[k].size <= h->data_off + h->data_len);
                else if (i[k].kind != WEFT_S_REPEAT && i[k].kind != WEFT_S_LOOP)
                    WEFT_CHECK(i[k].a < h->flags);
            }
        }
        weft__schedule_fini(&s);
    }
    r = weft__trace_dump(t, null, &err);
    r = weft__trace_vectors(t, null, &err);
    weft__trace_close(t);
    return 0;
}
