/* Proves: where mutexes may be robust, a wait may come back without the mutex, since nobody can have it any more. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int before, behind;

static void *run(void *arg) {
    if (pthread_mutex_lock(&m)) return NULL;
    before++;
    pthread_cond_wait(&c, &m);
    behind++; // RACE a
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_t t[4];
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attr);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, NULL);
    pthread_cond_broadcast(&c);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    return before + behind;
}
