/* Proves: fields, elements at constant places and thread-local variables are told apart; elements of an array are not. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
// RUN: %weft races program | FileCheck %s
// CHECK: {{^}}array[]
// CHECK: {{^}}table[].inner.count
#include <pthread.h>
#include <stdlib.h>
struct pair {
    int a, b;
};

static struct pair p;
static int array[4];
static _Thread_local int own;
static volatile struct {
    long other;
    struct {
        int flag, count;
    } inner;
} table[8];

static void *run_a(void *arg) {
    p.a++;
    table[3].inner.count = table[4].inner.flag; // RACE b
    array[(long)arg]++; // RACE a
    own++;
    return arg;
}

static void *run_b(void *arg) {
    p.b++;
    table[5].inner.count++; // RACE b
    array[(long)arg]++; // RACE a
    own++;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, NULL, run_a, (void *)1);
    pthread_create(&u, NULL, run_b, (void *)2);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return own + p.a + p.b;
}
