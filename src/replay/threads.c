/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The threads of a program, from outside: the runtime says where it keeps them (struct weft_threads), and weft reads its memory. */
#include "replay/replay.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool peek(int mem, uint64_t at, void *out, size_t n) { return at && pread(mem, out, n, (off_t)at) == (ssize_t)n; }

size_t weft__threads_read(pid_t pid, const struct weft_threads *w, struct weft_thread_view **out) {
    char path[64];
    uint32_t slots = 0;
    size_t n = 0, cap = 0;
    *out = NULL;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    if (mem < 0 || !peek(mem, w->slots, &slots, sizeof slots) || slots > WEFT_MAX_SLOT + 2) slots = 0;
    for (uint32_t s = 1; s < slots; s++) {
        struct weft_thread_view v = {.slot = s};
        uint64_t at, tls;
        int32_t alive, tid;
        if (!peek(mem, w->table + s * sizeof at, &at, sizeof at) || !at || !peek(mem, at + w->alive, &alive, sizeof alive) || !alive ||
            !peek(mem, at + w->tls, &tls, sizeof tls) || !peek(mem, tls + WEFT_TLS_CLOCK, &v.clock, sizeof v.clock) ||
            !peek(mem, at + w->tid, &tid, sizeof tid) || !peek(mem, at + w->wait, &v.wait, sizeof v.wait))
            continue;
        v.tid = tid;
        *out = weft__grow(*out, &cap, n + 1, sizeof **out);
        (*out)[n++] = v;
    }
    if (mem >= 0) close(mem);
    return n;
}

size_t weft__holds_read(pid_t pid, uint64_t list, uint64_t count, struct weft_hold **out) {
    char path[64];
    uint64_t at = 0, n = 0;
    *out = NULL;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    if (mem >= 0 && peek(mem, list, &at, sizeof at) && peek(mem, count, &n, sizeof n) && n && n < 1u << 26) {
        *out = weft__alloc(n * sizeof **out);
        if (!peek(mem, at, *out, n * sizeof **out)) n = 0;
    } else
        n = 0;
    if (mem >= 0) close(mem);
    return n;
}

bool weft__threads_all(pid_t pid, const char *states) {
    char path[64];
    bool yes = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && yes && (e = readdir(d));) {
        struct weft_strbuf stat = {0};
        struct weft_err err;
        char *text = NULL;
        size_t len;
        if (!isdigit((unsigned char)e->d_name[0])) continue;
        weft__strbuf_printf(&stat, "%s/%s/stat", path, e->d_name);
        if (weft__file_read(stat.s, 4096, &text, &len, &err) == 0) {
            const char *p = strrchr(text, ')');
            yes = !p || p[1] != ' ' || strchr(states, p[2]);
        }
        free(text);
        weft__strbuf_fini(&stat);
    }
    if (d) closedir(d);
    return yes;
}

void weft__threads_stop(pid_t pid) {
    kill(pid, SIGSTOP);
    /* One that is deep in the kernel may take its time; its clock does not move meanwhile. */
    for (int ms = 0; ms < 1000 && !weft__threads_all(pid, "TtZX"); ms++) nanosleep(&(struct timespec){0, 1000000}, NULL);
}
