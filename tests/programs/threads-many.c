/* Proves: memory of threads that have ended is used again, with weft around the program and without: 3,000 threads, two at a time, do not
 * take more and more of the address space. In a forked process, too. */
// RUN: %rr %s %t -r 1 -k 1
#include "common.h"
#include <sys/wait.h>

static void *allocate(void *arg) {
    (void)arg;
    free(malloc(100000));
    return malloc(50);
}

/* How far the blocks of n pairs of threads are apart. */
static uint64_t span(int n) {
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < n; i++) {
        pthread_t t[2];
        for (int k = 0; k < 2; k++) pthread_create(&t[k], NULL, allocate, NULL);
        for (int k = 0; k < 2; k++) {
            void *p;
            pthread_join(t[k], &p);
            if ((uintptr_t)p < low) low = (uintptr_t)p;
            if ((uintptr_t)p > high) high = (uintptr_t)p;
            free(p);
        }
    }
    return high - low;
}

int main(void) {
    int status, ok = span(1500) < 100ull << 30;
    pid_t pid = fork();
    if (!pid) _exit(span(300) < 100ull << 30 ? 0 : 1);
    waitpid(pid, &status, 0);
    printf("%s %s\n", ok ? "fine" : "too far", status ? "too far" : "fine");
    return !ok || status;
}
