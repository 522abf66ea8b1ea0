/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft rm: removes traces, and nothing but traces: files that weft did not put there stay, and their folder with them.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* header goes last: until then the folder is a trace that can be removed again. */
static const char *const files[] = {"end",        "end.tmp", "streams", "streams.zst", "streams.zst.tmp",
                                    "header.tmp", "header"};

static int remove_trace(const char *dir, struct weft_err *err) {
    struct stat st;
    int r = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return weft__err(err, errno, "%s: %s", dir,
                         errno == ENOTDIR ? "not a trace (a trace is a folder)" : strerror(errno));
    int header = openat(fd, "header", O_RDONLY | O_CLOEXEC);
    if (header < 0) {
        r = weft__err(err, ENOENT, "%s: not a trace (it has no header file)", dir);
        goto out;
    }
    uint64_t magic = 0;
    if (read(header, &magic, sizeof magic) != sizeof magic || magic != WEFT_HEADER_MAGIC) {
        r = weft__err(err, EBADMSG, "%s: not a trace: its header file was not written by weft", dir);
        goto out;
    }
    if (flock(header, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        r = weft__err(err, EBUSY, "%s: is still being recorded", dir);
        goto out;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (fstatat(fd, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(fd, files[i], 0) < 0) {
            r = weft__err(err, errno, "%s/%s: cannot remove: %s", dir, files[i], strerror(errno));
            goto out;
        }
    if (rmdir(dir) < 0)
        r = weft__err(err, errno, "%s: %s", dir,
                      errno == ENOTEMPTY ? "its trace is gone, but the folder holds other files too" : strerror(errno));
out:
    if (header >= 0) close(header);
    close(fd);
    return r;
}

/* `latest` must not point to what is gone. */
static void fix_latest(void) {
    struct weft_err err;
    struct weft_strbuf link = {0};
    struct stat st;
    char *store;
    if (weft__store_dir(&store, &err) < 0) return;
    weft__strbuf_printf(&link, "%s/latest", store);
    if (lstat(link.s, &st) == 0 && S_ISLNK(st.st_mode) && stat(link.s, &st) < 0 && errno == ENOENT) unlink(link.s);
    weft__strbuf_fini(&link);
    free(store);
}

int weft__cmd_rm(int argc, char **argv) {
    struct weft_err err;
    int ret = 0;
    if (weft__asks_help(argc, argv)) return 0;
    int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
    if (first == 1 && argc > 1 && argv[1][0] == '-') return weft__usage("rm", "there is no option %s", argv[1]);
    if (first >= argc) return weft__usage("rm", "no trace to remove");
    for (int i = first; i < argc; i++) {
        char *dir = NULL;
        if (weft__store_find(argv[i], &dir, &err) < 0 || remove_trace(dir, &err) < 0) ret = weft__fail(&err);
        free(dir);
    }
    fix_latest();
    return ret;
}
