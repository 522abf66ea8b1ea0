/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the two small files of a trace: header before the run, end after it (weft__trace_seal calls for that one).
 * What lies between, streams, is the runtime's. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static struct weft_section put(struct weft_strbuf *b, char *const *strings, size_t count) {
    struct weft_section s = {.off = (uint32_t)b->len, .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) weft__strbuf_add(b, strings[i], strlen(strings[i]) + 1);
    s.len = (uint32_t)(b->len - s.off);
    return s;
}

static size_t count(char *const *strings) {
    size_t n = 0;
    while (strings[n]) n++;
    return n;
}

int weft__header_encode(const struct weft_trace_start *s, char **out, size_t *len, struct weft_err *err) {
    struct weft_trace_header h = {
        .magic = WEFT_HEADER_MAGIC,
        .version = WEFT_TRACE_VERSION,
        .seed = s->seed,
        .stack_limit = s->stack_limit,
        .start_time = s->start_time,
    };
    struct weft_strbuf b = {0};
    memcpy(h.at_random, s->at_random, sizeof h.at_random);
    weft__strbuf_add(&b, &h, sizeof h);
    h.program = put(&b, (char *const *)&s->program, 1);
    h.cwd = put(&b, (char *const *)&s->cwd, 1);
    h.argv = put(&b, s->argv, count(s->argv));
    h.env = put(&b, s->env, count(s->env));
    if (b.len > WEFT_HEADER_MAX) {
        weft__strbuf_fini(&b);
        return weft__err(err, E2BIG, "the arguments and the environment are too large to record");
    }
    h.size = (uint32_t)b.len;
    memcpy(b.s, &h, sizeof h);
    h.hash = weft_hash(b.s, b.len);
    memcpy(b.s, &h, sizeof h);
    *out = b.s;
    *len = b.len;
    return 0;
}

void weft__end_encode(struct weft_trace_end *end) {
    end->magic = WEFT_END_MAGIC;
    end->hash = 0;
    end->hash = weft_hash(end, sizeof *end);
}

int weft__trace_create(const char *dir, const struct weft_trace_start *s, int *lock, struct weft_err *err) {
    struct weft_strbuf path = {0};
    char *bytes = NULL;
    size_t len;
    int fd = -1, header = -1;
    int r = weft__header_encode(s, &bytes, &len, err);
    if (r < 0) goto out;
    weft__strbuf_printf(&path, "%s/header", dir);
    r = weft__file_write(path.s, bytes, len, err);
    if (r < 0) goto out;
    fd = open(path.s, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        r = weft__err(err, errno, "%s: %s", path.s, strerror(errno));
        goto out;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        (void)0; /* somebody looks at it this very moment: then he sees a recording without events, which it is */
    header = fd;
    fd = -1;
    path.len = 0;
    weft__strbuf_printf(&path, "%s/streams", dir);
    fd = open(path.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        r = weft__err(err, errno, "%s: cannot write: %s", path.s, strerror(errno));
        goto out;
    }
    close(fd); /* last of all: then it is a trace */
    fd = -1;
    *lock = header;
    header = -1;
out:
    if (header >= 0) close(header);
    if (fd >= 0) close(fd);
    free(bytes);
    weft__strbuf_fini(&path);
    return r;
}
