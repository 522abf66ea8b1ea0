/* Proves: two that hold a lock as readers do not exclude each other; a reader and a writer do. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int guarded, counted;

static void *run(void *arg) {
    int seen;
    pthread_rwlock_rdlock(&lock);
    seen = guarded;
    counted++; // RACE a
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    guarded = seen + 1;
    pthread_rwlock_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
