/* Proves: a lock that was taken through a pointer is not the lock of where the pointer points later. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct node {
    pthread_mutex_t lock;
    int value, other;
    struct node *next;
};

static struct node *first, *heads[2];

static void *run(void *arg) {
    struct node *n = arg;
    pthread_mutex_lock(&n->lock);
    while (n->next) {
        n->value++; // RACE a
        n = n->next;
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 3; i++) {
        struct node *n = calloc(1, sizeof *n);
        n->next = first;
        first = n;
        if (i) heads[i - 1] = n;
    }
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, heads[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
