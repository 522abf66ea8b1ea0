/* Proves: locks that are passed on, kept in variables and allocated are known; those of an array are not. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <pthread.h>
#include <stdlib.h>
struct job {
    pthread_mutex_t *lock;
    int *sum;
};

static pthread_mutex_t *allocated, many[4];
static int one, two, three;

static void add(pthread_mutex_t *lock, int *sum) {
    pthread_mutex_lock(lock);
    ++*sum;
    pthread_mutex_unlock(lock);
}

static void *run(void *arg) {
    struct job *j = arg;
    add(j->lock, j->sum);
    pthread_mutex_lock(allocated);
    two++;
    pthread_mutex_unlock(allocated);
    pthread_mutex_lock(&many[*j->sum & 3]); // MAY, SPARE: what it guards races all the same
    three++; // RACE c
    pthread_mutex_unlock(&many[*j->sum & 3]); // MAY
    return NULL;
}

int main(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t[3];
    struct job j = {&lock, &one};
    allocated = malloc(sizeof *allocated);
    pthread_mutex_init(allocated, NULL);
    for (int i = 0; i < 4; i++) pthread_mutex_init(&many[i], NULL);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, &j);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return one + two + three;
}
