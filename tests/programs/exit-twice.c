/* Proves: of several threads that call exit, and main that returns, one runs the handlers, in the replay the same one. */
// RUN: %rr %s %t -r 20
// RUN: %rr %s %t -r 5 -DRETURN
// STATUS: 0 1 2 3
// SOAK: 4
#include "common.h"

static volatile long pot;

static void first(void) {
    pot++;
    usleep(200); /* time for others to come */
    printf("first %ld\n", pot);
}
static void second(void) {
    pot *= 3;
    usleep(100);
    printf("second %ld\n", pot);
}

static void *work(void *p) {
    for (int i = 0; i < 200; i++) pot += (long)p;
    printf("thread %ld\n", (long)p);
    exit((int)(long)p);
}

int main(void) {
    atexit(first);
    atexit(second);
    for (long i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, NULL, work, (void *)i);
    }
#ifndef RETURN
    for (;;) pause();
#endif
    return 0;
}
