/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two threads read a pipe, into which one byte is written when both wait: the other one waits for ever. */
#include <pthread.h>
#include <unistd.h>

static int ends[2], started;

static void *reader(void *arg) {
    char c;
    started++;
    return read(ends[0], &c, 1) == 1 ? arg : NULL;
}

int main(void) {
    pthread_t t[2];
    if (pipe(ends)) return 2;
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, reader, NULL);
    usleep(20000);
    if (write(ends[1], "q", 1) != 1) return 2;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
