/* Proves: a thread that waits in a loop of its own for another one, and sleeps meanwhile in a recording, sees what that one writes, at the
 * same iteration in replay: a flag of its own, one that several read, an array of flags, and a loop that counts. A signal wakes it too. */
// RUN: %rr %s %t
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 40
#define AWAKE 80000 /* us: until then they do not sleep */
static atomic_int turn, ready[2], stop, both;
static volatile sig_atomic_t caught;
static uint64_t sum;

static void nap(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

static void *answers(void *arg) {
    for (;;) {
        for (int i = 0; i < 1000000; i++)
            if (atomic_load(&turn)) break;
        if (!atomic_load(&turn)) continue;
        if (atomic_load(&stop)) return NULL;
        sum = sum * 31 + (uint64_t)atomic_load(&turn);
        nap(sum & 512);
        atomic_store(&turn, 0);
    }
    return arg;
}

static void *waits(void *arg) { /* several read the same flag */
    uintptr_t me = (uintptr_t)arg;
    for (int k = 1; k <= ROUNDS; k++) {
        while (atomic_load(&both) < k) {}
        atomic_store(&ready[me], k);
    }
    return NULL;
}

static void on_signal(int sig) { caught = sig; }
static void *is_woken(void *arg) {
    while (!caught) {}
    return arg;
}

int main(void) {
    pthread_t t[4];
    pthread_create(&t[0], NULL, answers, NULL);
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&t[1 + i], NULL, waits, (void *)i);
    nap(AWAKE);
    for (int k = 1; k <= ROUNDS; k++) {
        nap(k * 20);
        atomic_store(&turn, k);
        while (atomic_load(&turn)) {}
        atomic_store(&both, k);
        for (;;) { /* what goes on is in the inner loop only */
            int left = 0;
            for (int i = 0; i < 2; i++) left += atomic_load(&ready[i]) < k;
            if (!left) break;
        }
    }
    atomic_store(&stop, 1);
    atomic_store(&turn, 1);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    signal(SIGUSR1, on_signal);
    pthread_create(&t[3], NULL, is_woken, NULL);
    nap(AWAKE);
    pthread_kill(t[3], SIGUSR1);
    pthread_join(t[3], NULL);
    printf("%llu %d\n", (unsigned long long)sum, (int)caught);
    return 0;
}
