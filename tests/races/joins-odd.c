/* Proves: a loop of joins ends the threads of a loop that starts them only if it has a turn for each of these. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
enum { MAX = 512 };
static int twice, behind, byte, first, skipped, ordered;

static void *run_twice(void *arg) {
    twice++; // RACE a*
    return arg;
}

static void *run_behind(void *arg) {
    behind++; // RACE b*
    return arg;
}

static void *run_byte(void *arg) {
    byte++; // RACE c*
    return arg;
}

static void *run_first(void *arg) {
    first++; // RACE d*
    return arg;
}

static void *run_skipped(void *arg) {
    skipped++; // RACE e*
    return arg;
}

static void *run_ordered(void *arg) {
    ordered++; // RACE f*
    return arg;
}

/* In each turn several, of which only the last one is known. */
static void start_twice(int n, int times) {
    pthread_t t[MAX];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < times; k++) pthread_create(&t[i], NULL, run_twice, NULL);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    twice++; // RACE a
}

/* One more than n. */
static void start_behind(int n) {
    pthread_t t[MAX];
    int k = 0;
    do pthread_create(&t[k], NULL, run_behind, NULL);
    while (k++ < n);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    behind++; // RACE b
}

/* If there are 256 and more. */
static void start_byte(int n) {
    pthread_t t[MAX];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, run_byte, NULL);
    for (int i = 0; i < (uint8_t)n; i++) pthread_join(t[i], NULL);
    byte++; // RACE c
}

/* If n is 0. */
static void start_first(int n) {
    pthread_t t[MAX];
    int k = 0;
    do pthread_create(&t[k], NULL, run_first, NULL);
    while (++k < n);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    first++; // RACE d
}

/* If n is even, the bound is not asked for when it is reached. */
static void start_skipped(int n, int most) {
    pthread_t t[MAX];
    for (int i = 0;; i++) {
        pthread_create(&t[i], NULL, run_skipped, NULL);
        if (i & 1) {
            if (i > most) break;
            continue;
        }
        if (i + 1 == n) break;
    }
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    skipped++; // RACE e
}

static void start_ordered(int n) {
    pthread_t t[MAX];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, run_ordered, NULL);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    ordered++;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 3;
    start_ordered(n);
    start_twice(n, argc);
    start_behind(n);
    start_byte(n);
    start_first(n);
    start_skipped(n, argc);
    return 0;
}
