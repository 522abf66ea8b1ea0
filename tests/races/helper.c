/* Proves: one helper, called with different locks for different objects, keeps these apart. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct list {
    int length;
};

static struct list a, b, c;
static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void grow(struct list *l) {
    l->length++; // RACE c
}

static void *run(void *arg) {
    pthread_mutex_lock(&lock_a);
    grow(&a);
    pthread_mutex_unlock(&lock_a);
    pthread_mutex_lock(&lock_b);
    grow(&b);
    pthread_mutex_unlock(&lock_b);
    return arg;
}

static void *also_c(void *arg) {
    run(arg);
    grow(&c);
    return arg;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, i & 1 ? also_c : run, NULL); // MAY
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    pthread_mutex_lock(&lock_a); // SPARE: the others have ended
    a.length = 0;
    pthread_mutex_unlock(&lock_a);
    return 0;
}
