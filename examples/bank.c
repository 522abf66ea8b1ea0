/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A small bank with a bug. Two tellers move money between accounts at the same time and nobody locks anything, so that
 * now and then one teller's update of a balance is lost. Money must neither appear nor vanish: when the day is over, the
 * books are checked, and sometimes the check fails. Run it a few times.
 *
 *     bank [TRANSFERS PER TELLER] */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 6, TELLERS = 2, OPENING_BALANCE = 1000 };

struct account {
    long balance;
    unsigned statements; /* how often it was touched */
};

struct teller {
    pthread_t thread;
    const char *name;
    unsigned random;
    long transfers, refused, moved;
};

static struct account accounts[ACCOUNTS];
static struct teller tellers[TELLERS] = {{.name = "Ada", .random = 1}, {.name = "Bob", .random = 2}};
static pthread_barrier_t doors_open;
static long transfers_per_teller = 1000;

static unsigned pick(struct teller *t, unsigned n) {
    t->random = t->random * 1103515245u + 12345u;
    return (t->random >> 16) % n;
}

static void post(struct account *a, long amount) {
    a->balance += amount; /* read, add, write: the other teller may come in between */
    a->statements++;
}

static int transfer(struct account *from, struct account *to, long amount) {
    if (from->balance < amount) return 0;
    post(from, -amount);
    post(to, amount);
    return 1;
}

static void *work(void *arg) {
    struct teller *t = arg;
    pthread_barrier_wait(&doors_open);
    for (long i = 0; i < transfers_per_teller; i++) {
        struct account *from = &accounts[pick(t, ACCOUNTS)];
        struct account *to = &accounts[pick(t, ACCOUNTS)];
        long amount = 1 + pick(t, 200);
        if (transfer(from, to, amount)) {
            t->transfers++;
            t->moved += amount;
        } else {
            t->refused++;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) transfers_per_teller = atol(argv[1]);
    for (int i = 0; i < ACCOUNTS; i++)
        accounts[i].balance = OPENING_BALANCE;

    pthread_barrier_init(&doors_open, NULL, TELLERS);
    for (int i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i].thread, NULL, work, &tellers[i]);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i].thread, NULL);

    long total = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        printf("account %d: %6ld\n", i, accounts[i].balance);
        total += accounts[i].balance;
    }
    for (int i = 0; i < TELLERS; i++)
        printf("%s made %ld transfers of %ld in all, refused %ld\n", tellers[i].name, tellers[i].transfers,
               tellers[i].moved, tellers[i].refused);
    printf("total: %ld, should be %d\n", total, ACCOUNTS * OPENING_BALANCE);
    fflush(stdout);
    assert(total == ACCOUNTS * OPENING_BALANCE);
    return 0;
}
