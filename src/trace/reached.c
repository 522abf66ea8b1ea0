/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adds to a recording how far its threads had come. A process that ends by itself says so (weft__note_reached in the
 * runtime); one that is ended because it is stuck has no say, so `weft record`, which stopped it and read the clocks, does
 * it: by a chunk of REACHED items behind the one that a thread was filling. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct weft_reached *find(const struct weft_reached *list, size_t n, uint32_t slot) {
    for (size_t i = 0; i < n; i++)
        if (list[i].slot == slot) return &list[i];
    return NULL;
}

int weft__trace_add_reached(const char *dir, const struct weft_reached *list, size_t n, struct weft_err *err) {
    struct weft_strbuf path = {0};
    struct weft_encoder e = {0};
    struct weft_chunk head;
    struct stat st;
    const struct weft_reached *by = NULL;
    int r = 0;
    weft__strbuf_printf(&path, "%s/open", dir);
    int fd = open(path.s, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) goto failed;
    uint64_t chunks = (uint64_t)st.st_size / WEFT_CHUNK;
    for (uint64_t k = 0; k < chunks && !by; k++)
        if (pread(fd, &head, sizeof head, (off_t)(k * WEFT_CHUNK)) == sizeof head && head.magic == WEFT_CHUNK_MAGIC)
            by = find(list, n, head.slot);
    if (!by) goto out; /* it was about to fill the next one: nothing is lost but this */
    for (size_t i = 0; i < n; i++)
        weft__encode_item(&e, by->slot, WEFT_ITEM_REACHED, 0, list[i].slot, &list[i].tick, sizeof list[i].tick);
    /* All at the one tick. */
    for (size_t k = 0; k < e.chunks; k++) {
        struct weft_chunk *c = (struct weft_chunk *)(e.bytes + k * WEFT_CHUNK);
        uint32_t used = c->used;
        c->used = 0;
        c->seq = head.seq + 1 + (uint32_t)k;
        c->tick = by->tick;
        if (used) weft__chunk_seal((uint8_t *)c, used);
    }
    weft__encode_seal(&e);
    size_t size = e.chunks * WEFT_CHUNK;
    if (pwrite(fd, e.bytes, size, (off_t)(chunks * WEFT_CHUNK)) == (ssize_t)size) goto out;
    /* Whole or not at all. */
    if (ftruncate(fd, (off_t)(chunks * WEFT_CHUNK)) < 0) {}
failed:
    r = weft__err(err, errno, "%s: %s", path.s, strerror(errno));
out:
    if (fd >= 0) close(fd);
    weft__encoder_fini(&e);
    weft__strbuf_fini(&path);
    return r;
}
