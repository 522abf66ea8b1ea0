/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread loads and unloads a library while the first one makes threads, or with `fork` processes. With a library's path two load that one, and three make
 * threads; it makes threads as well when it is loaded and unloaded (-DLIBRARY). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LIBRARY
static __thread char big[3000];
static void *counts(void *arg) {
    big[5]++;
    return arg;
}
static void threads(int n) {
    pthread_t t[3];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, counts, NULL);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}
__attribute__((constructor)) static void up(void) { threads(3); }
__attribute__((destructor)) static void down(void) { threads(1); }
int library(int x) { return ++big[x & 1023]; }
#else

static int races;

static void *loader(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        void *l = dlopen("libresolv.so.2", RTLD_NOW);
        if (l) dlclose(l);
    }
    return NULL;
}
static void *nothing(void *arg) {
    races++;
    return arg;
}
static void *loads(void *path) {
    for (int i = 0; i < 15; i++) {
        void *l = dlopen(path, RTLD_NOW);
        int (*f)(int) = l ? (int (*)(int))dlsym(l, "library") : NULL;
        races += f ? f(i) : 1000;
        if (l) dlclose(l);
    }
    return NULL;
}
static void *makes(void *arg) {
    for (int i = 0; i < 60; i++) {
        pthread_t t;
        pthread_create(&t, NULL, nothing, NULL);
        pthread_join(t, NULL);
    }
    return arg;
}
static int both(char *path) {
    pthread_t l[2], m[3];
    for (int i = 0; i < 2; i++) pthread_create(&l[i], NULL, loads, path);
    for (int i = 0; i < 3; i++) pthread_create(&m[i], NULL, makes, NULL);
    for (int i = 0; i < 2; i++) pthread_join(l[i], NULL);
    for (int i = 0; i < 3; i++) pthread_join(m[i], NULL);
    printf("%s %d\n", races > 1000 ? "wrong" : "ok", races);
    return races > 1000;
}

int main(int argc, char **argv) {
    int forks = argc > 1 && !strcmp(argv[1], "fork"), wrong = 0;
    pthread_t l, t;
    if (argc > 1 && !forks) return both(argv[1]);
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
#endif
