/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs that a recorded process executes, if they were built with weft: each is a part of the trace, in a numbered folder
 * of the process's, with a header of its own.
 *
 * Such a program has to be placed like the first one. It is executed by the very process, with all that it hands on, so
 * weft cannot start it; but it can trace it from just before the exec until the new program's runtime starts. The process
 * asks for that (struct weft_exec_request). If it is to be a child of its own (posix_spawn) the thread is traced until it
 * has that child, and the child then.
 *
 * In record this makes the part: the control block before, since the new program must find it; header and streams when the
 * program has been executed, since until then it may still fail. In replay all is there: the part's schedule.
 *
 * One request is served at a time. */
#include "replay/replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int weft__exec_listen(char *name, struct weft_err *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uint64_t r;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || getrandom(&r, sizeof r, 0) < 0) goto failed;
    snprintf(name, 64, "weft-%d-%016llx", (int)getpid(), (unsigned long long)r);
    size_t n = strlen(name);
    memcpy(at.sun_path + 1, name, n); /* abstract: no file */
    if (bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) < 0 ||
        listen(fd, 128) < 0)
        goto failed;
    return fd;
failed:;
    int r2 = weft__err(err, errno, "a socket for the program's processes cannot be made: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return r2;
}

/* The new program's part. */
struct part {
    struct weft_strbuf dir; /* record */
    int fd;                 /* of its control block */
    struct weft_control *control;
    uint8_t at_random[16];
    uint64_t stack_limit;
    bool made; /* record: there is something to remove if nothing comes of it */
};

static void part_fini(struct part *p, bool record, bool failed) {
    static const char *const names[] = {"/streams", "/header", "/control", ""};
    for (int i = 0; failed && p->made && i < 4; i++) {
        struct weft_strbuf path = {0};
        weft__strbuf_printf(&path, "%s%s", p->dir.s, names[i]);
        if (*names[i])
            unlink(path.s);
        else
            rmdir(path.s);
        weft__strbuf_fini(&path);
    }
    if (record && p->control) munmap(p->control, sizeof *p->control);
    if (record && p->fd >= 0) close(p->fd);
    weft__strbuf_fini(&p->dir);
}

/* ---- record ---- */

static int part_make(const struct weft_launch *l, const struct weft_exec_request *q, struct part *p) {
    struct weft_strbuf path = {0};
    const char *slash = strrchr(q->streams, '/');
    int r = 0;
    if (!slash) return -EINVAL;
    weft__strbuf_printf(&p->dir, "%.*s/%u", (int)(slash - q->streams), q->streams, q->part);
    weft__strbuf_printf(&path, "%s/streams", p->dir.s);
    if (path.len >= sizeof p->control->streams) r = -ENAMETOOLONG;
    if (r == 0 && mkdir(p->dir.s, 0777) < 0) r = -errno;
    p->made = r == 0;
    struct weft_control c = *l->control->control;
    c.outcome = WEFT_OUT_RUNNING;
    c.vdso = c.map_next = 0;
    c.exit_kind = c.exit_code = 0;
    c.executed = 1;
    c.message[0] = 0;
    if (r == 0) memcpy(c.streams, path.s, path.len + 1);
    path.len = 0;
    weft__strbuf_printf(&path, "%s/control", p->dir.s);
    if (r == 0 && (p->fd = open(path.s, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) < 0) r = -errno;
    if (r == 0) r = -posix_fallocate(p->fd, 0, sizeof c); /* a full disk under a mapping is a SIGBUS */
    if (r == 0 && pwrite(p->fd, &c, sizeof c, 0) != sizeof c) r = -EIO;
    if (r == 0) {
        void *m = mmap(NULL, sizeof c, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
        if (m == MAP_FAILED)
            r = -errno;
        else
            p->control = m;
    }
    if (r == 0 && getrandom(p->at_random, sizeof p->at_random, 0) < 0) r = -errno;
    weft__strbuf_fini(&path);
    return r;
}

/* The strings of a file in /proc, NULL-terminated; *bytes is theirs. */
static char **proc_strings(pid_t pid, const char *name, char **bytes) {
    struct weft_strbuf path = {0};
    struct weft_err err;
    size_t len = 0, n = 0, cap = 0;
    char **list = NULL;
    weft__strbuf_printf(&path, "/proc/%d/%s", (int)pid, name);
    *bytes = NULL;
    if (weft__file_read(path.s, WEFT_HEADER_MAX, bytes, &len, &err) < 0) len = 0;
    for (size_t at = 0; at < len; at += strlen(*bytes + at) + 1) {
        list = weft__grow(list, &cap, n + 2, sizeof *list);
        list[n++] = *bytes + at;
    }
    if (!list) list = weft__alloc(sizeof *list);
    list[n] = NULL;
    weft__strbuf_fini(&path);
    return list;
}

/* Where a descriptor leads to the same as the recorded stdout or stderr. */
static void find_console(pid_t pid, struct weft_control *c) {
    struct stat own[3] = {0}, st;
    bool open[3] = {false, fstat(1, &own[1]) == 0, fstat(2, &own[2]) == 0};
    memset(c->console, 0, sizeof c->console);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        unsigned long fd = strtoul(e->d_name, NULL, 10);
        if (e->d_name[0] == '.' || fd >= WEFT_CONSOLE || fstatat(dirfd(d), e->d_name, &st, 0) < 0) continue;
        for (int k = 1; k <= 2; k++) {
            int which = fd == 2 ? 3 - k : k; /* if both are the same, each is itself */
            if (!c->console[fd] && open[which] && st.st_dev == own[which].st_dev && st.st_ino == own[which].st_ino)
                c->console[fd] = (uint8_t)which;
        }
    }
    if (d) closedir(d);
}

/* The program stands at its first instruction: it has been executed. */
static int part_begin(const struct weft_exec_request *q, struct part *p, pid_t pid, struct weft_err *err) {
    char *args, *vars, cwd[4096], path[64];
    char **argv = proc_strings(pid, "cmdline", &args), **env = proc_strings(pid, "environ", &vars);
    int lock = -1, r;
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(path, cwd, sizeof cwd - 1);
    cwd[n < 0 ? 0 : n] = 0;
    struct weft_trace_start start = {.program = q->program, .cwd = cwd, .argv = argv, .env = env + (*env != NULL),
                                     .seed = p->control->seed, .stack_limit = p->stack_limit,
                                     .start_time = (uint64_t)time(NULL)};
    memcpy(start.at_random, p->at_random, sizeof start.at_random);
    find_console(pid, p->control);
    r = weft__trace_create(p->dir.s, &start, &lock, err);
    if (lock >= 0) close(lock);
    free(argv);
    free(args);
    free(env);
    free(vars);
    return r;
}

/* ---- replay ---- */

static struct weft_schedule *find_part(struct weft_schedule *s, int fd) {
    struct weft_schedule *found = NULL;
    for (size_t k = 0; k < s->nparts && !found; k++)
        found = s->parts[k].fd == fd && s->parts[k].trace ? &s->parts[k] : find_part(&s->parts[k], fd);
    return found;
}

static int part_find(const struct weft_launch *l, const struct weft_exec_request *q, struct part *p,
                     struct weft_exec_reply *a) {
    struct weft_schedule *s = find_part(l->control, (int)q->part);
    if (!s) return -EINVAL;
    p->fd = s->fd;
    p->control = s->control;
    p->stack_limit = s->trace->header.stack_limit;
    memcpy(p->at_random, s->trace->header.at_random, sizeof p->at_random);
    snprintf(a->program, sizeof a->program, "%s", s->trace->program);
    snprintf(a->cwd, sizeof a->cwd, "%s", s->trace->cwd);
    return 0;
}

/* ---- tracing ---- */

enum event { EV_EXEC, EV_CHILD, EV_STOP, EV_GONE, EV_MESSAGE };

struct traced {
    pid_t tid, pid; /* the thread; its process, whose number it has after an exec */
    pid_t own;      /* a child of ours whose end is waited for elsewhere */
    int socket;     /* -1: closed */
    bool stopped;   /* SIGSTOP came meanwhile */
};

/* Who ended, if we traced it, is to be waited for, or its parent never gets to know. */
static void bury(const struct traced *t, pid_t pid) {
    if (pid != t->own) waitpid(pid, NULL, __WALL);
}

/* The next thing that happens: a stop, which is *who's and has this *status, or a message. Signals are passed on. */
static enum event next(struct traced *t, pid_t *who, int *status) {
    for (;;) {
        pid_t ids[2] = {t->tid, t->pid};
        for (int i = 0; i < 2; i++) {
            siginfo_t si = {0};
            if (waitid(P_PID, (id_t)ids[i], &si, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) < 0 || !si.si_pid) continue;
            *who = ids[i];
            if (si.si_code == CLD_EXITED || si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED) return EV_GONE;
            if (waitpid(ids[i], status, __WALL | WNOHANG) <= 0) continue;
            int sig = WSTOPSIG(*status), event = *status >> 16;
            if (event == PTRACE_EVENT_EXEC) return EV_EXEC;
            if (event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE) return EV_CHILD;
            if (sig == SIGSTOP) t->stopped = true;
            if (event == PTRACE_EVENT_STOP || sig == (SIGTRAP | 0x80)) return EV_STOP;
            ptrace(PTRACE_CONT, ids[i], 0, sig == SIGSTOP ? 0 : sig);
            i = -1;
        }
        struct pollfd fd = {t->socket, POLLIN, 0};
        if (!weft__wait_child(&fd, 1, UINT64_MAX)) continue;
        char byte;
        if (recv(t->socket, &byte, 1, 0) > 0) return EV_MESSAGE;
        t->socket = -1; /* it is being executed, or has ended, or has its child */
    }
}

/* Stops the thread and lets it go. */
static void let_go(struct traced *t) {
    pid_t who;
    int status;
    enum event e;
    if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0) return;
    t->socket = -1;
    do e = next(t, &who, &status);
    while (e != EV_STOP && e != EV_GONE);
    if (e == EV_STOP)
        ptrace(PTRACE_DETACH, t->tid, 0, 0);
    else
        bury(t, who);
}

/* Until the program has been executed, in *pid, and stands at its first instruction. */
static bool executed(struct traced *t, pid_t *pid) {
    unsigned long child;
    int status;
    for (;;) {
        switch (next(t, pid, &status)) {
        case EV_MESSAGE: let_go(t); return false;
        case EV_GONE: bury(t, *pid); return false;
        case EV_CHILD:
            ptrace(PTRACE_GETEVENTMSG, *pid, 0, &child);
            ptrace(PTRACE_DETACH, *pid, 0, 0);
            t->tid = t->pid = (pid_t)child;
            break;
        case EV_STOP: /* the child is there */
            ptrace(PTRACE_CONT, *pid, 0, 0);
            break;
        case EV_EXEC: /* to the end of the call, where registers are set for good */
            t->tid = t->pid;
            if (ptrace(PTRACE_SYSCALL, *pid, 0, 0) == 0 && next(t, pid, &status) == EV_STOP) return true;
            bury(t, *pid);
            return false;
        }
    }
}

/* A limit of the stack by which the kernel lays out memory as usual; gives what it was. */
static uint64_t ordinary_stack(pid_t pid) {
    struct rlimit stack;
    if (prlimit(pid, RLIMIT_STACK, NULL, &stack) < 0) return WEFT_START_STACK;
    uint64_t was = stack.rlim_cur;
    stack.rlim_cur = WEFT_START_STACK;
    if (was > WEFT_START_STACK) prlimit(pid, RLIMIT_STACK, &stack, NULL);
    return was;
}

static void serve(const struct weft_launch *l, int s, int alive, pid_t own) {
    bool record = l->control->control->mode == WEFT_RECORD;
    struct weft_exec_request *q = weft__alloc(sizeof *q);
    struct weft_exec_reply *a = weft__alloc(sizeof *a);
    struct part p = {.fd = -1};
    struct weft_err err;
    struct ucred peer;
    socklen_t n = sizeof peer;
    struct timeval patience = {10, 0}; /* who connects has something to say */
    struct traced t = {.own = own, .socket = s};
    int keep = -1;
    bool done = false;
    pid_t pid;
    if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ||
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 || recv(s, q, sizeof *q, 0) != sizeof *q)
        goto out;
    q->streams[sizeof q->streams - 1] = q->program[sizeof q->program - 1] = 0;
    t.pid = peer.pid;
    t.tid = (pid_t)q->tid;
    if (alive >= 0) { /* exec closes it in the process */
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", alive);
        keep = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (q->kind == WEFT_EXEC_STUCK) {
        if (!record && peer.uid == geteuid() && l->stuck) l->stuck(l->ctx, peer.pid);
        send(s, a, sizeof *a, MSG_NOSIGNAL);
        goto out;
    }
    if (q->kind == WEFT_EXEC_LOOK) {
        if (peer.uid == geteuid() && l->look) l->look(l->ctx, peer.pid, (pid_t)q->tid, q->part);
        send(s, a, sizeof *a, MSG_NOSIGNAL);
        goto out;
    }
    int r = peer.uid != geteuid() ? -EPERM : record ? part_make(l, q, &p) : part_find(l, q, &p, a);
    uint64_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
    if (q->kind == WEFT_EXEC_CHILD) options |= PTRACE_O_TRACEVFORK | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE;
    if (r == 0 && ptrace(PTRACE_SEIZE, t.tid, 0, options) < 0) r = -errno;
    uint64_t limit = r == 0 ? ordinary_stack(t.pid) : 0;
    if (record) p.stack_limit = limit;
    a->error = -r;
    a->control = (uint32_t)p.fd;
    bool sent = send(s, a, sizeof *a, MSG_NOSIGNAL) >= 0;
    if (r < 0) goto out;
    pid_t asked = t.pid;
    if (sent)
        done = executed(&t, &pid);
    else
        let_go(&t); /* it died, or another thread of it was faster */
    struct rlimit stack;
    if ((!done || pid != asked) && limit > WEFT_START_STACK && prlimit(asked, RLIMIT_STACK, NULL, &stack) == 0) {
        stack.rlim_cur = limit;
        prlimit(asked, RLIMIT_STACK, &stack, NULL);
    }
    if (!done) {
        send(s, "", 1, MSG_NOSIGNAL);
        if (t.stopped) kill(asked, SIGSTOP);
        goto out;
    }
    p.control->pid = (uint64_t)pid;
    if (q->kind == WEFT_EXEC_SELF) ptrace(PTRACE_SETSIGMASK, pid, sizeof q->mask, &q->mask);
    r = record ? part_begin(q, &p, pid, &err) : 0;
    if (r == 0) r = weft__place_and_go(pid, p.at_random, p.stack_limit, p.control, &err);
    if (r < 0 && r != -ESRCH) {
        char *message = record ? l->message : p.control->message;
        if (!*message) snprintf(message, sizeof p.control->message, "%s: %s", record ? q->program : a->program, err.text);
        p.control->outcome = WEFT_OUT_REFUSED;
        kill(pid, SIGKILL);
    }
    if (r < 0) bury(&t, pid);
    else if (t.stopped) kill(pid, SIGSTOP);
out:
    part_fini(&p, record, !done);
    if (keep >= 0) close(keep);
    free(a);
    free(q);
}

void weft__exec_serve(const struct weft_launch *l, int server, int alive, pid_t own) {
    int s = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    if (s < 0) return;
    serve(l, s, alive, own);
    close(s);
}
