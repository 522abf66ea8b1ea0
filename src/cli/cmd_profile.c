/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* weft profile: runs the program natively, once, and adds to a file which of its regions ran beside each other; merges and shows such files. */
#include "cli/cli.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t running; /* pid; 0: not any more */
static void pass_on(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (running && info->si_code != SI_KERNEL) kill(running, sig); /* from the terminal, the program has it already */
}

/* As the program would run without weft, but for the first variable of its environment, which its runtime removes. Signals that end it must
 * not end weft, which has a profile to write. */
static int run(const char *program, char **argv, int fd, int *status, struct weft_err *err) {
    static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    char marker[64];
    sigset_t block, mask;
    int pipe[2], why = 0;
    size_t n = 0;
    while (environ[n]) n++;
    char **env = weft__alloc((n + 2) * sizeof *env);
    memcpy(env + 1, environ, n * sizeof *env);
    env[0] = marker;
    snprintf(marker, sizeof marker, WEFT_PROFILE_ENV "/proc/%d/fd/%d", (int)getpid(), fd);
    sigemptyset(&block);
    for (size_t i = 0; i < 4; i++) sigaddset(&block, handled[i]);
    if (pipe2(pipe, O_CLOEXEC) < 0) {
        free(env);
        return weft__err(err, errno, "pipe: %s", strerror(errno));
    }
    sigprocmask(SIG_BLOCK, &block, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        execve(program, argv, env);
        why = errno;
        if (write(pipe[1], &why, sizeof why) < 0) {} /* nobody is left to be told */
        _exit(WEFT_FAILED);
    }
    int r = pid < 0 ? weft__err(err, errno, "fork: %s", strerror(errno)) : 0;
    running = pid;
    for (size_t i = 0; i < 4 && pid > 0; i++) {
        struct sigaction sa = {.sa_flags = SA_RESTART | SA_SIGINFO, .sa_sigaction = pass_on}, old;
        sigaction(handled[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(handled[i], &sa, NULL);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pipe[1]);
    free(env);
    if (pid > 0) {
        ssize_t got;
        while ((got = read(pipe[0], &why, sizeof why)) < 0 && errno == EINTR) {}
        if (got == sizeof why) r = weft__err(err, why, "%s: cannot be started: %s", program, strerror(why));
        while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
        running = 0; /* before its number can be somebody else's */
        waitpid(pid, status, 0);
    }
    close(pipe[0]);
    return r;
}

static int profile(const char *path, char **argv) {
    struct weft_err err;
    struct weft_gather g = {.fd = -1};
    struct weft_strbuf name = {0};
    struct weft_profile *p = NULL;
    char *program = NULL, n[5][WEFT_NUMBUF];
    uint32_t kind, code;
    size_t entered = 0;
    int status = 0, ret = WEFT_FAILED;
    if (weft__program_find(argv[0], &program, &err) < 0 || weft__program_usable(program, &err) < 0 ||
        weft__gather_open(&g, program, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    weft__strbuf_printf(&name, "%s.weft-profile", weft__basename(program));
    if (!path) path = name.s;
    /* What can be said before the run is. */
    if (weft__profile_check(path, &err) < 0 || run(program, argv, g.fd, &status, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    p = weft__gather_take(&g);
    for (size_t i = 0; i < p->regions; i++) entered += p->region[i].count != 0;
    if (weft__profile_add(path, &p, &err) < 0) {
        weft__fail(&err);
        goto out;
    }
    weft__warn("%s: run %s: it entered %s of %s regions, and added %s to what is now %s pair%s", path, weft__commas(n[0], p->runs),
               weft__commas(n[1], entered), weft__commas(n[2], g.regions), weft__commas(n[3], p->added[p->runs - 1]),
               weft__commas(n[4], p->pairs), p->pairs == 1 ? "" : "s");
    weft__status_of(status, &kind, &code);
    ret = weft__status_repeat(kind, code);
out:
    weft__profile_free(p);
    weft__strbuf_fini(&name);
    weft__gather_close(&g);
    free(program);
    return ret;
}

static struct weft_profile *profile_of(const char *path) {
    char why[2048];
    struct weft_profile *p = weft__profile_read(path, why, sizeof why);
    if (!p) weft__warn("%s", why);
    return p;
}

static int merge(const char *path, char **files) {
    struct weft_err err;
    struct weft_profile *all = weft__alloc(sizeof *all);
    int ret = 0;
    for (; *files && !ret; files++) {
        struct weft_profile *p = profile_of(*files);
        if (p)
            weft__profile_merge(all, p);
        else
            ret = WEFT_FAILED;
        weft__profile_free(p);
    }
    if (!ret && weft__profile_write(path, all, &err) < 0) ret = weft__fail(&err);
    weft__profile_free(all);
    return ret;
}

static int show(const char *path) {
    struct weft_strbuf text = {0};
    struct weft_profile *p = profile_of(path);
    if (!p) return WEFT_FAILED;
    weft__profile_show(p, &text);
    fputs(text.s, stdout);
    weft__strbuf_fini(&text);
    weft__profile_free(p);
    return weft__flush(0);
}

int weft__cmd_profile(int argc, char **argv) {
    const char *path = NULL;
    bool merges = false, shows = false;
    int n = 1; /* what is left of the arguments, behind argv[0] */
    if (weft__asks_help(argc, argv)) return 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0) {
            if (i + 1 == argc) return weft__usage("profile", "%s needs a value", argv[i]);
            path = argv[++i];
        } else if (strcmp(argv[i], "--merge") == 0) {
            merges = true;
        } else if (strcmp(argv[i], "--show") == 0) {
            shows = true;
        } else if (argv[i][0] == '-' && strcmp(argv[i], "--") != 0) {
            return weft__usage("profile", "there is no option %s", argv[i]);
        } else if (merges && strcmp(argv[i], "--") != 0) { /* -o may come after the files */
            argv[n++] = argv[i];
        } else {
            for (i += strcmp(argv[i], "--") == 0; i < argc;) argv[n++] = argv[i++];
        }
    }
    argv[n] = NULL;
    if (path && !*path) return weft__usage("profile", "the file's name is empty");
    if (merges && shows) return weft__usage("profile", "--merge or --show, not both");
    if (shows && path) return weft__usage("profile", "-o is not for --show");
    if (merges && !path) return weft__usage("profile", "--merge wants -o FILE");
    if (n == 1) return weft__usage("profile", merges || shows ? "no profile" : "no program to profile");
    if (shows && n > 2) return weft__usage("profile", "one profile at a time");
    return merges ? merge(path, argv + 1) : shows ? show(argv[1]) : profile(path, argv + 1);
}
