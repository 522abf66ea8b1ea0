/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small traces, made by the encoder, opened from memory: for the unit tests of the reader and of what is built on it.
 */
#ifndef WEFT_TEST_TRACE_MAKE_H
#define WEFT_TEST_TRACE_MAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/replay.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bytes {
    char *p;
    size_t n;
};

static inline struct bytes make_header(void) {
    static char *argv[] = {"./prog", "one", "", NULL}, *env[] = {"HOME=/", "LD_BIND_NOW=1", NULL};
    struct weft_trace_start s = {.program = "/bin/prog",
                                 .cwd = "/tmp",
                                 .argv = argv,
                                 .env = env,
                                 .seed = 42,
                                 .stack_limit = 8 << 20,
                                 .start_time = 1};
    struct bytes b;
    struct weft_err err;
    memcpy(s.at_random, "0123456789abcdef", 16);
    assert_int_equal(weft__header_encode(&s, &b.p, &b.n, &err), 0);
    return b;
}

static inline int memory_file(const void *p, size_t n) {
    int fd = memfd_create("streams", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(weft__write_all(fd, p, n), 0);
    return fd;
}

/* end may be NULL. */
static inline int open_bytes(struct bytes header, const struct weft_trace_end *end, const void *streams, size_t n,
                             bool compressed, struct weft_trace **out, struct weft_err *err) {
    int fd = memory_file(streams, n);
    return weft__trace_open_parts("test", header.p, header.n, end, end ? sizeof *end : 0,
                                  (int[WEFT_FILES]){compressed ? fd : -1, compressed ? -1 : fd, -1, -1}, out, err);
}

static inline struct weft_trace *open_encoded(struct weft_encoder *e, const struct weft_trace_end *end) {
    struct bytes h = make_header();
    struct weft_trace *t = NULL;
    struct weft_err err = {0};
    int r = open_bytes(h, end, e->bytes, e->chunks * WEFT_CHUNK, false, &t, &err);
    if (r < 0) fail_msg("%s", err.text);
    free(h.p);
    return t;
}

static inline struct weft_trace_end make_end(uint32_t kind, uint32_t code, const struct weft_counts *n) {
    struct weft_trace_end e = {.kind = kind,
                               .code = code,
                               .threads = n->threads,
                               .edges = n->edges,
                               .inputs = n->inputs,
                               .stream_bytes = n->stream_bytes};
    weft__end_encode(&e);
    return e;
}

/* Two threads, each kind of item, one of them in parts. */
static inline void make_small(struct weft_encoder *e) {
    struct {
        struct weft_module_item m;
        char path[16];
    } module = {.m = {.base = 0x400000, .size = 0x1000, .build_id = {1, 2, 3}}, .path = "/bin/prog"};
    struct weft_crash_item crash = {.ip = 0x400123, .addr = 0, .code = 1};
    uint64_t word = 77;
    char input[8 + 6] = "\x06\0\0\0\0\0\0\0hello\n";
    weft__encode_item(e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(e, 1, WEFT_ITEM_MODULE, 1, 1, &module, sizeof module);
    weft__encode_item(e, 1, WEFT_ITEM_INPUT, 2, 0, input, sizeof input);
    weft__encode_item(e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    weft__encode_edge(e, 2, WEFT_ITEM_EDGE, 1, 0, 1, 2, 0, 0);
    weft__encode_edge(e, 2, WEFT_ITEM_EDGE_DONE, 9, 0x400200, 1, 5, 0x400100, 0);
    weft__encode_item(e, 2, WEFT_ITEM_PART, 10, 0, input, 8);
    weft__encode_item(e, 2, WEFT_ITEM_INPUT, 10, 1, input + 8, 6);
    weft__encode_item(e, 2, WEFT_ITEM_VERIFY, 11, 3, &word, 8);
    weft__encode_item(e, 2, WEFT_ITEM_SIGNAL, 11, 15, "info", 4);
    weft__encode_item(e, 2, WEFT_ITEM_EXIT, 12, 0, NULL, 0);
    weft__encode_edge(e, 1, WEFT_ITEM_EDGE_STEP, 250, 0x400300, 2, 9, 0x400200, 1);
    weft__encode_edge(e, 1, WEFT_ITEM_EDGE, 300, 0, 2, 12, 0, 0);
    weft__encode_item(e, 1, WEFT_ITEM_REPEAT, 300, WEFT_REPEAT_COUNTS, &word, 8);
    weft__encode_item(e, 1, WEFT_ITEM_NOTE, 301, 0, "note", 4);
    weft__encode_item(e, 1, 99, 301, 5, "later", 5); /* of a later version */
    weft__encode_item(e, 1, WEFT_ITEM_REACHED, 302, 2, &word, 8);
    weft__encode_item(e, 1, WEFT_ITEM_CRASH, 302, 11, &crash, sizeof crash);
}

/* A generator whose numbers are the same everywhere. */
static inline uint64_t rnd(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

#endif
