/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Judges candidates, some at a time, each in a process of its own. Of a batch the first candidate that will do is taken, in the order
 * in which they were asked about: those before it are judged to the end, those behind it are ended. So the result does not depend on
 * how many there are at a time, nor on how long they take.
 *
 * The folder `work` has
 *   journal   what was asked for (struct head), then every verdict (struct entry)
 *   first     the steered run of the whole trace
 *   a-KEY     the recordings that were taken; a-KEY.turns their turns, by what threads do before they end
 *   c-N       candidates that are being judged
 * A search that was stopped is begun again from its start with the same journal; what is known there is not run again, so it comes to
 * where it was, and on to the same result.
 *
 * Each process has a process group of its own, with the program that it runs: so Ctrl-C comes to weft alone, and both can be ended
 * together. */
#include "simplify/simplify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_MAGIC 0x354e524a54464557ull /* "WEFTJRN5" */
#define UNSOUND 0x444e554f534e55ull /* in what is known: the key of a program that does not pass, whatever its turns */
#define DOUBT 16 /* programs */
struct head {
    uint64_t magic, what;
};
struct entry {
    struct weft_judged j;
    uint64_t hash; /* of j: the last one may be cut short */
};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

uint64_t weft__now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void weft__folder_remove(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct weft_strbuf path = {0};
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        weft__strbuf_printf(&path, "%s/%s", dir, e->d_name);
        if (unlink(path.s) < 0) weft__folder_remove(path.s);
        weft__strbuf_fini(&path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

/* ---- what is known ---- */

static struct weft_judged *slot_of(const struct weft_pool *p, uint64_t key) {
    size_t i = key & (p->room - 1);
    while (p->known[i].verdict && p->known[i].key != key) i = (i + 1) & (p->room - 1);
    return &p->known[i];
}

static const struct weft_judged *find(const struct weft_pool *p, uint64_t key) {
    if (!p->room) return NULL;
    const struct weft_judged *j = slot_of(p, key);
    return j->verdict ? j : NULL;
}

static void learn(struct weft_pool *p, const struct weft_judged *j) {
    if (2 * p->nknown >= p->room) {
        struct weft_judged *old = p->known;
        size_t n = p->room;
        p->room = n ? 2 * n : 256;
        p->known = weft__alloc(p->room * sizeof *p->known);
        for (size_t i = 0; i < n; i++)
            if (old[i].verdict) *slot_of(p, old[i].key) = old[i];
        free(old);
    }
    struct weft_judged *s = slot_of(p, j->key);
    p->nknown += !s->verdict;
    *s = *j;
}

static int note(struct weft_pool *p, const struct weft_judged *j, struct weft_err *err) {
    struct entry e;
    learn(p, j);
    if (j->forget) return 0;
    memset(&e, 0, sizeof e);
    e.j = *j;
    e.hash = weft_hash(&e.j, sizeof e.j);
    int r = weft__write_all(p->journal, &e, sizeof e);
    return r < 0 ? weft__err(err, -r, "%s/journal: %s", p->work, strerror(-r)) : 0;
}

static void path_of(const struct weft_pool *p, uint64_t key, struct weft_strbuf *out) {
    weft__strbuf_printf(out, "%s/a-%016llx", p->work, (unsigned long long)key);
}

static bool kept(const struct weft_pool *p, uint64_t key) {
    struct weft_strbuf path = {0};
    path_of(p, key, &path);
    bool yes = access(path.s, F_OK) == 0;
    weft__strbuf_fini(&path);
    return yes;
}

/* Removes what candidate n left: its folder, and files named after it. */
static void clear(const struct weft_pool *p, size_t n) {
    static const char *const suffix[] = {"", ".out", ".err", ".turns", ".again", ".again.out", ".again.err", ".alone", ".alone.out", ".alone.err"};
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s/c-%zu%s", p->work, n, suffix[i]);
        if (unlink(path.s) < 0 && errno != ENOENT) weft__folder_remove(path.s);
        weft__strbuf_fini(&path);
    }
}

/* ---- candidates ---- */

struct message {
    int code;
    struct weft_judged j;
    struct weft_err err;
};
struct job {
    pid_t pid; /* 0: free */
    int pipe;
    size_t n;
    uint64_t key;
};
struct batch {
    struct weft_pool *p;
    const struct weft_question *q;
    struct weft_judged *answer; /* by number; verdict 0: none yet */
    struct job *jobs;
    size_t next, best, active;
};

/* In the new process. */
static void begin(const struct weft_pool *p, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0) _exit(1);
    sigprocmask(SIG_SETMASK, &p->mask, NULL);
}

__attribute__((noreturn)) static void work(struct weft_pool *p, const struct weft_candidate *c, const char *dir, int pipe, pid_t parent) {
    struct message m = {0};
    begin(p, parent);
    m.code = p->one(p->ctx, c, dir, &m.j, &m.err);
    _exit(weft__write_all(pipe, &m, sizeof m) < 0);
}

static void settle(struct batch *b, size_t n, const struct weft_judged *j) {
    b->answer[n] = *j;
    if (n < b->best && j->verdict == WEFT_FAILS) b->best = n;
}

static int start(struct batch *b, struct job *job, size_t n, struct weft_err *err) {
    struct weft_pool *p = b->p;
    struct weft_candidate c;
    struct weft_strbuf dir = {0};
    int fd[2] = {-1, -1}, r = 0;
    pid_t self = getpid();
    weft__candidate_init(&c, b->q->from);
    b->q->make(b->q->ctx, n, &c);
    c.wanted = b->q->wanted;
    c.sound_first = p->doubt > 0;
    uint64_t key = weft__candidate_hash(&c);
    const struct weft_judged *known = find(p, key);
    if (known && (known->verdict != WEFT_FAILS || c.wanted == WEFT_SOUND || kept(p, key))) {
        settle(b, n, known);
        goto out;
    }
    uint64_t program = weft__candidate_program(&c);
    if (find(p, program ^ UNSOUND)) {
        settle(b, n, &(struct weft_judged){.key = key, .verdict = WEFT_PASSES, .unsound = program});
        goto out;
    }
    clear(p, n);
    weft__strbuf_printf(&dir, "%s/c-%zu", p->work, n);
    if (pipe2(fd, O_CLOEXEC) < 0) {
        r = weft__err(err, errno, "a candidate cannot be run: %s", strerror(errno));
        goto out;
    }
    *job = (struct job){.pid = fork(), .pipe = fd[0], .n = n, .key = key};
    if (job->pid == 0) work(p, &c, dir.s, fd[1], self);
    close(fd[1]);
    if (job->pid < 0) {
        r = weft__err(err, errno, "a candidate cannot be run: %s", strerror(errno));
        job->pid = 0;
        close(fd[0]);
        goto out;
    }
    setpgid(job->pid, job->pid); /* whoever is first */
    p->runs++;
    b->active++;
out:
    weft__strbuf_fini(&dir);
    weft__candidate_fini(&c);
    return r;
}

static size_t read_all(int fd, void *to, size_t n) {
    size_t got = 0;
    for (ssize_t k; got < n && (k = read(fd, (char *)to + got, n - got)) > 0;) got += (size_t)k;
    return got;
}

/* Its process has ended; `wanted` says whether its answer counts. */
static int collect(struct batch *b, struct job *job, bool wanted, struct weft_err *err) {
    struct message m;
    int r = 0;
    size_t got = read_all(job->pipe, &m, sizeof m);
    close(job->pipe);
    job->pid = 0;
    b->active--;
    if (wanted && got < sizeof m)
        r = weft__err(err, EIO, "the process that judged a candidate was killed");
    else if (wanted && m.code < 0) {
        *err = m.err;
        r = m.code;
    } else if (wanted) {
        m.j.key = job->key;
        r = note(b->p, &m.j, err);
        settle(b, job->n, &m.j);
        if (job->n == b->best) return r; /* its recording stays */
    }
    clear(b->p, job->n);
    return r;
}

static void end_all(struct batch *b, size_t behind) {
    struct weft_err err;
    for (unsigned i = 0; i < b->p->jobs; i++) {
        struct job *job = &b->jobs[i];
        if (!job->pid || job->n < behind) continue;
        kill(-job->pid, SIGKILL);
        while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR) {}
        if (collect(b, job, false, &err) < 0) {}
    }
}

/* A moment, or until a process has ended. */
static int wait_a_while(struct weft_pool *p, struct weft_err *err) {
    sigset_t set;
    if (p->until_us && weft__now_us() >= p->until_us) return weft__err(err, ETIME, "there is no time left");
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigismember(&p->mask, ends[i]) == 0) sigaddset(&set, ends[i]);
    int sig = sigtimedwait(&set, NULL, &(struct timespec){0, 100000000});
    if (sig > 0 && sig != SIGCHLD) {
        p->stopped = sig;
        return weft__err(err, EINTR, "stopped by a signal");
    }
    return 0;
}

static int wait_some(struct batch *b, struct weft_err *err) {
    struct weft_pool *p = b->p;
    int r = wait_a_while(p, err);
    if (r < 0) return r;
    for (unsigned i = 0; i < p->jobs; i++) {
        struct job *job = &b->jobs[i];
        size_t was = b->best;
        if (!job->pid || waitpid(job->pid, NULL, WNOHANG) != job->pid) continue;
        if ((r = collect(b, job, true, err)) < 0) return r;
        if (b->best < was && was < b->q->n) clear(p, was);
        if (b->best < was) end_all(b, b->best + 1);
    }
    if (p->tick) p->tick(p->ctx);
    return 0;
}

static int judge_all(struct batch *b, struct weft_err *err) {
    struct weft_pool *p = b->p;
    for (;;) {
        if (p->until_us && weft__now_us() >= p->until_us) return weft__err(err, ETIME, "there is no time left"); /* all may be known */
        for (unsigned i = 0; i < p->jobs && b->next < b->best; i++)
            while (!b->jobs[i].pid && b->next < b->best) {
                int r = start(b, &b->jobs[i], b->next, err);
                b->next++;
                if (r < 0) return r;
            }
        if (!b->active) return 0;
        int r = wait_some(b, err);
        if (r < 0) return r;
    }
}

/* With its turns, if they are known. */
static int keep(const char *from, const char *to, struct weft_err *err) {
    struct weft_strbuf turns = {0}, kept_turns = {0};
    int r = 0;
    weft__strbuf_printf(&turns, "%s.turns", from);
    weft__strbuf_printf(&kept_turns, "%s.turns", to);
    if ((rename(turns.s, kept_turns.s) < 0 && errno != ENOENT) || rename(from, to) < 0)
        r = weft__err(err, errno, "%s: cannot be renamed to %s: %s", from, to, strerror(errno));
    weft__strbuf_fini(&turns);
    weft__strbuf_fini(&kept_turns);
    return r;
}

static int first(struct weft_judge *judge, const struct weft_question *q, struct weft_answers *answers, size_t *which, struct weft_state **out,
                 struct weft_err *err) {
    struct weft_pool *p = (struct weft_pool *)judge;
    struct batch b = {.p = p, .q = q, .best = q->n, .answer = weft__alloc((q->n + 1) * sizeof *b.answer), .jobs = weft__alloc(p->jobs * sizeof *b.jobs)};
    struct weft_strbuf from = {0}, to = {0};
    int r = judge_all(&b, err);
    end_all(&b, 0);
    for (size_t i = 0; i < q->n && i <= b.best && r == 0; i++) {
        /* Not before, and not what came behind: which of these have been judged depends on time. */
        if (b.answer[i].unsound) learn(p, &(struct weft_judged){.key = b.answer[i].unsound ^ UNSOUND, .verdict = WEFT_PASSES});
        if (b.answer[i].unsound && p->doubt < DOUBT) p->doubt++;
        if (!b.answer[i].unsound && q->wanted <= WEFT_LESS_THREADS && p->doubt > -DOUBT) p->doubt--;
        answers->failed += b.answer[i].verdict == WEFT_FAILS;
        answers->passed += b.answer[i].verdict == WEFT_PASSES;
        answers->unresolved += b.answer[i].verdict == WEFT_UNRESOLVED;
    }
    if (r < 0 && b.best < q->n) clear(p, b.best);
    if (r == 0 && b.best < q->n && q->wanted != WEFT_SOUND) {
        const struct weft_judged *j = &b.answer[b.best];
        path_of(p, j->key, &to);
        weft__strbuf_printf(&from, "%s/c-%zu", p->work, b.best);
        if (!kept(p, j->key)) r = keep(from.s, to.s, err);
        clear(p, b.best);
        if (r == 0) r = p->open(p->ctx, to.s, j, out, err);
    }
    if (r == 0) *which = b.best;
    weft__strbuf_fini(&from);
    weft__strbuf_fini(&to);
    free(b.jobs);
    free(b.answer);
    return r;
}

/* ---- other things that take long ---- */

int weft__pool_aside(struct weft_pool *p, int (*run)(void *ctx, struct weft_err *err), void *ctx, size_t n, struct weft_err *err) {
    struct message m = {0};
    char *back = weft__alloc(n + 1);
    int fd[2], r;
    pid_t self = getpid(), pid;
    if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        free(back);
        return weft__err(err, errno, "a process cannot be made: %s", strerror(errno));
    }
    if (pid == 0) {
        begin(p, self);
        m.code = run(ctx, &m.err);
        _exit(weft__write_all(fd[1], &m, sizeof m) < 0 || weft__write_all(fd[1], ctx, n) < 0);
    }
    setpgid(pid, pid);
    close(fd[1]);
    pid_t ended = 0;
    /* What comes back fits into a pipe. */
    while ((r = wait_a_while(p, err)) == 0 && (ended = waitpid(pid, NULL, WNOHANG)) == 0)
        if (p->tick) p->tick(p->ctx);
    if (ended == 0) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    } else if (read_all(fd[0], &m, sizeof m) < sizeof m || read_all(fd[0], back, n) < n)
        r = weft__err(err, EIO, "a process of weft's own was killed");
    else {
        memcpy(ctx, back, n);
        if ((r = m.code) < 0) *err = m.err;
    }
    close(fd[0]);
    free(back);
    return r;
}

/* ---- the folder ---- */

static int read_journal(struct weft_pool *p, uint64_t what) {
    struct head h;
    struct entry e;
    off_t at = sizeof h;
    if (pread(p->journal, &h, sizeof h, 0) != sizeof h || h.magic != JOURNAL_MAGIC || h.what != what) return -1;
    for (; pread(p->journal, &e, sizeof e, at) == sizeof e && e.hash == weft_hash(&e.j, sizeof e.j); at += (off_t)sizeof e) learn(p, &e.j);
    if (ftruncate(p->journal, at) < 0) return -1;
    lseek(p->journal, at, SEEK_SET);
    return 0;
}

/* Of what begins with `prefix`. */
static void clear_folder(const char *work, const char *prefix) {
    DIR *d = opendir(work);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct weft_strbuf path = {0};
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        weft__strbuf_printf(&path, "%s/%s", work, e->d_name);
        if (unlink(path.s) < 0) weft__folder_remove(path.s);
        weft__strbuf_fini(&path);
    }
    if (d) closedir(d);
}

int weft__pool_open(struct weft_pool *p, uint64_t what, struct weft_err *err) {
    struct weft_strbuf path = {0};
    struct head h = {JOURNAL_MAGIC, what};
    sigset_t set;
    int r = 0;
    p->judge.first = first;
    p->journal = -1;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction sa;
        if (sigaction(ends[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN) sigaddset(&set, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &p->mask);
    if (mkdir(p->work, 0777) < 0 && errno != EEXIST) return weft__err(err, errno, "%s: cannot make the folder: %s", p->work, strerror(errno));
    weft__strbuf_printf(&path, "%s/journal", p->work);
    p->journal = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->journal < 0)
        r = weft__err(err, errno, "%s: %s", path.s, strerror(errno));
    else if (flock(p->journal, LOCK_EX | LOCK_NB) < 0)
        r = weft__err(err, EBUSY, "%s: another weft simplify is at work there", p->work);
    else if (read_journal(p, what) < 0) {
        free(p->known);
        p->known = NULL;
        p->nknown = p->room = 0;
        clear_folder(p->work, "a-");
        clear_folder(p->work, "first");
        if (ftruncate(p->journal, 0) < 0 || lseek(p->journal, 0, SEEK_SET) < 0 || weft__write_all(p->journal, &h, sizeof h) < 0)
            r = weft__err(err, errno, "%s: %s", path.s, strerror(errno));
    }
    if (r == 0) clear_folder(p->work, "c-");
    weft__strbuf_fini(&path);
    return r;
}

bool weft__pool_stopping(const struct weft_pool *p) {
    sigset_t pending;
    if (sigpending(&pending) < 0) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigismember(&pending, ends[i]) && sigismember(&p->mask, ends[i]) == 0) return true;
    return false;
}

void weft__pool_close(struct weft_pool *p, bool remove) {
    if (remove && p->journal >= 0) weft__folder_remove(p->work);
    if (p->journal >= 0) close(p->journal);
    free(p->known);
    p->known = NULL;
    sigprocmask(SIG_SETMASK, &p->mask, NULL);
}
