/* Proves: memory that nobody else knows yet is set up without a lock; after it was passed on it is not. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct item {
    int value, late;
    struct item *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *queue;

static void *run(void *arg) {
    for (int i = 0; i < 10; i++) {
        struct item *n = malloc(sizeof *n);
        if (!n) abort();
        n->value = i;
        n->late = 0;
        pthread_mutex_lock(&lock);
        n->next = queue;
        queue = n;
        pthread_mutex_unlock(&lock);
        n->late++; // RACE a
        pthread_mutex_lock(&lock);
        if (queue->value + queue->next->value == 3) abort();
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
