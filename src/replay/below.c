/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The processes below weft: those that it started, and all that came of them. While weft takes care of orphans
 * (PR_SET_CHILD_SUBREAPER) none of them gets away, whatever it does.
 *
 * And whether anything happens there: a run is stuck if nothing does for a while. Something has happened if a process came or
 * went, if anything was logged, or if they used the processor: more than a hundredth of a core, since a thread that waits for
 * a lock while there are handlers for signals looks for those now and then. And it will if a thread could run: others may have
 * the cores. */
#include "replay/replay.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    char state;
    bool below;
    uint64_t ticks; /* of processor time, with that of its dead children */
};

static bool read_stat(const char *name, struct process *out) {
    struct weft_strbuf path = {0};
    struct weft_err err;
    char *text = NULL;
    size_t len = 0;
    unsigned long long t[4];
    int parent;
    weft__strbuf_printf(&path, "/proc/%s/stat", name);
    bool ok = weft__file_read(path.s, 4096, &text, &len, &err) == 0;
    weft__strbuf_fini(&path);
    const char *p = ok ? strrchr(text, ')') : NULL; /* the name may have anything in it */
    ok = p && sscanf(p, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &out->state, &parent, &t[0], &t[1],
                     &t[2], &t[3]) == 6;
    free(text);
    if (!ok) return false;
    out->pid = (pid_t)strtol(name, NULL, 10);
    out->parent = parent;
    out->below = false;
    out->ticks = t[0] + t[1] + t[2] + t[3];
    return true;
}

/* Those below us come first; how many. *list is new memory. */
static size_t find(struct process **list) {
    size_t n = 0, cap = 0, below = 0;
    DIR *d = opendir("/proc");
    *list = NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0])) continue;
        *list = weft__grow(*list, &cap, n + 1, sizeof **list);
        if (read_stat(e->d_name, &(*list)[n])) n++;
    }
    if (d) closedir(d);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = below; i < n; i++) {
            struct process p = (*list)[i];
            bool is = p.parent == getpid();
            for (size_t k = 0; k < below && !is; k++) is = (*list)[k].pid == p.parent;
            if (!is) continue;
            (*list)[i] = (*list)[below];
            (*list)[below++] = p;
            more = true;
        }
    }
    return below;
}

static bool gone(const struct process *p) { return p->state == 'Z' || p->state == 'X'; }

void weft__below_kill(void) {
    /* One that forks all the time may win a round. */
    for (int round = 0; round < 1000; round++) {
        struct process *list;
        size_t n = find(&list), living = 0;
        for (size_t i = 0; i < n; i++) {
            if (gone(&list[i])) continue;
            living++;
            kill(list[i].pid, SIGKILL);
        }
        free(list);
        if (!living) return;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- stuck ---- */

static uint64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* What is there, and what it has used, in ticks; *runs: a thread could. */
static uint64_t census(uint64_t *ticks, bool *runs) {
    struct process *list;
    size_t n = find(&list);
    uint64_t sum = n;
    *ticks = 0;
    *runs = false;
    for (size_t i = 0; i < n; i++) {
        sum += (uint64_t)list[i].pid * 0x9e3779b97f4a7c15ull; /* in any order */
        *ticks += list[i].ticks;
        *runs = *runs || !weft__threads_all(list[i].pid, "SDTtZXIPKW");
    }
    free(list);
    return sum;
}

static bool busy(struct weft_watch *w, void *ctx, uint64_t now) {
    uint64_t ticks, allowed = (now - w->since) / 100 * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000;
    bool runs;
    uint64_t who = census(&ticks, &runs), log = w->activity ? w->activity(ctx) : 0;
    bool yes = runs || who != w->who || log != w->log || ticks > w->ticks + (allowed ? allowed : 1) || ticks < w->ticks;
    if (!yes) return false;
    w->since = now;
    w->who = who;
    w->log = log;
    w->ticks = ticks;
    return true;
}

void weft__watch_begin(struct weft_watch *w) {
    w->begun = w->since = w->looked = now_us();
    w->who = w->log = w->ticks = 0;
    w->stuck = WEFT_NOT_STUCK;
}

#define LOOKS 10 /* in the time in which nothing may happen */

uint64_t weft__watch_look(struct weft_watch *w, void *ctx) {
    uint64_t now = now_us(), next = UINT64_MAX;
    if (w->all_us) {
        if (now - w->begun >= w->all_us) {
            w->stuck = WEFT_STUCK_IN_ALL;
            return 0;
        }
        next = w->begun + w->all_us;
    }
    if (w->idle_us) {
        uint64_t every = w->idle_us / LOOKS + 1;
        if (now - w->looked >= every) {
            w->looked = now;
            if (!busy(w, ctx, now) && now - w->since >= w->idle_us) {
                w->stuck = WEFT_STUCK_IDLE;
                return 0;
            }
        }
        if (w->looked + every < next) next = w->looked + every;
    }
    return next == UINT64_MAX ? next : next - now > 0 ? next - now : 1;
}
