/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads a file while threads race, and gives up in the middle of it when it sees that they have: a run that passes reads on. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 6
static volatile int last, broken;

static void *work(void *arg) {
    int me = (int)(long)arg;
    last = me;
    if (last != me) broken = 1;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t[THREADS];
    char bytes[100];
    int fd = open(argv[1], O_RDONLY), sum = 0;
    (void)argc;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(long)(i + 1));
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) {
        for (ssize_t i = 0; i < n; i++) sum += bytes[i];
        if (broken) _exit(1);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%d\n", sum);
    return broken;
}
