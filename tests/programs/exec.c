/* Proves: a program built with weft that a forked process executes is recorded and replayed with it: threads that race in it,
 * its arguments, environment, descriptors, signal mask, ignored signals and working directory, its exit status and its death
 * by a signal; many at once; what it writes to a pipe goes to its parent and not to the terminal. An execve that fails leaves
 * the process as it was. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;
static volatile unsigned pot[16];

static uint64_t cook(int me) {
    uint64_t h = (uint64_t)me;
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h >> 60]);
        pot[h >> 56 & 15] = (unsigned)h;
    }
    return h;
}

static int executed(int argc, char **argv) {
    struct rlimit stack;
    sigset_t blocked;
    char cwd[4096];
    int n = atoi(argv[2]);
    getrlimit(RLIMIT_STACK, &stack);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 0; i < argc; i++) printf("[%s] ", argv[i]);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "T_", 2) == 0) printf("%s ", *e);
    printf("in %s, stack %lu, blocked %d, ignored %d, descriptors", getcwd(cwd, sizeof cwd), (unsigned long)stack.rlim_cur,
           sigismember(&blocked, SIGUSR1), signal(SIGUSR2, SIG_DFL) == SIG_IGN);
    for (int fd = 20; fd < 30; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
    char *end[] = {"", "", "", "0", "1", "again", NULL};
    printf(": %016llx\n", (unsigned long long)together(cook));
    fflush(stdout);
    if (n == 2) raise(SIGKILL);
    if (n == 1) {
        end[1] = argv[1];
        end[2] = "7";
        execv("/proc/self/exe", end);
    }
    return n;
}

/* Executes this program with n and gives what it wrote to descriptor `out`. */
static pid_t start(const char *self, int n, int out) {
    char number[8], *argv[] = {"another name", "executed", number, "", NULL}, *env[] = {"T_A=b  c", "T_EMPTY=", NULL};
    sprintf(number, "%d", n);
    pid_t p = fork();
    if (p) return p;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR2, SIG_IGN);
    dup2(open("/dev/null", O_RDONLY), 22);
    dup2(22, 24);
    fcntl(24, F_SETFD, FD_CLOEXEC);
    if (out != 1) dup2(out, 1);
    chdir("/tmp");
    execve("/nonexistent", argv, env);
    if (errno != ENOENT) _exit(91);
    execve("/etc/passwd", argv, env);
    if (errno != EACCES) _exit(92);
    execve(self, argv, env);
    _exit(93);
}

int main(int argc, char **argv) {
    char self[4096], buf[65536];
    int status, p[2];
    if (argc > 1 && strcmp(argv[1], "executed") == 0) {
        threads = 3;
        rounds = 3000;
        return executed(argc, argv);
    }
    args(argc, argv, 3, 3000);
    self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
    for (int n = 0; n < 4; n++) {
        waitpid(start(self, n, 1), &status, 0);
        printf("%d: %x\n", n, (unsigned)status);
        fflush(stdout);
    }
    pipe(p);
    pid_t child[4];
    for (int n = 0; n < 4; n++) child[n] = start(self, 10 + n, p[1]);
    uint64_t h = together(cook);
    close(p[1]);
    size_t len = 0;
    for (ssize_t r; (r = read(p[0], buf + len, sizeof buf - len - 1)) > 0;) len += (size_t)r;
    buf[len] = 0;
    printf("through the pipe:\n%s", buf);
    for (int n = 0; n < 4; n++) {
        waitpid(child[n], &status, 0);
        printf("%d: %x\n", n, (unsigned)status);
    }
    return finish(h);
}
