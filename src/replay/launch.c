/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Starts a program for recording or replay, so that it finds the same world in both: the same addresses, environment,
 * stack limit and AT_RANDOM bytes, no vDSO (its clock would go past the runtime), and the control file at WEFT_CONTROL_FD.
 *
 * The program is traced until the runtime in it starts, only to give it its places in memory (place.c); then it is let go
 * and runs by itself. The child reports what fails before exec through a pipe that exec closes.
 *
 * The kernel lays out memory by the stack limit that it finds at exec: from the bottom up, through the places of abi.h,
 * where there is none. So the program is started with an ordinary one and gets its own afterwards.
 *
 * Signals from the terminal go to the program by themselves, so a recording weft does not die from them; those that are
 * sent to weft alone are passed on, to the program or, when that has ended, to the processes that it left behind. During replay they are not the program's business: they end both. */
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
#include <unistd.h>

static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define HANDLED (sizeof handled / sizeof *handled)

#define START_STACK (64ul << 20) /* below 128 MiB it makes no difference to the layout */

static volatile sig_atomic_t running;     /* pid */
static volatile sig_atomic_t for_others;  /* signal that came when the program had ended */
static volatile sig_atomic_t interrupted; /* signal that ended a replay */

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
}

/* ---- the child, before exec ---- */
enum step { STEP_FD, STEP_STDIO, STEP_CWD, STEP_STACK, STEP_TRACE, STEP_EXEC };
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

static void child(const struct weft_launch *l, char *const *env, int pipe, int alive, const sigset_t *mask) {
    struct rlimit files, more;
    getrlimit(RLIMIT_NOFILE, &files);
    more = files;
    if (more.rlim_cur <= WEFT_CONTROL_FD && more.rlim_max > WEFT_CONTROL_FD) more.rlim_cur = WEFT_CONTROL_FD + 1;
    setrlimit(RLIMIT_NOFILE, &more);
    if (dup2(l->control->fd, WEFT_CONTROL_FD) < 0) fail(pipe, STEP_FD);
    if (alive >= 0 && dup2(alive, WEFT_ALIVE_FD) < 0) fail(pipe, STEP_FD);
    setrlimit(RLIMIT_NOFILE, &files); /* a descriptor beyond the limit stays open */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 && (l->no_stdin || l->quiet)) fail(pipe, STEP_STDIO);
    if (l->no_stdin && dup2(null, 0) < 0) fail(pipe, STEP_STDIO);
    if (l->quiet && (dup2(null, 1) < 0 || dup2(null, 2) < 0)) fail(pipe, STEP_STDIO);
    if (l->cwd && chdir(l->cwd) < 0) fail(pipe, STEP_CWD);
    struct rlimit stack;
    getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = l->stack_limit;
    if (setrlimit(RLIMIT_STACK, &stack) < 0) fail(pipe, STEP_STACK);
    stack.rlim_cur = stack.rlim_max < START_STACK ? stack.rlim_max : START_STACK;
    if (setrlimit(RLIMIT_STACK, &stack) < 0) fail(pipe, STEP_STACK);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (l->may_interrupt) prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would be there to say how the replay ended */
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) fail(pipe, STEP_TRACE);
    execve(l->program, l->argv, env);
    fail(pipe, STEP_EXEC);
}

static int explain(const struct weft_launch *l, const struct failure *f, struct weft_err *err) {
    const char *why = strerror(f->error);
    switch (f->step) {
    case STEP_FD:
        return weft__err(err, f->error, "descriptor %d is needed and not allowed here: %s (ulimit -n %d helps)",
                         WEFT_CONTROL_FD, why, WEFT_CONTROL_FD + 1);
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
            struct rlimit stack;
            int r = weft__place(pid, l->at_random, l->control->control, err);
            if (r == 0 && (prlimit(pid, RLIMIT_STACK, NULL, &stack) < 0 ||
                           (stack.rlim_cur = l->stack_limit, prlimit(pid, RLIMIT_STACK, &stack, NULL) < 0)))
                r = weft__err(err, errno, "the program's stack limit cannot be set: %s", strerror(errno));
            if (r == 0 && ptrace(PTRACE_DETACH, pid, 0, 0) < 0)
                r = weft__err(err, errno, "the program cannot be let go: ptrace: %s", strerror(errno));
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

int weft__launch(const struct weft_launch *l, int *status, struct weft_err *err) {
    sigset_t block, mask;
    struct sigaction old[HANDLED];
    int pipe[2] = {-1, -1}, alive[2] = {-1, -1};
    int r = 0;
    size_t n = 0;

    while (l->env[n]) n++;
    char **env = weft__alloc((n + 2) * sizeof *env);
    env[0] = (char *)WEFT_ENV;
    memcpy(env + 1, l->env, n * sizeof *env);

    if (pipe2(pipe, O_CLOEXEC) < 0 || (l->wait_all && pipe2(alive, O_CLOEXEC) < 0)) {
        r = weft__err(err, errno, "pipe: %s", strerror(errno));
        goto out;
    }
    /* Held back until the child has its old dispositions and we our new ones. */
    sigemptyset(&block);
    for (size_t i = 0; i < HANDLED; i++) sigaddset(&block, handled[i]);
    sigprocmask(SIG_BLOCK, &block, &mask);
    interrupted = 0;
    if (l->may_interrupt) prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) child(l, env, pipe[1], alive[1], &mask);
    if (pid < 0) {
        r = weft__err(err, errno, "fork: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &mask, NULL);
        goto out;
    }
    close(pipe[1]);
    pipe[1] = -1;
    if (alive[1] >= 0) close(alive[1]);
    alive[1] = -1;
    running = pid;
    for (size_t i = 0; i < HANDLED; i++) {
        struct sigaction sa = {.sa_flags = SA_RESTART};
        sigaction(handled[i], NULL, &old[i]);
        if (l->may_interrupt) {
            sa.sa_handler = old[i].sa_handler == SIG_IGN ? SIG_IGN : end_both;
        } else if (handled[i] == SIGINT || handled[i] == SIGQUIT) {
            sa.sa_handler = SIG_IGN;
        } else {
            sa.sa_sigaction = pass_on;
            sa.sa_flags |= SA_SIGINFO;
        }
        sigaction(handled[i], &sa, NULL);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);

    r = start(l, pid, pipe[0], status, err);
    if (r == 0 && l->started) l->started(l->ctx);
    if (r == 0 && wait_for(pid, status) < 0) r = weft__err(err, errno, "waitpid: %s", strerror(errno));
    if (r > 0) r = 0;
    running = 0;
    struct pollfd end = {alive[0], POLLIN, 0};
    while (r == 0 && alive[0] >= 0 && poll(&end, 1, -1) < 0 && errno == EINTR)
        if (for_others) {
            l->pass_on(l->ctx, for_others);
            for_others = 0;
        }
    while (r == 0 && l->may_interrupt && waitpid(-1, NULL, 0) >= 0) {} /* orphans of a replay come to us */
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
    free(env);
    return r;
}
