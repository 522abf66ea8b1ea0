/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Profiles on disk. A test suite may profile many runs at the same time into one file: who merges holds a lock of the folder
 * (the file itself is replaced), for as long as it takes to read and write it. */
#include "base/base.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int weft__profile_write(const char *path, const struct weft_profile *p, struct weft_err *err) {
    struct weft_strbuf text = {0};
    weft__profile_text(p, &text);
    int r = weft__file_write(path, text.s, text.len, err);
    weft__strbuf_fini(&text);
    return r;
}

/* New memory. */
static char *folder_of(const char *path) {
    char *folder = weft__strdup(path), *slash = strrchr(folder, '/');
    if (!slash) strcpy(folder, "."); /* a name is not empty */
    if (slash) slash[slash == folder] = 0;
    return folder;
}

/* The folder of a file, locked until it is closed. */
static int lock_folder(const char *path, struct weft_err *err) {
    char *folder = folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = fd;
    if (fd >= 0)
        while ((r = flock(fd, LOCK_EX)) < 0 && errno == EINTR) {}
    if (r < 0) {
        weft__err(err, errno, "%s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        fd = -err->code;
    }
    free(folder);
    return fd;
}

/* The file's content; *out is NULL if there is none. */
static int read_if_there(const char *path, struct weft_profile **out, struct weft_err *err) {
    char why[sizeof err->text];
    struct weft_profile *p = NULL;
    if (access(path, F_OK) == 0 && !(p = weft__profile_read(path, why, sizeof why))) return weft__err(err, EBADMSG, "%s", why);
    *out = p;
    return 0;
}

int weft__profile_check(const char *path, struct weft_err *err) {
    struct weft_profile *p = NULL;
    char *folder = folder_of(path);
    int r = access(folder, W_OK | X_OK) < 0 ? weft__err(err, errno, "%s: cannot write: %s", path, strerror(errno)) : 0;
    if (r == 0) r = read_if_there(path, &p, err);
    weft__profile_free(p);
    free(folder);
    return r;
}

int weft__profile_add(const char *path, struct weft_profile **p, struct weft_err *err) {
    struct weft_profile *had = NULL;
    int r = 0, lock = lock_folder(path, err);
    if (lock < 0) return lock;
    r = read_if_there(path, &had, err);
    if (had) weft__profile_merge(had, *p);
    if (r == 0) r = weft__profile_write(path, had ? had : *p, err);
    if (r == 0 && had) {
        weft__profile_free(*p);
        *p = had;
        had = NULL;
    }
    weft__profile_free(had);
    close(lock);
    return r;
}
