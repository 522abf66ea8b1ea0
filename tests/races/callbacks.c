/* Proves: callbacks run where they are called from: qsort with the locks of its caller, handlers and what exit calls without. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int compared, handled, left;

static int compare(const void *a, const void *b) {
    compared++;
    return *(const int *)a - *(const int *)b;
}

static void handler(int number) {
    handled += number; // RACE a*
}

static void at_end(void) {
    left++; // RACE b
}

static void *run(void *arg) {
    int list[3] = {3, 2, 1};
    pthread_mutex_lock(&lock);
    qsort(list, 3, sizeof *list, compare);
    pthread_mutex_unlock(&lock);
    handled++; // RACE a*
    left++; // RACE b*
    return arg;
}

int main(void) {
    pthread_t t[2];
    signal(SIGUSR1, handler);
    atexit(at_end);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    pthread_mutex_lock(&lock);
    compared = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}
