/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the fuzzer's seeds into a folder: one small trace in each of the forms that trace_fuzz.c takes. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static void put(const char *dir, const char *name, int what, const void *p, size_t n) {
    struct weft_strbuf path = {0}, b = {0};
    struct weft_err err;
    char first = (char)what;
    weft__strbuf_printf(&path, "%s/%s", dir, name);
    weft__strbuf_add(&b, &first, 1);
    weft__strbuf_add(&b, p, n);
    if (weft__file_write(path.s, b.s, b.len, &err) < 0) weft__die("%s", err.text);
    weft__strbuf_fini(&path);
    weft__strbuf_fini(&b);
}

int main(int argc, char **argv) {
    static char *args[] = {"prog", "x", NULL}, *env[] = {"A=b", NULL};
    struct weft_trace_start s = {.program = "/prog", .cwd = "/tmp", .argv = args, .env = env};
    struct weft_encoder e = {0};
    struct weft_err err;
    struct {
        struct weft_module_item m;
        char path[16];
    } module = {.m = {.base = 0x400000, .size = 0x1000}, .path = "/prog"};
    struct weft_crash_item crash = {.ip = 0x400123};
    uint64_t word = 5;
    char *z, *h;
    size_t zn, hn;
    if (argc != 2) return 2;
    weft__encode_item(&e, 1, WEFT_ITEM_START, 1, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_MODULE, 1, 1, &module, sizeof module);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 2, 0, "\3\0\0\0\0\0\0\0abc", 11);
    weft__encode_item(&e, 2, WEFT_ITEM_START, 1, 1, NULL, 0);
    for (int i = 1; i < 6; i++) {
        weft__encode_edge(&e, 2, WEFT_ITEM_EDGE_DONE, 3 * i, 0x400100, 1, 3 * i, 0x400108, 0);
        weft__encode_edge(&e, 1, WEFT_ITEM_EDGE, 3 * i + 1, 0x400104, 2, 3 * i + 1, 0, 0);
    }
    weft__encode_item(&e, 2, WEFT_ITEM_PART, 30, 1, "12345678", 8);
    weft__encode_item(&e, 2, WEFT_ITEM_INPUT, 30, 4111, "rest", 4);
    weft__encode_item(&e, 2, WEFT_ITEM_AGAIN, 31, 1, NULL, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_INPUT, 31, 4111, NULL, 0);
    weft__encode_item(&e, 2, WEFT_ITEM_VERIFY, 31, 9, &word, 8);
    weft__encode_item(&e, 2, WEFT_ITEM_SIGNAL, 32, 10, "info", 4);
    weft__encode_item(&e, 2, WEFT_ITEM_EXIT, 33, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_LOOP, 40, WEFT_LOOP_NOT, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_NOTE, 40, 0, "note", 4);
    weft__encode_item(&e, 1, WEFT_ITEM_LOST, 40, 0, NULL, 0);
    weft__encode_item(&e, 1, WEFT_ITEM_REACHED, 40, 2, &word, 8);
    weft__encode_item(&e, 1, WEFT_ITEM_CRASH, 41, 11, &crash, sizeof crash);
    weft__encode_item(&e, 1, WEFT_ITEM_INPUT, 41, 231, &word, 8);

    struct weft_strbuf brief = {0};
    for (size_t i = 0; i < e.chunks; i++) {
        struct weft_chunk c;
        memcpy(&c, e.bytes + i * WEFT_CHUNK, sizeof c);
        uint16_t n = 400;
        char start[4] = {(char)c.slot, 0};
        memcpy(start + 2, &n, 2);
        weft__strbuf_add(&brief, start, 4);
        weft__strbuf_add(&brief, e.bytes + i * WEFT_CHUNK + sizeof c, n);
    }
    put(argv[1], "brief", 3, brief.s, brief.len);
    put(argv[1], "brief-end", 3 | 128, brief.s, brief.len);
    put(argv[1], "raw", 2, e.bytes, e.chunks * WEFT_CHUNK);
    weft__encode_seal(&e);
    put(argv[1], "sealed", 2 | 128, e.bytes, WEFT_CHUNK);
    if (weft__streams_compress(e.bytes, e.chunks * WEFT_CHUNK, &z, &zn, &err) < 0) weft__die("%s", err.text);
    put(argv[1], "zst", 0, z, zn);
    if (weft__header_encode(&s, &h, &hn, &err) < 0) weft__die("%s", err.text);
    put(argv[1], "header", 1, h, hn);
    return 0;
}
