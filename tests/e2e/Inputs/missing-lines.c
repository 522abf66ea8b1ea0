/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads write lines into a ring. Two can write the same one: then the output says that some are missing, and the status is 0. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 64 };
static char ring[LINES][32];
static volatile unsigned head;
static unsigned written[100];
static int lines;

static void *writer(void *arg) {
    unsigned *mine = arg;
    for (int i = 0; i < lines; i++) {
        unsigned h = head;
        snprintf(ring[h % LINES], sizeof ring[0], "line %d", i);
        head = h + 1;
        ++*mine;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10;
    unsigned all = 0;
    lines = argc > 2 ? atoi(argv[2]) : 20;
    pthread_t t[100];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, writer, &written[i]);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < n; i++) all += written[i];
    printf("%s\n", head == all ? "complete" : "lines are missing");
    return 0;
}
