/* Proves: after longjmp memory that was fresh where setjmp was called may be known to others, and threads may be there that no join has met. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf back, again;
static int *known;
static int left;
static volatile int times;

static void *reads(void *arg) {
    int *p;
    do {
        pthread_mutex_lock(&lock);
        p = known;
        pthread_mutex_unlock(&lock);
    } while (!p);
    *(volatile int *)p += 1; // RACE a MAY
    return arg;
}

static void *counts(void *arg) {
    left++; // RACE b*
    return arg;
}

__attribute__((noinline)) static void tell(int *p) {
    pthread_mutex_lock(&lock);
    known = p;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void passes_on(void) {
    int *p = malloc(sizeof *p);
    if (!p) abort();
    if (!setjmp(back)) {
        tell(p);
        longjmp(back, 1);
    }
    *(volatile int *)p = 2; // RACE a
}

__attribute__((noinline)) static void starts(void) {
    static pthread_t t;
    setjmp(again);
    pthread_create(&t, NULL, counts, NULL);
    if (times++ < 2) longjmp(again, 1);
    pthread_join(t, NULL);
    left++; // RACE b
}

int main(void) {
    pthread_t t;
    starts();
    pthread_create(&t, NULL, reads, NULL);
    passes_on();
    return pthread_join(t, NULL);
}
