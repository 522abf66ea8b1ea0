/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* flaky HOW [FILE]: fails in the way HOW on its N-th run, N standing in FILE (default: the first run). FILE is counted down
 * under a lock that no recorder sees (flock), so runs may go on side by side. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *takes(void *p) {
    pthread_mutex_t *first = p, *second = first == &left ? &right : &left;
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);
    return NULL;
}

static int due(const char *file) {
    int n = 1, fd = open(file, O_RDWR);
    char text[32] = "";
    flock(fd, LOCK_EX);
    if (read(fd, text, sizeof text - 1) > 0) n = atoi(text);
    int len = snprintf(text, sizeof text, "%d\n", n - 1);
    if (pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len) < 0) abort();
    close(fd);
    return n == 1;
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    if (argc > 2 && !due(argv[2])) how = "passes";
    printf("out: %s\n", how);
    fflush(stdout);
    fprintf(stderr, "err: %s\n", how);
    if (strcmp(how, "echoes") == 0)
        for (int c; (c = getchar()) != EOF;) putchar(c);
    if (strcmp(how, "exits") == 0) return 3;
    if (strcmp(how, "aborts") == 0) abort();
    if (strcmp(how, "spins") == 0)
        for (volatile int i = 0;; i++) {}
    if (strcmp(how, "leaves") == 0 && fork() == 0)
        for (;;) pause();
    if (strcmp(how, "beats") == 0)
        for (int i = 0; i < 15; i++) usleep(100000);
    if (strcmp(how, "locks") == 0) {
        pthread_t t[2];
        pthread_barrier_init(&both, NULL, 2);
        pthread_create(&t[0], NULL, takes, &left);
        pthread_create(&t[1], NULL, takes, &right);
        for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    }
    return 0;
}
