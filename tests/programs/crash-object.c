/* Proves: an operation on a lock, a condition variable, a semaphore or a stream that is not there dies at the same place in
 * the replay. */
// RUN: for i in 0 1 2 3 4 5 6 7 8 9 10 11; do %rr %s %t -n -r 1 -- $i || exit 1; done
// STATUS: 139
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile none;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int what;

static void *use(void *arg) {
    struct timespec end = {.tv_sec = 1};
    switch (what) {
    case 0: pthread_mutex_lock(none); break;
    case 1: pthread_mutex_trylock(none); break;
    case 2: pthread_mutex_timedlock(none, &end); break;
    case 3: pthread_mutex_unlock(none); break;
    case 4: pthread_rwlock_rdlock(none); break;
    case 5: pthread_rwlock_wrlock(none); break;
    case 6: pthread_spin_lock(none); break;
    case 7: sem_wait(none); break;
    case 8: pthread_cond_signal(none); break;
    case 9:
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(none, &mutex);
        break;
    case 10: pthread_barrier_wait(none); break;
    case 11: fputs("nowhere\n", none); break;
    }
    return arg;
}

int main(int argc, char **argv) {
    what = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, use, NULL);
    pthread_join(t, NULL);
    return 0;
}
