/* Proves: what several processes write to stdout, one after the other, comes in the same order in replay: those that were forked, and a
 * program that one of them executes. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 30
static int ring[4][2];

static void turns(int me) {
    for (int i = 0; i < TURNS; i++) {
        char c, line[64];
        if (read(ring[me][0], &c, 1) != 1) _exit(3);
        int n = snprintf(line, sizeof line, "%d: turn %d\n", me, i);
        if (write(1, line, (size_t)n) != n) _exit(3);
        if (write(ring[(me + 1) % 4][1], &c, 1) != 1) _exit(3);
    }
}

static void *thread(void *p) {
    turns(0);
    return p;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        printf("executed\n");
        return 0;
    }
    for (int k = 0; k < 4; k++)
        if (pipe(ring[k])) return 3;
    for (int k = 1; k < 4; k++)
        if (fork() == 0) {
            turns(k);
            if (k == 2) execl(argv[0], argv[0], "again", (char *)NULL);
            _exit(0);
        }
    pthread_t t;
    pthread_create(&t, NULL, thread, NULL);
    char c = 0;
    if (write(ring[0][1], &c, 1) != 1) return 3;
    pthread_join(t, NULL);
    while (wait(NULL) > 0) {}
    printf("the end\n");
    return 0;
}
