/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft record --until-fail: runs the program again and again and keeps the traces of runs that fail.
 *
 * Each run is recorded by a process of its own, the runner: so runs can go on side by side, each with its own launcher, and
 * one that goes wrong takes nothing with it. What the program prints goes to memory files that the runner has in place of
 * stdout and stderr; who fails is shown. A runner records into a draft beside the traces, on the same file system. Of a run
 * that passes it is removed, uncompressed: most of it was never written to the disk. Of one that fails it is sealed and
 * gets its name.
 *
 * Signals: what ends weft (Ctrl-C) ends the runners and the programs, and these runs count for nothing; but a runner that
 * has seen its run fail blocks them until the trace is whole. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum verdict { PASSED = 1, FAILED, REFUSED /* by weft itself */ };

/* From a runner, then its lines. */
struct report {
    enum verdict verdict;
    uint32_t kind, code;
    bool stuck;
    bool by_command; /* --fail-if */
    uint64_t events; /* with chaos */
};

struct job {
    pid_t pid; /* 0: free */
    int out, err, report;
    uint64_t number, begun_us;
};

struct loop {
    const struct weft_catch *c;
    struct weft_run *run;
    const char *dir;
    struct job *jobs;
    uint64_t begun_us, shown_us, started, done, failed, active;
    struct report first; /* failure */
    bool refused, over;
    int signal;          /* that ended it */
    bool tty, shown;
    sigset_t mask;       /* ours, before */
};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDS (sizeof ends / sizeof *ends)

static sigset_t end_set(void) {
    sigset_t set;
    struct sigaction sa;
    sigemptyset(&set);
    for (size_t i = 0; i < ENDS; i++)
        if (sigaction(ends[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN) sigaddset(&set, ends[i]);
    return set;
}

static uint64_t now_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- the runner ---- */

int weft__fail_if(const char *command, int out, int err) {
    int both = memfd_create("weft-output", MFD_CLOEXEC), status;
    char buf[65536];
    for (int k = 0; k < 2; k++) {
        off_t at = 0;
        for (ssize_t n; (n = pread(k ? err : out, buf, sizeof buf, at)) > 0; at += n)
            if (weft__write_all(both, buf, (size_t)n) < 0) return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t set = end_set();
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        lseek(both, 0, SEEK_SET);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(both, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(WEFT_FAILED);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(WEFT_FAILED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (both >= 0) close(both);
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void refuse(struct weft_run *r, struct report *p, const struct weft_err *err) {
    p->verdict = REFUSED;
    weft__strbuf_printf(&r->lines, "%s\n", err->text);
}

/* Seals the draft under the name that it gets. */
static void keep(struct loop *l, struct report *p) {
    struct weft_run *r = l->run;
    struct weft_err err;
    char *place;
    if (weft__store_new_of(l->dir, r->program, &place, &err) < 0) {
        refuse(r, p, &err);
        return;
    }
    const char *name = l->dir ? place : weft__basename(place);
    int e = weft__run_seal(r, name, &err);
    if (e < 0) {
        weft__strbuf_printf(&r->lines, "the program ended, but its trace cannot be closed: %s\n", err.text);
        if (e == -EBADMSG) p->verdict = REFUSED;
    }
    weft__run_end(r);
    if (*r->message) p->verdict = REFUSED;
    if (rename(r->dir, place) < 0) {
        weft__err(&err, errno, "%s: cannot be renamed to %s: %s", r->dir, place, strerror(errno));
        refuse(r, p, &err);
        rmdir(place);
    } else {
        free(r->dir);
        r->dir = place;
        if (!l->dir) weft__store_set_latest(r->dir);
    }
}

static void judge(struct loop *l, struct job *j, struct report *p) {
    struct weft_run *r = l->run;
    struct weft_err err;
    sigset_t set = end_set(), pending;
    if (weft__store_draft(l->dir, (int)getpid(), &r->dir, &err) < 0 ||
        (mkdir(r->dir, 0777) < 0 && weft__err(&err, errno, "%s: cannot make the folder: %s", r->dir, strerror(errno))) ||
        weft__run_begin(r, &err) < 0 || weft__run_go(r, &err) < 0) {
        refuse(r, p, &err);
        return;
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    p->kind = r->kind;
    p->code = r->code;
    p->stuck = r->stuck;
    p->events = r->control.control->events;
    bool failed = r->stuck || r->kind != WEFT_END_EXIT || (r->code != 0 && r->code != l->c->ok) || *r->message;
    if (!failed && l->c->fail_if) {
        int s = weft__fail_if(l->c->fail_if, j->out, j->err);
        /* From the terminal: the command had it too. */
        if (sigpending(&pending) == 0)
            for (size_t i = 0; i < ENDS; i++)
                if (sigismember(&pending, ends[i])) _exit(WEFT_FAILED);
        if (s > 1) {
            weft__err(&err, EINVAL, "--fail-if: the command ended with status %d: 0 says that the run failed, 1 that it did not", s);
            refuse(r, p, &err);
        }
        failed = p->by_command = s == 0;
        if (failed && weft__store_failed_by(r->dir, l->c->fail_if, &err) < 0) {
            refuse(r, p, &err);
            failed = false;
        }
    }
    if (failed) {
        p->verdict = FAILED;
        keep(l, p);
    } else if (p->verdict == PASSED && weft__store_remove(r->dir, true, &err) < 0)
        refuse(r, p, &err);
}

__attribute__((noreturn)) static void runner(struct loop *l, struct job *j, pid_t parent) {
    struct report p = {.verdict = PASSED};
    struct stat st;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(WEFT_FAILED);
    /* A file is read by each run from where it stands; what comes but once is for nobody. */
    int in = fstat(0, &st) == 0 && S_ISREG(st.st_mode) ? open("/proc/self/fd/0", O_RDONLY) : -1;
    if (in >= 0)
        lseek(in, lseek(0, 0, SEEK_CUR), SEEK_SET);
    else
        in = open("/dev/null", O_RDONLY);
    if (in < 0 || dup2(in, 0) < 0 || dup2(j->out, 1) < 0 || dup2(j->err, 2) < 0) _exit(WEFT_FAILED);
    if (in > 2) close(in);
    sigprocmask(SIG_SETMASK, &l->mask, NULL);
    judge(l, j, &p);
    const struct weft_strbuf *lines = &l->run->lines;
    if (weft__write_all(j->report, &p, sizeof p) < 0 || weft__write_all(j->report, lines->s, lines->len) < 0) _exit(WEFT_FAILED);
    _exit(0);
}

/* ---- the loop ---- */

static void wipe(struct loop *l) {
    if (!l->shown) return;
    fprintf(stderr, "\r\033[K");
    l->shown = false;
}

static void rate(const struct loop *l, struct weft_strbuf *b) {
    double s = (double)(now_us() - l->begun_us) / 1e6, r = s > 0 ? (double)l->done / s : 0;
    weft__strbuf_printf(b, r < 10 ? "%.1f" : "%.0f", r);
    weft__strbuf_puts(b, " runs per second");
}

#define SHOW_US 200000
static void show(struct loop *l) {
    struct weft_strbuf b = {0};
    char n[WEFT_NUMBUF], f[WEFT_NUMBUF];
    if (!l->tty || now_us() - l->shown_us < SHOW_US) return;
    l->shown_us = now_us();
    rate(l, &b);
    fprintf(stderr, "\r\033[Kweft: %s run%s, %s failed, %s", weft__commas(n, l->done), l->done == 1 ? "" : "s",
            weft__commas(f, l->failed), b.s);
    l->shown = true;
    weft__strbuf_fini(&b);
}

static void start(struct loop *l, struct job *j) {
    int pipe[2] = {-1, -1};
    pid_t self = getpid();
    j->out = memfd_create("weft-stdout", MFD_CLOEXEC);
    j->err = memfd_create("weft-stderr", MFD_CLOEXEC);
    if (j->out >= 0 && j->err >= 0 && pipe2(pipe, O_CLOEXEC) == 0) {
        /* Appending, so that processes of a program do not overwrite each other. */
        fcntl(j->out, F_SETFL, O_APPEND);
        fcntl(j->err, F_SETFL, O_APPEND);
        fcntl(pipe[1], F_SETPIPE_SZ, 1 << 20); /* nobody reads before the end */
        j->report = pipe[1];
        l->run->chaos.run = l->started + 1;
        j->pid = fork();
        if (j->pid == 0) runner(l, j, self);
        close(pipe[1]);
        j->report = pipe[0];
    }
    if (j->pid <= 0) {
        weft__warn("a run cannot be started: %s", strerror(errno));
        l->refused = l->over = true;
        j->pid = 0;
        return;
    }
    j->number = ++l->started;
    j->begun_us = now_us();
    l->active++;
}

static void copy(int from, FILE *to) {
    char buf[65536];
    off_t at = 0;
    for (ssize_t n; (n = pread(from, buf, sizeof buf, at)) > 0; at += n) fwrite(buf, 1, (size_t)n, to);
    fflush(to);
}

/* The runner has ended. */
static void collect(struct loop *l, struct job *j, int status) {
    struct report p = {0};
    struct weft_strbuf lines = {0}, text = {0};
    struct weft_err err;
    char buf[4096];
    size_t got = 0;
    ssize_t n;
    while (got < sizeof p && (n = read(j->report, (char *)&p + got, sizeof p - got)) > 0) got += (size_t)n;
    while ((n = read(j->report, buf, sizeof buf)) > 0) weft__strbuf_add(&lines, buf, (size_t)n);
    bool ended = got == sizeof p && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    char *draft = NULL;
    if (!ended && weft__store_draft(l->dir, (int)j->pid, &draft, &err) == 0 && weft__store_remove(draft, true, &err) < 0)
        rmdir(draft); /* killed before there was a trace in it */
    free(draft);
    if (!ended && !l->over) {
        wipe(l);
        weft__warn("the recording of run %llu was killed", (unsigned long long)j->number);
        l->refused = l->over = true;
    } else if (ended) {
        l->done++;
        if (p.events) l->run->chaos.events = p.events;
        if (p.verdict != PASSED) {
            wipe(l);
            copy(j->out, stdout);
            copy(j->err, stderr);
        }
        if (p.verdict == FAILED) {
            if (p.by_command)
                weft__strbuf_puts(&text, "--fail-if says so");
            else if (p.stuck)
                weft__status_text(&text, WEFT_END_STUCK, 0);
            else
                weft__status_text(&text, p.kind, p.code);
            if (l->run->chaos.on) {
                struct weft_chaos_plan was = l->run->chaos;
                was.run = j->number;
                weft__strbuf_printf(&text, " (chaos %llu, %s)", (unsigned long long)weft__chaos_seed(&was),
                                    weft__chaos_name(weft__chaos_strategy(&was)));
            }
            weft__warn("run %llu failed: %s", (unsigned long long)j->number, text.s);
            if (!l->failed++) l->first = p;
        }
        if (p.verdict == REFUSED) l->refused = true;
        weft__run_say(&lines);
        if (p.verdict == REFUSED || l->failed >= l->c->failures) l->over = true;
    }
    close(j->out);
    close(j->err);
    close(j->report);
    j->pid = 0;
    l->active--;
    weft__strbuf_fini(&lines);
    weft__strbuf_fini(&text);
}

static void stop_all(struct loop *l, int sig) {
    for (uint64_t i = 0; i < l->c->jobs; i++)
        if (l->jobs[i].pid) kill(l->jobs[i].pid, sig);
}

/* Of runs that --for ends, those that were hardly quick: they may hang in a way that --idle does not see. */
#define LONG_US 1000000
static void say_unfinished(const struct loop *l) {
    for (uint64_t i = 0; i < l->c->jobs; i++) {
        const struct job *j = &l->jobs[i];
        uint64_t us = now_us() - j->begun_us;
        if (j->pid && us >= LONG_US)
            weft__warn("run %llu was still running after %.1f s and counts for nothing; with --timeout it would be a failing one",
                       (unsigned long long)j->number, (double)us / 1e6);
    }
}

static void run_all(struct loop *l) {
    sigset_t set = end_set();
    bool told = false;
    sigaddset(&set, SIGCHLD);
    for (;;) {
        uint64_t now = now_us(), left = SHOW_US;
        if (l->c->tries && l->started >= l->c->tries && !l->active) return;
        if (l->c->time_us && now - l->begun_us >= l->c->time_us && !l->over) {
            l->over = true;
            wipe(l);
            say_unfinished(l);
        }
        if (l->over && !told) {
            stop_all(l, SIGTERM);
            told = true;
        }
        for (uint64_t i = 0; i < l->c->jobs && !l->over && (!l->c->tries || l->started < l->c->tries); i++)
            if (!l->jobs[i].pid) start(l, &l->jobs[i]);
        if (!l->active) return;
        show(l);
        if (l->c->time_us && !l->over && l->begun_us + l->c->time_us - now < left) left = l->begun_us + l->c->time_us - now;
        siginfo_t info;
        int sig = sigtimedwait(&set, &info, &(struct timespec){0, (long)left * 1000});
        if (sig > 0 && sig != SIGCHLD) {
            if (l->signal) stop_all(l, SIGKILL); /* the second time */
            l->signal = sig;
            l->over = true;
        }
        for (uint64_t i = 0; i < l->c->jobs; i++) {
            int status;
            if (l->jobs[i].pid && waitpid(l->jobs[i].pid, &status, WNOHANG) == l->jobs[i].pid) collect(l, &l->jobs[i], status);
        }
    }
}

int weft__catch(const struct weft_catch *c, struct weft_run *r, const char *dir) {
    struct loop l = {.c = c, .run = r, .dir = dir, .tty = isatty(2), .begun_us = now_us()};
    l.shown_us = l.begun_us;
    struct weft_strbuf b = {0};
    struct weft_err err;
    char *place, n[WEFT_NUMBUF], f[WEFT_NUMBUF];
    if (dir) { /* its name is free, or it is empty */
        if (weft__store_new(dir, r->program, &place, &err) < 0) return weft__fail(&err);
        rmdir(place);
        free(place);
    } else
        weft__store_tidy();
    l.jobs = weft__alloc(c->jobs * sizeof *l.jobs);
    sigset_t set = end_set();
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &l.mask);
    run_all(&l);
    sigprocmask(SIG_SETMASK, &l.mask, NULL);
    free(l.jobs);
    wipe(&l);
    rate(&l, &b);
    if (l.failed)
        weft__warn("%s of %s run%s failed, %s", weft__commas(f, l.failed), weft__commas(n, l.done), l.done == 1 ? "" : "s", b.s);
    else if (l.done)
        weft__warn("none of %s run%s failed, %s", weft__commas(n, l.done), l.done == 1 ? "" : "s", b.s);
    weft__strbuf_fini(&b);
    if (l.refused) return WEFT_FAILED;
    if (l.failed && l.first.stuck) return WEFT_STUCK_STATUS;
    if (l.failed) return l.first.by_command ? 1 : weft__status_repeat(l.first.kind, l.first.code);
    return l.signal ? weft__status_repeat(WEFT_END_SIGNAL, (uint32_t)l.signal) : 0;
}
