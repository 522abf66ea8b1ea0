/* Threads that write to a pipe, and count, without a lock, how much. What is in the pipe at the end is what they wrote, not what the trace has. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];
static volatile int counted;

static void *writer(void *arg) {
    for (int i = 0; i < 5; i++) {
        int was = counted;
        if (write(ends[1], "x", 1) != 1) abort();
        counted = was + 1;
    }
    return arg;
}

int main(void) {
    pthread_t t[5];
    char c;
    int there = 0;
    if (pipe(ends)) return 2;
    for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, writer, NULL);
    for (int i = 0; i < 5; i++) pthread_join(t[i], NULL);
    close(ends[1]);
    while (read(ends[0], &c, 1) == 1) there++;
    if (there == counted) return 0;
    fprintf(stderr, "counted %d of %d\n", counted, there);
    return 1;
}
