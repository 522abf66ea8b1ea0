/* Two threads wait for each other; a third one, with a lock of its own, has ended before. */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static int counter;

static void *left(void *arg) {
    pthread_mutex_lock(&a);                         // in
    pthread_barrier_wait(&together);                // out
    pthread_mutex_lock(&b);                         // in
    return arg;                                     // out
}

static void *right(void *arg) {
    pthread_mutex_lock(&b);                         // in
    pthread_barrier_wait(&together);                // out
    pthread_mutex_lock(&a);                         // in
    return arg;                                     // out
}

static void *quiet(void *arg) {
    for (int i = 0; i < 5; i++) {                   // out
        pthread_mutex_lock(&c);                     // out
        counter++;                                  // out
        pthread_mutex_unlock(&c);                   // out
    }
    return arg;                                     // out
}

int main(void) {
    pthread_t t[3];
    pthread_barrier_init(&together, NULL, 2);       // out
    pthread_create(&t[2], NULL, quiet, NULL);       // out
    pthread_join(t[2], NULL);                       // out
    pthread_create(&t[0], NULL, left, NULL);        // in
    pthread_create(&t[1], NULL, right, NULL);       // in
    pthread_join(t[0], NULL);                       // out
    pthread_join(t[1], NULL);                       // out
    return 0;
}
