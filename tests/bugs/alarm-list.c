/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A list that the program and its handler of SIGALRM add to. The signal may come while the program is between two steps of that. */
// KIND: handler of a timer's signal that changes what it interrupts
// FAILS: entries of the list are lost
// SHOWS: exit 9
// LEAST: 1 threads, 1 iteration, 0 preemptions
// NATIVE: 1000 in 1000
// ARGS: ENTRIES=3000000
// LARGE: 3000000
// HIDDEN: races
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { ROOM = 4000000 };
static struct node {
    struct node *volatile next;
} nodes[ROOM], *volatile list;
static volatile int used, wanted;

static void add(void) {
    struct node *n = &nodes[used % ROOM];
    used++;
    n->next = list;
    list = n;
    wanted++;
}

static void on_alarm(int number) {
    (void)number;
    add();
}

int main(int argc, char **argv) {
    int entries = argc > 1 ? atoi(argv[1]) : 3000000, count = 0;
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < entries; i++) add();
    setitimer(ITIMER_REAL, &never, NULL);
    for (struct node *n = list; n && count <= used; n = n->next) count++;
    if (count == used && used == wanted) return 0;
    fprintf(stderr, "%d entries in the list, %d were made\n", count, used);
    return 9;
}
