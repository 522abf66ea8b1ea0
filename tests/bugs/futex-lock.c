/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A lock of one's own on a futex. Who was woken takes it as if nobody else waited, so its unlock wakes nobody. */
// KIND: a lock of one's own: a waiter is forgotten
// FAILS: a thread sleeps for a lock that is free
// SHOWS: stuck
// LEAST: 4 threads, 1 iteration, 2 preemptions
// NATIVE: 0 in 40
// ARGS: THREADS=3 ROUNDS=2000
// LARGE: 8 2000
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word; /* 0 free, 1 taken, 2 taken and somebody waits */
static int rounds;
static volatile long sum;

static void lock(void) {
    int is = 0;
    if (atomic_compare_exchange_strong(&word, &is, 1)) return;
    for (;;) {
        if (is == 2 || atomic_compare_exchange_strong(&word, &is, 2)) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL);
        is = 0;
        if (atomic_compare_exchange_strong(&word, &is, 1)) return; /* should be 2 */
    }
}

static void unlock(void) {
    if (atomic_exchange(&word, 0) == 2) syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

static void *work(void *arg) {
    for (int i = 0; i < rounds; i++) {
        lock();
        sum++;
        unlock();
    }
    return arg;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    rounds = argc > 2 ? atoi(argv[2]) : 2000;
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    free(t);
    return 0;
}
