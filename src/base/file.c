/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whole files, in and out. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int weft__write_all(int fd, const void *bytes, size_t n) {
    const char *p = bytes;
    while (n) {
        ssize_t r = write(fd, p, n);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return -errno;
        p += r;
        n -= (size_t)r;
    }
    return 0;
}

int weft__file_read(const char *path, size_t max, char **out, size_t *len, struct weft_err *err) {
    struct weft_strbuf b = {0};
    int ret = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO in its place must not hang us */
    if (fd < 0) return weft__err(err, errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        ret = weft__err(err, EINVAL, "%s: not a regular file", path);
        goto out;
    }
    for (;;) {
        char buf[16384];
        ssize_t r = read(fd, buf, sizeof buf);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) {
            ret = weft__err(err, errno, "%s: %s", path, strerror(errno));
            goto out;
        }
        weft__strbuf_add(&b, buf, (size_t)r);
        if (r == 0) break;
        if (b.len > max) {
            ret = weft__err(err, EFBIG, "%s: larger than the %zu bytes that it can have", path, max);
            goto out;
        }
    }
    *out = b.s;
    *len = b.len;
    b.s = NULL;
out:
    weft__strbuf_fini(&b);
    close(fd);
    return ret;
}

int weft__file_write(const char *path, const void *bytes, size_t n, struct weft_err *err) {
    struct weft_strbuf tmp = {0};
    weft__strbuf_printf(&tmp, "%s.tmp", path);
    int ret = 0;
    int fd = open(tmp.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int r = fd < 0 ? -errno : weft__write_all(fd, bytes, n);
    if (fd >= 0 && close(fd) < 0 && r == 0) r = -errno;
    if (r == 0 && rename(tmp.s, path) < 0) r = -errno;
    if (r < 0) {
        ret = weft__err(err, -r, "%s: cannot write: %s", path, strerror(-r));
        unlink(tmp.s);
    }
    weft__strbuf_fini(&tmp);
    return ret;
}
