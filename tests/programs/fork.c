/* Proves: a process that is forked while threads race has the memory that the recorded one had, and goes on exactly as it
 * did: it prints, forks again, starts racing threads, and ends by exit, by a signal, or is killed. */
// RUN: %rr %s %t
#include "common.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint32_t pot[16];
static volatile int stop;

static uint64_t cook(int me) {
    uint64_t h = seed_of(me);
    while (!stop) {
        h = mix(h, pot[h % 16]);
        pot[(h >> 8) % 16] = (uint32_t)h;
    }
    return h;
}

static uint32_t taste(void) {
    uint32_t h = 1;
    for (int i = 0; i < 16; i++) h = h * 31 + pot[i];
    return h;
}

static void *some(void *arg) {
    for (int i = 0; i < 2000; i++) pot[i % 16] += pot[(i + 3) % 16] ^ (uint32_t)(uintptr_t)arg;
    return NULL;
}

static void child(int k) {
    printf("child %d: %08x\n", k, taste());
    fflush(stdout);
    if (k % 4 == 1) raise(SIGSEGV);
    if (k % 4 == 2) {
        pthread_t t[2];
        for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, some, (void *)(uintptr_t)i);
        pid_t g = fork();
        if (g == 0) {
            printf("grandchild: %08x\n", taste());
            exit(5);
        }
        int status;
        waitpid(g, &status, 0);
        for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
        printf("child %d later: %x %08x\n", k, (unsigned)status, taste());
        exit(k);
    }
    if (k % 4 == 3)
        for (;;) pause();
    _exit(k);
}

static void *forker(void *arg) {
    long n = (long)(intptr_t)arg;
    for (int k = 0; k < n; k++) {
        struct timespec ms = {0, 1000000};
        nanosleep(&ms, NULL);
        fflush(stdout);
        pid_t c = fork();
        if (c == 0) child(k);
        if (k % 4 == 3) {
            nanosleep(&ms, NULL);
            kill(c, SIGKILL);
        }
        int status;
        if (waitpid(c, &status, 0) != c) printf("waitpid failed\n");
        printf("parent: %d ended with %x; %08x\n", k, (unsigned)status, taste());
    }
    stop = 1;
    return NULL;
}

int main(int argc, char **argv) {
    args(argc, argv, 3, 8);
    pthread_t f;
    pthread_create(&f, NULL, forker, (void *)(intptr_t)rounds);
    uint64_t h = together(cook);
    pthread_join(f, NULL);
    return finish(h);
}
