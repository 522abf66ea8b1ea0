/* Proves: an unlock of a lock that is not known, or code that is not known, leaves no lock held. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
void whoever(void);
void whoever(void) {}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, others[3];
static pthread_mutex_t *volatile some = &lock;
static int first, second, third;

static void *run(void *arg) {
    pthread_mutex_lock(&lock);
    first++;
    pthread_mutex_unlock(&others[1]);
    second++;
    pthread_mutex_unlock(some);
    third++; // RACE a
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t[2];
    (void)argv;
    if (argc > 5) some = &others[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
