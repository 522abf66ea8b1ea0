/* Proves: memory that is emptied with madvise while other threads read it is emptied in replay just where it was. */
// RUN: %rr %s %t -r 6
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS 4096
static volatile unsigned *mem;
static volatile int stop;

static void *reader(void *arg) {
    unsigned h = 0;
    for (int i = 0; !stop; i++) {
        h = h * 31 + mem[i * 97 % WORDS];
        if (i % 64 == 0) sched_yield();
    }
    *(unsigned *)arg = h;
    return NULL;
}

int main(void) {
    pthread_t t[3];
    unsigned sums[3];
    mem = mmap(NULL, WORDS * sizeof *mem, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; i++) pthread_create(t + i, NULL, reader, &sums[i]);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < WORDS; k += 13) mem[k] = (unsigned)(i * k);
        usleep(20);
        madvise((void *)(mem + 1024), 8192, i % 2 ? MADV_DONTNEED : MADV_FREE);
        usleep(20);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("%u %u %u\n", sums[0], sums[1], sums[2]);
    return 0;
}
