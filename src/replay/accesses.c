/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list of accesses of a replay (struct weft_accesses): a ring at the end of the memory file, so that it is there however the
 * program ended. */
#include "replay/replay.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int weft__accesses_open(struct weft_schedule *s, uint64_t room, struct weft_accesses **out, struct weft_err *err) {
    uint64_t size = (sizeof **out + room * sizeof(struct weft_access) + 4095) & ~4095ull;
    if (ftruncate(s->fd, (off_t)(s->size + size)) < 0)
        return weft__err(err, errno, "cannot grow a memory file by %llu bytes: %s", (unsigned long long)size, strerror(errno));
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, (off_t)s->size);
    if (map == MAP_FAILED)
        return weft__err(err, errno, "cannot map %llu bytes: %s", (unsigned long long)size, strerror(errno));
    *out = map;
    (*out)->room = room;
    (*out)->size = size;
    s->control->accesses_off = s->size;
    s->control->options |= WEFT_OPT_ACCESSES | WEFT_OPT_WAITS;
    return 0;
}
