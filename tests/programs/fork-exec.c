/* Proves: other programs (system, popen, posix_spawn, execve after fork and vfork, execve that fails) are not run in
 * replay, what came from them is there all the same, and handlers of pthread_atfork run around a fork, with a lock that
 * other threads are after. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int prepared, in_parent, in_child;
static void prepare(void) { pthread_mutex_lock(&m), prepared++; }
static void parent(void) { in_parent++, pthread_mutex_unlock(&m); }
static void child(void) { in_child++, pthread_mutex_unlock(&m); }
static volatile int stop;
static long n;

static uint64_t cook(int me) {
    (void)me;
    while (!stop) {
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
    }
    return (uint64_t)n;
}

static void *others(void *arg) {
    char line[100];
    int status, r;
    pid_t p;
    (void)arg;
    printf("system: %x\n", (unsigned)system("exit 3"));
    FILE *f = popen("echo $$; cat /proc/sys/kernel/random/uuid; exit 4", "r"), *g = popen("cat > /dev/null", "w");
    while (fgets(line, sizeof line, f)) printf("popen: %s", line);
    fprintf(g, "something\n");
    printf("pclose: %x %x\n", (unsigned)pclose(f), (unsigned)pclose(g));
    char *argv[] = {"sh", "-c", "exit 7", NULL}, *none[] = {NULL};
    r = posix_spawn(&p, "/bin/sh", NULL, NULL, argv, environ);
    waitpid(p, &status, 0);
    printf("spawn: %d %x\n", r, (unsigned)status);
    printf("spawn: %d\n", posix_spawnp(&p, "a program that is not there", NULL, NULL, argv, none));
    fflush(stdout);
    if ((p = fork()) == 0) {
        execve("/nonexistent", argv, none);
        printf("in the child: %d, %d %d, %ld\n", errno, prepared, in_child, n);
        fflush(stdout);
        execlp("sh", "sh", "-c", "exit 9", (char *)NULL);
        _exit(1);
    }
    waitpid(p, &status, 0);
    printf("exec: %x\n", (unsigned)status);
    if ((p = vfork()) == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(p, &status, 0);
    printf("vfork: %x %d %d\n", (unsigned)status, prepared, in_parent);
    stop = 1;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t;
    args(argc, argv, 2, 1);
    pthread_atfork(prepare, parent, child);
    pthread_create(&t, NULL, others, NULL);
    uint64_t h = together(cook);
    pthread_join(t, NULL);
    return finish(h);
}
