/* Proves: threads and mutexes of C11 are known. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

static mtx_t lock;
static int guarded, not_guarded;

static int run(void *arg) {
    (void)arg;
    mtx_lock(&lock);
    guarded++;
    mtx_unlock(&lock);
    return ++not_guarded; // RACE a
}

int main(void) {
    thrd_t t[3];
    mtx_init(&lock, mtx_plain);
    for (int i = 0; i < 3; i++) thrd_create(&t[i], run, NULL);
    for (int i = 0; i < 3; i++) thrd_join(t[i], NULL);
    return guarded + not_guarded;
}
