/* Proves: what is freed is written: an access by another thread without a common lock races with it. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct node {
    int value;
};

static struct node *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reads(void *arg) {
    pthread_mutex_lock(&lock);
    struct node *n = shared;
    pthread_mutex_unlock(&lock);
    return n->value ? arg : NULL; // RACE a
}

int main(void) {
    pthread_t t;
    shared = calloc(1, sizeof *shared);
    pthread_create(&t, NULL, reads, NULL);
    pthread_mutex_lock(&lock);
    struct node *n = shared;
    shared = NULL;
    pthread_mutex_unlock(&lock);
    free(n); // RACE a
    pthread_join(t, NULL);
    return 0;
}
