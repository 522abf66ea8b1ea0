/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Is every byte of a trace valid? Opening it has tested header and end; the walk tests chunks and items; what is left
 * is what the bytes mean: sizes of what items hold, and that the counts in `end` are those of the streams, which finds
 * a file that was cut exactly between two chunks. */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>

void weft__counts_add(struct weft_counts *n, const struct weft_item *item) {
    n->items++;
    switch (item->kind) {
    case WEFT_ITEM_EDGE:
    case WEFT_ITEM_EDGE_STEP:
    case WEFT_ITEM_EDGE_DONE: n->edges++; break;
    case WEFT_ITEM_SIGNAL: n->signals++; /* fallthrough: it came from outside */
    case WEFT_ITEM_MEMORY:
    case WEFT_ITEM_INPUT: n->inputs++; break;
    case WEFT_ITEM_START: n->threads++; break;
    case WEFT_ITEM_LOST:
        n->lost++;
        n->lost_by = item->op;
        break;
    default: break;
    }
}

/* What an item of this kind has to hold; NULL: it does. */
static const char *wrong(const struct weft_item *item) {
    struct weft_module m;
    switch (item->kind) {
    case WEFT_ITEM_INPUT: return item->size >= 8 ? NULL : "an input without a result";
    case WEFT_ITEM_START: return item->op <= WEFT_MAX_SLOT ? NULL : "a thread whose parent cannot be";
    case WEFT_ITEM_MODULE:
        if (!weft__module_decode(item, &m)) return "a module without its description or with an endless path";
        free(m.path);
        return NULL;
    case WEFT_ITEM_CRASH:
        if (item->op < 1 || item->op > 64) return "a crash by a signal that does not exist";
        return item->size >= sizeof(struct weft_crash_item) ? NULL : "a crash without its description";
    case WEFT_ITEM_VERIFY: return item->size == 8 ? NULL : "a verify item without its hash";
    case WEFT_ITEM_REACHED:
        if (item->op < 1 || item->op > WEFT_MAX_SLOT) return "a thread slot that cannot be";
        return item->size == 8 ? NULL : "a reached item without its tick";
    case WEFT_ITEM_SIGNAL: return item->op >= 1 && item->op <= 64 ? NULL : "a signal that does not exist";
    case WEFT_ITEM_MEMORY: return item->size > 8 ? NULL : "memory without its address and bytes";
    case WEFT_ITEM_REPEAT:
        if ((item->op & 0xff) > (WEFT_REPEAT_LEFT_OUT | WEFT_REPEAT_COUNTS | WEFT_REPEAT_WRITTEN) || item->op > UINT32_MAX) return "an iteration with flags that do not exist";
        return item->size == 8 || item->size == 16 ? NULL : "an iteration without its site";
    case WEFT_ITEM_LOOP: return item->op <= WEFT_LOOP_NOT ? NULL : "a loop that does something unknown";
    default: return NULL; /* nothing to hold, or from a later version: skipped without being understood */
    }
}

static int differs(struct weft_trace *t, const char *what, uint64_t end, uint64_t streams, struct weft_err *err) {
    if (end == streams) return 0;
    return weft__err(err, EBADMSG, "%s: end tells of %llu %s, the streams hold %llu (is a piece of them missing?)",
                     t->dir, (unsigned long long)end, what, (unsigned long long)streams);
}

int weft__trace_check(struct weft_trace *t, struct weft_counts *counts, struct weft_err *err) {
    struct weft_cursor c;
    struct weft_item item;
    int r;
    *counts = (struct weft_counts){0};
    weft__cursor_open(&c, t, 0);
    while ((r = weft__cursor_next(&c, &item, err)) > 0) {
        const char *why = wrong(&item);
        if (why) {
            r = weft__err(err, EBADMSG, "%s: chunk %llu at 0x%llx: %s", t->path, (unsigned long long)item.chunk,
                          (unsigned long long)(item.chunk * WEFT_CHUNK + item.off), why);
            break;
        }
        weft__counts_add(counts, &item);
    }
    counts->stream_bytes = c.stream_bytes;
    counts->edge_bytes = c.edge_bytes;
    weft__cursor_close(&c);
    if (r < 0 || !t->has_end) return r;
    r = differs(t, "threads", t->end.threads, counts->threads, err);
    if (r == 0) r = differs(t, "edges", t->end.edges, counts->edges, err);
    if (r == 0) r = differs(t, "inputs", t->end.inputs, counts->inputs, err);
    if (r == 0) r = differs(t, "bytes of items", t->end.stream_bytes, counts->stream_bytes, err);
    return r;
}

int weft__trace_check_parts(struct weft_trace *t, struct weft_parts *parts, struct weft_err *err) {
    unsigned most = weft__trace_parts(t->dir);
    int r = 0;
    for (unsigned k = 1; k <= most && r == 0; k++) {
        struct weft_strbuf path = {0};
        struct weft_trace *part = NULL;
        struct weft_counts counts;
        if (weft__trace_part(t->dir, k, &path)) {
            r = weft__trace_open(path.s, &part, err);
            if (r == 0) ++*(weft__trace_is_program(part, t) ? &parts->executed : &parts->forked);
            if (r == 0) r = weft__trace_check(part, &counts, err);
            if (r == 0) r = weft__trace_check_parts(part, parts, err);
        }
        weft__trace_close(part);
        weft__strbuf_fini(&path);
    }
    return r;
}
