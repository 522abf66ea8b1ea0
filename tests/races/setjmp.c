/* Proves: where setjmp returns, nothing is known of what happened since. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
#include <setjmp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *run(void *arg) {
    jmp_buf back;
    pthread_mutex_lock(&lock); // SPARE: what it guards races all the same
    if (setjmp(back)) {
        count++; // RACE a
        return arg;
    }
    pthread_mutex_unlock(&lock);
    longjmp(back, 1);
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
