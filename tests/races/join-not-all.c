/* Proves: a join that does not join all threads of a call, or not on all ways, orders nothing. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
static int a, b, c, d, e;

static void *run_a(void *arg) { return a++, arg; } // RACE a*
static void *run_b(void *arg) { return b++, arg; } // RACE b*
static void *run_c(void *arg) { return c++, arg; } // RACE c
static void *run_d(void *arg) { return d++, arg; } // RACE d*
static void *run_e(void *arg) { return e++, arg; } // RACE e*

/* Called twice, and it returns before the join. */
static int twice(int leave) {
    pthread_t t;
    pthread_create(&t, NULL, run_e, NULL);
    if (leave) return 0;
    pthread_join(t, NULL);
    return e; // RACE e
}

int main(int argc, char **argv) {
    pthread_t t[8], u;
    (void)argv;
    for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, run_a, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    a = 1; // RACE a
    for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, run_b, NULL);
    for (int i = 0; i < 5; i++)
        if (i != argc) pthread_join(t[i], NULL);
    b = 1; // RACE b
    pthread_create(&u, NULL, run_c, NULL);
    if (argc > 1) pthread_join(u, NULL);
    c = 1; // RACE c
    for (int i = 0; i < 3; i++) pthread_create(&u, NULL, run_d, NULL); /* the same handle */
    pthread_join(u, NULL);
    d = 1; // RACE d
    twice(1);
    return twice(argc == 1);
}
