/* For max-size.test: threads that race, lock, start others and read a lot, so that the log ends amid all of that. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned racy[8];
static unsigned long sum;
static int rounds, source;

static void *brief(void *arg) {
    racy[0] += *(unsigned char *)arg;
    return NULL;
}

static void *work(void *arg) {
    unsigned char buf[700];
    unsigned id = (unsigned)(size_t)arg;
    for (int i = 0; i < rounds; i++) {
        if (read(source, buf, sizeof buf) != sizeof buf) exit(2);
        for (int k = 0; k < 50; k++) racy[(id + buf[k]) % 8] += buf[k + 1] ^ racy[k % 8];
        pthread_mutex_lock(&lock);
        sum += buf[0];
        pthread_mutex_unlock(&lock);
        if (i % 64 == 0) {
            pthread_t t;
            if (pthread_create(&t, NULL, brief, buf)) exit(3);
            pthread_join(t, NULL);
            printf("thread %u round %d: %u\n", id, i, racy[id % 8]);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t t[16];
    rounds = argc > 2 ? atoi(argv[2]) : 1000;
    source = open("/dev/urandom", O_RDONLY);
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    printf("%lu %u\n", sum, racy[3]);
    return 0;
}
