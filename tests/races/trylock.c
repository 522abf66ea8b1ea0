/* Proves: a lock that is tried is held where the result says so, and nowhere else. */
// LEVELS: -O0 -O1
/* -O2 makes one of the two branches. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int held, failed, both;

static void *run(void *arg) {
    if (pthread_mutex_trylock(&lock) == 0) {
        held++;
        both++; // RACE b
        pthread_mutex_unlock(&lock);
    } else {
        failed++; // RACE a
        both++; // RACE b*
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    pthread_mutex_lock(&lock);
    held++;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
