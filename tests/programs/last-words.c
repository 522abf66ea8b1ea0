/* Proves: what a thread wrote while another one ended the process is in the replay's output if it is in the recorded one. */
// RUN: %rr %s %t -r 10 -k 0
#include "common.h"

static volatile int writes;
static char words[1 << 20];

static void *work(void *p) {
    memset(words, 'w', sizeof words);
    writes = 1;
    for (;;) write(1, words, sizeof words); /* takes long enough to be in the middle of one */
    return p;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    while (!writes) sched_yield();
    usleep(1000);
    _exit(0);
}
