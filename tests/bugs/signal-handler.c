/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Statistics that are written out when SIGUSR1 comes. The handler reads, in whatever thread it interrupts, a ring that
 * this thread may be changing just then. */
// KIND: signal handler race
// FAILS: the handler sees an entry that is half written
// SHOWS: exit 5
// LEAST: 2 threads, 1 iteration, 1 preemption
// NATIVE: 239 in 1000
// ARGS: SIGNALS=20 ENTRIES=20000
// LARGE: 100 20000
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RING = 8 };

struct entry {
    char text[24];
    volatile unsigned sum; /* of the text */
};

static struct entry ring[RING];
static volatile unsigned next;
static volatile sig_atomic_t dumps, finished;
static pthread_t owner;
static int signals;

static unsigned sum_of(const char *text) {
    unsigned sum = 0;
    while (*text) sum = sum * 31 + (unsigned char)*text++;
    return sum;
}

static void dump(int number) {
    (void)number;
    for (int i = 0; i < RING; i++) {
        if (ring[i].sum == sum_of(ring[i].text)) continue;
        static const char message[] = "an entry is half written\n";
        if (write(2, message, sizeof message - 1) < 0) _exit(6);
        _exit(5);
    }
    dumps++;
}

static void add(unsigned value) {
    struct entry *e = &ring[next++ % RING];
    snprintf(e->text, sizeof e->text, "value %u", value);
    e->sum = sum_of(e->text);
}

static void *operator(void *arg) {
    for (int i = 0; i < signals && !finished; i++) {
        int before = dumps;
        pthread_kill(owner, SIGUSR1);
        while (dumps == before && !finished) usleep(50);
    }
    return arg;
}

int main(int argc, char **argv) {
    signals = argc > 1 ? atoi(argv[1]) : 20;
    unsigned entries = argc > 2 ? (unsigned)atoi(argv[2]) : 20000;
    struct sigaction action = {.sa_handler = dump, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    owner = pthread_self();
    pthread_t t;
    pthread_create(&t, NULL, operator, NULL);
    for (unsigned i = 0; i < entries; i++) add(i);
    finished = 1;
    pthread_join(t, NULL);
    printf("done\n");
    return 0;
}
