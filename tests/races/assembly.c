/* Proves: what inline assembly does to its operands, and pointers that were integers, count. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
#include <stdint.h>

static int by_asm, by_integer;
static volatile uintptr_t kept;

static void *run(void *arg) {
    __asm__ volatile("incl %0" : "+m"(by_asm)); // RACE a
    ++*(int *)(kept ^ 1); // RACE b
    return arg;
}

int main(void) {
    pthread_t t[2];
    kept = (uintptr_t)&by_integer ^ 1;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
