/* Proves: functions that call themselves have summaries: a lock that is given back on the way down is not held. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int kept, lost;

static void walk(int depth) {
    kept++;
    if (depth) walk(depth - 1);
}

static void lose(int depth) {
    if (depth) lose(depth - 1);
    lost++; // RACE a
    if (depth == 1) pthread_mutex_unlock(&lock);
}

static void *run(void *arg) {
    pthread_mutex_lock(&lock);
    walk(5);
    lose(3);
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
