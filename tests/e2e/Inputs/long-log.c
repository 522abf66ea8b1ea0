/* For background.test: threads and a forked process that write a lot into the log and then wait until there is a file `stop`. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned racy;
static unsigned long sum;

static void *work(void *arg) {
    char buf[2000]; /* small enough for the streams */
    int fd = open("text", O_RDONLY), n = *(int *)arg;
    for (int i = 0; i < n || access("stop", F_OK); i++) {
        for (int k = 0; i < n && k < 10; k++)
            if (pread(fd, buf, sizeof buf, i % 50 * 100 + k * 2000) != sizeof buf) exit(2);
        racy += (unsigned char)buf[i % 500];
        pthread_mutex_lock(&lock);
        sum += (unsigned char)buf[0];
        pthread_mutex_unlock(&lock);
        if (i % 100 == 0 || i > n) usleep(10000);
    }
    close(fd);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    int rounds[3] = {1500, 30, 2500}; /* 30: its chunk stays open for long */
    pid_t child = fork();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, &rounds[i]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("%s %lu %u\n", child ? "parent" : "child", sum, racy);
    return 0;
}
