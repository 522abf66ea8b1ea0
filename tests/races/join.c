/* Proves: accesses before the first thread and after all are joined race with nobody; those between do. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static int early, between, late, count;

static void *run(void *arg) {
    (void)arg;
    early++;
    between++; // RACE a
    late++;
    return NULL;
}

static void *other(void *arg) {
    (void)arg;
    count++; /* begins when run has ended */
    late++;
    return NULL;
}

static int sum;

static void *several(void *arg) {
    (void)arg;
    sum++; // RACE b
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t, u, many[8];
    int n = argc > 1 ? atoi(argv[1]) : 3;
    early = 1;
    pthread_create(&t, NULL, run, NULL);
    between = 2; // RACE a
    pthread_join(t, NULL);
    late = 3;
    pthread_create(&u, NULL, other, NULL);
    pthread_join(u, NULL);
    count = 4;
    late = 5;
    for (int i = 0; i < n; i++) pthread_create(&many[i], NULL, several, NULL);
    for (int i = 0; i < n; i++) pthread_join(many[i], NULL);
    late = sum;
    return between + early + count;
}
