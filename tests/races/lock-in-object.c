/* Proves: a lock in the same object guards it, in any number of objects and through calls; the lock of another object does not. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct account {
    pthread_mutex_t lock;
    long balance, unguarded, wrong;
    struct account *next;
};

static struct account *all;

static void change(struct account *a, long by) {
    a->balance += by;
}

static void *run(void *arg) {
    (void)arg;
    for (struct account *a = all; a; a = a->next) {
        pthread_mutex_lock(&a->lock);
        change(a, 1);
        if (a->next) a->next->wrong++; // RACE c
        pthread_mutex_unlock(&a->lock);
        a->unguarded++; // RACE b
    }
    return NULL;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 10; i++) {
        struct account *a = calloc(1, sizeof *a);
        pthread_mutex_init(&a->lock, NULL);
        a->next = all;
        all = a;
    }
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return 0;
}
