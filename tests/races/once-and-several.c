/* Proves: an access races with itself if its thread is started several times at once, not if it is started once. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static int once, several, in_turn, nested;

static void *run_once(void *arg) { return once++, arg; }
static void *run_several(void *arg) { return several++, arg; } // RACE a
static void *run_in_turn(void *arg) { return in_turn++, arg; }
static void *run_nested(void *arg) { return nested++, arg; } // RACE b

static void *starts(void *arg) {
    pthread_t t;
    pthread_create(&t, NULL, run_nested, NULL);
    return arg;
}

int main(void) {
    pthread_t t, u, v, x[4];
    pthread_create(&t, NULL, run_once, NULL);
    pthread_create(&u, NULL, run_several, NULL);
    pthread_create(&v, NULL, run_several, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_t w;
        pthread_create(&w, NULL, run_in_turn, NULL);
        pthread_join(w, NULL);
    }
    for (int i = 0; i < 4; i++) pthread_create(&x[i], NULL, starts, NULL);
    pthread_join(t, NULL);
    return once;
}
