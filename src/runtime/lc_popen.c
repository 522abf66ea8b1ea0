/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* popen and pclose, made of calls that are recorded as they are. libc's own would start the program in replay too. */
#include "lc_stdio.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define STREAMS 256
static struct {
    FILE *f;
    pid_t pid;
} open_ones[STREAMS]; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

WEFT_API FILE *popen(const char *command, const char *mode) {
    int reads = strchr(mode, 'r') != NULL, p[2], kept = -1;
    if (reads == (strchr(mode, 'w') != NULL)) {
        errno = EINVAL;
        return NULL;
    }
    if (pipe2(p, O_CLOEXEC) < 0) return NULL;
    int mine = p[!reads], its = p[reads];
    posix_spawn_file_actions_t a;
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_adddup2(&a, its, reads);
    FILE *f = fdopen(mine, reads ? "r" : "w");
    pid_t pid;
    int e = f ? 0 : errno;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++) {
        if (!open_ones[i].f)
            kept = i;
        else if (fileno(open_ones[i].f) != reads) /* it must not have those of the others */
            posix_spawn_file_actions_addclose(&a, fileno(open_ones[i].f));
    }
    if (!e && kept < 0) e = EMFILE;
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    if (!e) e = posix_spawn(&pid, "/bin/sh", &a, NULL, argv, environ);
    if (!e) {
        open_ones[kept].f = f;
        open_ones[kept].pid = pid;
    }
    pthread_mutex_unlock(&lock);
    posix_spawn_file_actions_destroy(&a);
    close(its);
    if (!e) {
        if (!strchr(mode, 'e')) fcntl(mine, F_SETFD, 0);
        return f;
    }
    if (f)
        fclose(f);
    else
        close(mine);
    errno = e;
    return NULL;
}

WEFT_API int pclose(FILE *f) {
    pid_t pid = -1;
    int status;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++)
        if (open_ones[i].f == f) {
            open_ones[i].f = NULL;
            pid = open_ones[i].pid;
        }
    pthread_mutex_unlock(&lock);
    fclose(f);
    if (pid < 0) {
        errno = ECHILD;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}
