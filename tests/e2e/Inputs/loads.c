/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread loads and unloads a library while the first one makes threads, or with `fork` processes. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *loader(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        void *l = dlopen("libresolv.so.2", RTLD_NOW);
        if (l) dlclose(l);
    }
    return NULL;
}
static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv) {
    int forks = argc > 1 && !strcmp(argv[1], "fork"), wrong = 0;
    pthread_t l, t;
    pthread_create(&l, NULL, loader, (void *)(forks ? 200L : 10L));
    for (int i = 0; i < 10; i++) {
        if (forks) {
            int status = 1;
            pid_t p = fork();
            if (!p) _exit(3);
            waitpid(p, &status, 0);
            wrong |= WEXITSTATUS(status) != 3;
        } else {
            pthread_create(&t, NULL, nothing, NULL);
            pthread_join(t, NULL);
        }
    }
    pthread_join(l, NULL);
    puts(wrong ? "wrong" : "ok");
    return wrong;
}
