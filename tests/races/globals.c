/* Proves: a global that two threads write without a lock races, across files; one that is locked does not. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s %root/tests/races/Inputs/globals-2.c
// RUN: %weft races program | FileCheck %s
// CHECK: unlocked
// CHECK-NEXT: read and written at {{.*}}globals-2.c:5, in add; thread run; no lock
// CHECK-NEXT: called from run ({{.*}}globals.c:15)
#include <pthread.h>

int unlocked, locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void add(void);

static void *run(void *arg) {
    (void)arg;
    add();
    pthread_mutex_lock(&lock);
    locked++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    unlocked = 1; /* before there are threads */
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
