/* Proves: of several threads that call exit, and main that returns, one runs the handlers, in the replay the same one. */
// RUN: %rr %s %t -r 6
// RUN: %rr %s %t -r 6 -DQUICK
// STATUS: 0 1 2 3 4 5 6 7
// SOAK: 4
#include "common.h"

static volatile long pot;

static void handler(void) {
    pot = pot * 3 + 1;
    char text[32];
    int n = snprintf(text, sizeof text, "handler %ld\n", pot);
    write(1, text, (size_t)n);
}

static void *work(void *p) {
    for (int i = 0; i < 200; i++) pot += (long)p;
#ifdef QUICK
    quick_exit((int)(pot & 7));
#else
    exit((int)(pot & 7));
#endif
}

int main(void) {
    atexit(handler);
    atexit(handler);
    at_quick_exit(handler);
    for (long i = 1; i < 5; i++) {
        pthread_t t;
        pthread_create(&t, NULL, work, (void *)i);
    }
    for (int i = 0; i < 300; i++) pot++;
#ifdef QUICK
    for (;;) pause();
#endif
    return 0;
}
