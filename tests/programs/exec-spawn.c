/* Proves: posix_spawn and posix_spawnp of a program built with weft: it is recorded and replayed, with the file actions and
 * attributes that it was given; a spawn that fails gives its error; threads go on meanwhile. */
// RUN: %rr %s %t
#include "common.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static volatile unsigned pot[16];
static volatile int stop;

static uint64_t cook(int me) {
    uint64_t h = (uint64_t)me;
    for (long i = 0; i < rounds || (me && rounds < 0 && !stop); i++) {
        h = mix(h, pot[h >> 60]);
        pot[h >> 56 & 15] = (unsigned)h;
    }
    return h;
}

static int executed(int argc, char **argv) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    threads = 3;
    rounds = 3000;
    for (int i = 0; i < argc; i++) printf("[%s] ", argv[i]);
    printf("%s blocked %d descriptors", getenv("T_A"), sigismember(&blocked, SIGUSR1));
    for (int fd = 20; fd < 30; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
    printf(": %016llx\n", (unsigned long long)together(cook));
    return 5;
}

static void *others(void *arg) {
    char *argv[] = {"spawned", "executed", "", NULL}, *env[] = {"T_A=b", NULL}, buf[8192], *self = arg, *name;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t set;
    pid_t pid;
    int status, p[2], r;
    pipe2(p, O_CLOEXEC);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &set);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, p[1], 1);
    posix_spawn_file_actions_addopen(&actions, 23, "/dev/null", O_RDONLY, 0);
    r = posix_spawn(&pid, self, &actions, &attr, argv, env);
    close(p[1]);
    size_t len = 0;
    for (ssize_t k; (k = read(p[0], buf + len, sizeof buf - len - 1)) > 0;) len += (size_t)k;
    buf[len] = 0;
    waitpid(pid, &status, 0);
    printf("spawn: %d, %x, %s", r, (unsigned)status, buf);
    fflush(stdout);
    posix_spawn_file_actions_addopen(&actions, 24, "/no/such/file", O_RDONLY, 0);
    printf("spawn: %d\n", posix_spawn(&pid, self, &actions, &attr, argv, env));
    printf("spawn: %d\n", posix_spawn(&pid, "/no/such/program", NULL, NULL, argv, env));
    name = strrchr(self, '/');
    *name = 0;
    setenv("PATH", self, 1);
    fflush(stdout);
    r = posix_spawnp(&pid, name + 1, NULL, NULL, argv, env);
    waitpid(pid, &status, 0);
    printf("spawnp: %d, %x\n", r, (unsigned)status);
    stop = 1;
    return NULL;
}

int main(int argc, char **argv) {
    char self[4096];
    if (argc > 1 && strcmp(argv[1], "executed") == 0) return executed(argc, argv);
    args(argc, argv, 3, 3000);
    self[readlink("/proc/self/exe", self, sizeof self - 1)] = 0;
    pthread_t t;
    rounds = -1;
    pthread_create(&t, NULL, others, self);
    uint64_t h = together(cook);
    pthread_join(t, NULL);
    return finish(h);
}
