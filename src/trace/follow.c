/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Follows a recording: a thread of `weft record` moves what the program's processes have written to streams.zst, while they
 * run, so that the disk does not fill with what takes a fraction of its space compressed, and nobody waits at the end. Its
 * nice value is 19, so that the program does not notice: where all cores are busy it gets about a hundredth of one, and what
 * it does not manage is compressed at the end, as far as patience allows. (SCHED_IDLE gets nothing there, for minutes.)
 *
 * One packer per process; those that were forked, and programs that were executed, are found by their folders. */
#include "trace/trace.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define EVERY_MS 50
#define WORTH 32 /* chunks: a look costs more than it brings before so many are new */
#define MUCH 8192 /* chunks: a trace that is probably thrown away is left alone up to here */

struct process {
    struct weft_trace *t;
    struct weft_packer *packer;
    struct process **parts; /* by number, from 1; NULL: not there */
    unsigned nparts;
};

struct weft_follow {
    struct process *first;
    struct weft_control *control;
    pthread_t thread;
    bool started, stop;
    bool late;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static struct process *process_new(struct weft_trace *t, struct weft_control *control) {
    struct process *p = weft__alloc(sizeof *p);
    p->t = t;
    p->packer = weft__packer_new(t, control ? &control->disk_bytes : NULL);
    return p;
}

static void process_free(struct process *p) {
    if (!p) return;
    for (unsigned k = 1; k <= p->nparts; k++) process_free(p->parts[k]);
    free(p->parts);
    weft__packer_free(p->packer);
    weft__trace_close(p->t);
    free(p);
}

/* Opens part k, if it is there now and was not before. */
static int find_part(struct process *p, unsigned k, struct weft_control *control, struct weft_err *err) {
    struct weft_strbuf path = {0};
    struct weft_trace *t;
    int r = 0;
    if (k > p->nparts) {
        p->parts = realloc(p->parts, (k + 1) * sizeof *p->parts);
        if (!p->parts) weft__die("out of memory");
        memset(p->parts + p->nparts + 1, 0, (k - p->nparts) * sizeof *p->parts);
        p->nparts = k;
    }
    if (!p->parts[k] && weft__trace_part(p->t->dir, k, &path)) {
        r = weft__trace_open(path.s, &t, err);
        if (r == 0) p->parts[k] = process_new(t, control);
    }
    weft__strbuf_fini(&path);
    return r;
}

static void pass(struct weft_follow *f, struct process *p) {
    struct weft_err err;
    weft__packer_some(p->packer, &f->stop);
    unsigned most = weft__trace_parts(p->t->dir);
    for (unsigned k = 1; k <= most && !__atomic_load_n(&f->stop, __ATOMIC_RELAXED); k++) {
        if (find_part(p, k, f->control, &err) < 0) continue; /* it will be said at the end */
        if (p->parts[k]) pass(f, p->parts[k]);
    }
}

static void *follow(void *arg) {
    struct weft_follow *f = arg;
    struct sched_param none = {0};
    uint64_t seen = 0;
    sched_setscheduler(0, SCHED_BATCH, &none); /* of this thread alone, both */
    setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
    pthread_mutex_lock(&f->lock);
    while (!f->stop) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        ts.tv_nsec += EVERY_MS * 1000000l;
        ts.tv_sec += ts.tv_nsec / 1000000000l;
        ts.tv_nsec %= 1000000000l;
        pthread_cond_timedwait(&f->wake, &f->lock, &ts);
        uint64_t chunks = __atomic_load_n(&f->control->chunks, __ATOMIC_RELAXED);
        if (f->stop || chunks < seen + WORTH || (f->late && chunks < MUCH)) continue;
        seen = chunks;
        pthread_mutex_unlock(&f->lock);
        pass(f, f->first);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

int weft__follow_open(const char *dir, struct weft_control *control, struct weft_follow **out, struct weft_err *err) {
    struct weft_trace *t;
    int r = weft__trace_open(dir, &t, err);
    if (r < 0) return r;
    struct weft_follow *f = weft__alloc(sizeof *f);
    pthread_condattr_t attr;
    f->control = control;
    f->first = process_new(t, control);
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->wake, &attr);
    pthread_condattr_destroy(&attr);
    *out = f;
    return 0;
}

void weft__follow_start(struct weft_follow *f, bool late) {
    sigset_t all, mask;
    f->late = late;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask); /* they are the main thread's */
    f->started = pthread_create(&f->thread, NULL, follow, f) == 0;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void weft__follow_stop(struct weft_follow *f) {
    if (!f->started) return;
    pthread_mutex_lock(&f->lock);
    __atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->started = false;
}

struct weft_trace *weft__follow_trace(struct weft_follow *f) { return f->first->t; }

int weft__follow_seal(struct weft_follow *f, enum weft_end_kind kind, uint32_t code, uint64_t patience_us,
                      weft_progress *progress, void *ctx, struct weft_counts *counts, struct weft_err *err) {
    return weft__packer_finish(f->first->packer, kind, code, patience_us, progress, ctx, counts, err);
}

/* A folder that is no part: its process was killed before it had written anything. */
static void remove_empty(const char *dir, unsigned k) {
    static const char *const names[] = {"/control", "/header", ""};
    for (int i = 0; i < 3; i++) {
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s/%u%s", dir, k, names[i]);
        if (*names[i])
            unlink(path.s);
        else
            rmdir(path.s);
        weft__strbuf_fini(&path);
    }
}

static int seal_parts(struct process *p, bool stuck, uint64_t patience_us, char *message, struct weft_parts *parts,
                      struct weft_err *err) {
    unsigned most = weft__trace_parts(p->t->dir);
    int r = 0;
    for (unsigned k = 1; k <= most && r >= 0; k++) {
        struct weft_strbuf path = {0};
        struct weft_counts counts;
        struct weft_control *c = NULL;
        char *bytes = NULL;
        size_t len = 0;
        r = find_part(p, k, NULL, err);
        if (r < 0 || !p->parts[k]) {
            if (r == 0) remove_empty(p->t->dir, k);
            continue;
        }
        ++*(weft__trace_is_program(p->parts[k]->t, p->t) ? &parts->executed : &parts->forked);
        weft__strbuf_printf(&path, "%s/%u/control", p->t->dir, k);
        if (weft__file_read(path.s, sizeof *c, &bytes, &len, err) == 0 && len == sizeof *c) c = (struct weft_control *)bytes;
        /* Without a word it was killed, perhaps by us. */
        enum weft_end_kind kind = c && c->exit_kind ? (enum weft_end_kind)c->exit_kind : stuck ? WEFT_END_STUCK : WEFT_END_SIGNAL;
        uint32_t code = c && c->exit_kind ? c->exit_code : stuck ? WEFT_STUCK_STATUS : 9;
        if (c && c->outcome == WEFT_OUT_REFUSED && !*message) {
            memcpy(message, c->message, sizeof c->message);
            message[sizeof c->message - 1] = 0;
        }
        r = weft__packer_finish(p->parts[k]->packer, kind, code, patience_us, NULL, NULL, &counts, err);
        if (r == 0) unlink(path.s);
        if (r == 0) r = seal_parts(p->parts[k], stuck, patience_us, message, parts, err);
        process_free(p->parts[k]);
        p->parts[k] = NULL;
        free(bytes);
        weft__strbuf_fini(&path);
    }
    return r;
}

int weft__follow_seal_parts(struct weft_follow *f, bool stuck, uint64_t patience_us, char *message, struct weft_parts *parts,
                            struct weft_err *err) {
    return seal_parts(f->first, stuck, patience_us, message, parts, err);
}

void weft__follow_close(struct weft_follow *f) {
    if (!f) return;
    weft__follow_stop(f);
    process_free(f->first);
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
