/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where traces are: the trace directory, the names in it, and the link `latest`. A new folder is made by mkdir, which
 * fails if the name is taken, so two recordings never share one; `latest` is replaced by rename, so it always points
 * somewhere. */
#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *weft__basename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int weft__store_dir(char **out, struct weft_err *err) {
    struct weft_strbuf b = {0};
    const char *own = getenv("WEFT_TRACE_DIR"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (own && *own)
        weft__strbuf_puts(&b, own);
    else if (xdg && *xdg == '/') /* the specification wants relative ones ignored */
        weft__strbuf_printf(&b, "%s/weft", xdg);
    else if (home && *home)
        weft__strbuf_printf(&b, "%s/.local/share/weft", home);
    else
        return weft__err(err, ENOENT, "no place for traces: neither WEFT_TRACE_DIR nor HOME is set");
    *out = b.s;
    return 0;
}

static int make_dirs(const char *path, struct weft_err *err) {
    char *p = weft__strdup(path);
    int r = 0;
    for (char *s = p + 1; r == 0; s++) {
        char c = *s;
        if (c && c != '/') continue;
        *s = 0;
        if (mkdir(p, 0777) < 0 && errno != EEXIST)
            r = weft__err(err, errno, "%s: cannot make the folder: %s", p, strerror(errno));
        *s = c;
        if (!c) break;
    }
    free(p);
    return r;
}

/* The largest N of the PROGRAM-N in the store. */
static unsigned long highest(const char *store, const char *program) {
    unsigned long max = 0;
    size_t len = strlen(program);
    DIR *d = opendir(store);
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, program, len) != 0 || e->d_name[len] != '-' ||
            !isdigit((unsigned char)e->d_name[len + 1]))
            continue;
        char *end;
        errno = 0;
        unsigned long n = strtoul(e->d_name + len + 1, &end, 10);
        if (*end == 0 && errno == 0 && n < ULONG_MAX / 2 && n > max) max = n;
    }
    closedir(d);
    return max;
}

int weft__store_new(const char *dir, const char *program, char **out, struct weft_err *err) {
    char *store = NULL;
    struct weft_strbuf path = {0};
    int r;
    if (dir) {
        if (mkdir(dir, 0777) < 0) {
            /* An empty folder will do: mktemp -d makes such. rmdir tells whether it is empty, without a race. */
            if (errno != EEXIST || rmdir(dir) < 0 || mkdir(dir, 0777) < 0) {
                if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
                    return weft__err(err, EEXIST, "%s: exists already", dir);
                return weft__err(err, errno, "%s: cannot make the folder: %s", dir, strerror(errno));
            }
        }
        weft__strbuf_puts(&path, dir);
    } else {
        if ((r = weft__store_dir(&store, err)) < 0) return r;
        r = make_dirs(store, err);
        if (r < 0) {
            free(store);
            return r;
        }
        const char *name = weft__basename(program);
        unsigned long n = highest(store, name);
        do {
            path.len = 0;
            weft__strbuf_printf(&path, "%s/%s-%lu", store, name, ++n);
        } while (mkdir(path.s, 0777) < 0 && errno == EEXIST);
        free(store);
    }
    char *real = realpath(path.s, NULL);
    if (!real) r = weft__err(err, errno, "%s: cannot make the folder: %s", path.s, strerror(errno));
    weft__strbuf_fini(&path);
    if (!real) return r;
    *out = real;
    return 0;
}

int weft__store_new_of(const char *dir, const char *program, char **out, struct weft_err *err) {
    struct weft_strbuf path = {0};
    int r = 0;
    if (!dir) return weft__store_new(NULL, program, out, err);
    for (unsigned k = 1;; k++) {
        path.len = 0;
        weft__strbuf_puts(&path, dir);
        while (path.len > 1 && path.s[path.len - 1] == '/') path.s[--path.len] = 0;
        if (k > 1) weft__strbuf_printf(&path, "-%u", k);
        if (mkdir(path.s, 0777) == 0) break;
        if (errno == EEXIST) continue;
        r = weft__err(err, errno, "%s: cannot make the folder: %s", path.s, strerror(errno));
        break;
    }
    if (r == 0 && !(*out = realpath(path.s, NULL)))
        r = weft__err(err, errno, "%s: cannot make the folder: %s", path.s, strerror(errno));
    weft__strbuf_fini(&path);
    return r;
}

#define DRAFT ".draft-"

int weft__store_draft(const char *dir, int owner, char **out, struct weft_err *err) {
    struct weft_strbuf path = {0};
    char *store = NULL;
    if (dir) {
        weft__strbuf_puts(&path, dir);
        while (path.len > 1 && path.s[path.len - 1] == '/') path.s[--path.len] = 0;
        weft__strbuf_printf(&path, DRAFT "%d", owner);
    } else {
        int r = weft__store_dir(&store, err);
        if (r == 0) r = make_dirs(store, err);
        if (r == 0) weft__strbuf_printf(&path, "%s/" DRAFT "%d", store, owner);
        free(store);
        if (r < 0) return r;
    }
    *out = path.s;
    return 0;
}

void weft__store_tidy(void) {
    struct weft_err err;
    char *store;
    if (weft__store_dir(&store, &err) < 0) return;
    DIR *d = opendir(store);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, DRAFT, sizeof DRAFT - 1) != 0) continue;
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s/%s", store, e->d_name);
        int r = weft__store_remove(path.s, false, &err), owner = atoi(e->d_name + sizeof DRAFT - 1);
        /* It is being recorded, or who was about to was killed before there was a trace in it. */
        if (r < 0 && r != -EBUSY && owner > 0 && kill(owner, 0) < 0 && errno == ESRCH && weft__store_remove(path.s, true, &err) < 0) rmdir(path.s);
        weft__strbuf_fini(&path);
    }
    if (d) closedir(d);
    free(store);
}

void weft__store_set_latest(const char *trace) {
    struct weft_strbuf link = {0}, tmp = {0};
    const char *name = weft__basename(trace);
    weft__strbuf_printf(&link, "%.*slatest", (int)(name - trace), trace);
    weft__strbuf_printf(&tmp, "%.*s.latest-%d", (int)(name - trace), trace, (int)getpid());
    unlink(tmp.s);
    if (symlink(name, tmp.s) == 0 && rename(tmp.s, link.s) < 0) unlink(tmp.s);
    weft__strbuf_fini(&tmp);
    weft__strbuf_fini(&link);
}

static bool is_trace(const char *dir) {
    struct weft_strbuf b = {0};
    weft__strbuf_printf(&b, "%s/header", dir);
    bool yes = access(b.s, F_OK) == 0;
    weft__strbuf_fini(&b);
    return yes;
}

/* A name with a slash is a path; one without is a folder here, or a trace of the store. */
int weft__store_find(const char *name, char **out, struct weft_err *err) {
    struct weft_strbuf b = {0};
    char *store;
    int r;
    if (name && (strchr(name, '/') || is_trace(name))) {
        *out = weft__strdup(name);
        return 0;
    }
    if ((r = weft__store_dir(&store, err)) < 0) return r;
    weft__strbuf_printf(&b, "%s/%s", store, name ? name : "latest");
    free(store);
    struct stat st;
    if (lstat(b.s, &st) < 0) {
        r = 0;
        if (!name)
            r = weft__err(err, ENOENT, "there is no latest trace: record one first (weft record PROGRAM)");
        else if (stat(name, &st) == 0) /* something here, but no trace: let the reader say so */
            *out = weft__strdup(name);
        else
            r = weft__err(err, ENOENT, "%s: there is no such trace, neither here nor in %.*s", name,
                          (int)(b.len - strlen(name) - 1), b.s);
        weft__strbuf_fini(&b);
        return r;
    }
    char *real = realpath(b.s, NULL);
    if (!real) {
        r = weft__err(err, errno, "%s: %s", b.s, name ? strerror(errno) : "the latest trace is gone");
        weft__strbuf_fini(&b);
        return r;
    }
    weft__strbuf_fini(&b);
    *out = real;
    return 0;
}

#define SIMPLIFIED_MAX (64u << 20)
char *weft__store_simplified(const char *dir, const char *name) {
    struct weft_strbuf path = {0};
    struct weft_err err;
    char *text = NULL;
    size_t n;
    weft__strbuf_printf(&path, "%s/%s", dir, name);
    if (weft__file_read(path.s, SIMPLIFIED_MAX, &text, &n, &err) < 0) text = NULL;
    weft__strbuf_fini(&path);
    return text;
}

int weft__store_failed_by(const char *dir, const char *command, struct weft_err *err) {
    struct weft_strbuf path = {0};
    weft__strbuf_printf(&path, "%s/failed", dir);
    int r = weft__file_write(path.s, command, strlen(command), err);
    weft__strbuf_fini(&path);
    return r;
}

/* header goes last: until then the folder is a trace that can be removed again. */
static const char *const files[] = {"failed", "refused", "relevant", "simplified", "simplified.txt", "end", "end.tmp", "streams", "streams.zst", "open", "bulk", "control", "header.tmp", "header"};

int weft__store_remove(const char *dir, bool own, struct weft_err *err) {
    struct stat st;
    int r = 0;
    unsigned parts = weft__trace_parts(dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return weft__err(err, errno, "%s: %s", dir,
                         errno == ENOTDIR ? "not a trace (a trace is a folder)" : strerror(errno));
    int header = openat(fd, "header", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (header < 0 && !own) {
        r = weft__err(err, ENOENT, "%s: not a trace (it has no header file)", dir);
        goto out;
    }
    uint64_t magic = 0; /* one of our own may have been begun only */
    ssize_t has = header >= 0 ? read(header, &magic, sizeof magic) : 0;
    if (!(own && has == 0) && (has != sizeof magic || magic != WEFT_HEADER_MAGIC)) {
        r = weft__err(err, EBADMSG, "%s: not a trace: its header file was not written by weft", dir);
        goto out;
    }
    if (!own && flock(header, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        r = weft__err(err, EBUSY, "%s: is still being recorded", dir);
        goto out;
    }
    for (unsigned k = 1; k <= parts && r == 0; k++) {
        struct weft_strbuf part = {0};
        bool is = weft__trace_part(dir, k, &part) || access(part.s, F_OK) == 0; /* one may have been begun only */
        if (is) r = weft__store_remove(part.s, true, err); /* their header's lock is ours */
        weft__strbuf_fini(&part);
    }
    if (r < 0) goto out;
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

bool weft__is_foreign(const struct weft_module *m) {
    static const char *const known[] = {"libc.so",    "libm.so",      "libpthread.so", "libdl.so",     "librt.so",
                                        "ld-linux",   "libgcc_s.so",  "libstdc++.so",  "libc++.so",    "libc++abi.so",
                                        "libutil.so", "libresolv.so", "linux-vdso.so", "libweft-rt.so"};
    const char *name = weft__basename(m->path);
    if (m->weft || !*name) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0) return false;
    return true;
}

void weft__foreign_text(struct weft_strbuf *b, const struct weft_trace *t, const char *lead) {
    size_t n = 0;
    for (size_t i = 0; i < t->nmodules; i++)
        if (weft__is_foreign(&t->modules[i]))
            weft__strbuf_printf(b, "%s%s", n++ ? ", " : lead, weft__basename(t->modules[i].path));
}
