/* A null pointer comes through three variables and two threads. Lines that end in `in` are what the crash depends on. */
#include <pthread.h>
#include <stdio.h>

static int value = 7;
static int *first, *second, *third;
static long noise, other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;

static void *noisy(void *arg) {
    for (int i = 0; i < 20; i++) {      // out
        pthread_mutex_lock(&lock);      // out
        noise += i;                     // out
        pthread_mutex_unlock(&lock);    // out
    }
    return arg;                         // out
}

static void *one(void *arg) {
    first = NULL;                       // in
    other++;                            // out
    pthread_barrier_wait(&together);    // out
    return arg;
}

static void *two(void *arg) {
    pthread_barrier_wait(&together);    // out
    int *p = first;                     // in
    second = p;                         // in
    other++;                            // out
    return arg;
}

int main(void) {
    pthread_t t[3];
    first = &value;                                 // in: the write that the other one replaced
    pthread_barrier_init(&together, NULL, 2);       // out
    pthread_create(&t[0], NULL, noisy, NULL);       // out
    pthread_create(&t[1], NULL, one, NULL);         // in
    pthread_create(&t[2], NULL, two, NULL);         // in
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL); // out
    third = second;                                 // in
    printf("noise %ld\n", noise);                   // out
    return *third;                                  // in
}
