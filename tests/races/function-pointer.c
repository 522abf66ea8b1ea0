/* Proves: functions that are reached through pointers are followed: entries of threads, callees, and those that unlock. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
typedef void *(*entry)(void *);
typedef int (*on_lock)(pthread_mutex_t *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int called, unlocked, hooked;

static void hook_one(void) { hooked++; } // RACE a
static void hook_two(void) {}
static void (*volatile hook)(void) = hook_one;
static volatile on_lock operation = pthread_mutex_unlock;

static void *run(void *arg) {
    hook();
    pthread_mutex_lock(&lock);
    called++;
    operation(&lock); // MAY
    unlocked++; // RACE b
    return arg;
}

static const entry entries[2] = {run, run};

int main(int argc, char **argv) {
    pthread_t t[2];
    if (argc > 1) hook = hook_two, operation = pthread_mutex_lock;
    (void)argv;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, entries[i], NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
