/* Proves: a process that executes itself again, several times, at last in a thread while other threads race and write, is
 * recorded and replayed as one run; its status is that of the last program. */
// RUN: %rr %s %t
// STATUS: 7
#include "common.h"

static volatile unsigned pot[16];
static volatile int begun;

static uint64_t cook(int me) {
    uint64_t h = (uint64_t)me;
    for (long i = 0; i < rounds; i++) {
        h = mix(h, pot[h >> 60]);
        pot[h >> 56 & 15] = (unsigned)h;
    }
    return h;
}

static void *forever(void *arg) {
    uint64_t h = (uint64_t)(uintptr_t)arg;
    for (;;) {
        h = mix(h, pot[h >> 60]);
        pot[h >> 56 & 15] = (unsigned)h;
        begun++;
    }
    return NULL;
}

static void *last(void *arg) {
    char *argv[] = {arg, "last", NULL};
    while (begun < 1000) sched_yield();
    printf("%x %x\n", pot[1], pot[7]);
    fflush(stdout);
    execv("/proc/self/exe", argv);
    return NULL;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "4";
    threads = 3;
    rounds = 3000;
    printf("%s %s: %016llx\n", argv[0][0] == '/' ? "first" : argv[0], what, (unsigned long long)together(cook));
    fflush(stdout);
    if (strcmp(what, "last") == 0) return 7;
    if (atoi(what) == 0) {
        pthread_t t;
        for (long i = 0; i < 2; i++) pthread_create(&t, NULL, forever, (void *)i);
        pthread_create(&t, NULL, last, "from a thread");
        pthread_join(t, NULL);
    }
    char next[8], *again[] = {"again", next, NULL};
    sprintf(next, "%d", atoi(what) - 1);
    execv("/proc/self/exe", again);
    return 1;
}
