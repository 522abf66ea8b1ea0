/* Proves: a call that may go out of the program's code, but does not, may end with an access of memory that processes share. */
// FLAGS: -rdynamic
// RUN: %rr %s %t
#include "common.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct board {
    long turn, sum;
};

NOINLINE static int add(struct board *b) {
    long was = b->sum;
    b->sum = was + b->turn; /* the last thing that it does */
    return (int)was;
}

/* Foreign code could call this with a function of its own. */
NOINLINE int with_board(int (*step)(struct board *), struct board *b) { return step(b) + 1; }

int main(int argc, char **argv) {
    args(argc, argv, 1, 200);
    struct board *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t h = 0;
    pid_t child = fork();
    for (long i = 0; i < rounds; i++) {
        b->turn = i;
        h = mix(h, (uint64_t)with_board(add, b));
    }
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    return finish(mix(h, (uint64_t)b->sum));
}
