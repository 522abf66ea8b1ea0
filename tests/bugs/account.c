/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Transfers between accounts. A transfer locks the account that the money comes from, but not the one that it goes to,
 * so two updates of one balance can happen at once. */
// KIND: LEAP Account: wrong or no lock
// FAILS: the sum of all balances has changed
// SHOWS: signal 6
// LEAST: 3 threads, 1 iteration, 1 preemption
// NATIVE: 117 in 1000
// ARGS: TELLERS=4 TRANSFERS=200
// LARGE: 33 100
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 5, OPENING = 1000 };

struct account {
    pthread_mutex_t lock;
    long balance;
    unsigned entries;
};

static struct account accounts[ACCOUNTS];
static int transfers;
static pthread_barrier_t morning;

static int transfer(struct account *from, struct account *to, long amount) {
    pthread_mutex_lock(&from->lock);
    int enough = from->balance >= amount;
    if (enough) {
        from->balance -= amount;
        from->entries++;
        to->balance += amount;
        to->entries++;
    }
    pthread_mutex_unlock(&from->lock);
    return enough;
}

static void *teller(void *arg) {
    unsigned seed = (unsigned)(size_t)arg;
    pthread_barrier_wait(&morning);
    for (int i = 0; i < transfers; i++) {
        int from = rand_r(&seed) % ACCOUNTS;
        int to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
        transfer(&accounts[from], &accounts[to], 1 + rand_r(&seed) % 100);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int tellers = argc > 1 ? atoi(argv[1]) : 4;
    transfers = argc > 2 ? atoi(argv[2]) : 200;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = OPENING;
    }
    pthread_t *threads = calloc((size_t)tellers, sizeof *threads);
    pthread_barrier_init(&morning, NULL, (unsigned)tellers);
    for (int i = 0; i < tellers; i++) pthread_create(&threads[i], NULL, teller, (void *)(size_t)(i + 1));
    for (int i = 0; i < tellers; i++) pthread_join(threads[i], NULL);
    free(threads);

    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) sum += accounts[i].balance;
    printf("sum %ld\n", sum);
    fflush(stdout);
    assert(sum == (long)ACCOUNTS * OPENING);
    return 0;
}
