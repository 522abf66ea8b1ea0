/* move-repeat TRACE NEW: a copy of a trace in which the first iteration that was left out has another site. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void put(const char *dir, const char *name, const void *p, size_t n) {
    char path[4096];
    struct weft_err err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (weft__file_write(path, p, n, &err) < 0) abort();
}

int main(int argc, char **argv) {
    struct weft_trace *t;
    struct weft_err err = {0};
    struct weft_cursor c;
    struct weft_item i;
    struct weft_encoder e = {0};
    char path[4096], *header;
    size_t n;
    int r, moved = 0;
    if (argc != 3 || weft__trace_open(argv[1], &t, &err) < 0) return 1;
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &i, &err)) > 0) {
        uint64_t site;
        if (i.kind == WEFT_ITEM_REPEAT && i.op & WEFT_REPEAT_LEFT_OUT && !moved++) {
            memcpy(&site, i.data, 8);
            site++;
            weft__encode_item(&e, i.slot, i.kind, i.tick, i.op, &site, 8);
        } else if (weft__item_is_edge(i.kind))
            weft__encode_edge(&e, i.slot, i.kind, i.tick, i.site, i.other_slot, i.other_tick, i.other_site, i.op);
        else
            weft__encode_item(&e, i.slot, i.kind, i.tick, i.op, i.data, i.size);
    }
    if (r < 0 || !moved) return 2;
    weft__encode_seal(&e);
    mkdir(argv[2], 0777);
    snprintf(path, sizeof path, "%s/header", argv[1]);
    if (weft__file_read(path, 1 << 20, &header, &n, &err) < 0) return 3;
    put(argv[2], "header", header, n);
    put(argv[2], "streams", e.bytes, e.chunks * WEFT_CHUNK);
    return 0;
}
