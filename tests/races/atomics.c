/* Proves: atomics do not race with one another; they do with accesses that are not atomic. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>

static atomic_int both;
static _Atomic int mixed;

static void *run(void *arg) {
    both++;
    mixed++; // RACE a
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    *(volatile int *)&mixed = 1; // RACE a
    int seen = both;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return seen;
}
