/* Proves: what a thread wrote while another one ended the process is in the replay's output if it is in the recorded one. */
// RUN: %rr %s %t -r 12
// SOAK: 2 4
#include "common.h"

static uint64_t cook(int me) {
    char text[32];
    for (long i = 0; i < rounds; i++) {
        int n = snprintf(text, sizeof text, "%d %ld\n", me, i);
        write(1, text, (size_t)n);
        if (me == 0 && i == rounds / 2) _exit(0);
    }
    return 0;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 100);
    return finish(together(cook));
}
