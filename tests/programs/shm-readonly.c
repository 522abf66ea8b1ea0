/* Proves: threads that read what another process writes, each a line of its own of a page that they may not write, get it and are replayed exactly. */
// RUN: %rr %s %t
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 3000u
#define LINES 64
struct shared {
    volatile uint64_t line[LINES][8];
};
static const struct shared *s;
static uint64_t results[THREADS];

static void *work(void *arg) {
    uint64_t me = (uint64_t)(uintptr_t)arg, h = 1, last = 0;
    for (unsigned i = 0; last < ROUNDS; i++) {
        h = h * 31 + (last = s->line[me * 3][i & 7]);
        h = h * 31 + s->line[40 + (i + me) % 8][3];
    }
    results[me] = h;
    return NULL;
}

int main(void) {
    char name[] = "/tmp/weft-shm-readonly-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0 || ftruncate(fd, sizeof *s)) return 2;
    pid_t child = fork();
    if (child < 0) return 3;
    if (!child) {
        struct shared *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (w == MAP_FAILED) return 2;
        for (uint64_t i = 1; i <= ROUNDS; i++)
            for (int l = 0; l < LINES; l++)
                for (int k = 0; k < 8; k++) w->line[l][k] = i;
        return 0;
    }
    int in = open(name, O_RDONLY);
    s = mmap(NULL, sizeof *s, PROT_READ, MAP_SHARED, in, 0);
    unlink(name);
    if (s == MAP_FAILED) return 2;
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)i);
    uint64_t h = 0;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL), h = h * 31 + results[i];
    printf("%016lx\n", h);
    int status = 0;
    waitpid(child, &status, 0);
    return status ? 4 : 0;
}
