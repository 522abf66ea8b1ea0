/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Starts a program for recording or replay, so that it finds the same world in both: the same addresses, environment,
 * stack limit and AT_RANDOM bytes, no vDSO (its clock would go past the runtime), and the control file by WEFT_ENV.
 *
 * The program is traced until the runtime in it starts, only to give it its places in memory (place.c); then it is let go
 * and runs by itself. The child reports what fails before exec through a pipe that exec closes. While the program runs,
 * weft serves its processes that execute other programs (exec.c).
 *
 * The kernel lays out memory by the stack limit that it finds at exec: from the bottom up, through the places of abi.h,
 * where there is none. So the program is started with an ordinary one and gets its own afterwards.
 *
 * Signals from the terminal go to the program by themselves, so a recording weft does not die from them; those that are
 * sent to weft alone are passed on, to the program or, when that has ended, to the processes that it left behind. During replay they are not the program's business: they end both.
 *
 * Two tracers cannot be: a debugger attaches when the program has been let go and its runtime waits for it. The program then
 * is a process group of its own, so that Ctrl-C is the debugger's, and all of its processes can be ended. */
#include "replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
#define HANDLED (sizeof handled / sizeof *handled)

static volatile sig_atomic_t running;     /* pid */
static volatile sig_atomic_t for_others;  /* signal that came when the program had ended */
static volatile sig_atomic_t interrupted; /* signal that ended a replay */
static volatile sig_atomic_t debugger;    /* pid; 0: none */

static void pass_on(int sig, siginfo_t *info, void *context) {
    (void)context;
    /* From the terminal: the program has it already. */
    if (info->si_code == SI_KERNEL) return;
    if (running)
        kill(running, sig);
    else
        for_others = sig;
}

static void end_both(int sig) {
    interrupted = sig;
    if (running) kill(running, SIGKILL);
    if (debugger > 0) kill(debugger, SIGTERM);
}

static void on_child(int sig) { (void)sig; } /* ends weft__wait_child */

/* ---- the child, before exec ---- */
enum step { STEP_STDIO, STEP_CWD, STEP_STACK, STEP_TRACE, STEP_EXEC };
struct failure {
    enum step step;
    int error;
};

static void fail(int pipe, enum step step) {
    struct failure f = {step, errno};
    int r = weft__write_all(pipe, &f, sizeof f);
    (void)r;
    _exit(125);
}

static void child(const struct weft_launch *l, char *const *env, int pipe, const sigset_t *mask) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 && (l->no_stdin || l->quiet)) fail(pipe, STEP_STDIO);
    if (l->no_stdin && dup2(null, 0) < 0) fail(pipe, STEP_STDIO);
    if (l->quiet && (dup2(null, 1) < 0 || dup2(null, 2) < 0)) fail(pipe, STEP_STDIO);
    for (int k = 1; l->output && k <= 2; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%s", l->output, k == 1 ? "out" : "err");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0 || dup2(fd, k) < 0) fail(pipe, STEP_STDIO);
    }
    if (l->cwd && chdir(l->cwd) < 0) fail(pipe, STEP_CWD);
    struct rlimit stack;
    getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = l->stack_limit;
    if (setrlimit(RLIMIT_STACK, &stack) < 0) fail(pipe, STEP_STACK);
    stack.rlim_cur = stack.rlim_max < WEFT_START_STACK ? stack.rlim_max : WEFT_START_STACK;
    if (setrlimit(RLIMIT_STACK, &stack) < 0) fail(pipe, STEP_STACK);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (l->debug) setpgid(0, 0);
    if (l->may_interrupt) prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would be there to say how the replay ended */
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) fail(pipe, STEP_TRACE);
    execve(l->program, l->argv, env);
    fail(pipe, STEP_EXEC);
}

static int explain(const struct weft_launch *l, const struct failure *f, struct weft_err *err) {
    const char *why = strerror(f->error);
    switch (f->step) {
    case STEP_STDIO: return weft__err(err, f->error, "/dev/null: %s", why);
    case STEP_CWD: return weft__err(err, f->error, "%s: %s", l->cwd, why);
    case STEP_STACK:
        return weft__err(err, f->error,
                         "the stack limit of the recorded run, %llu bytes, is not allowed here: %s (see ulimit -s)",
                         (unsigned long long)l->stack_limit, why);
    case STEP_TRACE:
        return weft__err(
            err, f->error,
            "the program cannot be prepared: ptrace: %s (is weft itself being traced, or a sandbox in the way?)", why);
    case STEP_EXEC: break;
    }
    return weft__err(err, f->error, "%s: cannot be started: %s", l->program, why);
}

/* ---- the parent ---- */
static pid_t wait_for(pid_t pid, int *status) {
    pid_t r;
    do r = waitpid(pid, status, 0);
    while (r < 0 && errno == EINTR);
    return r;
}

/* From fork to the first instruction. 1: somebody killed it on the way, and that is its *status. */
static int start(const struct weft_launch *l, pid_t pid, int pipe, int *status, struct weft_err *err) {
    for (;;) {
        if (wait_for(pid, status) < 0) return weft__err(err, errno, "waitpid: %s", strerror(errno));
        if (!WIFSTOPPED(*status)) break;
        if (WSTOPSIG(*status) == SIGTRAP) {
            int r = weft__place_and_go(pid, l->at_random, l->stack_limit, l->control->control, err);
            if (r == 0) return 0;
            if (r != -ESRCH) kill(pid, SIGKILL);
            wait_for(pid, status);
            return r == -ESRCH ? 1 : r; /* killed by somebody else: that is all right */
        }
        /* Another signal came first: it is the program's. */
        ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(*status));
    }
    struct failure f;
    if (read(pipe, &f, sizeof f) == sizeof f) return explain(l, &f, err);
    if (WIFSIGNALED(*status)) return 1;
    return weft__err(err, ECHILD, "%s: ended before it started", l->program);
}

int weft__place_and_go(pid_t pid, const uint8_t at_random[16], uint64_t stack_limit, struct weft_control *control,
                       struct weft_err *err) {
    struct rlimit stack;
    int r = weft__place(pid, at_random, control, err);
    if (r == 0 && (prlimit(pid, RLIMIT_STACK, NULL, &stack) < 0 ||
                   (stack.rlim_cur = stack_limit, prlimit(pid, RLIMIT_STACK, &stack, NULL) < 0)))
        r = weft__err(err, errno, "the program's stack limit cannot be set: %s", strerror(errno));
    if (r == 0 && ptrace(PTRACE_DETACH, pid, 0, 0) < 0)
        r = weft__err(err, errno, "the program cannot be let go: ptrace: %s", strerror(errno));
    return r;
}

static sigset_t idle; /* while weft waits for something to do: all that it handles may come */

bool weft__wait_child(struct pollfd *fds, nfds_t n, uint64_t us) {
    struct timespec ts = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    return ppoll(fds, n, us == UINT64_MAX ? NULL : &ts, &idle) > 0;
}

/* Orphans of the program become our children. */
static bool adopts(const struct weft_launch *l) { return l->may_interrupt || l->watch; }

static void start_debugger(const struct weft_launch *l, const struct sigaction *old, const sigset_t *mask) {
    pid_t pid = (pid_t)l->debug->pid;
    debugger = fork();
    if (debugger != 0) return;
    for (size_t i = 0; i < HANDLED; i++) sigaction(handled[i], &old[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    l->debugger(l->ctx, pid);
    _exit(125);
}

/* Until the debugger has ended, and with it all of the program's processes; or these, if none was wanted any more. */
static int run_debugged(const struct weft_launch *l, pid_t pid, bool ended, int server, int *status,
                        const struct sigaction *old, const sigset_t *mask, struct weft_err *err) {
    struct timespec soon = {0, 5000000};
    bool over = false;
    *l->debugger_status = -1;
    debugger = 0;
    for (;;) {
        pid_t r;
        int s;
        while ((r = waitpid(-1, &s, WNOHANG)) > 0) {
            if (r == pid) *status = s, ended = true, running = 0;
            if (r == debugger) *l->debugger_status = s, over = true;
        }
        if (r < 0) return ended ? 0 : weft__err(err, errno, "waitpid: %s", strerror(errno));
        if (over) kill(-pid, SIGKILL); /* orphans of the program too: its group is there as long as one of them is */
        bool wanted = !debugger;
        if (wanted && __atomic_load_n(&l->debug->debug, __ATOMIC_ACQUIRE) == WEFT_DEBUG_READY) {
            start_debugger(l, old, mask);
            if (debugger < 0) {
                int r2 = weft__err(err, errno, "fork: %s", strerror(errno));
                kill(-pid, SIGKILL);
                return r2;
            }
            wanted = false;
        }
        struct pollfd fd = {server, POLLIN, 0};
        if (ppoll(&fd, 1, wanted || over ? &soon : NULL, &idle) > 0 && !over) weft__exec_serve(l, server, -1, pid);
    }
}

/* Until the program and all its processes that are to be waited for have ended. */
static int run(const struct weft_launch *l, pid_t pid, bool ended, int alive, int server, int *status, struct weft_err *err) {
    bool killed = false;
    if (l->watch) weft__watch_begin(l->watch);
    for (;;) {
        pid_t r = ended ? 0 : waitpid(pid, status, WNOHANG);
        if (r < 0) return weft__err(err, errno, "waitpid: %s", strerror(errno));
        if (r == pid) ended = true, running = 0;
        if (ended && adopts(l))
            do r = waitpid(-1, NULL, WNOHANG);
            while (r > 0);
        if (ended && for_others && l->pass_on) {
            l->pass_on(l->ctx, for_others);
            for_others = 0;
        }
        if (ended && alive < 0 && (!l->may_interrupt || r < 0)) return 0;
        struct pollfd fds[2] = {{server, POLLIN, 0}, {ended ? alive : -1, POLLIN, 0}};
        uint64_t us = l->watch && !killed ? weft__watch_look(l->watch, l->ctx) : UINT64_MAX;
        if (!killed && (interrupted || !us)) {
            if (!us && l->watch->halt) l->watch->halt(l->ctx, ended ? 0 : pid);
            weft__below_kill();
            killed = true;
            continue;
        }
        if (!weft__wait_child(fds, 2, us)) continue;
        if (fds[0].revents) weft__exec_serve(l, server, alive, pid);
        else if (fds[1].revents) return 0;
    }
}

/* What the runtime has to know of us, in all parts. */
static void introduce(const struct weft_schedule *s, const struct weft_control *root) {
    for (size_t k = 0; k < s->nparts; k++) {
        struct weft_control *c = s->parts[k].control;
        if (!c) continue;
        c->launcher = root->launcher;
        c->root = root->root;
        c->options = root->options;
        memcpy(c->server, root->server, sizeof c->server);
        memcpy(c->write_files, root->write_files, sizeof c->write_files);
        introduce(&s->parts[k], root);
    }
}

int weft__launch(const struct weft_launch *l, int *status, struct weft_err *err) {
    sigset_t block, mask;
    struct sigaction old[HANDLED];
    int pipe[2] = {-1, -1}, alive[2] = {-1, -1}, server = -1;
    int r = 0;
    size_t n = 0;
    char marker[WEFT_ENV_SIZE];

    while (l->env[n]) n++;
    char **env = weft__alloc((n + 2) * sizeof *env);
    weft_env_make(marker, (uint64_t)getpid(), (uint64_t)l->control->fd);
    env[0] = marker;
    memcpy(env + 1, l->env, n * sizeof *env);

    if (pipe2(pipe, O_CLOEXEC) < 0 || (l->wait_all && pipe2(alive, O_CLOEXEC) < 0)) {
        r = weft__err(err, errno, "pipe: %s", strerror(errno));
        goto out;
    }
    struct weft_control *root = l->control->control;
    if ((server = weft__exec_listen(root->server, err)) < 0) {
        r = server;
        goto out;
    }
    root->launcher = (uint64_t)getpid();
    root->root = (uint64_t)l->control->fd;
    root->alive = (uint64_t)(alive[0] < 0 ? 0 : alive[0]);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* as the times of files */
    root->started = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    introduce(l->control, root);
    /* Held back until the child has its old dispositions and we our new ones. */
    sigemptyset(&block);
    for (size_t i = 0; i < HANDLED; i++) sigaddset(&block, handled[i]);
    sigprocmask(SIG_BLOCK, &block, &mask);
    interrupted = 0;
    if (adopts(l)) prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) child(l, env, pipe[1], &mask);
    if (pid < 0) {
        r = weft__err(err, errno, "fork: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &mask, NULL);
        goto out;
    }
    close(pipe[1]);
    pipe[1] = -1;
    running = pid;
    for (size_t i = 0; i < HANDLED; i++) {
        struct sigaction sa = {.sa_flags = SA_RESTART};
        sigaction(handled[i], NULL, &old[i]);
        if (l->debug && (handled[i] == SIGINT || handled[i] == SIGQUIT)) {
            sa.sa_handler = SIG_IGN; /* the debugger's */
        } else if (l->may_interrupt && handled[i] != SIGCHLD) {
            sa.sa_handler = old[i].sa_handler == SIG_IGN ? SIG_IGN : end_both;
        } else if (handled[i] == SIGCHLD) {
            sa.sa_handler = on_child;
        } else if (handled[i] == SIGINT || handled[i] == SIGQUIT) {
            sa.sa_handler = SIG_IGN;
        } else {
            sa.sa_sigaction = pass_on;
            sa.sa_flags |= SA_SIGINFO;
        }
        sigaction(handled[i], &sa, NULL);
    }
    idle = mask;
    sigdelset(&idle, SIGCHLD);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    r = start(l, pid, pipe[0], status, err);
    sigprocmask(SIG_BLOCK, &block, NULL);
    if (alive[1] >= 0) close(alive[1]); /* by now the program has it */
    alive[1] = -1;
    if (r == 0 && l->started) l->started(l->ctx);
    if (r >= 0) r = l->debug ? run_debugged(l, pid, r > 0, server, status, old, &mask, err)
                             : run(l, pid, r > 0, alive[0], server, status, err);
    running = 0;
    /* Whoever has ended the program by SIGTERM may send a second one (timeout(1) does), to us alone: the trace is to be closed. */
    idle = mask;
    if (l->mask) {
        *l->mask = mask;
        sigaddset(&idle, SIGTERM);
        sigaddset(&idle, SIGHUP);
    }
    sigprocmask(SIG_SETMASK, &idle, NULL);
    for (size_t i = 0; i < HANDLED; i++) sigaction(handled[i], &old[i], NULL);
    if (interrupted) {
        signal(interrupted, SIG_DFL);
        raise(interrupted);
    }
out:
    if (pipe[0] >= 0) close(pipe[0]);
    if (pipe[1] >= 0) close(pipe[1]);
    if (alive[0] >= 0) close(alive[0]);
    if (alive[1] >= 0) close(alive[1]);
    if (server >= 0) close(server);
    free(env);
    return r;
}
